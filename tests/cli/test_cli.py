"""The command line as a user meets it: exit codes, messages, JSON, each on its stream."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from assay.core.units import parse_duration
from assay.record import Bundle
from cli_kit import assay
from fakes import STUDY

ROOT = Path(__file__).parent.parent.parent
ASSAY = Path(sys.executable).with_name("assay")


def installed(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    return subprocess.run(
        [str(ASSAY), *map(str, words)], capture_output=True, text=True, timeout=120, check=False
    )


def loosely(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command for real where other tests may be running beside it."""
    command = [sys.executable, str(ROOT / "tests" / "loose.py"), *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd
    )


PILOTED = """
name = "piloted"
question = "Is the lock-free cache faster?"

[target]
kind = "engine"

[workload]
kind = "ycsb"
records = 2000
fields = 1

[measure]
primary = "throughput"
warmup = "50ms"
window = "100ms"

[[factor]]
name = "cache"
change = "engine.data_cache"

[design]
kind = "one-at-a-time"

[decide]
smallest = "10%"
margin = "10%"
budget = "10s"
"""


COMMANDS = ["run", "pilot", "show", "report", "verify", "decide", "list", "host", "price", "audit"]


@pytest.mark.server
def test_help_names_every_command_and_exit_code() -> None:
    """The first thing anybody types."""
    done = installed("--help")
    assert done.returncode == 0
    assert all(f" {name} " in done.stdout for name in COMMANDS)
    assert "130 interrupted" in " ".join(done.stdout.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    """And so does `host show`."""
    words = [command, "show"] if command == "host" else [command]
    done = assay(*words, "--help")
    assert done.returncode == 0
    assert "Example: assay" in done.stdout


@pytest.mark.server
def test_a_wrong_option_is_wrong_use() -> None:
    """Exit code 2, on stderr."""
    done = installed("run", "quickstart", "--no-such-option")
    assert done.returncode == 2
    assert done.stdout == ""


def test_a_study_with_mistakes_is_answered_line_by_line(tmp_path: Path) -> None:
    """Exit code 2, each with its position and next step, and no bundle."""
    text = STUDY.replace('window = "300ms"', 'windwo = "300ms"')
    (tmp_path / "s.toml").write_text(text)
    done = assay("run", "s.toml", cwd=tmp_path)
    assert done.returncode == 2
    line = text[: text.index("windwo")].count("\n") + 1
    assert f"s.toml:{line}:1: unknown key 'windwo'" in done.stderr
    assert "next: " in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "bundles").exists()


def test_what_this_machine_lacks_is_exit_code_3(tmp_path: Path) -> None:
    """An instruction of the other architecture, and nothing was started."""
    foreign = '"isb"' if "x86" in _machine() else '"pause"'
    (tmp_path / "s.toml").write_text(STUDY.replace('on = "pause"', f"on = {foreign}"))
    done = assay("run", "s.toml", cwd=tmp_path)
    assert done.returncode == 3
    assert "hint=" in done.stderr
    assert not (tmp_path / "bundles").exists()


def _machine() -> str:
    import platform

    return platform.machine()


@pytest.mark.server
def test_show_prints_the_verdicts_and_nothing_else_on_stdout(finished: Bundle) -> None:
    """The interval before the estimate; no colour where there is no terminal."""
    done = installed("show", finished.folder)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    line = next(line for line in done.stdout.splitlines() if line.startswith("cache"))
    assert "helps" in line
    assert line.index("[+") < line.index("estimate")
    assert "recommended: cache" in done.stdout


def test_show_json_is_the_verdict_file(finished: Bundle) -> None:
    """Byte for byte the same content."""
    done = assay("show", finished.folder, "--json")
    assert json.loads(done.stdout) == finished.verdicts().model_dump(mode="json")


@pytest.mark.server
def test_verify_passes_and_after_an_edit_fails_naming_the_run(finished: Bundle) -> None:
    """Exit code 1 is the answer no."""
    assert assay("verify", finished.folder).returncode == 0
    path = finished.folder / "runs.jsonl"
    path.write_text(path.read_text().replace('"window_s":0.3', '"window_s":0.4', 1))
    done = installed("verify", finished.folder)
    assert done.returncode == 1
    assert "run 0 (" in done.stderr


