"""A plan is what its study file and its seed give, or `verify` says where it is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.core.errors import Problem, StudyError
from assay.record import Bundle
from assay.study.derivation import other_arms, planned_study, underived
from cli_kit import assay

ALTERED = {
    "alpha": 0.4,
    "smallest": 0.001,
    "margin": 0.4,
    "budget_s": 1.0,
    "primary": "requests",
    "question": "Is it faster?",
    "study": "another",
    "design": "race",
    "also": ["p99_ms"],
    "window_s": 0.001,
    "warmup_s": 9.0,
}


def test_a_plan_that_nobody_touched_is_derived(finished: Bundle) -> None:
    """From the study alone, and with what the command line overrode."""
    assert underived(finished.plan, finished.study) == []
    assert assay("verify", finished.folder).returncode == 0


@pytest.mark.parametrize(("name", "value"), ALTERED.items(), ids=ALTERED)
def test_an_altered_value_of_a_plan_is_found(finished: Bundle, name: str, value: Any) -> None:
    """It need not be found by the chain, which can be made anew."""
    plan = finished.plan.model_copy(update={name: value})
    found = underived(plan, finished.study)
    assert any(text.startswith(f"plan.json.{name} says {value!r}") for text in found)


def test_a_value_of_the_command_line_is_no_alteration(finished: Bundle) -> None:
    """The plan says that it was given."""
    given = {"alpha": 0.4, "overrides": {"decide.alpha": "0.4"}}
    assert underived(finished.plan.model_copy(update=given), finished.study) == []


def test_an_order_that_the_seed_does_not_draw_is_found(finished: Bundle) -> None:
    """Whoever chooses the order may choose what a drift of the machine favours."""
    plan = finished.plan
    swapped = [plan.schedule[0][::-1], *plan.schedule[1:]]
    found = underived(plan.model_copy(update={"schedule": swapped}), finished.study)
    assert found == [f"plan.json.schedule[0] is not the order that seed {plan.seed} draws"]
    assert underived(plan.model_copy(update={"seed": plan.seed + 1}), finished.study)


def test_a_study_that_cannot_be_read_derives_nothing(finished: Bundle) -> None:
    """Which is said, and no plan passes by it."""
    (found,) = underived(finished.plan, finished.study + '\n[unheard]\nof = "it"\n')
    assert found.startswith("study.toml is no study for this version of Assay: unknown key")


def test_arms_that_the_study_does_not_give_are_found(finished: Bundle) -> None:
    """Else what one arm gains could be said of another."""
    plan = finished.plan
    study = planned_study(plan, finished.study)
    assert other_arms(plan, study) == []
    names = [arm.name for arm in plan.arms]
    swapped = [
        arm.model_copy(update={"name": name})
        for arm, name in zip(plan.arms, [names[0], *names[:0:-1]], strict=True)
    ]
    (found,) = other_arms(plan.model_copy(update={"arms": swapped}), study)
    assert found.startswith("plan.json.arms says")
    moved = [case.model_copy(update={"workload": "tpcc"}) for case in plan.cases]
    (found,) = other_arms(plan.model_copy(update={"cases": moved}), study)
    assert found.startswith("plan.json.cases says")


def test_verify_says_where_arms_cannot_be_derived(finished: Bundle, monkeypatch) -> None:
    """A machine without the study's executables still recomputes its verdicts."""

    def absent(*_: object) -> None:
        raise StudyError("study.toml", [Problem(1, 1, "'/opt/new' is not a file", "")])

    monkeypatch.setattr("assay.cli.verify.planned_study", absent)
    result = CliRunner().invoke(app, ["verify", str(finished.folder)])
    assert result.exit_code == 0
    assert "not held against its study: '/opt/new' is not a file" in result.output
    result = CliRunner().invoke(app, ["verify", str(finished.folder), "--json"])
    assert json.loads(result.output)["arms_derived"] is False
