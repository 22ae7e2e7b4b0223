"""The plan: everything that is fixed before the first run, as it stands in `plan.json`.

A plan is enough to go on with a killed study and to recompute its verdicts: the
arms, the whole schedule, the seed and the rule. Nothing in it depends on a
measurement that counts: warm-up and window may come from a pilot, which it shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.builds import BuildDifference, BuiltProgram, Variation, differences
from assay.plan.measuring import PlannedMeasuring
from assay.plan.phases import PlannedAxis
from assay.plan.pilot import PlannedPilot
from assay.plan.plan import (
    MAX_BLOCKS,
    MAX_SLOTS,
    NAMES_KEPT,
    Plan,
    PlannedAbsent,
    PlannedArm,
    PlannedBuild,
    PlannedCase,
    PlannedCounters,
    PlannedDifference,
    PlannedFactor,
    PlannedNetwork,
    PlannedProfile,
    PlannedServer,
    PlannedStatistics,
    PlannedVariation,
    Slot,
    block_order,
)
from assay.study.build import StudyBuild
from assay.study.designs import arms
from assay.study.model import Arm, Study
from assay.study.phases import planned_scaling, planned_screen


def planned_builds(study: Study) -> list[PlannedBuild]:
    """What was made for a study's levels; those not made yet are not in it."""
    return [
        PlannedBuild(
            factor=factor.name,
            level=name,
            recipe=build.recipe,
            arm=build.arm,
            sha256=build.built.sha256,
            version=build.built.version,
            source_sha256=build.built.source_sha256,
            compiler=build.built.compiler,
            flags=build.built.flags,
        )
        for factor in study.factors.values()
        for name, level in factor.levels.items()
        if (build := level.application.build) is not None and build.built is not None
    ]


def planned_variations(study: Study, made: Sequence[Arm]) -> list[PlannedVariation]:
    """The builds that arms of a study run; none before they are made."""
    if study.build is None or not study.built:
        return []
    found: dict[Variation, list[str]] = {}
    for arm in made:
        for case in study.cases:
            variation = study.variation(arm, case.target)
            names = found.setdefault(variation, []) if variation is not None else []
            if arm.name not in names:
                names.append(arm.name)
    base = study.built[next(iter(found))]
    return [
        _planned_variation(study.build, v, names, study.built, base) for v, names in found.items()
    ]


def _planned_variation(
    build: StudyBuild,
    variation: Variation,
    names: list[str],
    built: Mapping[Variation, BuiltProgram],
    base: BuiltProgram,
) -> PlannedVariation:
    made = built[variation]
    return PlannedVariation(
        arms=names,
        program=build.program.recipe.name,
        variation=made.variation,
        layout=build.layout,
        mark=made.mark,
        code=made.code,
        source=made.source,
        source_sha256=made.source_sha256,
        commit=made.commit,
        compiler=made.compiler,
        flags=made.flags,
        size_bytes=made.size_bytes,
        build_s=made.seconds,
        warnings=made.warnings,
        without_network=made.without_network,
        patches={p.name: p.read_text("utf-8", "replace") for p in variation.patches},
        differs=None if made is base else _planned_difference(differences(base, made)),
    )


def _planned_difference(found: BuildDifference) -> PlannedDifference:
    kinds = {k: getattr(found, k) for k in ("added", "removed", "changed", "numbers", "data")}
    return PlannedDifference(
        functions=found.functions,
        counts={kind: len(names) for kind, names in kinds.items()},
        **{kind: list(names[:NAMES_KEPT]) for kind, names in kinds.items()},
    )


def _planned_cases(study: Study, stand_ins: Mapping[str, str | None]) -> list[PlannedCase]:
    return [
        PlannedCase(
            name=c.name,
            target=c.target,
            workload=c.workload,
            stand_in=stand_ins[c.target],
            attached=str(c.settings.get("attach") or ""),
        )
        for c in study.cases
    ]


def _planned_factors(study: Study) -> dict[str, PlannedFactor]:
    return {
        f.name: PlannedFactor(
            change=f.change.name,
            levels=list(f.levels),
            effort=f.effort,
            dose_unit=f.change.dose.unit if f.change.dose else None,
            mechanism=f.change.mechanism,
            predicts={v: found for v in f.others if (found := f.predicted(v))},
        )
        for f in study.factors.values()
    }


def _network(study: Study) -> PlannedNetwork | None:
    return None if study.network is None else PlannedNetwork(queues=study.network.queues)


def _axis(study: Study, cpus: int) -> PlannedAxis | None:
    return None if study.axis is None else study.axis.model_copy(update={"cpus": cpus})


def _schedule(study: Study, made: Sequence[Arm], seed: int) -> list[list[Slot]]:
    """The order of every block; arms of a case stand together where `Plan.by_case` says so."""
    slots = [Slot(case=c.name, arm=a.name) for c in study.cases for a in made]
    by_case = study.measuring == "slices" or study.axis is not None
    blocks = max(60, min(MAX_BLOCKS, MAX_SLOTS // len(slots)))
    return [block_order(seed, block, 0, slots, by_case) for block in range(blocks)]


def make_plan(
    study: Study,
    *,
    version: str,
    seed: int,
    study_sha256: str,
    base: str,
    overrides: dict[str, Any],
    stand_ins: dict[str, str | None],
    full: bool,
    cpus: int,
    pilot: PlannedPilot | None = None,
    measured_by: PlannedMeasuring | None = None,
    servers: list[PlannedServer] | None = None,
    uncounted: Mapping[str, str] | None = None,
    profile: PlannedProfile | None = None,
) -> Plan:
    """The plan of a study: its arms and the order of every block."""
    made = arms(study)
    return Plan(
        version=version,
        study=study.name,
        question=study.question,
        source=study.source,
        study_sha256=study_sha256,
        base=base,
        overrides=overrides,
        seed=seed,
        design=study.design,
        order=list(study.order),
        primary=study.primary,
        also=list(study.also),
        warmup_s=study.warmup_s,
        window_s=study.window_s,
        smallest=study.smallest,
        margin=study.margin,
        alpha=study.alpha,
        budget_s=study.budget_s,
        full=full,
        pilot=pilot,
        screen=planned_screen(study, made),
        scaling=planned_scaling(study, made, cpus),
        axis=_axis(study, cpus),
        factors=_planned_factors(study),
        cases=_planned_cases(study, stand_ins),
        arms=[
            PlannedArm(
                name=a.name, levels=dict(a.levels), effort=study.effort(a), placebo=a.placebo
            )
            for a in made
        ],
        absent=[PlannedAbsent(factor=a.factor, level=a.level, why=a.why) for a in study.absent],
        schedule=_schedule(study, made, seed),
        builds=planned_builds(study),
        variations=planned_variations(study, made),
        servers=servers or [],
        counters=PlannedCounters(groups=list(study.counters), absent=dict(uncounted or {})),
        profile=profile,
        measuring="runs" if study.measuring == "auto" else study.measuring,
        measured_by=measured_by,
        slice_s=study.slice_s,
        lead_s=study.lead_s,
        network=_network(study),
        statistics=PlannedStatistics(),
    )
