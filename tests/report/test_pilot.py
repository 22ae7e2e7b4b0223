"""A pilot as text, for people, for progress, and for the study file."""

from __future__ import annotations

import io
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from assay.bench import pilot_alone, prepare, run
from assay.cli import app
from assay.cli import pilot as command
from assay.cli.display.live import Plain, Terminal
from assay.cli.display.pilot import pilot_lines, pilot_sentence
from assay.plan import PilotedArm, PilotedCase, PlannedPilot
from fakes import FACTS, FakeTarget


def seen(settled: bool = True) -> PlannedPilot:
    """Six runs of two arms; windows of 5 ms vary by 6 %, runs by 1 %, in pairs by 0.5 %."""
    arms = [
        PilotedArm(
            arm=name,
            cuts_s=cuts,
            settled=settled or name == "baseline",
            inside_variance=0.06**2,
            between_variance=0.01**2,
        )
        for name, cuts in (("baseline", [0.025, 0.0, 0.1]), ("cache", [0.2, 0.15, 0.175]))
    ]
    case = PilotedCase(
        case="engine/ycsb",
        inside_variance=0.06**2,
        between_variance=0.005**2,
        overhead_s=0.4,
        intervals=142,
        arms=arms,
    )
    return PlannedPilot(
        chosen=["warmup", "window"],
        runs=6,
        took_s=14.4,
        length_s=2.0,
        interval_s=0.005,
        warmup_s=0.3,
        window_s=0.72,
        cases=[case],
    )


def test_the_table_tells_what_was_seen_and_ends_with_lines_to_paste() -> None:
    """Each run's cut, noise of the chosen window and of runs, the cheapest window."""
    lines = [line.text for line in pilot_lines(seen())]
    assert lines == [
        "6 runs without warm-up, the last ones of 2.0 s in intervals of 5 ms; none of them counts",
        "",
        "engine/ycsb",
        "arm        stationary after         noise inside 720 ms  between runs",
        "baseline   25 ms, 0 ms, 100 ms      0.50 %               1.0 %",
        "cache      200 ms, 150 ms, 175 ms   0.50 %               1.0 %",
        "in pairs inside a block: 0.50 % inside, 0.50 % between runs; besides the window a run "
        "takes 700 ms: cheapest window 710 ms",
        "",
        'warmup = "300ms"',
        'window = "720ms"',
    ]
    assert tomllib.loads("\n".join(lines[-2:])) == {"warmup": "300ms", "window": "720ms"}


def test_a_pilot_that_was_too_short_says_so() -> None:
    """In the sentence and in the table."""
    doubt = "cache still changed after 2.0 s"
    assert doubt not in pilot_sentence(seen())
    assert doubt in pilot_sentence(seen(settled=False))
    assert any(line.text.startswith(f"warning: {doubt}") for line in pilot_lines(seen(False)))


def test_the_sentence_names_what_was_chosen() -> None:
    """And when the slowest run became steady."""
    steady = "pilot of 6 runs: stationary after 200 ms at the latest"
    assert pilot_sentence(seen()) == f"{steady}; warm-up 300 ms, window 720 ms"
    only = seen().model_copy(update={"chosen": ["window"]})
    assert "warm-up" not in pilot_sentence(only)


@pytest.fixture
def warming(fake: FakeTarget) -> FakeTarget:
    """The fake engine, steady at once, in short intervals."""
    fake.warming = lambda launch, seconds: 1.0
    return fake


def test_plain_lines_show_progress_with_the_time_left(warming: FakeTarget, study) -> None:
    """A line per tenth of the runs, and what was found."""
    out = io.StringIO()
    options = {"targets": {"engine": warming}, "clocks": warming.clock.clocks()}
    pilot_alone(study, FACTS, 7, Plain(out), **options)
    lines = out.getvalue().splitlines()
    assert lines[0] == "pilot: 0 of 9 runs, about 18 s left"
    assert lines[-2].startswith("pilot: 9 of 9 runs")
    assert lines[-1].startswith("pilot of 9 runs: stationary after")
    assert len(lines) <= 11


def test_a_terminal_shows_a_bar_and_then_the_study(
    tmp_path: Path, warming: FakeTarget, study
) -> None:
    """The same display goes from the pilot to the table of arms."""
    out = io.StringIO()
    terminal = Terminal(Console(file=out, force_terminal=True, width=120))
    auto = replace(study, auto=frozenset({"warmup"}), budget_s=300.0)
    options = {"targets": {"engine": warming}, "clocks": warming.clock.clocks()}
    bundle = prepare(auto, tmp_path / "b", FACTS, base=Path("."), watcher=terminal, **options)
    run(bundle, terminal, **options)
    assert "which do not count" in out.getvalue()
    assert "left" in out.getvalue()
    assert "pilot of 9 runs" in out.getvalue()
    assert "pair noise" in out.getvalue()
    assert not terminal.view.is_started


def test_the_command_prints_the_pilot_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `plan.json` would have of it."""
    monkeypatch.setattr(command, "pilot_alone", lambda *given: seen())
    done = CliRunner().invoke(app, ["pilot", "quickstart", "--json"])
    assert done.exit_code == 0
    assert PlannedPilot.model_validate(json.loads(done.stdout)) == seen()
