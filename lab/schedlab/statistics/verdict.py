# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict on a change.

A claim needs three things: repetitions enough to trust its interval, an interval that lies wholly beyond what is
negligible, and a p below 5 % after Holm's adjustment over all comparisons of the report. On a real kernel the change
must also exceed what the default scheduler differs from itself; in the simulator the interval has to lie there with
the model's error added. Two schedulers are the same where the whole interval lies within what is negligible. Everything
else is unclear.
"""

import math

import numpy as np

from schedlab.statistics.bootstrap import NONE
from schedlab.statistics.estimates import Change
from schedlab.statistics.model_error import widened
from schedlab.statistics.negligible import NEGLIGIBLE_PCT

BETTER = "better"
WORSE = "worse"
MORE = "more"
LESS = "less"
SAME = "same"
UNCLEAR = "unclear"
NOISE = "within noise"
MODEL = "within the model's error"
UNKNOWN = "unknown"
CLAIMS = {BETTER, WORSE, MORE, LESS}
# Below this the bootstrap's interval is far too narrow to carry a claim.
FEWEST = 5
ALPHA = 0.05


def holm(p: list[float]) -> list[float]:
    """Adjusted p, in the order given. A comparison without a p (NaN) is not one of the family."""
    raw = np.asarray(p, dtype=float)
    tested = np.flatnonzero(~np.isnan(raw))
    order = tested[np.argsort(raw[tested], kind="stable")]
    adjusted = raw.copy()
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(raw[order] * factors)) if len(order) else []
    return adjusted.tolist()


def verdict(
    change: Change,
    better: str,
    p_adjusted: float = math.nan,
    floor_pct: float = 0.0,
    negligible_pct: float = NEGLIGIBLE_PCT,
    model_pct: float = 0.0,
) -> str:
    """Without a p (nothing spreads) the interval alone decides. `floor_pct`: the noise floor of the A/A control.
    `model_pct`: the simulator's error.
    """
    if model_pct > 0:
        alone = verdict(change, better, p_adjusted, floor_pct, negligible_pct)
        whole = verdict(widened(change, model_pct), better, p_adjusted, floor_pct, negligible_pct)
        return MODEL if whole == UNCLEAR != alone else whole
    if change.interval.method == NONE or change.n < FEWEST:
        return UNKNOWN
    if bound_pct(change) <= negligible_pct:
        return SAME
    if max(change.interval.low, -change.interval.high) <= negligible_pct:
        return UNCLEAR
    if abs(change.pct) <= floor_pct:
        return NOISE
    if p_adjusted >= ALPHA:
        return UNCLEAR
    grew = change.pct > 0
    if not better:
        return MORE if grew else LESS
    return BETTER if grew == (better == "higher") else WORSE


def bound_pct(change: Change) -> float:
    """How large a difference could still be, rounded up to a tenth.

    Both ends of the 95 % interval lie within it, so two one-sided tests at 2.5 % reject anything larger: TOST, only
    stricter than its usual 5 %.
    """
    return math.ceil(max(abs(change.interval.low), abs(change.interval.high), 1e-9) * 10 - 1e-9) / 10
