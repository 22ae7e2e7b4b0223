"""scripts/limit-tests: a native test that hangs is named and ended, with all that it started."""

import os
import subprocess
from pathlib import Path

import psutil
import pytest

LIMIT = Path(__file__).parents[1] / "scripts" / "limit-tests"

HANGING = """
#[test]
fn passes() {}

#[test]
fn starts_a_process_and_hangs() {
    let child = std::process::Command::new("sleep").arg("60.25").spawn();
    std::fs::write(std::env::var("PID").unwrap(), child.unwrap().id().to_string()).unwrap();
    loop { std::thread::park(); }
}

#[test]
fn fails() { assert_eq!(1 + 1, 3, "a sum"); }
"""

# What the harness prints of tests that run beside each other.
BESIDE = """
echo; echo 'running 2 tests'; echo 'test ends ... ok'
echo 'test stays has been running for over 60 seconds'
sleep 60
"""


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A binary of Rust's test harness with a test that hangs."""
    folder = tmp_path_factory.mktemp("hanging")
    (folder / "tests.rs").write_text(HANGING)
    command = ["rustc", "--test", "--edition=2024", "-o", "tests", "tests.rs"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "tests"


def limited(tmp_path: Path, *command: str | Path, **environment: str):
    """A command under the limits that the environment sets."""
    return subprocess.run(
        [LIMIT, *command],
        env={**os.environ, "PID": str(tmp_path / "pid"), **environment},
        capture_output=True,
        text=True,
        timeout=50,
    )


def test_a_hanging_test_is_named_and_ended_with_what_it_started(harness: Path, tmp_path: Path):
    """Tests one by one: the harness says which one has begun."""
    done = limited(tmp_path, harness, "hangs", RUST_TEST_THREADS="1", ASSAY_TEST_LIMIT_S="1")
    assert done.returncode == 124
    assert "the test starts_a_process_and_hangs takes more than 1 s" in done.stderr
    started = int((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(started) or psutil.Process(started).status() == "zombie"


def test_a_hanging_test_beside_others_is_named_once_the_harness_names_it(tmp_path: Path):
    """Tests beside each other: the harness names those that take longer than a minute."""
    done = limited(tmp_path, "sh", "-c", BESIDE, ASSAY_TEST_LIMIT_S="61")
    assert done.returncode == 124
    assert "the test stays takes more than 61 s" in done.stderr


def test_a_binary_that_hangs_without_a_test_is_ended_too(tmp_path: Path):
    """What hangs may be the harness, or what runs at the end of the process."""
    script = "echo 'test ends ... ok'; sleep 60"
    done = limited(tmp_path, "sh", "-c", script, ASSAY_BINARY_LIMIT_S="1")
    assert done.returncode == 124
    assert "more than 1 s together" in done.stderr
    assert "last to end: ends" in done.stderr


def test_tests_that_end_leave_one_line_and_their_exit_code(harness: Path, tmp_path: Path):
    """Quiet where all is well; whatever a failing test printed is shown."""
    done = limited(tmp_path, harness, "--quiet", "passes")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1
    assert "/tests: ok. 1 passed" in done.stdout
    done = limited(tmp_path, harness, "--skip", "hangs")
    assert done.returncode == 101
    assert "test fails ... FAILED" in done.stdout
    assert "a sum" in done.stdout


def test_a_process_left_behind_does_not_keep_the_command_from_ending(tmp_path: Path):
    """It holds the output open, and is ended."""
    done = limited(tmp_path, "sh", "-c", "sleep 60 & echo 'test ends ... ok'; exit 3")
    assert done.returncode == 3
