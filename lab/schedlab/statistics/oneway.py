# SPDX-License-Identifier: GPL-2.0-or-later
"""Independent groups: one-way analysis of variance and all pairs, as the first study's tool did.

The spreads decide: where Brown and Forsythe's form of Levene's test finds them alike, Fisher's F and Tukey–Kramer;
where not, Welch's F and Games–Howell, which need no common spread.
"""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import special

from schedlab.statistics import multiple_comparisons
from schedlab.statistics.effect import negligible

LEVEL = 0.95
ALPHA = 0.05
TUKEY_KRAMER = "Tukey–Kramer"
GAMES_HOWELL = "Games–Howell"


@dataclass(frozen=True)
class Omnibus:
    method: str  # in words, for people
    why: str  # what decided for this method
    f: float
    df_between: float
    df_within: float
    p: float  # NaN where nothing varies
    omega_squared: float  # share of the variance that the schedulers explain; partial where blocks were removed


def omega_squared(f: float, df_between: float, n: int) -> float:
    """From F: the same as from sums of squares (Hays 1963), and what is used after Welch's F. Never below zero."""
    if np.isnan(f):
        return float("nan")
    if np.isinf(f):
        return 1.0
    gain = df_between * (f - 1)
    return max(0.0, gain / (gain + n))


@dataclass(frozen=True)
class Mean:
    """A group's mean in the metric's unit; the interval is its own, from the error that the method uses."""

    n: int
    mean: float
    sd: float
    low: float
    high: float


@dataclass(frozen=True)
class Pair:
    """`other` minus `reference`, in the metric's unit; interval and `p_within` hold for all pairs together."""

    reference: str
    other: str
    difference: float
    low: float
    high: float
    t: float
    df: float
    p: float  # of this pair alone
    p_within: float


@dataclass(frozen=True)
class OneWay:
    omnibus: Omnibus
    levene_p: float
    method: str  # of the pairs
    means: dict[str, Mean]
    pairs: list[Pair]
    error: float  # variance within groups, pooled
    note: str  # why something is missing; empty where nothing is


def oneway(groups: dict[str, np.ndarray], with_p_within: bool = True) -> OneWay:
    """Groups of at least two values each, at least two of them; else a note says what is missing.

    `with_p_within`: that of three groups and more takes a slow integral for every pair.
    """
    used = {label: values for label, values in groups.items() if len(values) > 1}
    left_out = [label for label in groups if label not in used]
    note = f"fewer than two values of {', '.join(left_out)}: left out" if left_out else ""
    if len(used) < 2:
        return _nothing(note or "fewer than two groups: nothing to compare")
    n = {label: len(values) for label, values in used.items()}
    total, k = sum(n.values()), len(used)
    df = total - k
    variance = {label: float(values.var(ddof=1)) for label, values in used.items()}
    error = _pooled(list(used.values()))
    if error <= negligible(*used.values()) ** 2:
        return _nothing("no spread within any group: nothing to test against", used)
    levene_p = _brown_forsythe(list(used.values()))
    equal = not levene_p < ALPHA
    if equal:
        why = f"spreads alike (Brown–Forsythe p = {levene_p:.3f})" if levene_p == levene_p else "too few for Levene"
        f = _fisher(list(used.values()), error)
        omnibus = _omnibus("one-way ANOVA", why, f, k - 1, float(df), total)
    else:
        why = f"spreads differ (Brown–Forsythe p = {levene_p:.3g})"
        f, df_within = _welch(used, variance)
        omnibus = _omnibus("Welch's ANOVA", why, f, k - 1, df_within, total)
        if math.isnan(f):
            note = note or "a group without spread: Welch's F has no weight for it"
    means = {
        label: _mean(values, error if equal else variance[label], df if equal else n[label] - 1)
        for label, values in used.items()
    }
    pairs = []
    for one, two in combinations(used, 2):
        parts = (error / n[one], error / n[two]) if equal else (variance[one] / n[one], variance[two] / n[two])
        pair_df = float(df) if equal else _satterthwaite(parts, (n[one] - 1, n[two] - 1))
        difference = float(used[two].mean() - used[one].mean())
        pairs.append(_pair(one, two, difference, math.sqrt(sum(parts)), pair_df, k, with_p_within))
    return OneWay(omnibus, levene_p, TUKEY_KRAMER if equal else GAMES_HOWELL, means, pairs, error, note)