@pytest.mark.server
def test_pilot_prints_the_times_to_use_and_writes_nothing(tmp_path: Path) -> None:
    """On the real engine: what it saw of each arm, then two lines for the study file."""
    (tmp_path / "s.toml").write_text(PILOTED)
    done = loosely("pilot", "s.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *table, warmup, window = done.stdout.splitlines()
    assert [line.split()[0] for line in table[4:6]] == ["baseline", "cache"]
    measure = tomllib.loads(f"{warmup}\n{window}")
    assert parse_duration(measure["window"]) >= 0.3
    assert "6 of 6 runs" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["s.toml"]


LEAD_S = 0.005
"""Of each slice, what does not count."""


@pytest.mark.server
def test_a_study_with_auto_runs_its_pilot_first(tmp_path: Path) -> None:
    """On the real engine: the plan has the times, every run has them, and it verifies."""
    text = PILOTED.replace('"50ms"', '"auto"').replace('"100ms"', '"auto"')
    (tmp_path / "s.toml").write_text(text.replace('"10s"', '"90s"'))
    done = loosely("run", "s.toml", "--out", "b", "--seed", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pilot of 6 runs: stationary after" in done.stderr
    plan = Bundle.open(tmp_path / "b").plan
    assert plan.pilot is not None
    assert plan.warmup_s == plan.pilot.warmup_s
    runs = Bundle.open(tmp_path / "b").runs()
    assert plan.measuring == "slices", "the engine's arms take turns"
    whole_s = plan.rounds * (plan.slice_s - LEAD_S)
    assert all(abs(r.window_s - whole_s) < 0.05 for r in runs if r.status == "ok")
    assert assay("verify", "b", cwd=tmp_path).returncode == 0


def test_report_writes_one_file(finished: Bundle, tmp_path: Path) -> None:
    """In the bundle, or where it is told."""
    assert assay("report", finished.folder).returncode == 0
    assert (finished.folder / "report.html").stat().st_size > 0
    out = tmp_path / "elsewhere.html"
    assert assay("report", finished.folder, "--out", out).stdout.strip() == str(out)


def test_a_folder_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    """By every command that reads one."""
    for command in ("show", "verify", "report"):
        done = assay(command, tmp_path)
        assert done.returncode == 2
        assert "is not a bundle" in done.stderr


@pytest.mark.parametrize("what", ["studies", "targets", "workloads", "changes", "claims", "prices"])
def test_everything_can_be_listed_for_people_and_programs(what: str) -> None:
    """Names in both."""
    entries = json.loads(assay("list", what, "--json").stdout)
    shown = assay("list", what).stdout
    assert entries
    assert all(entry["name"] in shown for entry in entries)
    assert max(map(len, shown.splitlines())) <= 100
    of_one = assay("list", what, entries[0]["name"])
    assert of_one.stdout.startswith(entries[0]["name"])
    assert max(map(len, of_one.stdout.splitlines())) <= 100
    assert json.loads(assay("list", what, entries[0]["name"], "--json").stdout) == entries[:1]


def test_one_thing_of_a_list_is_shown_with_all_that_is_known_of_it() -> None:
    """The settings of a target stand under its name, and not in the list of all."""
    assert "hint_repeats:" not in assay("list", "targets").stdout
    assert "hint_repeats:" in assay("list", "targets", "engine").stdout
    unknown = assay("list", "targets", "engin")
    assert unknown.returncode == 2
    assert "'engin' is not one of the targets; did you mean 'engine'?" in unknown.stderr


@pytest.mark.server
def test_host_show_says_what_cannot_be_done_here() -> None:
    """And gives all facts as JSON."""
    assert json.loads(assay("host", "show", "--json").stdout)["cpus"] >= 1
    assert "cpu_model" in assay("host", "show").stdout


RUNS = "block,arm,value\n" + "".join(
    f"{b},{arm},{100 + b % 3 + (20 if arm == 'new' else 0)}\n"
    for b in range(10)
    for arm in ("old", "new")
)


def test_decide_gives_verdicts_on_anybodys_runs(tmp_path: Path) -> None:
    """With warnings about what the file does not say."""
    (tmp_path / "runs.csv").write_text(RUNS)
    done = assay("decide", tmp_path / "runs.csv", "--baseline", "old")
    assert done.returncode == 0
    assert "helps" in done.stdout
    assert "warning: " in done.stdout
    answer = json.loads(
        assay("decide", tmp_path / "runs.csv", "--baseline", "old", "--json").stdout
    )
    assert answer["value"]["verdicts"][0]["word"] == "helps"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("block,arm\n1,a\n", "no column value"),
        ("block,arm,value,colour\n", "unknown column 'colour'"),
        ("block,arm,value\n", "has no runs"),
        ("block,arm,value\n1,a,fast\n", ":2: value 'fast' is not a number"),
        ("block,arm,value\n1,a\n", ":2: 2 cells, the header has 3"),
        ("block,arm,value,order\n1,a,1,x\n", ":2: order 'x'"),
        (RUNS.replace("old", "other"), "there is no arm called 'old'"),
        (RUNS + "0,old,5\n", "0"),
        (RUNS.replace("100", "-100"), "-100"),
        (RUNS.replace("100", "nan", 1), "nan"),
    ],
)
def test_a_file_that_cannot_be_decided_on_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """Exit code 2, naming the line where there is one."""
    (tmp_path / "runs.csv").write_text(text)
    done = assay("decide", tmp_path / "runs.csv", "--baseline", "old")
    assert done.returncode == 2
    assert said in done.stderr
    assert "next: " in done.stderr


@pytest.mark.server
def test_a_reader_that_leaves_is_no_error() -> None:
    """`assay list changes | head -1` ends quietly."""
    command = f"{ASSAY} list changes | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.server
def test_what_is_generated_is_up_to_date() -> None:
    """Schemas and reference follow from the code."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
