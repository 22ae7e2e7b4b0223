"""One result, the table it stands in, and when a goal is met.

Goals are those of the acceptance tests: shares are compared as they were counted, so the limit
of a false alarm rate is a binomial percentile, and the limit of a power is the power itself.

Source: Clopper & Pearson, Biometrika 26 (1934), for the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from outcome import Row
from scipy.stats import binom, binomtest

FALSE_ALARMS = 0.05  # the rate whose 99th percentile no count of false alarms may exceed
_CELL = 6  # columns of a number


class Promise(Row):
    """A row whose goal has to be met: otherwise the benchmark fails."""


@dataclass(frozen=True)
class Table:
    """Rows for programs, and the same as text for people."""

    text: str
    rows: list[Row] = field(default_factory=list)

    @property
    def missed(self) -> list[Row]:
        """Promises that are not kept."""
        return [row for row in self.rows if isinstance(row, Promise) and not row.met]


def alarms_allowed(studies: int) -> int:
    """The most false alarms of a method that keeps 5 %: 123 of 2,000."""
    return int(binom.ppf(0.99, studies, FALSE_ALARMS))


def covered_needed(studies: int) -> int:
    """The fewest intervals of a method that covers 95 % that hold the truth: 1,877 of 2,000."""
    return int(binom.ppf(0.01, studies, 1 - FALSE_ALARMS))


def share(
    metric: str,
    hits: int,
    studies: int,
    *,
    rival: str = "",
    theirs: float | None = None,
    at_most: int | float | None = None,
    at_least: int | float | None = None,
) -> Row:
    """A counted share, and a promise where it has a goal.

    `at_most`, `at_least`: an int bounds the count, a float the share.
    """
    goal, met = "", True
    if isinstance(at_most, int):
        goal, met = f"<= {at_most} of {studies}", hits <= at_most
    elif at_most is not None:
        goal, met = f"<= {at_most:g}", hits <= at_most * studies
    elif isinstance(at_least, int):
        goal, met = f">= {at_least} of {studies}", hits >= at_least
    elif at_least is not None:
        goal, met = f">= {at_least:g}", hits >= at_least * studies
    ours = hits / studies
    return (Promise if goal else Row)(
        metric, rival, "share", ours, theirs, ours / theirs if theirs else None,
        *clopper_pearson(hits, studies), goal, met,
    )  # fmt: skip


def clopper_pearson(hits: int, trials: int) -> tuple[float, float]:
    """Two-sided 90 % interval of a binomial share: each end is a one-sided 95 % bound."""
    found = binomtest(hits, trials).proportion_ci(0.90, method="exact")
    return float(found.low), float(found.high)


def grid(
    heads: Sequence[Sequence[str]], body: Sequence[tuple[str, Sequence[str]]], first: int = 38
) -> str:
    """A table of text: lines of heads, names to the left in `first` columns, numbers to the
    right."""
    lines = [(" ", cells) for cells in heads] + list(body)
    return "\n".join(
        (f"{name:{first}s}" + "".join(f"{cell:>{_CELL}s}" for cell in cells)).rstrip()
        for name, cells in lines
    )


def summary(rows: Sequence[Row]) -> str:
    """One line: whether the goals of a table are met, and which are not."""
    goals = [row for row in rows if row.goal]
    missed = [row for row in goals if not row.met]
    if not goals:
        return "  no goal"
    lines = [f"  goals met: {len(goals) - len(missed)} of {len(goals)}"]
    for row in missed:
        weight = "MISSED" if isinstance(row, Promise) else "missed (no promise)"
        lines.append(f"  {weight}: {row.metric}: {row.ours:.4g}, goal {row.goal}")
    return "\n".join(lines)


def three_digits(value: float) -> str:
    """A share with three digits: .042"""
    return f"{value:.3f}".removeprefix("0") if value < 1 else f"{value:.2f}"
