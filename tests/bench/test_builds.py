"""Levels that are builds: made before the first run, told apart by digest, planned, and skipped."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.bench import life
from assay.bench.builds import as_planned, with_builds
from assay.bench.preflight import fit
from assay.builds import Built
from assay.changes import Application, Build
from assay.core.digest import file_digest
from assay.core.errors import BundleError, MissingError
from assay.study import Study, make_plan, planned_builds, read
from fakes import FACTS
from witness_kit import showing

STUDY = """
name = "hints"
question = "?"
[target]
kind = "nginx"
[workload]
kind = "http-proxy"
[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"
[[factor]]
name = "pause"
change = "nginx.pause"
levels = ["none", "none-kept", "nop"]
[design]
kind = "one-at-a-time"
[decide]
budget = "10min"
"""
SKIPPING = STUDY.replace('name = "pause"', 'name = "pause"\nabsent = "skip"')


@dataclass
class FakeRecipe:
    """Makes files of a few bytes, and not the arms that it lacks."""

    folder: Path
    lacks: frozenset[str] = frozenset()
    made: list[str] = field(default_factory=list)
    name: str = "nginx"
    arms: tuple[str, ...] = ()
    contents: str = "program"

    def make(self, arm: str) -> Built:
        if arm in self.lacks:
            raise MissingError(f"{arm} does not compile", next_step="another compiler")
        self.made.append(arm)
        path = self.folder / arm
        path.write_text(f"{self.contents} {arm}")
        return Built(path, file_digest(path), "nginx 1.0", "0" * 64, "cc 1", "-O2")


def study_of(text: str = STUDY) -> Study:
    return read("hints.toml", text, Path("."))


def plan_of(study: Study):
    return make_plan(
        study,
        version="0",
        seed=1,
        study_sha256="",
        base="",
        overrides={},
        stand_ins={"nginx": None},
        full=False,
        cpus=2,
    )


def test_each_level_gets_the_executable_of_its_arm(tmp_path: Path) -> None:
    """And every launch of an arm is of it."""
    recipe = FakeRecipe(tmp_path)
    study = with_builds(study_of(), {"nginx": recipe})
    assert recipe.made == ["none", "none-kept", "nop"]
    levels = study.factors["pause"].levels
    assert {n: Path(v.application.binary).name for n, v in levels.items()} == {
        n: n for n in recipe.made
    }


def test_the_running_executable_tells_the_levels_apart(tmp_path: Path) -> None:
    """Also those whose instructions do not; and the census must hold as before."""
    study = with_builds(study_of(), {"nginx": FakeRecipe(tmp_path)})
    witness = study.factors["pause"].change.witness
    lock = {"role": "lock_wait", "symbol": "ngx_rwlock_wlock", "instructions": 9, "calls": 0}

    def held(level: str, ran: str, **counts: int) -> bool:
        evidence = {
            "executable": {"sha256": file_digest(tmp_path / ran), "build_id": "x"},
            "functions": [{**lock, "counts": counts}],
        }
        return witness.judge(level, {}, showing(**evidence)).held

    assert held("none", "none")
    assert held("none-kept", "none-kept")
    assert not held("none", "none-kept")
    assert held("nop", "nop", nop=1)
    assert not held("nop", "nop")
    assert not held("none", "nop", nop=1)


def test_before_it_is_made_no_level_has_an_executable_or_a_place_in_the_plan() -> None:
    """Reading a study compiles nothing."""
    study = study_of()
    assert planned_builds(study) == []
    assert all(v.application.binary is None for v in study.factors["pause"].levels.values())


def test_the_plan_keeps_what_was_made_and_from_what(tmp_path: Path) -> None:
    """Digest, version, source, compiler and flags; a bundle needs no executable to be read."""
    study = with_builds(study_of(), {"nginx": FakeRecipe(tmp_path)})
    plan = plan_of(study)
    again = type(plan).model_validate_json(plan.model_dump_json())
    assert [(b.level, b.arm) for b in again.builds] == [
        (n, n) for n in study.factors["pause"].levels
    ]
    assert again.builds[0].sha256 == file_digest(tmp_path / "none")
    assert again.builds[0].compiler == "cc 1"


def test_a_study_goes_on_only_with_the_builds_that_it_began_with(tmp_path: Path) -> None:
    """Made anew they must be the same, or the error says what became another."""
    plan = plan_of(with_builds(study_of(), {"nginx": FakeRecipe(tmp_path)}))
    same = as_planned(study_of(), plan, {"nginx": FakeRecipe(tmp_path)})
    assert planned_builds(same) == plan.builds
    with pytest.raises(BundleError, match=r"pause=none is not the build .* sha256"):
        as_planned(study_of(), plan, {"nginx": FakeRecipe(tmp_path, contents="other")})
    lacking = FakeRecipe(tmp_path, frozenset({"nop"}))
    with pytest.raises(BundleError, match=r"pause=nop is not the build .* cannot be made now"):
        as_planned(study_of(SKIPPING), plan, {"nginx": lacking})


def test_a_level_that_cannot_be_made_stops_the_study_or_is_left_out(tmp_path: Path) -> None:
    """As the study says of what the machine lacks; off is never left out."""
    recipes = {"nginx": FakeRecipe(tmp_path, frozenset({"nop"}))}
    with pytest.raises(MissingError, match="nop does not compile"):
        with_builds(study_of(), recipes)
    study = with_builds(study_of(SKIPPING), recipes)
    assert list(study.factors["pause"].levels) == ["none", "none-kept"]
    assert [a.level for a in study.absent] == ["nop"]
    assert [b.level for b in planned_builds(study)] == ["none", "none-kept"]
    with pytest.raises(MissingError, match="none does not compile"):
        with_builds(study_of(SKIPPING), {"nginx": FakeRecipe(tmp_path, frozenset({"none"}))})


def test_what_the_processor_lacks_is_not_even_made(tmp_path: Path) -> None:
    """A level of another architecture goes out before a compiler is asked."""
    recipe = FakeRecipe(tmp_path)
    text = SKIPPING.replace('"nop"]', '"isb"]')
    facts = {**FACTS, "arch": "x86_64", "cpu_features": []}
    fitted = fit(study_of(text), facts, {"nginx": Quiet()}, {"nginx": recipe})
    assert recipe.made == ["none", "none-kept"]
    assert [a.level for a in fitted.absent] == ["isb"]


class Quiet:
    """A target that can start anything."""

    def check(self, launch: object) -> None:
        """Nothing is missing."""


def test_two_factors_cannot_both_choose_the_executable() -> None:
    """Whether by a path or by a build."""
    built, named = Application(build=Build("nginx", "nop")), Application(binary="/bin/true")
    for one, other in ((built, named), (named, built), (built, replace(built))):
        with pytest.raises(ValueError, match="the executable"):
            one.merged(other)
    assert built.merged(Application()).build == built.build


def test_a_counter_that_the_host_cannot_have_gives_no_dose() -> None:
    """No dose is not a dose of 0, which would say that nothing ran."""

    def dose(**counters: float) -> dict[str, float]:
        measured = SimpleNamespace(counters=counters, operations=10)
        job = SimpleNamespace(study=study_of(), arm=SimpleNamespace(levels={"pause": "none"}))
        return life._doses(job, measured)

    assert dose(requests=5.0) == {}
    assert dose(**{"contended.ngx_rwlock_wlock": 0.0}) == {"pause": 0.0}
    assert dose(**{"contended.ngx_rwlock_wlock": 3.0, "contended.ngx_rwlock_rlock": 2.0}) == {
        "pause": 0.5
    }
