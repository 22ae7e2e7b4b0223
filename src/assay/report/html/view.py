"""The view: one record with everything the report says, from a bundle.

The template and the charts read it and compute nothing, so what the page says can be tested
without a page. A section with nothing to show carries the sentence that says so in `empty`; one
that a design does not have is None.
Verdicts are taken as `verdicts.json` has them; where a study was cut off before it wrote them,
they are recomputed from its runs. Reading the runs checks their chain of digests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from assay.core.errors import BundleError
from assay.core.metrics import metric
from assay.core.units import percent
from assay.explain import explanations
from assay.plan import Plan
from assay.reasons import Code
from assay.record import (
    Bundle,
    RunRecord,
    checked_verdicts,
    counted_blocks,
    counting,
    replayed,
    statuses,
    verdicts_of,
)
from assay.report.html.best import BestSection, best_view
from assay.report.html.causes import CauseSection, causes_view
from assay.report.html.curves import CurveSection, curves_view
from assay.report.html.kinds import KindSection, kinds_view
from assay.report.html.latency import LatencyGroup, latency_groups
from assay.report.html.profiled import ProfileSection, profile_view
from assay.report.html.rows import (
    Forest,
    LeadRow,
    Leads,
    VerdictGroup,
    forest,
    leads,
    slow_rows,
    verdict_groups,
)
from assay.report.html.samples import (
    CpuGroup,
    LevelWitness,
    MedianGroup,
    NotCounted,
    RunGroup,
    TallyRow,
    cpu_groups,
    metric_medians,
    not_counted,
    run_groups,
    tally,
    witnesses,
)
from assay.report.html.scaling import ScalingSection, scaling_view
from assay.report.html.screen import ScreenSection, screen_view
from assay.report.html.speeds import SpeedSection, speeds_view
from assay.report.html.timelines import MeanwhileSection, TimelineSection, timeline_views
from assay.report.words import particulars
from assay.report.words.answer import answer
from assay.report.words.built import build_text, difference_text, layout_text, made_text
from assay.report.words.limits import KindLimit, kind_limits
from assay.report.words.particulars import CheckSection, Pairs
from assay.report.words.plain import plainly
from assay.report.words.speeds import other_warnings
from assay.verdict.rows import Verdicts


@dataclass(frozen=True)
class Banner:
    """What a reader must know before believing anything below. `kind` gives it its colour."""

    kind: str
    title: str
    text: str


@dataclass(frozen=True)
class VerdictSection:
    """The tables of verdicts."""

    groups: list[VerdictGroup]
    fresh: bool
    """Whether they are from fresh runs, made after a screen."""
    reading: str
    """What the effects are on."""
    empty: str
    """Why there is no verdict; empty where there is one."""
    margin: str
    smallest: str


@dataclass(frozen=True)
class SlowSection:
    """Rare slow runs, as leads."""

    rows: list[LeadRow]
    cases: bool
    """Whether there are several cases."""


@dataclass(frozen=True)
class RunSection:
    """Every run."""

    groups: list[RunGroup]
    axis: str
    full: bool
    """Whether all planned blocks are run, whatever is decided."""
    present: list[str]
    """The statuses that runs have."""
    not_counted: list[NotCounted]
    cases: bool
    """Whether there are several cases."""
    empty: str


@dataclass(frozen=True)
class LatencySection:
    """Quantiles of latency."""

    groups: list[LatencyGroup]
    logarithmic: bool
    """Whether the axis of latencies is."""
    batches: list[str]
    measuring: str
    """What measuring took, or nothing."""
    """What one latency is the mean over, where it is not one operation."""
    unreadable: int
    """Histograms that could not be read."""
    empty: str


@dataclass(frozen=True)
class CpuSection:
    """How evenly the CPUs were busy."""

    groups: list[CpuGroup]
    empty: str


@dataclass(frozen=True)
class MetricSection:
    """Other metrics: medians and leads."""

    medians: list[MedianGroup]
    operations: str
    """How many operations the runs that count are made of."""
    leads: Leads
    cases: bool
    """Whether there are several cases."""
    told_apart: bool
    """Whether the harness makes differences of its own."""
    empty: str


@dataclass(frozen=True)
class PlanSection:
    """The plan and what became of it."""

    pairs: Pairs
    rule: Pairs
    extended: bool
    tally: list[TallyRow]


@dataclass(frozen=True)
class HostSection:
    """Facts of the host, and what it cannot do."""

    pairs: Pairs
    cannot: Pairs


@dataclass(frozen=True)
class ReportView:
    """Everything the report of a bundle says, in the order of the page."""

    study: str
    question: str
    plain: str
    """The answer in one sentence without a term of the field."""
    answer: list[str]
    """Sentences, most important first."""
    scope: str
    """What the answer is about."""
    banners: list[Banner]
    screen: ScreenSection | None
    curves: CurveSection | None
    scaling: ScalingSection | None
    verdicts: VerdictSection
    causes: CauseSection
    slow: SlowSection
    speeds: SpeedSection | None
    best: BestSection | None
    forest: Forest
    kinds: KindSection | None
    limits: list[KindLimit]
    """TPC-C's, by arm and kind of transaction; empty of other workloads."""
    runs: RunSection
    timelines: TimelineSection | None
    meanwhile: MeanwhileSection | None
    latency: LatencySection
    cpus: CpuSection
    metrics: MetricSection
    profile: ProfileSection
    witnesses: list[LevelWitness]
    plan: PlanSection
    host: HostSection
    check: CheckSection
    study_text: str


