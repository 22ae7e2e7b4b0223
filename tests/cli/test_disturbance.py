"""A disturbed machine is said before a study begins, and while a run waits for it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from assay.cli.display.disturbance import say_disturbance
from assay.cli.display.live import Plain, Terminal
from assay.host import quiet


@pytest.mark.parametrize(("busy", "said"), [(0.34, True), (0.04, False)])
def test_other_work_is_said_before_the_first_run(busy: float, said: bool) -> None:
    """In CPUs; a quiet machine has no line."""
    out = io.StringIO()
    say_disturbance(Console(file=out, width=200), lambda over_s: busy)
    expected = "this machine is disturbed: other work takes 0.3 CPUs"
    assert (expected in out.getvalue()) is said
    assert bool(out.getvalue()) is said


def test_a_wait_says_why_and_how_long_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is overwritten on a terminal; one line for the whole wait elsewhere."""
    samples = iter([0.3, 0.4, 0.05])
    monkeypatch.setattr(quiet, "busy_cpus", lambda over_s: next(samples))
    shown = io.StringIO()
    terminal, out = Terminal(Console(file=shown, width=200)), io.StringIO()
    plain, seen = Plain(out), []

    def waiting(cpus: float, spent_s: float, limit_s: float) -> None:
        plain.waiting(cpus, spent_s, limit_s)
        terminal.waiting(cpus, 12.0, limit_s)
        seen.append(terminal.pause)

    assert quiet.wait_until_quiet(0.1, 60.0, waiting)
    why = "waiting for a quiet machine: other work takes"
    assert seen == [f"{why} {cpus} CPUs; 12 s of at most 1 min" for cpus in ("0.3", "0.4")]
    assert out.getvalue() == f"{why} 0.3 CPUs; 1 min at most\n"
    assert shown.getvalue() == ""


def test_a_quiet_machine_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is said of it; patience that ran out is an answer."""
    told: list[float] = []

    def waiting(cpus: float, spent_s: float, limit_s: float) -> None:
        told.append(cpus)

    monkeypatch.setattr(quiet, "busy_cpus", lambda over_s: 0.0)
    assert quiet.wait_until_quiet(0.1, 60.0, waiting)
    monkeypatch.setattr(quiet, "busy_cpus", lambda over_s: 1.0)
    assert not quiet.wait_until_quiet(0.1, 0.0, waiting)
    assert told == []
