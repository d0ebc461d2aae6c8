# SPDX-License-Identifier: GPL-2.0-or-later
"""Published claims beside ours: the table, and one picture of all of them."""

from collections.abc import Iterable, Mapping

from schedlab.format.numbers import number, percent, scale
from schedlab.report import palette
from schedlab.report.figure import figure
from schedlab.report.html import Markup, element, join, table
from schedlab.studies.beside import TITLES, Beside, whose
from schedlab.studies.calls import (
    AGREES,
    CONTRADICTED,
    NO_CALL,
    UNMEASURED,
    Calls,
    calls,
    guessed,
    of_bfs_and_cfs,
    outcome,
)
from schedlab.studies.published import Claim
from schedlab.studies.score import Reproduction, score

_STYLE = {AGREES: "better", CONTRADICTED: "worse", NO_CALL: None, UNMEASURED: None}
# Points beyond this are drawn on the picture's edge.
_EDGE_PCT = 60.0


def scores(found: Iterable[tuple[str, list[Reproduction]]], others: list[Beside], linked: bool) -> Markup:
    rows: list[list[object]] = []
    for name, reproductions in found:
        everything, ours = calls(reproductions), calls(of_bfs_and_cfs(reproductions))
        every_sign = score(reproductions)
        rows.append(
            [
                element("a", name, href=f"#{name}") if linked and name != "all" else name,
                str(everything.claims),
                *_called(everything),
                *_called(ours),
                share(guessed(reproductions).share_right),
                *[cell for other in others for cell in _called(other.calls(reproductions))],
                share(every_sign.agreement),
                "–" if every_sign.ratio_error is None else f"{every_sign.ratio_error * 100:.1f} %",
            ]
        )
    header: list[object] = ["study", "claims", "called", "right of these", "BFS against CFS: called", "right of these"]
    header += ["right if BFS always won"]
    for other in others:
        header += [f"{other.title}: called", "right of these"]
    header += ["every sign", "ratio error"]
    return table(header, rows, class_="scores stacked")


def _called(found: Calls) -> tuple[str, str]:
    return f"{found.called} ({share(found.share_called)})" if found.claims else "–", share(found.share_right)


def share(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.0f} %"


def claims_table(reproductions: Iterable[Reproduction], reasons: Mapping[str, str], others: list[Beside]) -> Markup:
    """In the order of the published file; a contradicted claim is never left out, and says why."""
    header = ["claim", "of", "A against B", "published", "ours", "", *[other.title for other in others]]
    head = element("thead", element("tr", *[element("th", text, scope="col") for text in header]))
    body = element(
        "tbody", *[_row(reproduction, reasons.get(reproduction.claim.id, ""), others) for reproduction in reproductions]
    )
    note = element("caption", "by how much A is better than B; negative: worse; below, the values themselves")
    return element("div", element("table", note, head, body, class_="claims stacked"), class_="scroll")


def _row(reproduction: Reproduction, reason: str, others: list[Beside]) -> Markup:
    claim = reproduction.claim
    said = outcome(reproduction)
    published = percent(claim.pct_a_over_b) if claim.pct_a_over_b is not None else _winner(claim.sign)
    ours = "–" if reproduction.pct is None else element("data", percent(reproduction.pct), value=repr(reproduction.pct))
    what = f"{claim.workload}, {claim.machine}"
    return element(
        "tr",
        element("th", claim.id, scope="row"),
        element("td", what, Markup("<br>"), element("small", f"{claim.level}; {claim.metric}")),
        element("td", claim.a, Markup("<br>"), element("small", f"against {claim.b}")),
        _side("published", published, _values(claim.value_a, claim.value_b, claim.unit)),
        _side("ours", ours, _ours(reproduction), _reason(reason)),
        element("td", element("b", said), Markup("<br>"), element("small", _weight(claim)), class_=_STYLE[said]),
        *[_elsewhere(reproduction, other) for other in others],
        id=claim.id,
        data_verdict=said,
    )


def _elsewhere(reproduction: Reproduction, other: Beside) -> Markup:
    """What it came to there; beside a contradiction of the simulator's, whose the kernel says it is."""
    said = other.of(reproduction)
    owner = whose(reproduction, said) if other.title == TITLES["vm"] else ""
    tier = other.tiers.get(reproduction.claim.id)
    notes = [f"tier {tier}"] * bool(tier) + [f"contradiction: {owner}"] * bool(owner)
    more = (Markup("<br>"), element("small", "; ".join(notes))) if notes else ()
    return element("td", said, *more, class_=_STYLE[said], data_head=other.title)


