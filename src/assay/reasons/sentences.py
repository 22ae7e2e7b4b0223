"""The sentence of every reason: the one place where codes become English.

A sentence takes its code's fields by name. Sizes are fractions; counts are of blocks, runs or
latencies as their names say. Those of summaries and warnings stand in files of their own.
"""

from __future__ import annotations

from collections.abc import Callable

from assay.core.units import format_percent, percent
from assay.reasons.code import Code
from assay.reasons.curve_sentences import CURVES
from assay.reasons.measuring_sentences import MEASURING
from assay.reasons.summary_sentences import SUMMARIES
from assay.reasons.warning_sentences import WARNINGS


def _place(look: int | None, looks: int, blocks: int, extension: int) -> str:
    """Where a study stood: its look, or the end of an extension; nothing for a fixed sample."""
    if extension:
        return f" (extension {extension}, {blocks} blocks)"
    return "" if look is None else f" (look {look} of {looks}, {blocks} blocks)"


def _side(side: str) -> Callable[..., str]:
    def said(
        less_than: float | None = None,
        look: int | None = None,
        looks: int = 0,
        blocks: int = 0,
        extension: int = 0,
    ) -> str:
        small = "" if less_than is None else f", but by less than {percent(less_than)}"
        return f"the interval lies {side} zero{small}{_place(look, looks, blocks, extension)}"

    return said


def _within(
    margin: float, look: int | None = None, looks: int = 0, blocks: int = 0, extension: int = 0
) -> str:
    place = _place(look, looks, blocks, extension)
    return f"the interval lies within {percent(margin)} of zero{place}"


def _includes_zero(
    margin: float | None = None,
    planned: int | None = None,
    look: int | None = None,
    looks: int = 0,
    blocks: int = 0,
    extension: int = 0,
) -> str:
    beyond = "" if margin is None else f" and reaches beyond {percent(margin)}"
    futile = "" if planned is None else f"; {planned} blocks would hardly change that"
    return f"the interval includes zero{beyond}{futile}{_place(look, looks, blocks, extension)}"


def _too_few_blocks(
    used: int,
    least: int,
    look: int | None = None,
    looks: int = 0,
    blocks: int = 0,
    extension: int = 0,
) -> str:
    count = "1 block" if used == 1 else f"{used} blocks"
    place = _place(look, looks, blocks, extension)
    return f"{count} cannot decide, whatever they show: {least} is the least{place}"


def _needed(smallest_blocks: int, smallest: float, margin_blocks: int, margin: float) -> str:
    return (
        f"about {smallest_blocks} blocks are needed to see {percent(smallest)}, "
        f"{margin_blocks} to show no difference larger than {percent(margin)}"
    )


def _trend(arm: str, of: str, change: float, low: float, high: float, beyond: float) -> str:
    halves = of == "halves"
    what, against = ("second halves ran", "first halves")
    more, less = "faster", "slower"
    if not halves:
        what, against, more, less = "windows gained", "the baseline's", "more", "less"
    return (
        f"{arm} is not stationary: {what} {percent(abs(change))} "
        f"{more if change > 0 else less} than {against} ({percent(low)} to "
        f"{percent(high)}), beyond half the margin ({percent(beyond)}): warm up longer, or measure "
        "longer; no difference is withheld"
    )


def _saturated(arm: str, runs: int, of: int, asked: float, achieved: float) -> str:
    return (
        f"{arm} was saturated in {runs} of {of} runs: {achieved:,.0f} of {asked:,.0f} "
        f"operations/s were answered ({100 * achieved / asked:.0f} %), so latency grows with the "
        "window: offer less"
    )


def _too_few_latencies(arm: str, latencies: int, of: str, quantile: str, needed: int) -> str:
    return f"{arm}: {latencies:,} {of}; {quantile} needs {needed:,}: lengthen the window"


def _slow_runs(
    slow: int, runs: int, slower: float, baseline: int, baseline_runs: int, p: float, arms: int
) -> str:
    family = f" (Holm, {arms} arms)" if arms > 1 else ""
    return (
        f"{slow} of {runs} runs {'was' if slow == 1 else 'were'} more than {percent(slower)} "
        f"slower than the arm's median, {baseline} of {baseline_runs} of the baseline's; Fisher "
        f"p = {p:.2g}{family}"
    )


def _between(total: float, low: float, high: float) -> str:
    return f"{format_percent(total)} [{format_percent(low)}, {format_percent(high)}]"


