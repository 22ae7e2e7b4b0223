"""Verdicts by kind of request, in words: what differs first, and how many show no difference.

Effects count up as better, as those of the row they stand in do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.units import format_percent
from assay.verdict.rows import KindRow, Row

ORDER = ("latency_p50", "latency_mean", "latency_p99", "throughput")
NAMED = 4
"""Kinds that a sentence names; the report has all."""


@dataclass(frozen=True)
class MetricKinds:
    """The kinds of request of a row by one metric, those with the largest gain first."""

    metric: str
    rows: list[KindRow]


def kinds_of(row: Row) -> list[MetricKinds]:
    """The kinds of a row, a group for each metric."""
    metrics = sorted({kind.metric for kind in row.by_kind}, key=ORDER.index)
    return [
        MetricKinds(name, sorted(found, key=lambda kind: (-kind.estimate, kind.request)))
        for name in metrics
        if (found := [kind for kind in row.by_kind if kind.metric == name])
    ]


def kinds_text(group: MetricKinds) -> str:
    """One metric's kinds as a sentence: "1 of 5 kinds differs: read +42 % [+40 %, +44 %]; ..."."""
    differing = [kind for kind in group.rows if kind.word in ("helps", "hurts")]
    differing.sort(key=lambda kind: -abs(math.log1p(kind.estimate)))
    verb = "differs" if len(differing) == 1 else "differ"
    said = [f"{len(differing)} of {len(group.rows)} kinds {verb}{_named(differing)}"]
    for word, text in (("no difference", "no difference"), ("undecided", "undecided")):
        count = sum(kind.word == word for kind in group.rows)
        said += [f"{count} {text}"] if count else []
    return "; ".join(said)


def _named(rows: Sequence[KindRow]) -> str:
    if not rows:
        return ""
    shown = ", ".join(
        f"{kind.request} {format_percent(kind.estimate)} {kind_interval(kind)}"
        for kind in rows[:NAMED]
    )
    more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    return f": {shown}{more}"


def kind_interval(kind: KindRow) -> str:
    """The interval of a kind: "[+1.2 %, +3.4 %]"."""
    low, high = (None if end is None else format_percent(end) for end in (kind.low, kind.high))
    return "[unbounded]" if low is None and high is None else f"[{low or '-inf'}, {high or '+inf'}]"
