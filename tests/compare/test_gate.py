"""The performance gate: what closes it, and what a continuous integration is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.compare import gate
from assay.record import Bundle
from cli_kit import assay

ROOT = Path(__file__).parent.parent.parent
TELL = ("--value", r"(\d+) op/s", "--unit", "op/s", "--better", "higher")
SHORT = ("--window", "20ms", "--budget", "30s", "--seed", "7")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is not waited for, and this is no workflow but where a test says so."""
    monkeypatch.setattr("assay.cli.compare.SETTLE_S", 0.0)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def hurting(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A command that prints 10 % less, in a bundle."""
    folder = tmp_path_factory.mktemp("hurting")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.cli.compare.SETTLE_S", 0.0)
        commands = ("echo 100 op/s", "echo '90 op/s |<b>'")
        done = assay("compare", *commands, *TELL, *SHORT, "--out", folder / "b", cwd=folder)
    assert done.returncode == 0, done.stderr
    return Bundle.open(folder / "b")


def test_a_sure_loss_closes_the_gate_and_a_smaller_one_does_not(hurting: Bundle) -> None:
    """The whole interval must lie beyond what is allowed."""
    plan, verdicts = hurting.plan, hurting.verdicts()
    for allowed, closed in ((0.0, 1), (0.05, 1), (0.0999, 1), (0.11, 0)):
        assert len(gate.failing(plan, verdicts, allowed)) == closed
    row = gate.judged(plan, verdicts)[0]
    assert gate.least_loss(row) == pytest.approx(0.1, abs=1e-6)
    assert gate.least_loss(row.model_copy(update={"word": "undecided"})) == 0


def test_the_summary_is_a_table_that_no_name_can_break(hurting: Bundle) -> None:
    """Bars and brackets in a command are text."""
    text = gate.markdown(hurting.plan, hurting.runs(), hurting.verdicts(), 0.05)
    assert text.startswith("### ❌ Assay: `echo '90 op/s \\|<b>'` is worse than allowed")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)
    assert "| ❌ |" in text
    assert "[-10.0 %, -10.0 %] | hurts |" in text


def test_junit_has_a_case_for_each_verdict(hurting: Bundle) -> None:
    """A failure where the gate closes, and none where the loss is allowed."""
    plan, verdicts = hurting.plan, hurting.verdicts()
    for allowed, failures in ((0.05, "1"), (0.5, "0")):
        suite = ElementTree.fromstring(gate.junit(plan, verdicts, allowed).partition("\n")[2])
        assert (suite.get("tests"), suite.get("failures")) == ("1", failures)
        assert len(suite.findall("testcase/failure")) == int(failures)


def test_annotations_are_errors_or_warnings_and_stay_on_one_line(hurting: Bundle) -> None:
    """By what is allowed; a percent sign is escaped, as GitHub wants it."""
    plan, verdicts = hurting.plan, hurting.verdicts()
    (error,), (warning,) = (gate.notes(plan, verdicts, a) for a in (0.05, 0.5))
    assert error.startswith("::error title=assay%3A job/to-exit::echo '90 op/s")
    assert "%25" in error
    assert "\n" not in error
    assert warning.startswith("::warning ")


def test_the_command_line_is_a_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1, a summary on standard output and in its file, JUnit, and annotations."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    words = ("compare", "echo 100 op/s", "echo 90 op/s", *TELL, *SHORT, "--ci")
    done = assay(*words, "--fail-if", "3%", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("### ❌ Assay")
    assert "\n::error title=" in done.stdout
    assert (tmp_path / "summary.md").read_text().startswith("### ❌ Assay")
    assert ElementTree.parse(tmp_path / "assay-junit.xml").getroot().get("failures") == "1"


def inputs(text: str) -> dict[str, str]:
    """Names and values of the `with` of an example."""
    block = text.partition("        with:\n")[2]
    return dict(re.findall(r"^ {10}([\w-]+): (.+)$", block, re.M))


def test_the_example_of_the_page_works(tmp_path: Path) -> None:
    """The action's own script, with the inputs that docs/gate.md gives it."""
    page = (ROOT / "docs" / "gate.md").read_text()
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    assert len(example.splitlines()) <= 11
    given = inputs(example)
    action = (ROOT / "action.yml").read_text()
    known = re.findall(
        r"^  ([\w-]+):$", action.partition("inputs:")[2].partition("outputs:")[0], re.M
    )
    assert set(given) <= set(known)
    script = re.sub(r"^ {8}", "", action.rpartition("run: |\n")[2], flags=re.M)
    for name, text in (("old", "100"), ("new", "90")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {text} op/s\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "assay").write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'from assay.cli import main; main()' \"$@\"\n"
    )
    (tmp_path / "assay").chmod(0o755)
    options = "\n".join(
        (
            *(f"{a}={b}" for a, b in zip(TELL[::2], TELL[1::2], strict=True)),
            "--window=20ms",
            "--warmup=0ms",
        )
    )
    env = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "BASELINE": given["baseline"],
        "CANDIDATE": given["candidate"],
        "FAIL_IF": given["fail-if"],
        "BUDGET": "30s",
        "OPTIONS": options,
    }
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "is worse than allowed" in done.stdout
    assert (tmp_path / "assay-junit.xml").exists()