def view(bundle: Bundle) -> ReportView:
    """Everything the report of a bundle says."""
    plan, host, runs = bundle.plan, bundle.host, bundle.runs()
    verdicts, finished = _verdicts(bundle)
    counted = counting(runs, verdicts.blocks)
    over_time, meanwhile = timeline_views(plan, counted)
    return ReportView(
        study=plan.study,
        question=plan.question,
        plain=plainly(plan, verdicts),
        answer=answer(plan, verdicts),
        scope=particulars.scope(plan, host, len(runs)),
        banners=banners(plan, verdicts, finished),
        screen=screen_view(plan, verdicts),
        curves=curves_view(plan, verdicts),
        scaling=scaling_view(plan, verdicts),
        verdicts=verdict_section(plan, verdicts, counted),
        causes=causes_view(plan, explanations(plan, runs, verdicts)),
        slow=SlowSection(slow_rows(plan, verdicts), len(plan.cases) > 1),
        speeds=speeds_view(plan, counted_blocks(runs, verdicts.blocks, plan.constants), verdicts),
        best=best_view(plan, verdicts),
        forest=forest(plan, verdicts),
        kinds=kinds_view(plan, verdicts),
        limits=kind_limits(plan, counted),
        runs=run_section(plan, runs, verdicts.blocks),
        timelines=over_time,
        meanwhile=meanwhile,
        latency=_latency_section(plan, counted),
        cpus=_cpu_section(plan, counted),
        metrics=_metric_section(plan, verdicts, counted),
        profile=profile_view(bundle, verdicts),
        witnesses=witnesses(plan, counted),
        plan=PlanSection(
            pairs=particulars.plan_pairs(plan, verdicts, runs),
            rule=particulars.rule_pairs(plan),
            extended=verdicts.extensions > 0,
            tally=tally(plan, runs, verdicts.blocks),
        ),
        host=HostSection(particulars.host_pairs(host), particulars.host_cannot(host)),
        check=particulars.check(plan, bundle.folder.name, runs),
        study_text=bundle.study,
    )


LOGARITHMIC_ABOVE = 8.0
"""A span of latencies beyond this factor hides the small ones on a linear axis."""

CHARTS = (
    *("screen", "curves", "scaling", "best", "forest", "speeds", "kinds", "runs"),
    *("timelines", "meanwhile", "latency", "cpus"),
)
"""The parts of a view that charts are drawn from."""


def charts(found: ReportView) -> dict[str, object]:
    """What the page's script needs, as JSON: the parts of a view that become pictures."""
    whole = asdict(found)
    return {name: whole[name] for name in CHARTS}


def _verdicts(bundle: Bundle) -> tuple[Verdicts, bool]:
    """The verdicts, and whether the study got as far as writing them."""
    try:
        return checked_verdicts(bundle), True
    except BundleError:
        return verdicts_of(replayed(bundle)), False


