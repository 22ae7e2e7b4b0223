"""Candidates that are tried: the bound beside what was measured, on a copy or on the server."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import assay
from assay.cli import app
from assay.core.errors import InputError
from assay.diagnosis import Candidate, Diagnosis, Examined, Trial, diagnose
from assay.diagnosis.trials import text_on, trial_of, tried
from assay.report.html.diagnosis import diagnosis_html
from assay.report.terminal.diagnosed import diagnosis_lines
from assay.report.words.trials import news, trial_sentence
from assay.study import read
from assay.verdict.rows import Bounded, ContrastRow, Row, Verdicts, WitnessRow
from diagnosis_kit import TINY_BUFFERS, gathered

FIRST = diagnose(TINY_BUFFERS).candidates[0]


def row(arm: str, estimate: float | None, low: float | None, **said: str) -> Row:
    """A verdict on an arm."""
    return Row(
        case="c",
        contrast=ContrastRow(kind="change", of=arm, given="", against="baseline"),
        arm=arm,
        metric=said.get("metric", "throughput"),
        word="helps",
        strength=said.get("strength", "confirmed"),
        estimate=estimate,
        low=low,
        high=None if estimate is None else estimate + 0.1,
        blocks=8,
        effort="A",
        dose={},
        witness=WitnessRow(held=True, evidence=[]),
        reason="",
    )


def found(*rows: Row) -> Verdicts:
    """What a study found."""
    return Verdicts.model_construct(verdicts=list(rows), primary="throughput")


def bounded(high: float | None) -> Candidate:
    """A candidate whose gain is so much at most."""
    return replace(FIRST, most=Bounded(value=0.2, low=0.1, high=high))


@pytest.mark.parametrize(
    ("bound", "low", "holds"), [(0.5, 0.3, True), (0.5, 0.6, False), (None, 0.6, None)]
)
def test_a_bound_holds_unless_the_whole_interval_lies_above_it(
    bound: float | None, low: float, holds: bool | None
) -> None:
    """The measured effect may well lie below; a bound says no more than that."""
    made = trial_of(bounded(bound), Path("b"), found(row("one", 0.1, 0.0), row("two", 0.7, low)))
    assert (made.level, made.holds) == ("two", holds)
    words = {True: "and holds", False: "does not hold", None: "nothing bounded it"}
    assert words[holds] in trial_sentence(made)


def test_rows_of_other_metrics_and_mere_hints_are_no_trial() -> None:
    """Nor is a level without a run that counts."""
    rows = [row("p99", 9.0, 8.0, metric="latency_p99"), row("lead", 9.0, 8.0, strength="suggests")]
    made = trial_of(FIRST, Path("b"), found(*rows, row("none", None, None)))
    assert made.why
    assert made.level == ""


def test_the_first_candidates_with_a_study_are_tried() -> None:
    """Ruled out ones have none; without any there is nothing to run."""
    whole = diagnose(TINY_BUFFERS)
    assert [c.name for c in tried(whole, 2)] == [c.name for c in whole.candidates if c.study][:2]
    without = replace(whole, candidates=[replace(c, study="") for c in whole.candidates])
    with pytest.raises(InputError, match="no candidate has a study"):
        tried(without, 1)


def test_a_study_on_the_examined_server_leaves_its_settings_and_keeps_the_question(
    tmp_path: Path,
) -> None:
    """It has them already; what is switched is put back by the attachment."""
    examined = Examined("postgresql://me@127.0.0.1:5432/app", ("systemctl", "restart", "it"), "a.c")
    text = text_on(FIRST, examined)
    said = tomllib.loads(text)
    assert said["target"] == {
        "kind": "postgresql",
        "connections": 8,
        "attach": examined.url,
        "restart": ["systemctl", "restart", "it"],
        "settings_file": "a.c",
    }
    assert said["factor"] == tomllib.loads(FIRST.study)["factor"]
    assert text_on(FIRST, None) == FIRST.study
    with pytest.raises(InputError, match="another build"):
        text_on(replace(FIRST, kind="build"), examined)


def test_what_stands_otherwise_than_before_is_news() -> None:
    """And nothing else is."""
    before = diagnose(TINY_BUFFERS)
    assert list(news(before, before)) == []
    healthy = replace(before, candidates=[replace(FIRST, standing="ruled out")])
    told = list(news(healthy, before))
    assert f"{FIRST.name}: stands out (was: ruled out)" in told[0]
    assert any(line.endswith(": gone") for line in news(before, healthy))


def test_trials_stand_in_the_terminal_and_on_the_page() -> None:
    """With hostile names escaped."""
    trial = Trial(FIRST.name, "bundles/<x>", "128MiB", "helps", 0.2, 0.1, 0.3, 0.5, True)
    whole = replace(diagnose(TINY_BUFFERS), trials=[trial, Trial("b", "", why="void")])
    lines = "\n".join(line.text for line in diagnosis_lines(whole))
    assert "What was measured" in lines
    assert "b was not measured: void" in lines
    page = diagnosis_html(whole)
    assert "bundles/&lt;x&gt;" in page
    assert "What was measured" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--on", "attached"), "its address is needed"),
        (("--on", "here"), "copy or attached"),
        (("--restart", "service it restart"), "of the examined server itself"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: tuple[str, ...], said: str) -> None:
    """Before anybody looks at anything."""
    done = CliRunner().invoke(app, ["doctor", "1", "--and-measure", *words])
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.server
def test_the_study_of_a_candidate_is_run_within_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a server of Assay's own: a verdict, its bundle, and the bound beside it. Other tests may
    run meanwhile, and nobody waits for their end."""
    monkeypatch.setattr("assay.host.quiet.busy_cpus", lambda over_s: 0.0)
    whole = diagnose(gathered("redis", chains={("main",): 100}))
    first = next(c for c in whole.candidates if c.study and c.kind == "change")
    text = first.study.replace('window = "3s"', 'window = "200ms"')
    quick = replace(first, study=text.replace('warmup = "1s"', 'warmup = "50ms"'))
    asked = replace(whole, candidates=[quick])
    made = assay.measure_candidates(asked, tmp_path, budget_s=40)
    (trial,) = made.trials
    assert trial.why == ""
    assert trial.level
    assert (Path(trial.bundle) / "verdicts.json").exists()
    study = tmp_path / f"{Path(trial.bundle).name}.toml"
    assert read(str(study), study.read_text(), tmp_path).cases[0].target == "redis"
    other: Diagnosis = replace(whole, candidates=[replace(quick, study=quick.study + "\n")])
    with pytest.raises(InputError, match="is there already"):
        assay.measure_candidates(other, tmp_path, budget_s=40)
