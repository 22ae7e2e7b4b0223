"""Why a verdict is what it is: headroom, the terms of a gain, the next limit, and their words."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

from assay.cli import app
from assay.explain import Everything, Explanation, explain
from assay.explain.headroom import share_of
from assay.record import Bundle, counted_blocks, replayed
from assay.report import verdict_lines
from assay.report.words.explained import cause
from fakes import FakeTarget, moving, run_fake, throttled


def of(bundle: Bundle, arm: str = "cache") -> Explanation:
    return next(e for e in explain(bundle) if e.verdict.arm == arm)


def run_moving(tmp_path: Path, fake: FakeTarget, study, cache: dict, others: dict) -> Bundle:
    fake.script = moving(cache, others)
    return run_fake(tmp_path / "b", fake, study)


@pytest.mark.parametrize(("share", "finding"), [(0.5, "within"), (0.05, "exceeds")])
def test_a_gain_is_held_against_the_time_that_its_mechanism_took(
    tmp_path, fake, study, share, finding
) -> None:
    """30 % faster: possible where half of the time was waiting, not where a twentieth was."""
    name = "wait_share.data_cache"
    bound = of(run_moving(tmp_path, fake, study, {name: 0.001}, {name: share})).bound
    assert bound.mechanism == name
    assert bound.share.value == pytest.approx(share, rel=0.02)
    assert bound.most.value == pytest.approx(share / (1 - share), rel=0.03)
    assert bound.finding == finding


def test_a_family_as_a_mechanism_is_all_its_members() -> None:
    """And a mechanism that was not measured is none."""
    assert share_of({"wait_share.a": 0.1, "wait_share.b": 0.2}, "wait_share") == pytest.approx(0.3)
    assert share_of({"wait_share.a": 0.1}, "wait_share.a") == 0.1
    assert share_of({"throughput": 1.0}, "wait_share") is None


def test_a_gain_by_cheaper_work_is_called_that(finished: Bundle) -> None:
    """The fake's CPUs are all used in every arm: 30 % come from less CPU time per operation."""
    found = of(finished).identity
    used, work = found.terms
    assert used.gain.value == pytest.approx(0, abs=1e-6)
    assert work.gain.value == pytest.approx(0.3, abs=0.02)
    assert found.elsewhere == ()


def test_a_gain_by_more_cpus_is_not_called_cheaper_work(tmp_path, fake, study) -> None:
    """The same CPU time per operation, and 30 % more operations: 30 % more CPUs were used."""
    same = {"cpu_per_operation": 2000.0}
    found = of(run_moving(tmp_path, fake, study, same, same))
    assert found.identity.elsewhere == ("CPUs used",)
    assert "not all by cheaper work: CPUs used +" in cause(found)


def test_with_counters_the_terms_multiply_to_the_whole(tmp_path, fake, study) -> None:
    """instructions, their rate and the clock; here the clock is 10 % faster in one arm."""
    instructions = "counted_per_operation.perf.instructions"
    cache = {instructions: 3000.0, "instructions_per_cycle": 1.1, "cpu_per_operation": 1000.0}
    others = {instructions: 3300.0, "instructions_per_cycle": 1.0, "cpu_per_operation": 1331.0}
    found = of(run_moving(tmp_path, fake, study, cache, others)).identity
    by_name = {t.name: t.gain.value for t in found.terms}
    assert by_name["instructions per operation"] == pytest.approx(0.10, abs=0.02)
    assert by_name["instructions per cycle"] == pytest.approx(0.10, abs=0.02)
    assert by_name["cycles per CPU second"] == pytest.approx(0.10, abs=0.03)
    product = 1.0
    for gain in by_name.values():
        product *= 1 + gain
    assert product == pytest.approx(1.3, abs=0.05)
    assert "cycles per CPU second" in found.elsewhere


def test_the_next_limit_is_what_grew_and_matters(tmp_path, fake, study) -> None:
    """A wait that tripled is named; one that tripled from nothing to nothing is not."""
    cache = {"wait_share.index": 0.30, "wait_share.row": 0.0003}
    others = {"wait_share.index": 0.10, "wait_share.row": 0.0001}
    (limit,) = of(run_moving(tmp_path, fake, study, cache, others)).limits
    assert limit.metric == "wait_share.index"
    assert limit.estimate == pytest.approx(2.0, abs=0.1)
    assert limit.level == pytest.approx(0.30, abs=0.01)


def test_the_terminal_says_the_cause_in_one_line(finished: Bundle) -> None:
    """That it showed, and that it did not."""
    lines = verdict_lines(finished.verdicts(), finished.plan, explain(finished))
    (hint, cache) = [line.text for line in lines if line.text.startswith("    cause ")]
    assert "as predicted: contention.data_cache down to 1 % or less" in cache
    assert "the predicted cause did not show: contention.data_cache" in hint


def test_an_explanation_can_be_printed_and_read(finished: Bundle) -> None:
    """Text and JSON of the command."""
    said = CliRunner().invoke(app, ["explain", str(finished.folder)])
    assert said.exit_code == 0
    assert "down: held" in said.stdout
    assert "gain by" in said.stdout
    printed = CliRunner().invoke(app, ["explain", str(finished.folder), "--json"]).stdout
    found = TypeAdapter(Everything).validate_json(printed).explanations
    assert [e.verdict.arm for e in found] == ["hint", "cache"]
    assert found[1].predictions[0].outcome == "held"
    assert found[1].identity.terms[1].name == "CPU time per operation"


def test_blocks_from_runs_are_those_of_the_replay(tmp_path, study, fake: FakeTarget) -> None:
    """Whatever was void, failed, or tried again: the slow way and the fast one agree."""
    fake.script = lambda number, m: throttled(m) if number in (3, 4, 11) else m
    fake.broken = lambda number, launch: number in (9, 20, 21)
    bundle = run_fake(tmp_path / "b", fake, study)
    slow = replayed(bundle).blocks
    fast = counted_blocks(bundle.runs(), bundle.verdicts().blocks)
    assert [dict(b.cells) for b in fast] == [dict(b.cells) for b in slow]
