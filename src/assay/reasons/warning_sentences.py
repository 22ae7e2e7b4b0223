"""The sentences of warnings: what a set of runs shows about itself; none changes a verdict."""

from __future__ import annotations

from collections.abc import Callable

from assay.core.units import format_duration, format_percent, percent
from assay.reasons.code import Code


def _blocks_dropped(
    arm: str, baseline: str, dropped: int, blocks: int, shown: tuple[str, ...]
) -> str:
    names = ", ".join(shown) + (", ..." if dropped > len(shown) else "")
    return f"{arm}: {dropped} of {blocks} blocks lack it or {baseline} and do not count ({names})"


def _order_unknown(pairs: str) -> str:
    """`pairs`: runs were paired by their "position", or by the "block" they name."""
    if pairs == "position":
        return (
            "the runs name no blocks, so the first run of every arm was paired with the first "
            "of the others, the second with the second, and so on; the verdicts hold if the "
            "runs of a pair were done close together and in random order, and are worthless "
            "if all runs of one arm came before those of the next"
        )
    return (
        "the rows do not say in which order the runs happened; the verdicts hold if it "
        "was random inside every block"
    )


def _arm_after_arm(tool: str, first: str, second: str) -> str:
    return (
        f"{tool} makes all runs of {first} before those of {second}, so a machine that drifts "
        f"looks like an effect: no verdict here can be trusted. {_INSTEAD}"
    )


def _file_after_file(tool: str, first: str, second: str) -> str:
    return (
        f"unless you took turns, all runs of {first} came before those of {second}, and a machine "
        f"that drifts looks like an effect: no verdict on {tool}'s files can then be trusted. "
        f"{_INSTEAD}"
    )


def _one_process(tool: str, first: str, second: str) -> str:
    return (
        f"the numbers of {tool} are repetitions inside one process: what its start decides "
        f"(addresses, memory) is the same in all of {first} and other in all of {second}, and "
        f"counts as an effect: no verdict here can be trusted. {_INSTEAD}"
    )


def _order_of_files(tool: str, first: str, second: str) -> str:
    return (
        f"the files of {tool} do not say in which order the runs were made; the verdicts hold if "
        f"{first} and {second} took turns in a random order. {_INSTEAD}"
    )


_INSTEAD = (
    "What would carry one: fresh processes in random blocks, as `assay compare 'CMD A' 'CMD B'` "
    "makes them"
)


def _odds(one_in: int | None) -> str:
    """`one_in`: how often a random order does that; None where it is too rare to be told."""
    return (
        "" if one_in is None else f" A random order does that by chance once in {one_in} studies."
    )


def _order_fixed(one_in: int | None = None) -> str:
    return (
        "every block ran the arms in the same order, so whatever favours a slot favours "
        "an arm; this cannot be repaired afterwards, only by runs in a random order."
        f"{_odds(one_in)}"
    )


def _order_mirrored(one_in: int | None = None) -> str:
    return (
        "the order mirrors from block to block (ABBA), so periodic disturbances count "
        f"for an arm; this cannot be repaired afterwards, only by a random order.{_odds(one_in)}"
    )


def _slot_effect(spread: float) -> str:
    return (
        f"the place inside a block matters: slots differ by about {percent(spread)}. "
        "A random order keeps the verdict valid; a better reset between runs would make it "
        "cheaper."
    )


def _carry_over(
    baseline: str, after: str, change: float, against: str, other: str, runs: int
) -> str:
    """`change`: of the baseline's runs after `after`, a fraction; `against`: those that ran
    "first", those after the one "arm" `other`, or those after all "others"."""
    slower = change < 0
    than = {"first": "when it ran first", "arm": f"right after {other}"}
    or_else = {
        "first": " With two arms this may also be an effect of the slot.",
        "arm": f" It may be {other} that does the opposite.",
    }
    return (
        f"{baseline} ran about {percent(abs(change))} {'slower' if slower else 'faster'} right "
        f"after {after} than {than.get(against, 'right after the other arms')}: a run depends on "
        f"the run before it. If {after} does that to whatever follows it, {after} looks "
        f"{'better' if slower else 'worse'} by about 1/{runs} of it; a random order does not mend "
        f"that, only a better reset between runs.{or_else.get(against, '')}"
    )


