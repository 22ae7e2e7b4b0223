"""Reading study files: what is understood, and what each mistake is answered with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.core.errors import InputError, StudyError
from assay.study import arms, locate, read, shipped
from fakes import STUDY

MISTAKES = {
    "unknown key": ('window = "300ms"', 'windwo = "300ms"', "did you mean 'window'"),
    "wrong unit": ('window = "300ms"', 'window = "300 bananas"', "the unit 'bananas'"),
    "neither time nor auto": ('window = "300ms"', 'window = "automatic"', 'or "auto" to let'),
    "no unit": ('window = "300ms"', "window = 300", "is not a duration"),
    "unknown change": ("engine.spin_hint", "engine.spin_hnt", "did you mean 'engine.spin_hint'"),
    "wrong target": ("engine.spin_hint", "micro.crc32c", "is a change of micro, not of engine"),
    "illegal": (
        'change = "engine.spin_hint"\non = "pause"',
        'change = "engine.spin_limit"\non = 9',
        "requires lock = backoff or futex, not ttas",
    ),
    "missing primary": ('primary = "throughput"\n', "", "'primary' is missing"),
    "small budget": ('budget = "60s"', 'budget = "1s"', "budget too small"),
    "not TOML": ('kind = "ycsb"', "kind = ", "not TOML"),
    "unknown level": ('on = "pause"', 'on = "pauze"', "did you mean 'pause'"),
    "unknown metric": ('["latency_p99"]', '["latency_p98"]', "did you mean"),
    "primary twice": ('["latency_p99"]', '["throughput"]', "is the primary metric already"),
    "unknown workload": ('kind = "ycsb"', 'kind = "ycbs"', "did you mean 'ycsb'"),
    "unknown setting": ('kind = "ycsb"', 'kind = "ycsb"\nrecord = 1', "did you mean 'records'"),
    "out of range": ('kind = "ycsb"', 'kind = "ycsb"\nrecords = 1', "from 1000"),
    "unknown target": ('kind = "engine"', 'kind = "engin"', "did you mean 'engine'"),
    "bad design": ('kind = "one-at-a-time"', 'kind = "onebyone"', "should be"),
    "set twice": ('kind = "engine"', 'kind = "engine"\nhint = "none"', "set by factor hint"),
    "no work": (
        'change = "engine.spin_hint"\non = "pause"',
        'change = "engine.system_cache"',
        "does nothing under workload ycsb",
    ),
    "twice a factor": ('name = "cache"', 'name = "hint"', "two factors are called"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_answered_with_its_line_and_a_next_step(mistake: str, read_study) -> None:
    """The line of the mistake itself, what is allowed, and what to do."""
    before, after, message = MISTAKES[mistake]
    assert before in STUDY
    text = STUDY.replace(before, after, 1)
    with pytest.raises(StudyError, match=r"fake\.toml:") as caught:
        read_study(text)
    assert message in str(caught.value)
    problem = next(p for p in caught.value.problems if message in p.message)
    assert problem.next_step
    changed = text[: STUDY.index(before)].count("\n") + 1
    section = text[: STUDY.index(before)].rfind("\n[")
    first = text[:section].count("\n") + 1 if section > 0 else 1
    assert first <= problem.line <= changed + after.count("\n") + 1


def test_all_mistakes_are_told_at_once(read_study) -> None:
    """Nobody wants to mend a file ten times."""
    text = STUDY.replace('window = "300ms"', 'window = "3 x"').replace(
        'margin = "5%"', "margin = 5"
    )
    with pytest.raises(StudyError) as caught:
        read_study(text)
    assert len(caught.value.problems) == 2


def test_an_empty_design_is_refused(read_study) -> None:
    """No factor and no arm is no question."""
    start, end = STUDY.index("[[factor]]"), STUDY.index("[design]")
    with pytest.raises(StudyError, match="the design is empty"):
        read_study(STUDY[:start] + STUDY[end:])


def test_a_duplicate_arm_is_refused_unless_it_is_a_placebo(read_study) -> None:
    """The same name, or the same levels."""
    listed = STUDY.replace('kind = "one-at-a-time"', 'kind = "arms"')
    same = '\n[[arm]]\nname = "a"\nlevels = {hint = "pause"}\n'
    with pytest.raises(StudyError, match="'a' is there already"):
        read_study(listed + same + same)
    with pytest.raises(StudyError, match="has the same levels"):
        read_study(listed + same + same.replace('"a"', '"b"'))
    placebo = same + same.replace('"a"', '"b"') + "placebo = true\n"
    assert [a.name for a in arms(read_study(listed + placebo))] == ["baseline", "a", "b"]


def test_an_illegal_arm_is_refused_at_its_line(read_study) -> None:
    """A factor that requires another one, without it."""
    text = STUDY.replace('kind = "one-at-a-time"', 'kind = "arms"')
    text = text.replace('name = "cache"', 'name = "cache"\nrequires = ["hint"]')
    text += '\n[[arm]]\nname = "alone"\nlevels = {cache = "optimistic"}\n'
    with pytest.raises(StudyError, match="cache requires hint") as caught:
        read_study(text)
    assert caught.value.problems[0].line == text[: text.index("[[arm]]")].count("\n") + 1


def test_overrides_take_the_place_of_what_is_written(read_study) -> None:
    """As TOML where it is TOML, as text where it is not."""
    study = read_study(workload__records="5000", decide__budget="2min")
    assert study.cases[0].parameters["records"] == 5000
    assert study.budget_s == 120


@pytest.mark.parametrize("names", [("warmup",), ("window",), ("warmup", "window")])
def test_times_may_be_left_to_a_pilot(names: tuple[str, ...], read_study) -> None:
    """A written time stays; stand-ins hold the place of the others until the pilot was made."""
    text = STUDY
    for name, written in (("warmup", "100ms"), ("window", "300ms")):
        if name in names:
            text = text.replace(f'{name} = "{written}"', f'{name} = "auto"')
    study = read_study(text)
    assert study.auto == frozenset(names)
    assert study.warmup_s == (0.2 if "warmup" in names else 0.1)
    assert study.window_s == (0.5 if "window" in names else 0.3)
    assert read_study(measure__warmup="auto").auto == {"warmup"}
    assert read_study().auto == frozenset()


def test_several_cases_share_the_factors(read_study) -> None:
    """[[case]] with a target and a workload each."""
    text = STUDY.replace("[target]\n", "").replace('kind = "engine"\n', "", 1)
    text = text.replace('\n[workload]\nkind = "ycsb"\n', "")
    cases = "".join(
        f'\n[[case]]\nname = "{m}"\ntarget = {{kind = "engine"}}\n'
        f'workload = {{kind = "ycsb", mix = "{m}"}}\n'
        for m in "ab"
    )
    study = read_study(text + cases)
    assert [c.name for c in study.cases] == ["a", "b"]
    assert [c.parameters["mix"] for c in study.cases] == ["a", "b"]


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_study_is_understood(name: str) -> None:
    """Its question and its source stand in it."""
    study = read(*locate(name))
    assert study.name == name
    assert study.question.endswith("?")
    assert study.source
    assert len(arms(study)) >= 2


def test_an_unknown_study_is_answered_with_the_nearest() -> None:
    """A typing mistake in a shipped name."""
    with pytest.raises(InputError, match="did you mean 'quickstart'"):
        locate("quikstart")


def test_a_binary_change_is_read_relative_to_its_file(tmp_path: Path) -> None:
    """Another build of the server, named beside the study."""
    (tmp_path / "other").write_text("another build")
    text = STUDY.replace('change = "engine.data_cache"', 'change = "binary"\non = "other"')
    study = read("s.toml", text, tmp_path)
    level = study.factors["cache"].levels["on"]
    assert level.application.binary == str((tmp_path / "other").resolve())
    missing = text.replace('on = "other"', 'on = "nowhere"')
    with pytest.raises(StudyError, match="'nowhere' is not a file"):
        read("s.toml", missing, tmp_path)


def test_ten_mistakes_in_one_file_are_told_together(read_study) -> None:
    """Shape and sense in one pass: each mistake with its own line, none because of another."""
    text = """name = "ten"
