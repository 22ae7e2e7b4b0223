"""What a command line asks, and the study that it becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.compare import Contender, Question, study_text, words_of_shell
from assay.compare.alone import interval_of_median, to_see
from assay.compare.question import contenders, scanned
from assay.core.errors import InputError
from assay.study import Study, arms, read

TWO = (Contender("old", ("sleep", "0.1")), Contender('new "x"', ("sleep", "0.2"), ("X=1",)))


def study_of(asked: Question) -> Study:
    """The study as `assay run` would read it."""
    return read("test", study_text(asked, 1000.0), Path.cwd())


def test_a_question_is_a_study_that_can_be_read() -> None:
    """Its arms are the commands, the first one is the baseline."""
    study = study_of(Question(contenders=TWO, prepare=("sync",), directory=Path("/tmp")))
    assert [a.name for a in arms(study)] == ["baseline", 'new "x"']
    case = study.cases[0]
    first, second = (study.launch(case, arm, seed=1).settings for arm in arms(study))
    assert first["command"] == ["sleep", "0.1"]
    assert second["env"] == ["X=1"]
    assert second["prepare"] == ["sync"]
    assert study.primary == "wall_time"
    assert study.smallest == study.margin == 0.02


def test_a_number_that_is_printed_is_the_primary_metric() -> None:
    """With the unit and the direction that were given."""
    asked = Question(contenders=TWO, value=r"\"(\d+)\" op/s", unit="op/s", better="lower")
    study = study_of(asked)
    assert study.primary == "printed_lower.op/s"
    assert study.cases[0].settings["value"] == r"\"(\d+)\" op/s"
    assert set(study.also) == {"wall_time", "cpu_time", "peak_memory"}


def test_a_scan_is_a_case_for_each_value() -> None:
    """Of several names, for each combination."""
    scan = scanned(["threads=1,2", "size=8,16"])
    study = study_of(Question(contenders=TWO, scan=scan))
    assert [c.name for c in study.cases] == [
        "threads=1,size=8",
        "threads=1,size=16",
        "threads=2,size=8",
        "threads=2,size=16",
    ]
    assert study.cases[0].settings["let"] == ["threads=1", "size=8"]


def test_commands_are_called_as_they_are_said_and_the_baseline_is_first() -> None:
    """Names go to commands in their order; variables to names."""
    found = contenders(["a 1", "b 2"], ["A"], ["A:X=1", "b 2:Y=a:b"], "b 2", "none")
    assert found == (
        Contender("b 2", ("b", "2"), ("Y=a:b",)),
        Contender("A", ("a", "1"), ("X=1",)),
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((["a", "a"], [], [], None), "two commands would be called 'a'"),
        ((["a"], ["x", "y"], [], None), "2 names for 1 commands"),
        ((["a", "b"], [], ["c:X=1"], None), "no command is called 'c'"),
        ((["a", "b"], [], ["a:X"], None), "write NAME:VARIABLE=value"),
        ((["a", "b"], [], [], "c"), "--baseline: no command is called 'c'"),
        ((["a | b", "b"], [], [], None), "without a shell"),
        ((["a 'b", "b"], [], [], None), "quot"),
        ((["  ", "b"], [], [], None), "empty"),
    ],
)
def test_what_makes_no_sense_is_refused(given: tuple, said: str) -> None:
    """With the option and the name."""
    with pytest.raises(InputError, match=said):
        contenders(*given, "none")


def test_a_shell_gets_the_whole_text() -> None:
    """Where one is asked for."""
    assert words_of_shell("a | b", "sh") == ("sh", "-c", "a | b")


@pytest.mark.parametrize("text", ["threads", "threads=", "threads=1,1", "1x=2"])
def test_a_scan_needs_a_name_and_values(text: str) -> None:
    """Different ones."""
    with pytest.raises(InputError, match="--scan"):
        scanned([text])


def test_the_interval_of_a_median_holds_it_and_narrows_with_more_runs() -> None:
    """And what can be seen costs more where runs vary more."""
    few, many = [1.0, 1.1, 0.9, 1.05] * 3, [1.0, 1.1, 0.9, 1.05] * 30
    low, high = interval_of_median(few, 1)
    assert low <= 1.025 <= high
    narrow = interval_of_median(many, 1)
    assert narrow[1] - narrow[0] <= high - low
    wide = to_see(few, 0.05)
    assert wide[0.01] > wide[0.02] >= wide[0.10]