def _carry_between(arm: str, baseline: str, change: float, free: int, blocks: int) -> str:
    """`change`: of the contrast where each arm ran after the other; `free`: blocks without it."""
    better = "better" if change > 0 else "worse"
    return (
        f"{arm} looks {percent(abs(change))} {better} against {baseline} where each of the two ran "
        "after the other than where both ran after the same one: a run depends on the run before "
        f"it; the {free} of {blocks} blocks where both ran after the same one are free of that, "
        "and a better reset between runs mends it."
    )


def _two_groups(
    arm: str,
    baseline: str,
    gap: float,
    slow: int,
    runs: int,
    others: tuple[int, int] | None = None,
    differ: int = 0,
    counter: tuple[str, float, float] | None = None,
    within: tuple[float, float, float, int] | None = None,
    case: str = "",
) -> str:
    """`others`: slow runs and runs of the baseline, None where it has one group or is the arm;
    `differ`: the shares do; `counter`: its name, and its median in slow and in fast runs;
    `within`: the effect inside groups, low, high, and of how many blocks."""
    said = (
        f"{f'{case}: ' if case else ''}two speeds: runs of {arm} fall "
        f"into two groups {percent(gap)} apart: "
        f"{slow} of {runs} are slow"
    )
    if others is not None:
        said += f", and {others[0]} of {others[1]} of {baseline}"
    elif arm != baseline:
        said += f"; those of {baseline} are of one group, so the change makes the groups"
    said += ". " + (
        f"{counter[0]} tells them apart: {counter[1]:.3g} in slow runs, {counter[2]:.3g} in others."
        if counter
        else "No counter of these runs tells them apart."
    )
    if differ:
        said += " The shares of slow runs differ, so the groups are a part of the effect."
    if within:
        low, high = (format_percent(end) for end in within[1:3])
        said += (
            f" Inside the groups {arm} is {format_percent(within[0])} [{low}, {high}] over "
            f"{within[3]} blocks (a lead)."
        )
    return said


def _same(others: tuple[str, ...]) -> str:
    return f" The same of {', '.join(others)}." if others else ""


def _serial_correlation(name: str, correlation: float, others: tuple[str, ...] = ()) -> str:
    return (
        f"{name}: the effect in one block resembles that in the next (correlation "
        f"{correlation:.2f}), so something slower than a block acts on one arm only.{_same(others)}"
    )


def _coarse_metric(name: str, tied: int, blocks: int, others: tuple[str, ...] = ()) -> str:
    return (
        f"{name}: {tied} of {blocks} blocks tie with another or show no change at all; the metric "
        f"is rounded too coarsely for its effect.{_same(others)}"
    )


def _more(arm: str, what: str, mine: tuple[int, int], others: tuple[int, int], p: float) -> str:
    """How many runs of an arm met something, and how many of the others."""
    return (
        f"{mine[0]} of {mine[1]} runs of {arm} {what}, {others[0]} of {others[1]} of the other "
        f"arms' (Fisher p = {p:.2g})"
    )


def _voids_depend(
    arm: str, voids: int, runs: int, other_voids: int, other_runs: int, p: float
) -> str:
    more = _more(arm, "were void", (voids, runs), (other_voids, other_runs), p)
    return (
        f"{more}: a rule that voids runs may depend on the arm, and the runs that count may be the "
        "lucky ones; read the reasons of the void runs, and give the machine more room before "
        "trusting the verdict."
    )


