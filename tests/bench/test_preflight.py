"""What this host cannot do: levels that need transactions, in each state that a CPU can be in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.bench import prepare, run
from assay.bench.preflight import fit
from assay.changes import CATALOGUE, HTM, lacking
from assay.core.errors import InputError, MissingError
from assay.host import host_facts
from assay.record import Bundle
from assay.report import verdict_lines
from assay.study import Study, arms, read
from assay.targets import TARGETS
from fakes import FACTS, STUDY, FakeTarget

ELISION = STUDY.replace(
    'name = "hint"\nchange = "engine.spin_hint"\non = "pause"',
    'name = "elision"\nchange = "engine.lock_elision"',
)
SKIPPING = ELISION.replace('name = "elision"', 'name = "elision"\nabsent = "skip"')
STATES = [
    ("absent", "the CPU does not list rtm"),
    ("always-aborts", "0 of 1000 empty transactions committed"),
]


def facts_with(state: str, why: str, *features: str) -> dict[str, Any]:
    """Facts of a host whose transactions are in a state, and that lists these features."""
    return {**FACTS, "cpu_features": list(features), "can": {"htm": {"state": state, "why": why}}}


@pytest.mark.parametrize(("state", "why"), STATES)
def test_elision_without_transactions_that_commit_stops_the_study_naming_the_state(
    state: str, why: str, fake: FakeTarget, read_study
) -> None:
    """The feature flag is not enough: a CPU may list rtm and abort every transaction."""
    with pytest.raises(MissingError, match=f"elision=on needs .* {state} here: {why}") as caught:
        fit(read_study(ELISION), facts_with(state, why, "rtm"), {"engine": fake})
    assert "skip" in caught.value.next_step


@pytest.mark.parametrize(("state", "why"), STATES)
def test_a_study_may_do_without_elision_and_then_says_so(
    state: str, why: str, tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """In the plan, the verdicts and the text of the result; no run is made of it."""
    bundle = prepared(read_study(SKIPPING), facts_with(state, why), tmp_path / "b", fake)
    assert [a.name for a in bundle.plan.arms] == ["baseline", "cache"]
    (absent,) = bundle.verdicts().absent
    assert (absent.factor, absent.level) == ("elision", "on")
    assert f"{state} here: {why}" in absent.why
    said = "\n".join(line.text for line in verdict_lines(bundle.verdicts(), bundle.plan))
    assert f"left out: elision=on: {absent.why}" in said


def test_elision_runs_where_transactions_commit(
    tmp_path: Path, fake: FakeTarget, read_study
) -> None:
    """The arm is in the plan and nothing is left out."""
    usable = facts_with("usable", "1000 of 1000 empty transactions committed")
    fitted = fit(read_study(SKIPPING), usable, {"engine": fake})
    assert "elision" in fitted.factors
    assert fitted.absent == ()


def prepared(study: Study, facts: dict[str, Any], folder: Path, fake: FakeTarget) -> Bundle:
    targets, clocks = {"engine": fake}, fake.clock.clocks()
    options = {"base": Path("."), "seed": 7, "targets": targets, "clocks": clocks}
    bundle = prepare(study, folder, facts, **options)
    run(bundle, targets=targets, clocks=clocks)
    return bundle


@pytest.mark.parametrize(("feature", "why"), [("pclmulqdq", ""), ("pmull", ""), ("sse2", "needs")])
def test_a_level_may_need_either_of_two_features(feature: str, why: str) -> None:
    """Whatever machine reads the catalogue: RocksDB's checksum is faster on both architectures."""
    needs = CATALOGUE["rocksdb.library"].levels["crc"].needs
    found = lacking(needs, {"arch": "made-up", "cpu_features": [feature]})
    assert found.startswith(why) if why else found == ""


@pytest.mark.parametrize("level", ["vpclmul", "fusion"])
def test_a_level_may_need_two_features_together(level: str) -> None:
    """Zen 3 has carry-less products of vectors but none of 512 bits; Skylake the reverse."""
    needs = CATALOGUE["micro.crc32c"].levels[level].needs
    both = {"arch": "x86_64", "cpu_features": ["avx512f", "vpclmulqdq"]}
    assert lacking(needs, both) == ""
    for feature in both["cpu_features"]:
        assert lacking(needs, {**both, "cpu_features": [feature]}).startswith("needs avx512f and")


@pytest.mark.server
def test_elision_on_this_machine_is_what_its_transactions_are() -> None:
    """For real: the facts, the change and the binary agree on the state."""
    facts = host_facts()
    htm = facts["can"]["htm"]
    study = read("elision.toml", SKIPPING, Path("."))
    fitted = fit(study, facts, TARGETS)
    if htm["state"] == "usable":
        assert fitted.absent == ()
        return
    (absent,) = fitted.absent
    assert absent.why == lacking(CATALOGUE["engine.lock_elision"].levels["on"].needs, facts)
    assert htm["state"] in absent.why
    assert htm["why"] in absent.why
    launched = study.launch(study.cases[0], arm(study, "elision"), seed=1)
    with pytest.raises(MissingError, match=htm["state"]):
        TARGETS["engine"].check(launched)


def arm(study: Study, name: str) -> Any:
    return next(a for a in arms(study) if a.name == name)


def test_elision_of_a_lock_that_is_written_to_enter_is_refused(read_study) -> None:
    """Before anything starts, with the lock that it requires."""
    with pytest.raises(InputError, match="lock = ttas, not mcs"):
        read_study(SKIPPING.replace('kind = "engine"', 'kind = "engine"\nlock = "mcs"'))


def test_other_needs_are_architectures_and_features() -> None:
    """An empty answer means that the host has it."""
    assert lacking(None, FACTS) == lacking("x86_64", FACTS) == lacking("sse4_2", FACTS) == ""
    assert lacking("aarch64", FACTS) == "needs aarch64; this is x86_64"
    assert lacking(HTM, facts_with("usable", "1 of 1000")) == ""