def _pair(one: str, two: str, difference: float, se: float, df: float, groups: int, with_p_within: bool) -> Pair:
    if not se > 0:
        return Pair(one, two, difference, math.nan, math.nan, math.nan, df, math.nan, math.nan)
    t = difference / se
    half = multiple_comparisons.tukey_critical(groups, df, LEVEL) * se
    alone = float(2 * special.stdtr(df, -abs(t)))
    within = multiple_comparisons.tukey_p(t, groups, df) if with_p_within else math.nan
    return Pair(one, two, difference, difference - half, difference + half, t, df, alone, within)


def _omnibus(method: str, why: str, f: float, df_between: int, df_within: float, total: int) -> Omnibus:
    p = float(special.fdtrc(df_between, df_within, f)) if f == f else math.nan
    return Omnibus(method, why, f, df_between, df_within, p, omega_squared(f, df_between, total))


def _brown_forsythe(groups: list[np.ndarray]) -> float:
    """The p of Fisher's F of how far the values lie from their group's median (Brown and Forsythe 1974).

    NaN where those of each group lie equally far, as any two do.
    """
    apart = [np.abs(values - np.median(values)) for values in groups]
    if max(map(np.ptp, apart)) <= negligible(*groups):
        return math.nan
    k, total = len(groups), sum(map(len, groups))
    return float(special.fdtrc(k - 1, total - k, _fisher(apart, _pooled(apart))))


def _pooled(groups: list[np.ndarray]) -> float:
    """Variance within groups."""
    within = sum((len(values) - 1) * float(values.var(ddof=1)) for values in groups)
    return within / (sum(map(len, groups)) - len(groups))


def _fisher(groups: list[np.ndarray], error: float) -> float:
    """F, of groups with a common variance within them."""
    grand = sum(float(values.sum()) for values in groups) / sum(map(len, groups))
    between = sum(len(values) * (float(values.mean()) - grand) ** 2 for values in groups) / (len(groups) - 1)
    return between / error


def _welch(groups: dict[str, np.ndarray], variance: dict[str, float]) -> tuple[float, float]:
    """F and the degrees of freedom of its error (Welch 1951)."""
    if min(variance.values()) <= negligible(*groups.values()) ** 2:
        return math.nan, math.nan
    k = len(groups)
    weight = np.array([len(values) / variance[label] for label, values in groups.items()])
    means = np.array([values.mean() for values in groups.values()])
    n = np.array([len(values) for values in groups.values()])
    centre = weight @ means / weight.sum()
    lost = float(((1 - weight / weight.sum()) ** 2 / (n - 1)).sum())
    f = float(weight @ (means - centre) ** 2) / (k - 1) / (1 + 2 * (k - 2) / (k * k - 1) * lost)
    return f, (k * k - 1) / (3 * lost)


def _satterthwaite(parts: tuple[float, float], df: tuple[int, int]) -> float:
    below = sum(part * part / d for part, d in zip(parts, df, strict=True))
    return sum(parts) ** 2 / below if below > 0 else math.nan


def _mean(values: np.ndarray, variance: float, df: float) -> Mean:
    half = float(special.stdtrit(df, (1 + LEVEL) / 2)) * math.sqrt(variance / len(values))
    mean = float(values.mean())
    return Mean(len(values), mean, float(values.std(ddof=1)), mean - half, mean + half)


def _nothing(note: str, groups: dict[str, np.ndarray] | None = None) -> OneWay:
    nan = math.nan
    means = {label: Mean(len(values), float(values.mean()), 0.0, nan, nan) for label, values in (groups or {}).items()}
    return OneWay(Omnibus("none", note, nan, nan, nan, nan, nan), nan, "none", means, [], 0.0, note)