def _failures_depend(
    arm: str, failures: int, runs: int, other_failures: int, other_runs: int, p: float
) -> str:
    more = _more(arm, "failed", (failures, runs), (other_failures, other_runs), p)
    return (
        f"{more}: the change may make the server fail, and the runs that did not may be the lucky "
        "ones; read why they failed before trusting the verdict."
    )


def _fixed_sample() -> str:
    return (
        "tested once, as a number of blocks fixed beforehand; adding blocks and testing "
        "again until the answer pleases is wrong far more often than alpha: give the "
        "planned number of blocks if you look on the way"
    )


def _order_grouped() -> str:
    return (
        "the arms ran one after the other (AAABBB), so drift of the machine looks like an "
        "effect; this order cannot be repaired afterwards, and more runs make it worse."
    )


def _busy_machine(runs: int, of: int, cpus: float) -> str:
    """`cpus`: what others took in the median of those runs."""
    return (
        f"the machine never got quiet: in {runs} of {of} runs others took more of it than a run "
        f"should bear, {cpus:.2f} CPUs in their median. They count; the interval holds what that "
        "does."
    )


def _closed_loop() -> str:
    return (
        "latencies come from a closed loop: a slow server was asked less often, so its tail looks "
        "better than its users would find it; compare them at a fixed rate"
    )


def _pilot_unsettled(arms: tuple[str, ...], length_s: float) -> str:
    return (
        f"{', '.join(arms)} still changed after {format_duration(length_s)}, "
        "the longest runs that the pilot could afford: the warm-up may be too short, and "
        "a larger budget would tell"
    )


def _overhead(
    arm: str, share: float, ns: float, operation_ns: float, smallest: float, case: str = ""
) -> str:
    """`share`: of an operation's time that measuring takes; the times in nanoseconds."""
    return (
        f"{f'{case}: ' if case else ''}measuring takes {percent(share)} of an operation's time "
        f"({ns:.3g} of {operation_ns:.3g} ns with {arm}), more than a tenth of the smallest effect "
        f"({percent(smallest)}). All arms pay it alike, so each difference looks smaller than it "
        "is, by about that share of itself."
    )


WARNINGS: dict[Code, Callable[..., str]] = {
    Code.FIXED_SAMPLE: _fixed_sample,
    Code.UNFINISHED: lambda blocks, planned: (
        f"{blocks} of {planned} planned blocks are in; undecided arms may still be decided"
    ),
    Code.BEYOND_PLAN: lambda beyond, blocks, planned: (
        f"{beyond} of {blocks} blocks came after the {planned} planned and were not used"
    ),
    Code.BLOCKS_DROPPED: _blocks_dropped,
    Code.ARM_AFTER_ARM: _arm_after_arm,
    Code.FILE_AFTER_FILE: _file_after_file,
    Code.ONE_PROCESS: _one_process,
    Code.ORDER_OF_FILES: _order_of_files,
    Code.ORDER_UNKNOWN: _order_unknown,
    Code.ORDER_GROUPED: _order_grouped,
    Code.ORDER_FIXED: _order_fixed,
    Code.ORDER_MIRRORED: _order_mirrored,
    Code.SLOT_EFFECT: _slot_effect,
    Code.SERIAL_CORRELATION: _serial_correlation,
    Code.COARSE_METRIC: _coarse_metric,
    Code.CARRY_OVER: _carry_over,
    Code.CARRY_BETWEEN: _carry_between,
    Code.TWO_GROUPS: _two_groups,
    Code.VOIDS_DEPEND: _voids_depend,
    Code.FAILURES_DEPEND: _failures_depend,
    Code.STAND_IN: lambda case, stand_in: f"case {case} ran on a stand-in: {stand_in}",
    Code.CLOSED_LOOP: _closed_loop,
    Code.PILOT_UNSETTLED: _pilot_unsettled,
    Code.BUSY_MACHINE: _busy_machine,
    Code.OVERHEAD: _overhead,
}
"""Code -> its sentence."""
