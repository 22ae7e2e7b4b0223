"""Two speeds of one arm in words: how many runs are of which, what parts them, and what the
verdict means then.

A number between two speeds is one that no run had, so they are named wherever verdicts are. All of
it is in the fields of the study's own warning.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from assay.core.units import format_percent, percent
from assay.reasons import Code, Reason
from assay.report.words.wording import listed
from assay.verdict.rows import Verdicts

TITLE = "Two speeds"

TOGETHER = (
    "in nearly every block its run and the baseline's are of the same speed, so the pair takes the "
    "two speeds out, and the verdict is not touched by them"
)
"""Of an arm that needs no warning."""


@dataclass(frozen=True)
class NamedSpeeds:
    """The fields of a warning of two groups, as `assay.reasons` has them."""

    arm: str
    baseline: str
    gap: float
    slow: int
    runs: int
    others: tuple[int, int] | None = None
    differ: int = 0
    counter: tuple[str, float, float] | None = None
    within: tuple[float, float, float, int] | None = None
    case: str = ""

    @classmethod
    def of(cls, reason: Reason) -> NamedSpeeds:
        """The fields of one warning."""
        fields: dict[str, Any] = dict(reason.fields)
        return cls(**fields)


def speeds_of(verdicts: Verdicts) -> list[NamedSpeeds]:
    """Every arm of which the study says that it has two speeds."""
    return [NamedSpeeds.of(r) for r in verdicts.warning_reasons if r.code is Code.TWO_GROUPS]


def other_warnings(verdicts: Verdicts) -> list[tuple[str, Reason | None]]:
    """A study's warnings without those of two speeds, which have a place of their own."""
    coded = zip_longest(verdicts.warnings, verdicts.warning_reasons[: len(verdicts.warnings)])
    return [(text, r) for text, r in coded if r is None or r.code is not Code.TWO_GROUPS]


def share(found: NamedSpeeds) -> str:
    """How many runs are slow, and how far from the others."""
    return f"{found.slow} of {found.runs} runs are slow, the two speeds {percent(found.gap)} apart"


def parted(found: NamedSpeeds) -> str:
    """The counter that tells the two speeds apart."""
    if found.counter is None:
        return "no counter of these runs tells them apart"
    name, slow, fast = found.counter
    return f"{name} tells them apart: {slow:.3g} in slow runs, {fast:.3g} in fast ones"


def meaning(found: NamedSpeeds) -> str:
    """What the verdict means then: whose the two speeds are, and what holds inside them."""
    arm, base = found.arm, found.baseline
    if arm == base:
        return (
            f"only {base} has them, so every change takes them away: how much an arm gains depends "
            f"on which speed {base} ran at"
        )
    if found.others is None:
        return (
            f"{base} has one speed, so {arm} makes the two: its verdict is of a mixture, and a "
            "typical run is of the larger group; find what its slow runs share before taking it"
        )
    slow, runs = found.others
    if found.differ:
        return (
            f"{slow} of {runs} runs of {base} are slow: how often a run is slow depends on the "
            "arm, so the two speeds are a part of the effect"
        )
    said = (
        f"{slow} of {runs} runs of {base} are slow too, as often as chance has it: they are the "
        "machine's, not the arm's, and make the interval wide"
    )
    if found.within is None:
        return f"{said}; nothing is bounded inside one speed"
    estimate, low, high, blocks = found.within
    ends = f"[{format_percent(low)}, {format_percent(high)}]"
    return (
        f"{said}; inside one speed {arm} is {format_percent(estimate)} {ends} over {blocks} blocks "
        "(a lead)"
    )


def speeds_sentence(verdicts: Verdicts) -> str:
    """What the answer says of them; empty where every arm has one speed."""
    found = speeds_of(verdicts)
    if not found:
        return ""
    arms = list(dict.fromkeys(f"{s.case}: {s.arm}" if s.case else s.arm for s in found))
    gap = percent(max(s.gap for s in found))
    counters = list(dict.fromkeys(s.counter[0] for s in found if s.counter is not None))
    told = f"; {listed(counters)} tell{'s' * (len(counters) == 1)} them apart" if counters else ""
    upto = "up to " if len(found) > 1 else ""
    return (
        f"Two speeds: runs of {listed(arms)} are fast or slow, {upto}{gap} apart, and no single "
        f"number describes both{told}."
    )
