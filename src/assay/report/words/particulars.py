"""What stands around the verdicts: plan, rule, schedule, host, and how to check it all.

Pairs of a term and what it says, ready to print. Host facts come from files of any age, so
every one may be missing; only scalar facts are shown, and what the host cannot do.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.core.metrics import MAX_RATE, metric
from assay.core.units import format_duration, format_quantity, percent
from assay.plan import Plan
from assay.plan.plan import PlannedCase
from assay.record import RunRecord
from assay.record.observations import overhead
from assay.stats.sequence import extended
from assay.verdict.rows import Verdicts

Pairs = list[tuple[str, str]]

DESIGNS = {
    "arms": "arms: the listed arms, each against the baseline",
    "one-at-a-time": "one at a time: every level of every factor alone, against the baseline",
    "ladder": "ladder: factors added one after the other, each rung against the one below",
    "factorial": "factorial: every legal combination of levels",
    "sweep": "sweep: the levels of one factor, in order, against the first",
    "screen": "screen: first a look at all or some combinations, then the promising ones, measured "
    "again",
    "race": "race: arms leave when another is shown to be better",
    "scaling": "scaling: throughput over threads, every number of threads in every block",
}
HOST_NAMES = {
    "cpu_model": "processor",
    "arch": "architecture",
    "cpus": "CPUs",
    "cache_line_bytes": "cache line",
    "page_bytes": "page",
    "numa_nodes": "NUMA nodes",
    "memory_bytes": "memory",
    "build_id": "build of assayer",
    "version": "version of assayer",
    "python": "Python",
}


def plan_pairs(plan: Plan, verdicts: Verdicts, runs: Sequence[RunRecord]) -> Pairs:
    """The plan and what became of it."""
    spent = format_duration(sum(r.took_s for r in runs))
    before = f" after a pilot of {format_duration(plan.pilot.took_s)}," if plan.pilot else ""
    budget = f"{spent}{before} of a budget of {format_duration(plan.budget_s)}"
    primary = metric(plan.primary)
    pairs = [
        ("primary metric", f"{plan.primary}: {primary.text}, {primary.better} is better"),
        ("design", DESIGNS.get(plan.design, plan.design)),
        ("cases", _cases(plan)),
        ("blocks", f"{_blocks(plan, verdicts)}; {verdicts.runs} runs"),
        ("size", _size_text(plan, verdicts)),
        ("extension", _extension(verdicts)),
        ("time in runs", budget),
        ("a run", _window(plan)),
        ("seed", str(plan.seed)),
        ("order", _order(plan)),
    ]
    if plan.overrides:
        given = ", ".join(f"{k} = {v}" for k, v in plan.overrides.items())
        pairs.insert(1, ("set on the command line", given))
    if plan.source:
        pairs.insert(0, ("where the study comes from", plan.source))
    return pairs


def _cases(plan: Plan) -> str:
    """Every case; along an axis what it varies, and the points."""
    axis = plan.axis
    if axis is None:
        return "; ".join(map(_case, plan.cases))
    first = list(dict.fromkeys(p.text for p in axis.points if not p.later))
    grid = len({p.value for p in axis.points})
    added = f"; at most {axis.extra} more, of a grid of {grid} points" if axis.extra else ""
    ran = dict.fromkeys(f"{c.workload} on {c.target}" for c in plan.cases)
    return f"{'; '.join(ran)}: {axis.varies} = {', '.join(first)}{added}"


def _case(case: PlannedCase) -> str:
    """What ran on what, and on whose."""
    where = f", attached at {case.attached}, not private" if case.attached else ""
    return f"{case.name}: {case.workload} on {case.target}{where}"


def rule_pairs(plan: Plan) -> Pairs:
    """The rule, fixed before the first run."""
    chance = percent(plan.alpha)
    return [
        ("smallest effect worth having", percent(plan.smallest)),
        ("largest difference that counts as none", percent(plan.margin)),
        ("chance of any false helps or hurts", f"at most {chance} over the whole study"),
        ("stopping", _stopping(plan)),
    ]


def _stopping(plan: Plan) -> str:
    if plan.scaling is not None:
        return "a number of blocks fixed beforehand, then judged once"
    if plan.full:
        return "all planned blocks are run, then judged once"
    if plan.design in ("race", "screen"):
        return "judged at looks fixed beforehand; an arm leaves once another is shown to be better"
    return "judged at looks fixed beforehand; an arm leaves once its verdicts are final"


def _blocks(plan: Plan, verdicts: Verdicts) -> str:
    """Blocks made, and of how many."""
    screen = plan.screen.blocks if plan.screen else 0
    if plan.scaling is not None:
        planned = f" of {plan.scaling.blocks}"
    elif verdicts.planned is None:
        planned = ""
    else:
        planned = f" of {screen + extended(verdicts.planned.blocks, verdicts.extensions)} planned"
    first = f", the first {screen} of them the screen's" if screen else ""
    return f"{verdicts.blocks} complete{planned}{first}"


def _size_text(plan: Plan, verdicts: Verdicts) -> str:
    if plan.scaling is not None:
        return "the number of blocks is the study file's"
    return verdicts.planned.sentence if verdicts.planned else "not known: too few blocks"


def extension_text(verdicts: Verdicts) -> str:
    """How often the study was made longer: "extended once: 30 + 15 blocks"; empty if never."""
    if verdicts.planned is None or not verdicts.extensions:
        return ""
    sizes = [extended(verdicts.planned.blocks, k) for k in range(verdicts.extensions + 1)]
    added = [sizes[0], *(after - before for before, after in pairwise(sizes))]
    times = {1: "once", 2: "twice"}.get(verdicts.extensions, f"{verdicts.extensions} times")
    return f"extended {times}: {' + '.join(map(str, added))} blocks"


def _extension(verdicts: Verdicts) -> str:
    said = extension_text(verdicts)
    kept = "judged at its end, out of the part of alpha that was kept back for it"
    return f"{said}, {kept}" if said else ""


def _window(plan: Plan) -> str:
    warmup, window = format_duration(plan.warmup_s), format_duration(plan.window_s)
    run = f"a fresh server, {warmup} of warm-up, then {window} measured"
    if plan.pilot is None:
        return run
    chosen = " and ".join(plan.pilot.chosen)
    return f"{run}; {chosen} chosen by a pilot of {plan.pilot.runs} runs, which do not count"


def _order(plan: Plan) -> str:
    once = "every live arm once" if len(plan.cases) == 1 else "every live arm of every case once"
    return (
        f"a block is {once}, in a random order drawn from the seed before the first run; "
        "a void run has its case run again in that block, in a new order"
        + ("" if plan.axis is None else f"; each point of {plan.axis.name} is a case")
    )


# host


def host_pairs(host: Mapping[str, object]) -> Pairs:
    """The scalar facts of the host, those that people look for first."""
    names = [*(n for n in HOST_NAMES if n in host), *(n for n in host if n not in HOST_NAMES)]
    return [
        (HOST_NAMES.get(name, name.replace("_", " ")), _fact(name, value))
        for name in names
        if isinstance(value := host[name], str | int | float) and value != ""
    ]


def _fact(name: str, value: str | int | float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_bytes") and isinstance(value, int):
        return _size(value)
    return str(value)


def _size(value: int) -> str:
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value} B"


def host_cannot(host: Mapping[str, object]) -> Pairs:
    """What the host cannot do or count, and why; empty where it does not say."""
    can = host.get("can")
    if not isinstance(can, Mapping):
        return []
    return [
        (name, str(ability.get("why") or "it does not say why"))
        for name, ability in can.items()
        if isinstance(ability, Mapping)
        and not (ability.get("ok") or ability.get("state") == "usable")
    ]


def scope(plan: Plan, host: Mapping[str, object], runs: int) -> str:
    """What the answer is about, and so what it is not about."""
    if not runs:
        return "Nothing has been measured yet."
    cases = " and ".join(dict.fromkeys(f"{c.workload} on {c.target}" for c in plan.cases))
    cpus = host.get("cpus")
    machine = [host.get("cpu_model"), f"{cpus} CPUs" if cpus else None, host.get("arch")]
    known = ", ".join(str(m) for m in machine if m)
    on = f" on one machine ({known})" if known else " on one machine"
    return f"Measured in {runs} runs of {cases}{on}; nothing is claimed about others."


# checking


@dataclass(frozen=True)
class CheckSection:
    """How a stranger checks the report: two commands, and what identifies the study."""

    verify: str
    """The command that recomputes every verdict from the runs."""
    again: str
    """The command that runs the study again in the same orders."""
    pairs: Pairs


def check(plan: Plan, folder: str, runs: Sequence[RunRecord]) -> CheckSection:
    """How a stranger checks the report."""
    return CheckSection(
        verify=f"assay verify {folder}",
        again=f"assay run study.toml --seed {plan.seed}",
        pairs=[
            ("Assay", plan.version),
            ("digest of the last run", runs[-1].digest if runs else "no run was made"),
            ("digest of the study's text", plan.study_sha256),
            ("first run began", runs[0].started if runs else ""),
            ("last run began", runs[-1].started if runs else ""),
        ],
    )


SEARCH_ERROR, SEARCH_TRIES = f"{MAX_RATE}.error", f"{MAX_RATE}.tries"


def measuring_text(runs: Sequence[RunRecord]) -> str:
    """What measuring took of an operation's time, in the run where that was the largest share;
    nothing where no run knows."""
    seen = [found for run in runs if (found := overhead(run)) is not None]
    if not seen:
        return ""
    most = max(seen, key=lambda it: it.share)
    return (
        f"measuring takes {percent(most.share)} of an operation's time at most "
        f"({most.ns:.3g} of {most.operation_ns:.3g} ns)"
    )


def operations_text(runs: Sequence[RunRecord]) -> str:
    """How many operations the runs that count are made of."""
    return format_quantity(float(sum(r.operations for r in runs)), "")


def search_text(runs: Sequence[RunRecord]) -> str:
    """How well each run's search knows its highest rate; nothing where none searched."""
    errors = [r.counters[SEARCH_ERROR] for r in runs if SEARCH_ERROR in r.counters]
    if not errors:
        return ""
    tries = statistics.median(r.counters[SEARCH_TRIES] for r in runs if SEARCH_TRIES in r.counters)
    return (
        f"each {MAX_RATE} is known to ±{percent(statistics.median(errors))} by its own search "
        f"(median of {len(errors)} runs, ±{percent(max(errors))} at most; {tries:.0f} rates tried)"
    )
