"""Results of other tools, most of them real (tests/data/imports/README.md says which)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.core.errors import DataError
from assay.imports import FORMATS, Imported, read_results, recognised
from assay.reasons import Code
from cli_kit import assay

DATA = Path(__file__).parent.parent / "data" / "imports"


def files(*names: str) -> list[Path]:
    """Samples by name."""
    return [DATA / name for name in names]


def numbers(found: Imported, metric: str) -> dict[str, list[float]]:
    """By arm the numbers of a metric."""
    runs = found.runs[metric]
    return {
        arm: [float(v) for v, a in zip(runs.values, runs.arm, strict=True) if runs.arms[a] == arm]
        for arm in runs.arms
    }


@pytest.mark.parametrize(
    ("names", "tool", "metrics", "arms", "code"),
    [
        (
            ("hyperfine.json",),
            "hyperfine",
            ["time"],
            ["sleep 0.02", "sleep 0.021"],
            "arm-after-arm",
        ),
        (
            ("go-old.txt", "go-new.txt"),
            "go test -bench",
            ["BenchmarkSort", "BenchmarkCRC ns/op", "BenchmarkCRC MB/s"],
            ["go-old", "go-new"],
            "file-after-file",
        ),
        (
            ("gb-old.json", "gb-new.json"),
            "Google Benchmark",
            ["BM_push/64", "BM_push/8"],
            ["gb-old", "gb-new"],
            "one-process",
        ),
        (
            ("pytest-before.json", "pytest-after.json"),
            "pytest-benchmark",
            ["test_sorted", "test_reversed"],
            ["pytest-before", "pytest-after"],
            "one-process",
        ),
        (("jmh.json",), "JMH", ["rate"], None, "arm-after-arm"),
        (
            ("k6-1.json", "k6-2.json"),
            "k6",
            None,
            None,
            None,
        ),
        (("pairs.csv",), "two columns", ["rate"], ["old", "new"], None),
    ],
)
def test_each_tool_is_known_by_its_file(
    names: tuple[str, ...], tool: str, metrics: list[str], arms: list[str], code: str | None
) -> None:
    """With its arms, its metrics, and what the order of its runs cannot carry."""
    paths = files(*names)
    assert recognised(paths)
    if metrics is None:
        with pytest.raises(DataError, match="one arm only"):
            read_results(paths)
        return
    found = read_results(paths)
    assert found.tool == tool
    assert list(found.runs) == metrics
    if arms is not None:
        assert found.runs[metrics[0]].arms == arms
    assert (found.design.code if found.design else None) == (Code(code) if code else None)


def test_every_number_of_a_file_is_there() -> None:
    """Twelve runs of each command; six lines of each benchmark."""
    found = read_results(files("hyperfine.json"))
    times = json.loads((DATA / "hyperfine.json").read_text())["results"]
    assert list(numbers(found, "time").values()) == [r["times"] for r in times]
    assert {len(v) for v in numbers(read_results(files("go-old.txt")), "time").values()} == {6}


def test_a_fork_of_jmh_is_a_run_and_knows_its_direction() -> None:
    """The mean of its iterations; operations for a time are better when they are more."""
    found = read_results(files("jmh.json"))
    assert found.better == {"rate": "higher"}
    old, _ = numbers(found, "rate").values()
    assert old == [101.0, 102.0, 103.0]


def test_files_of_one_run_are_joined_by_their_names(tmp_path: Path) -> None:
    """`new-1` and `new-2` are two runs of arm `new`."""
    for tool, ending in (("k6", "json"), ("sysbench", "txt"), ("pgbench", "txt")):
        text = [p.read_text() for p in files(f"{tool}-1.{ending}", f"{tool}-2.{ending}")]
        paths = [tmp_path / f"{arm}-{n}.{ending}" for arm in ("old", "new") for n in (1, 2)]
        for path, content in zip(paths, text + text, strict=True):
            path.write_text(content)
        found = read_results(paths)
        assert found.tool == tool
        assert found.design is not None
        assert found.design.code == Code.ORDER_OF_FILES
        assert all(runs.arms == ["old", "new"] for runs in found.runs.values())
        assert all(len(runs.values) == 4 for runs in found.runs.values())


def test_numbers_that_are_zero_are_named_and_left_out() -> None:
    """sysbench rounds latencies of microseconds to 0.00 ms."""
    paths = files("sysbench-1.txt", "sysbench-2.txt")
    text = paths[0].read_text()
    assert "avg:                                    0.00" in text
    with pytest.raises(DataError, match="one arm only"):
        read_results(paths)


def test_a_folder_of_criterion_has_two_arms() -> None:
    """The run before, and this one."""
    found = read_results([DATA / "criterion"])
    assert found.tool == "Criterion"
    assert found.runs["sum"].arms == ["base", "new"]
    assert len(found.runs["sum"].values) == 20
    assert found.design is not None
    assert found.design.code == Code.ONE_PROCESS


def test_the_command_line_says_the_block_and_what_the_order_cannot_carry() -> None:
    """Above the verdict, and in JSON among the warnings."""
    done = assay("decide", *files("hyperfine.json"))
    assert done.returncode == 0
    first, second = done.stdout.splitlines()[:2]
    assert first == "from hyperfine: a block is the k-th runs of the commands"
    assert "no verdict here can be trusted" in second
    assert "assay compare" in second
    found = json.loads(assay("decide", *files("hyperfine.json"), "--json").stdout)
    codes = [w["code"] for w in found["time"]["warning_reasons"]]
    assert codes[0] == "arm-after-arm"
    assert "order-unknown" not in codes


def test_pairs_are_decided_as_blocks() -> None:
    """Their order inside of a row is not known, and that is said."""
    done = assay("decide", *files("pairs.csv"), "--better", "lower")
    assert "hurts" in done.stdout
    assert "a block is one row" in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", '{"results": [{"command": "x"}]}', "hyperfine's results, but KeyError"),
        ("a.json", '{"results": [{"command": "x", "times"', "hyperfine's results, but JSON"),
        ("a.txt", "goos: linux\nFAIL\n", "a test failed"),
        ("a.txt", "goos: linux\nPASS\n", "no line of a benchmark"),
        ("a.txt", "sysbench 1.0.20\nFATAL: no\n", "no summary"),
        ("a.csv", "old,new\n1,2\n3,x\n", "row 2 of numbers is '3,x'"),
    ],
)
def test_what_is_broken_is_said_with_the_file(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    """And the tool that it looks like."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        read_results([path])


def test_files_of_two_tools_are_refused() -> None:
    """They have nothing in common."""
    with pytest.raises(DataError, match=r"is of go test -bench, and .* of hyperfine"):
        read_results(files("hyperfine.json", "go-old.txt"))


def test_a_file_of_assays_own_columns_is_none_of_these(tmp_path: Path) -> None:
    """Nor is what nobody knows."""
    for text in ("arm,value\nold,1\nnew,2\n", "value,order\n1,2\n", "hello\nyou\n", "{}"):
        path = tmp_path / "runs.csv"
        path.write_text(text)
        assert not recognised([path])
    assert not recognised([Path("-")])
    assert len({f.name for f in FORMATS}) == len(FORMATS)
