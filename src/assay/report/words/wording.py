"""How a row of `verdicts.json` is put into words: name, interval in its own unit, strength.

Most effects are fractions. A share of slow runs and a contention are compared by plain
differences, told in percentage points; coherency by a plain number. Verdicts count up as better;
leads are told as measured, because a reader looks at a latency and expects less to be less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from assay.core.metrics import metric
from assay.core.units import format_percent
from assay.plan import CONTROLS, Plan
from assay.reasons import Code
from assay.verdict.rows import Row

STYLES: Mapping[str, str] = {
    "helps": "bold green",
    "hurts": "bold red",
    "no difference": "cyan",
    "undecided": "yellow",
    "invalid": "bold magenta",
}


def listed(names: Iterable[str], last_word: str = "and") -> str:
    """Names as a sentence has them: "a, b and c"."""
    *most, last = names
    return f"{', '.join(most)} {last_word} {last}" if most else last


# what a row is about


def kind_of(row: Row) -> str:
    """The kind of a row's contrast, "control" for the A/A control."""
    return "control" if row.arm in CONTROLS else row.contrast.kind


def codes(row: Row) -> list[Code]:
    """The codes of a row's reasons; none in bundles made before there were codes."""
    return [reason.code for reason in row.reasons]


def is_arm(row: Row) -> bool:
    """Whether a row is about an arm that can be taken; averaged effects share names with arms."""
    return bool(row.arm) and kind_of(row) in ("change", "step")


def is_lead(row: Row) -> bool:
    """Whether a row only suggests."""
    return row.strength == "suggests"


def short(row: Row) -> str:
    """What a row is about, where a heading already says of which kind it is."""
    contrast, kind = row.contrast, kind_of(row)
    if kind == "scaling":
        return f"{contrast.given} of {contrast.of}"
    if kind == "step":
        return f"{contrast.of} after {contrast.given}"
    given = f" given {contrast.given}" if contrast.given else ""
    return contrast.of + given


def label(row: Row) -> str:
    """What a row is about, with its kind and the setting it is judged in."""
    kinds = {
        "main": " (main effect)",
        "interaction": " (interaction)",
        "stability": " (rare slow runs)",
        "control": " (self-check)",
    }
    return short(row) + kinds.get(kind_of(row), "")


def changed_factors(plan: Plan, row: Row) -> set[str]:
    """The factors whose levels differ between what a row compares."""
    levels = {a.name: a.levels for a in plan.arms}
    if not is_arm(row) or row.contrast.against not in levels:
        return {part.partition("=")[0] for part in row.contrast.of.split(":")}
    mine, other = levels[row.arm], levels[row.contrast.against]
    return {f for f, level in mine.items() if other.get(f) != level}


# how large it is


def _unit(row: Row) -> str:
    """Which unit a row's numbers are in: percent, points or plain."""
    if row.contrast.kind == "stability":
        return "points"
    if row.contrast.kind == "scaling":
        return "points" if row.contrast.given == "contention" else "plain"
    return "percent"


def _number(row: Row, value: float) -> str:
    unit = _unit(row)
    if unit == "percent":
        return format_percent(value)
    if unit == "plain":
        return f"{value:+.2g}"
    points = 100 * value
    return f"{points:+.{2 if 0 < abs(points) < 1 else 1}f}"


def interval(row: Row) -> str:
    """The interval of a row: "[+1.2 %, +3.4 %]", or "[unbounded]"."""
    if row.low is None and row.high is None:
        return "[unbounded]"
    low = "-inf" if row.low is None else _number(row, row.low)
    high = "+inf" if row.high is None else _number(row, row.high)
    return f"[{low}, {high}]" + (" points" if _unit(row) == "points" else "")


def estimate(row: Row) -> str:
    """The estimate of a row in its unit; empty where there is none."""
    if row.estimate is None:
        return ""
    return _number(row, row.estimate) + (" points" if _unit(row) == "points" else "")


def total(row: Row) -> str:
    """The interval of total work, beside the typical run's; empty where it is not known."""
    found = row.total
    if found is None or found.low is None or found.high is None:
        return ""
    return f"[{format_percent(found.low)}, {format_percent(found.high)}]"


def as_measured(row: Row) -> Row:
    """The row with effects as changes of what was measured, up as more, not up as better."""
    if _unit(row) == "points" or _unit(row) == "plain":
        return _turned(row, lambda value: -value)
    if metric(row.metric).better == "higher":
        return row
    return _turned(row, lambda value: 1 / (1 + value) - 1)


def _turned(row: Row, how: Callable[[float], float]) -> Row:
    """The row with its numbers turned over by a falling function."""
    value, low, high = (
        None if end is None else how(end) for end in (row.estimate, row.low, row.high)
    )
    return row.model_copy(update={"estimate": value, "low": high, "high": low})


def reading(row: Row) -> str:
    """The word of a lead: never that of a verdict."""
    return READINGS.get(row.word, row.word)


READINGS = {
    "helps": "suggests better",
    "hurts": "suggests worse",
    "no difference": "suggests none",
    "undecided": "unclear",
}
