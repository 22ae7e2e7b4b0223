"""`assay new`: a study that can be read, for every target that has a change of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.changes import CATALOGUE
from assay.cli import new
from assay.study import read
from assay.study.template import Sketch, least_s, template
from assay.targets import TARGETS
from cli_kit import assay

KINDS = ("engine", "micro")


@pytest.mark.parametrize("kind", KINDS)
def test_every_change_makes_a_study_that_can_be_read(kind: str) -> None:
    """With every load in which the change does something."""
    target, seen = TARGETS[kind], 0
    for load in target.workloads:
        for change in CATALOGUE.values():
            if new._fits(change, target, load):
                text = template(Sketch(target, load, change, "10min"))
                study = read("new", text, Path("."))
                assert least_s(study) > 0
                seen += 1
    assert seen > 5


def test_options_answer_every_question(tmp_path: Path) -> None:
    """The file is checked, and it is said how long the study takes and how to run it."""
    words = ("new", "--target", "engine", "--workload", "ycsb", "--change", "engine.spin_hint")
    done = assay(*words, "--budget", "5min", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "engine-spin-hint.toml"
    assert read("new", path.read_text(), tmp_path).budget_s == 300
    assert "checked; the first answer is possible after about" in done.stderr
    assert "next: assay run engine-spin-hint.toml" in done.stderr
    again = assay(*words, cwd=tmp_path)
    assert again.returncode == 2
    assert "is there already" in again.stderr


def test_without_a_terminal_nothing_is_asked(tmp_path: Path, monkeypatch) -> None:
    """What is found here comes first."""
    monkeypatch.setattr(new, "_found", lambda: ["micro"])
    done = assay("new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("micro-")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target", "engin"), "did you mean 'engine'"),
        (("--target", "engine", "--workload", "lock"), "'lock' is no workload here"),
        (("--target", "engine", "--change", "redis.io_threads"), "is no change here"),
        (("--target", "engine", "--budget", "5"), "--budget"),
    ],
)
def test_a_wrong_answer_is_refused(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """With what there is; no file is written."""
    done = assay("new", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_question_is_asked_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer counts, and an empty one is the default."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("rich.prompt.Prompt.ask", lambda what, default, console: default)
    assert new._asked("target", ["a", "b"], "a") == "a"
