"""Verdicts as text, and the display of a study that runs without a terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from assay.bench import prepare, run
from assay.cli.display.live import Plain, Terminal
from assay.core.errors import VoidError
from assay.explain import explain
from assay.record import Bundle, replayed
from assay.report import verdict_lines
from assay.report.terminal.explained import explanation_lines
from assay.study import read
from fakes import FACTS, STUDY, FakeTarget, run_fake, throttled


def text(bundle: Bundle) -> str:
    return "\n".join(line.text for line in verdict_lines(bundle.verdicts(), bundle.plan))


def test_each_verdict_has_its_interval_first_and_its_own_witness(finished: Bundle) -> None:
    """The evidence shown is that of the factor the verdict is about."""
    lines = text(finished).splitlines()
    cache = next(k for k, line in enumerate(lines) if line.startswith("cache"))
    assert lines[cache].index("[") < lines[cache].index("estimate")
    witness = [line for line in lines[cache:] if "witness" in line]
    assert all("held: cache: " in line for line in witness[:2])


def test_secondary_metrics_are_called_leads(finished: Bundle) -> None:
    """As measured: a shorter latency is a smaller number."""
    leads = text(finished).split("leads, no verdicts", 1)[1]
    assert "cache: latency_p99 -" in leads


def test_voids_failures_and_stops_are_counted(tmp_path: Path, study, fake: FakeTarget) -> None:
    """Nothing that went wrong is silent."""
    fake.script = lambda number, m: throttled(m) if number == 3 else m
    fake.broken = lambda number, launch: number == 9
    bundle = run_fake(tmp_path / "b", fake, study)
    assert "1 void (" in text(bundle)
    assert "1 failed (" in text(bundle)


def test_without_a_terminal_there_is_a_line_a_block(tmp_path: Path, study, fake) -> None:
    """And one for each void run, and the plan as soon as it is known."""
    fake.script = lambda number, m: throttled(m) if number == 3 else m
    out, targets = io.StringIO(), {"engine": fake}
    bundle = prepare(study, tmp_path / "b", FACTS, base=Path("."), seed=7, targets=targets)
    run(bundle, Plain(out), targets=targets, clocks=fake.clock.clocks())
    said = out.getvalue()
    assert "seed 7" in said
    assert "void: the client was the limit" in said
    assert "waiting for a quiet machine" in said
    assert "here (pair noise)" in said
    assert said.count("\nblock ") == bundle.verdicts().blocks
    assert "\x1b" not in said


def test_the_terminal_shows_verdicts_and_time_left(finished: Bundle) -> None:
    """One table row a contrast, and a bar."""
    console = Console(file=io.StringIO(), width=100)
    view = Terminal(console)
    view.replay = replayed(finished)
    console.print(view.render())
    shown = console.file.getvalue()
    assert "cache" in shown
    assert "helps" in shown
    assert f"of at most {finished.verdicts().planned.blocks}" in shown


def test_an_unbounded_interval_is_no_number(tmp_path: Path, fake: FakeTarget) -> None:
    """A study stopped before its first look shows none."""
    fake.script = lambda number, m: throttled(m) if number >= 6 else m
    study = read("f.toml", STUDY, Path("."), targets={"engine": fake})
    targets = {"engine": fake}
    bundle = prepare(study, tmp_path / "b", FACTS, base=Path("."), seed=7, targets=targets)
    with pytest.raises(VoidError):
        run(bundle, targets=targets, clocks=fake.clock.clocks())
    assert "[unbounded]" in text(bundle)
    assert "stopped: block 2 was void 4 times" in text(bundle)


def test_kinds_of_request_are_summed_up(samples) -> None:
    """What differs is named, largest first; what does not is counted."""
    bundle = samples.bundle("kinds")
    lines = [line.text for line in verdict_lines(bundle.verdicts(), bundle.plan)]
    (found,) = [text for text in lines if text.startswith("cache   latency_p50:")]
    assert "2 of 15 kinds differ: scan -3" in found
    assert "read +4" in found
    assert "13 no difference" in found
    told = [line.text for line in explanation_lines(bundle.plan, explain(bundle))]
    assert any(text.startswith("    by kind") and "scan -3" in text for text in told)
