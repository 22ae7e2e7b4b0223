"""Levels that are builds: made before the first run, and found again when a study goes on.

The file's digest joins the witness, so that in every run the process itself tells which
executable it is or which library it has loaded, and stands in the plan: a bundle can be
verified without any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.bench.variations import with_variations
from assay.builds import RECIPES, Recipe
from assay.changes import Level, image_of
from assay.changes.witness import Every, Executable
from assay.core.digest import file_digest
from assay.core.errors import BundleError, MissingError
from assay.plan import Plan, PlannedBuild, PlannedServer
from assay.study import Absent, Factor, Study, planned_builds, planned_variations
from assay.study.derivation import planned_arms
from assay.targets import Target


def with_builds(study: Study, recipes: Mapping[str, Recipe] = RECIPES) -> Study:
    """The study with an executable at each level that is a build; one it may skip may be left out.

    MissingError if one cannot be made and the study does not do without.
    """
    for factor in list(study.factors.values()):
        made: dict[str, Level] = {}
        for name, level in factor.levels.items():
            if level.application.build is None:
                continue
            try:
                made[name] = _made(level, recipes)
            except MissingError as error:
                if name == factor.off or factor.absent == "error":
                    raise
                study = study.without(Absent(factor.name, name, error.message))
        left = study.factors.get(factor.name)
        if made and left is not None:
            study = replace(study, factors={**study.factors, factor.name: _bound(left, made)})
    return study


def as_planned(study: Study, plan: Plan, recipes: Mapping[str, Recipe] = RECIPES) -> Study:
    """The study of a bundle with its executables; BundleError if they are not those of the plan."""
    study = with_variations(with_builds(study, recipes))
    _require_variations(study, plan)
    now = {(b.factor, b.level): b for b in planned_builds(study)}
    for then in plan.builds:
        found = now.get((then.factor, then.level))
        if then != found:
            raise BundleError(
                f"{then.factor}={then.level} is not the build that the study began with: "
                f"{_difference(then, found)}",
                next_step="start the study anew",
            )
    return study


def _require_variations(study: Study, plan: Plan) -> None:
    """BundleError if a build that arms run is another than in the plan."""
    now = {tuple(v.arms): v.mark for v in planned_variations(study, planned_arms(plan, study))}
    for then in plan.variations:
        if now.get(tuple(then.arms)) != then.mark:
            raise BundleError(
                f"{', '.join(then.arms)}: the build ({then.variation} of {then.source}) is not the "
                "one that the study began with",
                next_step="put source, patches and compiler back, or start the study anew",
            )


def servers_of(study: Study, targets: Mapping[str, Target]) -> list[PlannedServer]:
    """Executables that a study runs and did not make: real servers, and levels that name a file."""
    found = []
    private = (c.target for c in study.cases if c.settings.get("attach") is None)
    for kind in dict.fromkeys(private):
        identity = targets[kind].identity()
        if identity is not None:
            sha256, version = identity
            found.append(PlannedServer(of=f"target {kind}", sha256=sha256, version=version))
    for factor in study.factors.values():
        for name, level in factor.levels.items():
            binary = level.application.binary
            if binary is not None and level.application.build is None:
                image = image_of(Path(binary))
                of, sha256 = f"{factor.name}={name}", file_digest(image) if image else ""
                found.append(PlannedServer(of=of, sha256=sha256, version=Path(binary).name))
    return found


def require_same_servers(study: Study, plan: Plan, targets: Mapping[str, Target]) -> None:
    """BundleError if an executable is not the one that the study began with."""
    now = {server.of: server for server in servers_of(study, targets)}
    for then in plan.servers:
        found = now.get(then.of)
        if found is None or found.sha256 != then.sha256:
            shown = f"{found.version} ({found.sha256[:12]})" if found else "not here"
            raise BundleError(
                f"{then.of} is not the server that the study began with: "
                f"{then.version} ({then.sha256[:12]}) became {shown}",
                next_step="put it back, or start the study anew",
            )


def _made(level: Level, recipes: Mapping[str, Recipe]) -> Level:
    build = level.application.build
    assert build is not None, "only a build is made"
    built = recipes[build.recipe].make(build.arm)
    application = replace(
        level.application, binary=str(built.path), build=replace(build, built=built)
    )
    return replace(level, application=application)


def _bound(factor: Factor, made: Mapping[str, Level]) -> Factor:
    """The factor whose levels have executables and whose witness knows their digests."""
    levels = {n: made.get(n, level) for n, level in factor.levels.items()}
    digests: dict[str, str | None] = {}
    for level in levels.values():
        built = level.application.build.built if level.application.build else None
        digests[level.name] = built.sha256 if built else None
    witness = Every((Executable(digests), factor.change.witness))
    return replace(factor, levels=levels, change=replace(factor.change, witness=witness))


def _difference(then: PlannedBuild, now: PlannedBuild | None) -> str:
    if now is None:
        return "it cannot be made now"
    changed = ((k, v, getattr(now, k)) for k, v in then if v != getattr(now, k))
    return ", ".join(f"{key} {old} became {new}" for key, old, new in changed)