def _side(head: str, change: object, values: str, *more: object) -> Markup:
    return element("td", change, Markup("<br>"), element("small", values), *more, data_head=head)


def _reason(text: str) -> Markup:
    return join([Markup("<br>"), element("small", text, class_="why")]) if text else Markup("")


def _weight(claim: Claim) -> str:
    return claim.weight.removesuffix("?") + ("" if claim.points == 1 else ", half" if claim.points else ", not scored")


def _values(a: float | None, b: float | None, unit: str) -> str:
    if a is None or b is None:
        return ""
    return f"{number(a)} : {number(b)} {unit}".rstrip()


def _ours(reproduction: Reproduction) -> str:
    if reproduction.a is None or reproduction.b is None:
        return ""
    factor, unit = scale(reproduction.unit, [reproduction.a, reproduction.b])
    return _values(reproduction.a * factor, reproduction.b * factor, unit)


def _winner(sign: int) -> str:
    return {1: "A better", -1: "B better", 0: "equal"}[sign]


def picture(reproductions: Iterable[Reproduction]) -> Markup:
    """Ours against published. Claims that agree lie in the upper right and lower left, exact ones on the diagonal."""
    points = [
        {
            "published": max(-_EDGE_PCT, min(_EDGE_PCT, v.claim.pct_a_over_b)),
            "ours": max(-_EDGE_PCT, min(_EDGE_PCT, v.pct)),
            "verdict": outcome(v),
            "claim": v.claim.id,
            "of": f"{v.claim.workload}, {v.claim.level}",
            "pair": f"{v.claim.a} against {v.claim.b}",
            "said": percent(v.claim.pct_a_over_b),
            "found": percent(v.pct),
        }
        for v in reproductions
        if v.claim.pct_a_over_b is not None and v.pct is not None and v.claim.points
    ]
    if len(points) < 2:
        return Markup("")
    kinds = [AGREES, CONTRADICTED, NO_CALL]
    edge = max(5.0, *(abs(p[key]) for p in points for key in ("published", "ours")))
    cut = f"; what is beyond {_EDGE_PCT:.0f} % lies on the edge" if edge == _EDGE_PCT else ""
    text = (
        ": blue circles agree, orange squares are contradicted, triangles are no call; on the dashed line: the same as "
        f"published{cut}"
    )
    caption = join([element("b", "How much better A was than B (%)"), text])
    tooltip = {"claim": "claim", "of": "of", "pair": "", "said": "published", "found": "ours"}
    spec = _spec(points, kinds, edge)
    live = _spec(points, kinds, edge)
    live["params"] = [{"name": "shown", "value": kinds}]
    live["layer"][-1]["encoding"]["tooltip"] = [
        {"field": field, "title": title or "pair", "type": "nominal"} for field, title in tooltip.items()
    ]
    return figure(caption, spec, live)


def _spec(points: list[dict], kinds: list[str], edge: float) -> dict:
    def axis(field: str) -> dict:
        return {
            "field": field,
            "type": "quantitative",
            "title": field,
            "scale": {"domain": [-edge, edge], "nice": True},
            "axis": {"tickCount": 5},
        }

    line = palette.LINE[0]
    soft = palette.SOFT[0]
    diagonal = [{"published": -edge, "ours": -edge}, {"published": edge, "ours": edge}]
    cross = [
        {"data": {"values": [{name: 0}]}, "mark": {"type": "rule", "color": soft}, "encoding": {way: axis(name)}}
        for way, name in (("x", "published"), ("y", "ours"))
    ]
    return {
        "width": 300,
        "height": 300,
        "layer": [
            *cross,
            {
                "data": {"values": diagonal},
                "mark": {"type": "line", "color": line, "strokeDash": [4, 3]},
                "encoding": {"x": axis("published"), "y": axis("ours")},
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "size": 44, "opacity": 0.85},
                "encoding": {
                    "x": axis("published"),
                    "y": axis("ours"),
                    "color": {
                        "field": "verdict",
                        "type": "nominal",
                        "legend": None,
                        "scale": {"domain": kinds, "range": [palette.colour(i) for i in range(len(kinds))]},
                    },
                    "shape": {
                        "field": "verdict",
                        "type": "nominal",
                        "legend": None,
                        "scale": {"domain": kinds, "range": [palette.shape(i) for i in range(len(kinds))]},
                    },
                },
            },
        ],
    }
