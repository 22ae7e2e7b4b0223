"""The sentences of summaries: a study's size, the best arms, a screen, a scaling curve."""

from __future__ import annotations

import math
from collections.abc import Callable

from assay.core.units import format_duration, percent
from assay.reasons.code import Code

DISTURBED = 0.5
"""Pair noise from which on a sentence speaks of a factor and of a disturbed machine; a guess."""

NAMES_MAX = 8  # how many arms a sentence spells out
_DIGITS_MAX = 6  # decimals


# the size of a study


def _noise(noise: float) -> str:
    """The pair noise by what it means; a large one says that the machine is disturbed."""
    differ = "two runs of the same arm differ by"
    if noise < DISTURBED:
        return f"{differ} {percent(noise)} here (pair noise)"
    return f"{differ} a factor of {1 + noise:.2g} here (pair noise), so the machine is disturbed"


def _study_size(
    noise: float,
    smallest: float,
    smallest_blocks: int,
    margin_blocks: int,
    blocks: int,
    visible: float | None,
    block_s: float | None,
) -> str:
    """`visible`: what the budget can see where it is too small; `block_s`: seconds of a block."""

    def time(count: int) -> str:
        """To two figures, as exact as the noise estimate deserves."""
        if block_s is None:
            return ""
        return f", {format_duration(float(f'{count * block_s:.2g}'))}"

    text = (
        f"{_noise(noise)}; a {percent(smallest)} effect needs about "
        f"{smallest_blocks} blocks{time(smallest_blocks)}"
    )
    if margin_blocks > smallest_blocks:
        text += f" ({margin_blocks}{time(margin_blocks)} to show that there is no difference)"
    if visible is None:
        return f"{text}; {blocks} are planned"
    return f"{text}; your budget of {blocks} blocks can see {percent(visible)}"


# the best arms


def _names(arms: tuple[str, ...]) -> str:
    more = f" and {len(arms) - NAMES_MAX} more" if len(arms) > NAMES_MAX else ""
    return ", ".join(arms[:NAMES_MAX]) + more


def _look(look: int, looks: int, blocks: int) -> str:
    return f"look {look} of {looks}, {blocks} blocks"


def _beaten(by: str, low: float, blocks: int) -> str:
    return f"{by} is better by more than {percent(low)} ({blocks} blocks)"


def _best(
    names: tuple[str, ...], arms: int, confidence: float, look: int, looks: int, blocks: int
) -> str:
    who = names[0] if len(names) == 1 else f"one of {_names(names)}"
    sure = f"with {percent(confidence)} confidence ({_look(look, looks, blocks)})"
    return f"{who} is the best of {arms} arms, {sure}"


def _race_equal(names: tuple[str, ...], margin: float, look: int, looks: int, blocks: int) -> str:
    text = f"{_names(names)}: every two lie within {percent(margin)} of each other"
    return f"{text} ({_look(look, looks, blocks)})"


def _race_open(inside: int, arms: int) -> str:
    return f"{inside} of {arms} arms may be the best"


# a screen


def _screen_suggests(
    names: tuple[str, ...], estimates: tuple[float, ...], given: tuple[str, ...]
) -> str:
    """The effects, each with its estimate and what it is conditional on, or nothing."""
    said = []
    for name, estimate, condition in zip(names, estimates, given, strict=True):
        size = ("+" if estimate > 0 else "−") + percent(abs(estimate))
        said.append(f"{name} {size}" + (f" given {condition}" if condition else ""))
    return f"screening suggests {', '.join(said)}; nothing of it is confirmed yet"


def _screen_quiet(noise: float, needed: float) -> str:
    return (
        f"no effect stands out from {percent(noise)} of noise per run; "
        f"it takes about {percent(needed)}"
    )


def _screen_too_few(runs: int, cells: int, blocks: int) -> str:
    return (
        f"the screen has no answer: {runs} runs of {cells} cells in {blocks} blocks are too few "
        "for a screen; run two blocks or more that hold all cells"
    )


def _cell_absent(on: tuple[str, ...], off: tuple[str, ...]) -> str:
    said = [f"with {' and '.join(on)}"] * bool(on) + [f"without {' and '.join(off)}"] * bool(off)
    return f"no cell was run {' but '.join(said)}"


def _unmatched(factors: int) -> str:
    if factors == 1:
        return "no two arms differ in this factor alone"
    return "no four arms differ in these two factors alone"


# a scaling curve


def _refused(of: str | None, why: str) -> str:
    """`of`: the configuration that has no curve, "" where both have none, None to say why only."""
    return why if of is None else f"{of} refused: {why}".strip()


def _no_curve_blocks(of: str | None = None) -> str:
    return _refused(of, "no complete block")


