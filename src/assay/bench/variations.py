"""Arms that are variations of a program: built before the first run, compared, and linked anew for
each block.

What is checked here needs no run: that every build differs from every other in its code, and that a
patch changes the functions that its study says it touches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.builds import (
    PLAIN,
    BuildDifference,
    BuiltProgram,
    Variation,
    differences,
    make,
    relinked,
)
from assay.changes.witness import BuiltAs
from assay.core.digest import digest
from assay.core.errors import InputError, MissingError
from assay.study import Absent, Arm, Factor, Study, arms

ORDERS = (1 << 31) - 1


def with_variations(study: Study) -> Study:
    """The study with the build of each arm; an arm that its study may skip can be left out.

    MissingError if one cannot be built, InputError if two have the same code or one differs in
    other functions than the study says.
    """
    if study.build is None:
        return study
    study = replace(study, build=study.build.with_all(_by_variation(study)))
    while True:
        made = _made(study)
        if not isinstance(made, Absent):
            break
        study = study.without(made)
    study = replace(study, built=made)
    _require_differences(study)
    bound = {name: _bound(study, factor) for name, factor in study.factors.items()}
    return in_order(replace(study, factors=bound), None)


def in_order(study: Study, place: tuple[int, int] | None) -> Study:
    """The study with executables of one block: the seed of the plan and the number of the block, or
    None for the order that the program's own build has.

    All arms have the same order, but for a placebo, which has another: what tells it from the
    baseline is layout and noise.
    """
    if study.build is None:
        return study
    found = {}
    for arm in arms(study):
        for case in study.cases:
            variation = study.variation(arm, case.target)
            if variation is not None:
                found[(variation, arm.placebo)] = _executable(study, variation, arm.placebo, place)
    return replace(study, executables=found)


def _executable(
    study: Study, variation: Variation, placebo: bool, place: tuple[int, int] | None
) -> str:
    assert study.build is not None, "only a study with a program has variations"
    made = study.built[variation]
    if place is None or study.build.layout == "plain":
        return str(made.path)
    return str(relinked(made, order_of(*place, placebo=placebo)))


def order_of(seed: int, block: int, *, placebo: bool) -> int:
    """The order of functions in a block: drawn, never chosen. Never `PLAIN`."""
    drawn = digest(f"order/{seed}/{block}/{placebo}".encode())
    return PLAIN + 1 + int(drawn[:12], 16) % ORDERS


def _made(study: Study) -> dict[Variation, BuiltProgram] | Absent:
    """Every build, once; or the level without which the study goes on."""
    assert study.build is not None, "only a study with a program has variations"
    made: dict[Variation, BuiltProgram] = {}
    for arm in arms(study):
        for case in study.cases:
            variation = study.variation(arm, case.target)
            if variation is None or variation in made:
                continue
            try:
                made[variation] = make(study.build.program, variation)
                if study.build.layout == "shuffled":
                    relinked(made[variation], PLAIN + 1)
            except MissingError as error:
                absent = _skipped(study, arm, error)
                if absent is None:
                    error.message = f"arm {arm.name}: {error.message}"
                    raise
                return absent
    return made


def _skipped(study: Study, arm: Arm, error: MissingError) -> Absent | None:
    """The level of an arm that is a build and that its study may do without, if it is the only."""
    off = [f for f in study.factors.values() if arm.levels[f.name] != f.off and _varies(f)]
    if len(off) == 1 and off[0].absent == "skip":
        return Absent(off[0].name, arm.levels[off[0].name], error.message)
    return None


def _varies(factor: Factor) -> bool:
    """Whether its levels are builds."""
    return any(level.application.variation is not None for level in factor.levels.values())


def _require_differences(study: Study) -> None:
    """InputError where two builds have the same code, or a patch is not what it is said to be."""
    first, *others = _by_variation(study).items()
    seen: dict[tuple[str, tuple[str, ...]], str] = {_code(study, first[0]): first[1].name}
    for variation, arm in others:
        same = seen.get(_code(study, variation))
        if same is not None:
            raise InputError(
                f"arm {arm.name} ({variation.said()}) changed no code of this program: no function "
                f"and no data differ from arm {same}",
                next_step="a run could show nothing but noise: correct the level, or leave it out",
            )
        seen[_code(study, variation)] = arm.name
        found = differences(study.built[first[0]], study.built[variation])
        _require_touched(study, arm, found)


def _code(study: Study, variation: Variation) -> tuple[str, tuple[str, ...]]:
    """What must be different in two arms: their objects, or how these are linked."""
    return study.built[variation].code, variation.link


def _by_variation(study: Study) -> Mapping[Variation, Arm]:
    found: dict[Variation, Arm] = {}
    for arm in arms(study):
        for case in study.cases:
            variation = study.variation(arm, case.target)
            if variation is not None:
                found.setdefault(variation, arm)
    return found


def _require_touched(study: Study, arm: Arm, found: BuildDifference) -> None:
    on = [f for f in study.factors.values() if arm.levels[f.name] != f.off and _varies(f)]
    if len(on) != 1 or on[0].touches is None:
        return
    wanted, touched = on[0].touches, set(found.touched)
    further = sorted(touched - wanted - set(found.numbers))
    absent = sorted(wanted - touched)
    if further or absent:
        parts = [f"it does not touch {', '.join(absent)}"] if absent else []
        parts += [f"it touches {', '.join(further[:8])} as well"] if further else []
        raise InputError(
            f"arm {arm.name} is not what its study says: {'; '.join(parts)}",
            next_step="an inlined function changes those that call it: correct touches in "
            f"[[factor]] {on[0].name}",
        )


def _bound(study: Study, factor: Factor) -> Factor:
    """The factor whose witness knows the builds of each of its levels."""
    if not _varies(factor):
        return factor
    marks: dict[str, set[str]] = {}
    for arm in arms(study):
        for case in study.cases:
            variation = study.variation(arm, case.target)
            if variation is not None:
                level = factor.levels[arm.levels[factor.name]]
                marks.setdefault(level.name, set()).add(study.built[variation].mark[:32])
    witness = BuiltAs({level: tuple(sorted(found)) for level, found in marks.items()})
    return replace(factor, change=replace(factor.change, witness=witness))
