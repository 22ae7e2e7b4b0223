"""The target `job`: a command that is run to its end, and everything that can go wrong with it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError, MissingError, RunError
from assay.targets import TARGETS, Launch
from assay.targets.jobs.printed import Pattern

JOB = TARGETS["job"]


def launch(*words: str, window_s: float = 0.001, **given: Any) -> Launch:
    """One execution, where it takes longer than a millisecond."""
    settings = {n: p.default for n, p in JOB.settings.items() if p.default is not None}
    settings |= {"command": list(words), "empties": 2, **given}
    return Launch(settings, "to-exit", {}, seed=1, warmup_s=0.0, window_s=window_s)


def measured(made: Launch, tmp_path: Path) -> Any:
    """What a run measured."""
    server = JOB.start(made, tmp_path / "log")
    try:
        return server.measure(lambda done, spent: None)
    finally:
        server.stop()


def running(words: str) -> bool:
    """Whether a process with such words is there."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return any(line.strip() == words for line in listed.stdout.splitlines())


def test_a_run_has_its_time_its_memory_and_that_of_an_empty_process(tmp_path: Path) -> None:
    """A sleep takes its time, and little of the CPU."""
    found = measured(launch("sleep", "0.1"), tmp_path)
    assert found.complete
    assert found.operations == 1
    assert found.metrics["wall_time"] > 100e6
    assert found.metrics["cpu_time"] < found.metrics["wall_time"]
    assert found.metrics["peak_memory"] > 1e5
    assert 0 < found.counters["empty.wall_ns"] < found.metrics["wall_time"]


def test_a_short_command_is_executed_until_the_window_is_over(tmp_path: Path) -> None:
    """Its number is the mean."""
    found = measured(launch("true", window_s=0.3), tmp_path)
    assert found.operations == found.counters["executions"] > 3
    assert found.metrics["wall_time"] * found.operations < 1.2 * found.window_s * 1e9


def test_the_witness_sees_words_program_and_variables(tmp_path: Path) -> None:
    """Of the command's own environment, what its arm sets."""
    server = JOB.start(launch("sh", "-c", "sleep 0.1", env=["ASSAY_X=1"]), tmp_path / "log")
    try:
        server.measure(lambda done, spent: None)
        seen = server.evidence()
    finally:
        server.stop()
    assert seen.read_back["command"] == ["sh", "-c", "sleep 0.1"]
    assert Path(seen.read_back["program"]).name == "sh"
    assert seen.environ == {"ASSAY_X": "1"}
    assert seen.executable is not None
    assert seen.executable.sha256 == seen.read_back["sha256"]


def test_a_number_that_is_printed_is_found(tmp_path: Path) -> None:
    """By an expression, with its values filled in."""
    words = ("sh", "-c", 'echo warm 1 op/s; echo "{n}00,000 op/s" $HOW')
    made = launch(*words, value=r"([\d,]+) op/s", unit="op/s", let=["n=7"], env=["HOW=fast"])
    found = measured(made, tmp_path)
    assert found.metrics["printed_higher.op/s"] == 700_000


@pytest.mark.parametrize(
    ("script", "given", "said"),
    [
        ("echo no luck >&2; exit 3", {}, "code 3: no luck"),
        ("kill -SEGV $$", {}, "killed by signal 11"),
        ("sleep 77.1 & exit 0", {}, "left sleep running"),
        ("sleep 77.2", {"patience": 0.2}, "still running after 0.2 s"),
        ("echo nothing", {"value": r"rate: (\d+)"}, "nothing that matches"),
        ("echo rate: none", {"value": r"rate: (\w+)"}, "holds no number"),
        ("echo {", {"value": "$.a"}, "no JSON"),
        ("echo '{}'", {"value": "$.a[0]"}, "has no 'a'"),
    ],
)
def test_what_goes_wrong_fails_the_run_and_says_so(
    script: str, given: dict[str, Any], said: str, tmp_path: Path
) -> None:
    """And nothing is left running."""
    with pytest.raises(RunError, match=said):
        measured(launch("sh", "-c", script, **given), tmp_path)
    assert not running("sleep 77.1")
    assert not running("sleep 77.2")


def test_a_gigabyte_of_output_is_read_and_not_kept(tmp_path: Path) -> None:
    """Of which the number is the last line."""
    script = "head -c 1000000000 /dev/zero; echo; echo rate 5"
    found = measured(launch("sh", "-c", script, value=r"rate (\d+)", unit="x"), tmp_path)
    assert found.metrics["printed_higher.x"] == 5


def test_helpers_run_when_they_should(tmp_path: Path) -> None:
    """Before the run, before each execution, and at the end though the command failed."""

    def note(word: str) -> list[str]:
        return ["sh", "-c", f"echo {word} >> notes"]

    made = launch(
        *("sh", "-c", "echo run >> notes; exit 1"),
        between_arms=note("between"),
        prepare=note("prepare"),
        cleanup=note("cleanup"),
        directory=str(tmp_path),
    )
    with pytest.raises(RunError, match="code 1"):
        measured(made, tmp_path)
    assert (tmp_path / "notes").read_text().split() == ["between", "prepare", "run", "cleanup"]


def test_a_helper_that_fails_is_named(tmp_path: Path) -> None:
    """It is not taken for the command."""
    with pytest.raises(RunError, match=r"prepare ended with code 2"):
        measured(launch("true", prepare=["sh", "-c", "exit 2"]), tmp_path)


def test_a_run_that_is_stopped_ends_its_command(tmp_path: Path) -> None:
    """As Ctrl-C does, and the end of `assay` itself."""
    server = JOB.start(launch("sleep", "78.5"), tmp_path / "log")
    threading.Timer(0.5, lambda: os.kill(server.pid or 0, signal.SIGTERM)).start()
    assert not server.measure(lambda done, spent: None).complete
    server.stop()
    assert not running("sleep 78.5")


def test_what_is_not_there_is_said_before_anything_starts(tmp_path: Path) -> None:
    """The program, the folder, the command, the pattern."""
    wrong = {
        "no-such-program is no program on the PATH": launch("no-such-program"),
        "no program in": launch("./no-such-program"),
        "is no folder": launch("true", directory=str(tmp_path / "absent")),
    }
    for said, made in wrong.items():
        with pytest.raises(MissingError, match=said):
            JOB.check(made)
    with pytest.raises(InputError, match="no regular expression"):
        JOB.check(launch("true", value="("))
    with pytest.raises(InputError, match="has no command"):
        JOB.check(Launch({}, "to-exit", {}, seed=1, warmup_s=0, window_s=1))


@pytest.mark.parametrize(
    ("pattern", "printed", "number"),
    [
        (r"\d+", "1 2 3", 3.0),
        (r"tps = ([\d.]+)", "tps = 1.5\ntps = 2.5 (x)", 2.5),
        (r"total: (.*)$", "total: 1_000 rows", 1000.0),
        ("$.a[1].b", '{"a": [1, {"b": 2.5}]}', 2.5),
        ('$["op/s"]', '{"op/s": 1e3}', 1000.0),
        (r"(-?\d+)", "-4", -4.0),
    ],
)
def test_patterns_find_numbers(pattern: str, printed: str, number: float) -> None:
    """Expressions take the last match, paths what they lead to."""
    assert Pattern.of(pattern).find(printed) == number


def test_a_path_that_is_none_is_refused() -> None:
    """And an expression with several groups."""
    for text in ("$.a[", "$..", r"(\d)(\d)"):
        with pytest.raises(ValueError, match=r"no path|groups"):
            Pattern.of(text)