def _no_curve_levels(levels: int, least: int, of: str | None = None) -> str:
    text = f"{levels} levels; a curve with three parameters needs at least {least}"
    return _refused(of, text)


def _no_curve_interval(blocks: int, least: int, of: str | None = None) -> str:
    return _refused(of, f"{blocks} blocks; an interval needs at least {least}")


def _no_curve_cpus(cpus: int, inside: int, least: int, of: str | None = None) -> str:
    text = (
        f"the curve bends where threads begin to share the {cpus} CPUs, so it would describe the "
        f"machine; {inside} levels at or below {cpus} threads are too few without the others, "
        f"{least} are enough"
    )
    return _refused(of, text)


def _no_curve_shape(of: str | None = None) -> str:
    text = (
        "throughput falls so steeply that a curve of this shape has no throughput of one "
        "thread; lower levels would pin it down"
    )
    return _refused(of, text)


def _shown(value: float, low: float, high: float, unit: str = "", scale: float = 1) -> str:
    """The value and its interval, with digits down to a quarter of the interval's width."""
    value, low, high = (scale * number for number in (value, low, high))
    width = high - low
    digits = math.ceil(math.log10(4 / width)) if width > 0 else _DIGITS_MAX + 1
    form = f".{max(digits, 0)}f" if digits <= _DIGITS_MAX else ".2g"
    mark = f" {unit}" if unit == "%" else ""
    said = f"{value:z{form}} {unit}".strip()
    return f"{said} [{low:z{form}}{mark}, {high:z{form}}{mark}]"


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _no_peak(threads: int, top: int) -> str:
    """`top`: the threads with which most was measured."""
    more = f", though most was measured with {_threads(top)}" if top < threads else ""
    return f"no peak proved up to {_threads(threads)}{more}"


SUMMARIES: dict[Code, Callable[..., str]] = {
    Code.STUDY_SIZE: _study_size,
    Code.BEATEN: _beaten,
    Code.ONLY_ARM: lambda arm: f"{arm} is the only arm",
    Code.BEST_LATER: lambda block: f"no arm leaves before block {block}",
    Code.BEST_UNKNOWABLE: lambda blocks, arms: (
        f"{blocks} blocks cannot tell {arms} arms apart, whatever they show"
    ),
    Code.BEST_OPEN: lambda arms, look, looks, blocks: (
        f"each of {arms} arms may be the best ({_look(look, looks, blocks)})"
    ),
    Code.BEST: _best,
    Code.RACE_WON: lambda arm, look, looks, blocks: (
        f"only {arm} is left ({_look(look, looks, blocks)})"
    ),
    Code.RACE_EQUAL: _race_equal,
    Code.RACE_DONE: lambda planned, inside, arms: (
        f"the planned {planned} blocks are done; {_race_open(inside, arms)}"
    ),
    Code.RACE_OPEN: _race_open,
    Code.SCREEN_SUGGESTS: _screen_suggests,
    Code.SCREEN_QUIET: _screen_quiet,
    Code.SCREEN_EMPTY: lambda: "these cells can estimate no effect",
    Code.SCREEN_MISSING: lambda missing, runs: f"{missing} of {runs} runs are missing",
    Code.SCREEN_NO_RUNS: lambda: (
        "the screen has no answer: a screen needs runs, and every one a finite logarithm"
    ),
    Code.SCREEN_TOO_FEW: _screen_too_few,
    Code.CELL_ABSENT: _cell_absent,
    Code.CELLS_TIED: lambda: "the cells that were run tie it to other effects",
    Code.CELLS_UNMATCHED: _unmatched,
    Code.NO_CURVE_BLOCKS: _no_curve_blocks,
    Code.NO_CURVE_LEVELS: _no_curve_levels,
    Code.NO_CURVE_INTERVAL: _no_curve_interval,
    Code.NO_CURVE_CPUS: _no_curve_cpus,
    Code.NO_CURVE_SHAPE: _no_curve_shape,
    Code.CONTENTION: lambda value, low, high: f"contention {_shown(value, low, high, '%', 100)}",
    Code.COHERENCY: lambda value, low, high: f"coherency {_shown(value, low, high)}",
    Code.PEAK: lambda value, low, high: f"peak near {_shown(value, low, high, 'threads')}",
    Code.NO_PEAK: _no_peak,
    Code.FALLING: lambda threads: f"throughput falls from {_threads(threads)} on",
    Code.CURVE_MISSES: lambda threads, by: (
        f"but the curve misses {_threads(threads)} by {percent(by)}"
    ),
    Code.FITTED_UP_TO: lambda threads, cpus: (
        f"fitted up to {threads} threads, as more share the {cpus} CPUs"
    ),
}
"""Code -> its sentence, without capital and full stop."""
