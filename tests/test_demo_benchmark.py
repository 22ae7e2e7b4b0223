"""benchmarks/demo.py: what it counts, and that its compiler ends with it."""

from __future__ import annotations

import subprocess

import demo


def test_demos_are_counted_by_changes_and_by_whole_demos() -> None:
    demos = [
        demo.Once(False, 3, 3, 30.0, 0.02),
        demo.Once(False, 2, 3, 60.0, 0.04),
        demo.Once(True, 0, 3, 0.0, None),
    ]
    calm, disturbed = demo.rows(demos)
    assert calm.rival == "5 of 6 changes, all in 1 of 2 demos, median 60 s, pair noise 4.0 %"
    assert disturbed.rival == "0 of 3 changes, all in 0 of 1 demos, median 0 s, no plan"


def test_the_compiler_runs_beside_the_demo_and_ends_with_it() -> None:
    def running() -> int:
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
        return listed.stdout.count("functions.c")

    with demo.compiler():
        assert any(running() for _ in range(100))
    # Its parts were told to end; the last of them may take a moment.
    assert not all(running() for _ in range(100))