colour = "red"

[target]
kind = "engine"
threds = 4

[workload]
kind = "ycsb"
records = 5

[measure]
window = "300 bananas"
also = ["latency_p98"]

[[factor]]
name = "unknown"
change = "engine.spin_hnt"

[[factor]]
name = "elsewhere"
change = "micro.crc32c"

[[factor]]
name = "limit"
change = "engine.spin_limit"

[[factor]]
name = "cache"
change = "engine.data_cache"

[[arm]]
name = "a"
levels = { cache = "optimistic" }

[[arm]]
name = "a"
levels = { limit = "2048" }

[[arm]]
name = "same"
levels = { cache = "optimistic" }

[design]
kind = "arms"

[decide]
budget = "1s"
"""
    with pytest.raises(StudyError) as caught:
        read_study(text)
    said = {(p.line, p.message.split(" ")[0]) for p in caught.value.problems}
    lines = [line for line, _ in sorted(said)]
    assert lines == [1, 2, 6, 10, 12, 13, 14, 18, 22, 36, 37, 40, 48]
    assert all(p.next_step for p in caught.value.problems)


FAULTS = {
    "a level that is on": ('change = "engine.spin_hint"\non = "no"', 'on = "no"'),
    "a level that is off": ('change = "engine.spin_hint"\noff = "no"\non = "pause"', 'off = "no"'),
    "one of the levels": ('change = "engine.spin_hint"\nlevels = ["none", "no"]', "levels ="),
    "text for a number": ('change = "engine.spin_limit"\noff = 1\non = "many"', 'on = "many"'),
    "one level": ('change = "engine.spin_hint"\nlevels = ["none"]', "levels ="),
    "both ways to say levels": (
        'change = "engine.spin_hint"\non = "pause"\nlevels = ["none", "pause"]', "levels ="),
    "a change": ('change = "engine.spin_hnt"\non = "pause"', "change ="),
    "a device": ('change = "engine.spin_hint"\non = "pause"\ndevice = "eth0"', "device ="),
    "a setting": ('change = "engine.spin_hint"\nsetting = "hint"\non = "pause"', "setting ="),
    "a variable": ('change = "env"\nvariable = "A"\noff = 1\non = "2"', "off ="),
    "a binary": ('change = "binary"\non = "/no/file"', "on ="),
    "no words": ('change = "command"\noff = "a"\non = "b"', "off ="),
    "no level": ('change = "setting"\nsetting = "hint"\noff = "a"', "off ="),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mistake_in_a_factor_points_at_its_key(fault: str, read_study) -> None:
    """Whatever its message says."""
    factor, key = FAULTS[fault]
    text = STUDY.replace('change = "engine.spin_hint"\non = "pause"', factor, 1)
    with pytest.raises(StudyError) as caught:
        read_study(text)
    start = text.index(factor)
    line = text[: text.index(key, start)].count("\n") + 1
    assert line in [p.line for p in caught.value.problems]


def test_a_workload_names_the_settings_it_needs_and_the_study_may_name_others() -> None:
    """The target's own defaults would not carry TPC-C."""
    text = STUDY.replace('kind = "ycsb"', 'kind = "tpcc"')
    study = read("made up", text, Path("."))
    assert (study.cases[0].settings["cc"], study.cases[0].settings["index"]) == (
        "no-wait",
        "latched",
    )
    chosen = text.replace('kind = "engine"', 'kind = "engine"\ncc = "optimistic"')
    assert read("made up", chosen, Path(".")).cases[0].settings["cc"] == "optimistic"