def _typical_only(total: float, low: float, high: float) -> str:
    return (
        "this is the typical run; total work, all runs together, is not shown to be no worse: "
        f"{_between(total, low, high)}"
    )


def _total_differs(total: float, low: float, high: float) -> str:
    return (
        f"total work, all runs together, differs by {_between(total, low, high)}: some runs are "
        "far from the typical one; no difference is withheld"
    )


def _coarse_steps(metric: str, step: float) -> str:
    return (
        f"{metric} comes in steps of {percent(step)} or more, wider than the margin, so a smaller "
        "difference cannot show; no difference is withheld: measure longer, or take a metric that "
        "is not rounded so coarsely"
    )


def _carried(word: str, low: float | None, high: float | None, blocks: int) -> str:
    ends = "-inf" if low is None else format_percent(low)
    ends += f", {'+inf' if high is None else format_percent(high)}"
    return (
        f"a run depends on the run before it; the {blocks} blocks that are free of that say {word} "
        f"[{ends}]"
    )


def _scales(side: str, parameter: str, against: str) -> str:
    less = "less" if side == "above" else "more"
    return f"the interval lies {side} zero: {less} {parameter} than {against}"


def _control_differs(word: str) -> str:
    return (
        f"the A/A control, an arm equal to the baseline, differs from it ({word}): the harness "
        "makes differences of its own here"
    )


SENTENCES: dict[Code, Callable[..., str]] = {
    Code.ABOVE_ZERO: _side("above"),
    Code.BELOW_ZERO: _side("below"),
    Code.WITHIN_MARGIN: _within,
    Code.INCLUDES_ZERO: _includes_zero,
    Code.TOO_FEW_BLOCKS: _too_few_blocks,
    Code.NO_COMPLETE_BLOCK: lambda: "no block of this contrast is complete",
    Code.NOTHING_COMPARED: lambda: "no block could be compared",
    Code.NOTHING_YET: lambda block: f"nothing is decided before block {block}",
    Code.FIRST_LOOK: lambda block: f"the first look is at block {block}",
    Code.EXTENDED: lambda extension, block: f"extension {extension} is judged at block {block}",
    Code.BLOCKS_NEEDED: _needed,
    Code.NOISE_UNKNOWN: lambda: "at least 3 blocks are needed to judge the noise",
    Code.NOT_ROBUST: lambda word: f"not robust: the mean-based interval says {word}",
    Code.TYPICAL_ONLY: _typical_only,
    Code.TOTAL_DIFFERS: _total_differs,
    Code.CARRIED: _carried,
    Code.COARSE_STEPS: _coarse_steps,
    Code.CHANCE: lambda: "not beyond what chance brings among so many metrics",
    Code.CHANCE_AMONG_KINDS: lambda: "not beyond what chance brings among so many kinds",
    Code.SECONDARY: lambda: "a secondary metric, fixed sample",
    Code.NO_WITNESS: lambda evidence: f"no witness: {evidence}",
    Code.TOO_FEW_LATENCIES: _too_few_latencies,
    Code.SATURATED: _saturated,
    Code.NUMBERS_STAND: lambda: "the numbers stand, the verdict does not",
    Code.TREND: _trend,
    Code.STOPPED: lambda why: f"the study stopped: {why}",
    Code.NOT_EXERCISED: lambda factors: f"not exercised: the dose of {factors} was 0 in every run",
    Code.LEFT_RACE: lambda by, low, blocks: (
        f"left the race: {by} is better by more than {percent(low)} ({blocks} blocks)"
    ),
    Code.CONTROL_DIFFERS: _control_differs,
    Code.CONTROL_ALIKE: lambda: "no detectable difference from the baseline",
    Code.NOT_MEASURED: lambda metric: f"no run of both sides has {metric}",
    Code.STAYED: lambda: "it did not move",
    Code.WENT: lambda direction: f"it went {direction}",
    Code.SLOW_RUNS: _slow_runs,
    Code.SCREENED: lambda: "screening suggests it, averaged over the cells that ran",
    Code.ALIASED: lambda names: f"these cells cannot tell it from {names}",
    Code.SCALES: _scales,
    Code.SCALING_BLOCKS: lambda blocks, threads: (
        f"{blocks} blocks up to {threads} threads, fixed sample"
    ),
    Code.REFUSED: lambda why: why,
    **CURVES,
    **MEASURING,
    **SUMMARIES,
    **WARNINGS,
}
"""Code -> its sentence, without capital and full stop."""
