"""`assay decide` on somebody's files: what it takes, what it assumes, what it prints."""

from __future__ import annotations

import io
import json
from pathlib import Path

import decide as decide_benchmark
import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from assay.cli import app
from assay.cli.display.waiting import Waiting
from assay.reasons import Reason

ROOT = Path(__file__).parents[2]


@pytest.fixture
def decide(tmp_path, monkeypatch):
    """Run the command in a folder that holds the files given, and return what came of it."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, stdin: str | bytes | None = None, **texts: str):
        for name, text in texts.items():
            Path(f"{name}.csv").write_text(text)
        files = [f"{name}.csv" for name in texts]
        return CliRunner().invoke(app, ["decide", *files, *words], input=stdin)

    return run


def runs(effects: dict[str, float], blocks: int = 12, seed: int = 3, metric: str = "") -> str:
    """A file of runs with order, arms as given."""
    rng = np.random.default_rng(seed)
    lines = [("metric," if metric else "") + "block,arm,value,order"]
    for block in range(blocks):
        for arm in rng.permutation(list(effects)).tolist():
            value = 1000 * np.exp(effects[arm] + rng.normal(0, 0.002))
            cells = [metric, str(block), arm, f"{value:.2f}", str(len(lines) - 1)]
            lines.append(",".join(cell for cell in cells if cell))
    return "\n".join(lines) + "\n"


THREE = {"old": 0.0, "fast": 0.05, "same": 0.0}


def answer(result) -> dict:
    """The JSON of a command that went well."""
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def words(metric: dict) -> dict[str, str]:
    """Arm -> word, of one metric of the JSON."""
    return {verdict["arm"]: verdict["word"] for verdict in metric["verdicts"]}


def test_the_answer_is_a_table_with_a_line_for_each_arm(decide):
    """Baseline first, columns aligned, then the reasons, then the warnings."""
    done = decide("--baseline", "old", runs=runs(THREE))
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "value: higher is better (assumed: see --better), against old",
        "arm   median  typical run, + better  estimate  total               verdict        blocks",
        "old    999.4",
        "fast    1051  [+4.68 %, +5.35 %]      +5.01 %  [+4.72 %, +5.30 %]  helps              12",
        "same   999.5  [-0.28 %, +0.06 %]      -0.13 %  [-0.32 %, +0.06 %]  no difference      12",
        "  fast  the interval lies above zero (look 1 of 1, 12 blocks)",
        "  same  the interval lies within 2 % of zero (look 1 of 1, 12 blocks)",
        "",
        "warning: tested once, as a number of blocks fixed beforehand; adding blocks and testing "
        "again until the answer pleases is wrong far more often than alpha: give the planned "
        "number of blocks if you look on the way",
    ]


def test_the_json_holds_all_that_the_table_says(decide):
    """And the codes of the warnings."""
    found = answer(decide("--baseline", "old", "--json", runs=runs(THREE)))["value"]
    assert set(found) == {
        "baseline", "baseline_by_default", "better", "better_by_default", "blocks",
        "medians", "planned", "verdicts", "warning_reasons", "warnings",
    }  # fmt: skip
    assert set(found["verdicts"][0]) == {
        "arm", "word", "strength", "estimate", "low", "high", "blocks", "level", "look", "final",
        "reason", "total",
    }  # fmt: skip
    assert words(found) == {"fast": "helps", "same": "no difference"}
    assert found["medians"]["old"] == pytest.approx(999.41)
    assert [w["code"] for w in found["warning_reasons"]] == ["fixed-sample"]
    assert found["warnings"] == [Reason(**w).text for w in found["warning_reasons"]]


@pytest.mark.parametrize(
    ("arms", "expected", "said"),
    [
        (["new", "baseline"], "baseline", "against baseline\n"),
        (["new", "old"], "new", "against new (the first arm: see --baseline)\n"),
    ],
)
def test_the_baseline_is_called_so_or_is_the_first_arm_of_the_file(decide, arms, expected, said):
    """Which of them it was is said."""
    text = "arm,block,value\n" + "".join(f"{a},{b},{b + 1}\n" for b in range(6) for a in arms)
    found = answer(decide("--json", runs=text))["value"]
    assert (found["baseline"], found["baseline_by_default"]) == (expected, True)
    assert said in decide(runs=text).stdout
    named = answer(decide("--json", "--baseline", arms[0], runs=text))["value"]
    assert not named["baseline_by_default"]


def test_two_files_of_bare_numbers_are_two_arms(decide):
    """Paired by position, with a warning of what that rests on."""
    before, after = ("value\n" + "".join(f"{v}\n" for v in range(k, k + 9)) for k in (100, 120))
    done = decide(before=before, after=after)
    assert "against before (the first arm: see --baseline)" in done.stdout
    assert "the runs name no blocks, so the first run of every arm was paired" in done.stdout
    found = answer(decide("--json", before=before, after=after))["value"]
    assert words(found) == {"after": "helps"}
    assert [w["code"] for w in found["warning_reasons"]] == ["fixed-sample", "order-unknown"]


TWO_METRICS = runs(THREE, metric="latency_p99") + runs(THREE, metric="load").split("\n", 1)[1]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"latency_p99": ("lower", False), "load": ("higher", True)}),
        (["--better", "lower"], {"latency_p99": ("lower", False), "load": ("lower", False)}),
        (["--better", "higher"], {"latency_p99": ("higher", False), "load": ("higher", False)}),
        (["--better", "load=lower"], {"latency_p99": ("lower", False), "load": ("lower", False)}),
        (
            ["--better", "lower", "--better", "load=higher"],
            {"latency_p99": ("lower", False), "load": ("higher", False)},
        ),
    ],
)
def test_each_metric_has_its_direction(decide, options, expected):
    """What was said of it, else what was said of all, else what is known of it."""
    found = answer(decide("--json", "--baseline", "old", *options, runs=TWO_METRICS))
    assert {n: (m["better"], m["better_by_default"]) for n, m in found.items()} == expected
    for metric in found.values():
        assert words(metric)["fast"] == ("hurts" if metric["better"] == "lower" else "helps")


def test_a_warning_about_all_metrics_is_given_once(decide):
    """One about some of them names them."""
    text = TWO_METRICS.replace("load,3,fast", "load,99,fast")
    said = decide("--baseline", "old", runs=text).stdout
    assert said.count("tested once") == 1
    assert "warning: load: fast: 2 of 13 blocks lack it or old" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--better", "up"], "--better is 'up'"),
        (["--better", "value=up"], "--better is 'value=up'"),
        (["--better", "valu=lower"], "there is no metric 'valu'; did you mean 'value'?"),
        (["--better", "value=lower", "--better", "value=higher"], "contradicts another --better"),
        (["--baseline", "gone"], "there is no arm called 'gone'"),
        (["--baseline", ""], "there is no arm called ''"),
        (["--alpha", "0.7"], "alpha is 0.7"),
        (["--margin", "two"], "margin is 'two'"),
        (["--planned", "0"], "planned is 0"),
    ],
)
def test_wrong_options_are_refused_with_a_next_step(decide, options, message):
    """Exit code 2, on stderr."""
    done = decide(*options, runs=runs(THREE))
    assert done.exit_code == 2
    assert message in done.stderr
    assert "next: " in done.stderr
    assert done.stdout == ""


def test_an_error_in_one_of_several_metrics_names_it(decide):
    """The line alone would not tell which."""
    text = "metric,arm,value\nrate,a,1\nrate,b,2\nload,a,1\n"
    done = decide(runs=text)
    assert done.exit_code == 2
    assert "load: a is the only arm" in done.stderr


def test_runs_may_come_through_a_pipe(decide):
    """`-` is standard input, named so in errors."""
    assert "helps" in decide("-", "--baseline", "old", stdin=runs(THREE)).stdout
    done = decide("-", stdin="arm,value\na,x\n")
    assert done.exit_code == 2
    assert "standard input:2: value 'x' is not a number" in done.stderr
    assert "standard input has no column arm" in decide("-", stdin="value\n1\n").stderr


def test_names_of_any_width_stay_in_their_columns(decide):
    """Wide letters take two cells each."""
    effects = {"старый": 0.0, "新しい": 0.05, "n": 0.0}
    lines = decide("--baseline", "n", runs=runs(effects)).stdout.splitlines()
    assert {cell_len(line[: line.index("[")]) for line in lines[3:5]} == {16}


def test_large_effects_and_tiny_ones_are_printed_with_the_digits_they_need(decide):
    """A billion times as much, and a millionth more."""
    rows = [("a", 1e-9), ("b", 1.0), ("c", 1e-9 * (1 + 1e-6))]
    text = "arm,block,value\n" + "".join(f"{a},{b},{v!r}\n" for b in range(9) for a, v in rows)
    said = decide("--baseline", "a", runs=text).stdout
    assert "[+1e+11 %, +1e+11 %]" in said
    assert "[+0.00 %, +0.00 %]" in said
    assert "\na     1e-09\n" in said


class Clock:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def waiting(terminal: bool) -> tuple[Waiting, Clock, io.StringIO]:
    """What waits, its clock and what it wrote."""
    clock, out = Clock(), io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=80)
    return Waiting(console, clock), clock, out


def test_long_work_shows_how_long_it_will_take_yet():
    """A quarter of the file in a second: three more to read, and three times four to decide."""
    line, clock, out = waiting(terminal=True)
    with line:
        clock.now = 1.0
        line.reading(25, 100)
        assert line.text() == "reading the runs, about 15 s left"
        clock.now = 4.0
        line.deciding(0.0)
        assert line.text() == "deciding on them, about 12 s left"
        clock.now = 10.0
        line.deciding(0.5)
        assert line.text() == "deciding on them, about 6 s left"
        clock.now = 17.0
        assert line.text() == "deciding on them, nearly done"
    assert "deciding on them, nearly done" in out.getvalue()


def test_hours_are_told_as_hours():
    """A very large file."""
    line, clock, _ = waiting(terminal=True)
    with line:
        clock.now = 10.0
        line.reading(1, 400)
        assert line.text() == "reading the runs, about 4 h 26 min left"


def test_what_comes_through_a_pipe_has_no_end_to_foretell():
    """The time so far is told instead, after two seconds."""
    line, clock, out = waiting(terminal=True)
    with line:
        clock.now = 1.9
        line.reading(0, 0)
        assert out.getvalue() == ""
        clock.now = 2.5
        line.reading(0, 0)
        assert line.text() == "reading the runs, 2.5 s so far"
    assert "so far" in out.getvalue()


@pytest.mark.parametrize(("terminal", "after_s"), [(True, 0.3), (False, 30.0)])
def test_short_work_and_logs_see_no_progress(terminal, after_s):
    """Half a second of reading in all is not worth a word; a file is no terminal."""
    line, clock, out = waiting(terminal)
    with line:
        clock.now = after_s
        line.reading(90, 100)
        line.deciding(0.0)
    assert out.getvalue() == ""


@pytest.mark.server
def test_the_benchmark_runs_and_speaks_the_agreed_json(capsys):
    """--quick --json prints one object with the fields of every benchmark."""
    assert decide_benchmark.main(["--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"name", "host", "rows"}
    fields = {
        "metric", "rival", "unit", "ours", "theirs", "ratio", "low", "high", "goal", "met",
    }  # fmt: skip
    assert all(set(row) == fields for row in found["rows"])
    assert "time, 500 rows, with order, s" in decide_benchmark.table(
        [decide_benchmark.Row(**row) for row in found["rows"]]
    )