def test_a_metric_that_no_run_of_the_target_has_is_refused() -> None:
    """MariaDB's data are made once and copied: only what loads them in each run has a time."""
    text = """
name = "load"
question = "?"
[target]
kind = "{}"
[workload]
kind = "ycsb"
[measure]
primary = "load_seconds"
warmup = "100ms"
window = "300ms"
[[factor]]
name = "f"
change = "env"
variable = "X"
off = "1"
on = "2"
[design]
kind = "one-at-a-time"
[decide]
smallest = "5%"
margin = "5%"
budget = "50min"
"""
    with pytest.raises(StudyError, match="no run of mariadb has load_seconds"):
        read("load", text.format("mariadb"), Path("."))
    assert read("load", text.format("memcached"), Path(".")).primary == "load_seconds"
    assert read("load", text.format("engine"), Path(".")).primary == "load_seconds"
    asked = text.format("mariadb").replace("[workload]", "load_each_run = true\n[workload]")
    assert read("load", asked, Path(".")).primary == "load_seconds"


@pytest.mark.parametrize("name", [n for n, t in shipped().items() if "records = 100000000" in t])
def test_the_records_that_a_shipped_study_says_to_write_are_allowed(name: str) -> None:
    """Its comment names the size of its source, which takes longer than its budget."""
    text = re.sub(r"(?m)^budget = .*", 'budget = "5000h"', shipped()[name])
    written = read(name, re.sub(r"records = \d+", "records = 100000000", text), Path("."))
    assert any(case.parameters["records"] == 100_000_000 for case in written.cases)


@pytest.mark.parametrize("name", ["", "a\\nb", "a\\u001b[31mb", "a" * 81])
@pytest.mark.parametrize(
    ("line", "wrong"),
    [('name = "hint"', 'name = "{}"'), ('on = "pause"', 'levels = ["none", "{}"]')],
)
def test_a_name_can_be_printed_on_a_line(name: str, line: str, wrong: str, read_study) -> None:
    """Of factors and of levels: it stands in tables, in messages and on the terminal."""
    wrong = STUDY.replace(line, wrong.format(name))
    with pytest.raises(StudyError, match="1 to 80 characters that can be printed"):
        read_study(wrong)


def test_no_two_arms_have_one_name(read_study) -> None:
    """Also where it is the factors that give arms their names."""
    with pytest.raises(StudyError, match="two arms would be called 'baseline'"):
        read_study(STUDY.replace('name = "hint"', 'name = "baseline"'))