def banners(plan: Plan, verdicts: Verdicts, finished: bool) -> list[Banner]:
    """What a reader must know before believing anything below."""
    found = []
    if told := verdicts.told_apart:
        text = f"{told}. The numbers stand, no verdict does."
        found.append(("invalid", "No verdict of this study is valid", text))
    if not finished:
        text = "These are the verdicts on the blocks that were complete when this was written."
        found.append(("unfinished", "This study is not finished", text))
    stand_ins = {c.name: c.stand_in for c in plan.cases if c.stand_in}
    for case, stand_in in stand_ins.items():
        where = f"Case {case} ran on a stand-in" if len(plan.cases) > 1 else "Stand-in"
        found.append(("stand-in", where, stand_in))
    if verdicts.stopped:
        text = f"{verdicts.stopped}. What was not decided by then is undecided."
        found.append(("stopped", "The study stopped early", text))
    for absent in verdicts.absent:
        title = f"Left out: {absent.factor} = {absent.level}"
        found.append(("absent", title, absent.why))
    for name, why in plan.counters.absent.items():
        found.append(("absent", f"Not counted: {name}", why))
    for build in plan.variations:
        differs = f". It {difference_text(build.differs)}" if build.differs is not None else ""
        found.append(("build", f"Build of {build_text(build)}", made_text(build) + differs))
    for layout in dict.fromkeys(build.layout for build in plan.variations):
        found.append(("build", "What a verdict on builds is of", layout_text(layout)))
    found += [
        ("warning", "Warning", text)
        for text, reason in other_warnings(verdicts)
        if reason is None or reason.code != Code.STAND_IN
    ]
    return [Banner(kind, title, text) for kind, title, text in found]


def verdict_section(plan: Plan, verdicts: Verdicts, counted: Sequence[RunRecord]) -> VerdictSection:
    """The tables of verdicts, or why there are none."""
    primary = metric(verdicts.primary)
    groups = verdict_groups(plan, verdicts)
    reading = f"Effects are on {verdicts.primary} ({primary.text})"
    if primary.better == "lower":
        reading += ", counted so that up is better: +25 % is the old value divided by 1.25"
    if searched := particulars.search_text(counted):
        reading += f"; {searched}"
    return VerdictSection(
        groups=groups,
        fresh=plan.screen is not None,
        reading=f"{reading}.",
        empty="" if groups else _no_verdict(plan, verdicts),
        margin=percent(plan.margin),
        smallest=percent(plan.smallest),
    )


def _no_verdict(plan: Plan, verdicts: Verdicts) -> str:
    """Why there is none."""
    if plan.scaling is not None:
        return "There is no verdict yet: a scaling study is judged once, when all blocks are there."
    if plan.screen is None:
        return "There is no verdict: the study compares nothing."
    if verdicts.screen is None:
        return "There is no verdict yet: the screen is not complete."
    return "There is no verdict: the screen handed nothing on."


def run_section(plan: Plan, runs: Sequence[RunRecord], blocks: int) -> RunSection:
    """Every run, of which so many complete blocks were judged."""
    groups = run_groups(plan, runs, blocks)
    unit = groups[0].unit if groups else ""
    return RunSection(
        groups=groups,
        axis=f"{plan.primary}, {unit}" if unit else plan.primary,
        full=plan.full,
        present=sorted(set(statuses(runs, blocks))),
        not_counted=not_counted(runs, blocks),
        cases=len(plan.cases) > 1,
        empty="" if groups else "No run was made.",
    )


def _latency_section(plan: Plan, counted: Sequence[RunRecord]) -> LatencySection:
    groups = latency_groups(plan, counted)
    empty = "No run that counts recorded a histogram of latencies."
    drawn = [p.ns for g in groups for a in g.arms for p in a.points]
    return LatencySection(
        groups=groups,
        logarithmic=bool(drawn) and max(drawn) > LOGARITHMIC_ABOVE * min(drawn),
        batches=sorted({r.latency_of for r in counted} - {"operations"}),
        measuring=particulars.measuring_text(counted),
        unreadable=sum(a.unreadable for g in groups for a in g.arms),
        empty="" if groups else empty,
    )


def _cpu_section(plan: Plan, counted: Sequence[RunRecord]) -> CpuSection:
    groups = cpu_groups(plan, counted)
    return CpuSection(
        groups, "" if groups else "No run that counts recorded how busy each CPU was."
    )


def _metric_section(plan: Plan, verdicts: Verdicts, counted: Sequence[RunRecord]) -> MetricSection:
    medians = metric_medians(plan, counted)
    found = leads(plan, verdicts)
    shown = medians or found.stand_out or found.effects or found.rest
    return MetricSection(
        medians=medians,
        operations=particulars.operations_text(counted),
        leads=found,
        cases=len(plan.cases) > 1,
        told_apart=bool(verdicts.told_apart),
        empty="" if shown else "No run counts, so nothing is shown.",
    )
