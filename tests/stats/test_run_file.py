"""CSV files of anybody's runs: what is understood, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import DataError
from assay.stats import run_file
from assay.stats.run_file import read_files
from assay.stats.run_table import Columns

PLAIN = "block,arm,value\n1,old,10\n1,new,11.5\n2,new,12\n2,old,9e0\n"
ROWS = [("1", "old", 10.0), ("1", "new", 11.5), ("2", "new", 12.0), ("2", "old", 9.0)]


def rows(columns: Columns) -> list[tuple]:
    """The runs as tuples, order included where there is one."""
    orders = [()] * len(columns.values) if columns.orders is None else columns.orders[:, None]
    return [
        (columns.blocks[b], columns.arms[a], float(v), *map(int, o))
        for b, a, v, o in zip(columns.block, columns.arm, columns.values, orders, strict=True)
    ]


@pytest.fixture
def write(tmp_path):
    """Write files into an empty folder; returns their paths."""

    def writer(**texts: str | bytes) -> list[Path]:
        paths = [tmp_path / f"{name}.csv" for name in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return paths

    return writer


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", " , "),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN.replace("\n", "\n\n"),
        "\n\r\n" + PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN.encode("utf-8-sig"),
        PLAIN.replace("block,arm,value", "Block,ARM,Value"),
        PLAIN.replace("old", '"old"').replace("11.5", '"11.5"'),
        PLAIN.replace("new", '"new\n"'),
        "value,block,arm\n10,1,old\n11.5,1,new\n12,2,new\n9,2,old\n",
    ],
    ids=[
        "commas", "semicolons", "tabs", "blanks around cells", "CRLF", "CR", "blank lines",
        "blank lines first", "no line end at the end", "byte order mark", "capitals in the header",
        "quoted cells", "line ends in quotes", "other order of columns",
    ],
)  # fmt: skip
@pytest.mark.parametrize("at_once", [1, 3, 500])
def test_one_set_of_runs_may_be_written_in_many_ways(text, at_once, write, monkeypatch):
    """Whatever spreadsheet or script wrote it."""
    monkeypatch.setattr(run_file, "LINES_AT_ONCE", at_once)
    found = read_files(write(runs=text))
    assert list(found) == ["value"]
    assert rows(found["value"]) == ROWS


def test_order_and_metric_are_optional_columns(write):
    """Metrics become sets of runs of their own, in the order of their first line."""
    text = "metric,block,arm,value,order\nrate,1,a,5,0\nload,1,a,7,1\nrate,1,b,6,2\nload,2,c,8,3\n"
    found = read_files(write(runs=text))
    assert list(found) == ["rate", "load"]
    assert rows(found["rate"]) == [("1", "a", 5.0, 0), ("1", "b", 6.0, 2)]
    assert rows(found["load"]) == [("1", "a", 7.0, 1), ("2", "c", 8.0, 3)]
    assert found["load"].arms == ["a", "c"]
    assert found["load"].where(1).endswith("runs.csv:5")


def test_an_order_may_be_a_time_stamp_in_nanoseconds(write):
    """Neighbours that a float could not tell apart stay apart."""
    start = 1_700_000_000_123_456_789
    text = f"block,arm,value,order\n1,a,5,{start}\n1,b,6,{start + 1}\n"
    assert read_files(write(runs=text))["value"].orders.tolist() == [start, start + 1]


def test_a_file_without_arms_is_one_arm_called_as_the_file(write):
    """The form in which most people have two sets of runs."""
    found = read_files(write(before="block,value\n1,10\n2,9\n", after="block,value\n2,12\n1,11\n"))
    assert rows(found["value"]) == [
        ("1", "before", 10.0), ("2", "before", 9.0), ("2", "after", 12.0), ("1", "after", 11.0),
    ]  # fmt: skip
    assert not found["value"].by_position


def test_without_blocks_the_runs_of_each_arm_are_numbered_as_they_stand(write):
    """Of each metric by itself, through all files."""
    found = read_files(write(a="value\n10\n9\n", b="arm,value\nb,12\na,8\nb,11\n"))["value"]
    assert rows(found) == [
        (1, "a", 10.0), (2, "a", 9.0), (1, "b", 12.0), (3, "a", 8.0), (2, "b", 11.0),
    ]  # fmt: skip
    assert found.by_position
    assert found.where(0).endswith("a.csv:2")
    assert found.where(2).endswith("b.csv:2")


REFUSED = {
    "empty": ("", " is empty"),
    "blank": ("\n \n", " is empty"),
    "header only": ("block,arm,value\n", " has no runs"),
    "no header": ("1,old,100\n2,old,100\n", ":1: no column value; unknown column '1'"),
    "no value": ("block,arm\n1,a\n", ":1: no column value"),
    "misspelt column": ("blok,arm,value\n", ":1: unknown column 'blok'.*block"),
    "column twice": ("arm,value,arm\n", ":1: column arm twice"),
    "nameless column": ("arm,value,\n", ":1: a column without a name"),
    "hundreds of columns": (",".join(f"c{k}" for k in range(900)), "'c4'$"),
    "other separator": ("block arm value\n1 a 2\n", ":1: no column value"),
    "text as value": ("arm,value\na,fast\n", ":2: value 'fast' is not a number"),
    "unit in value": ("arm,value\na,12 ms\n", ":2: value '12 ms' is not a number"),
    "decimal comma": ("arm;value\na;1,5\n", ":2: value '1,5' is not a number"),
    "missing value": ("arm,value\na,\n", ":2: value '' is not a number"),
    "endless cell": ("arm,value\na," + "x" * 9999 + "\n", r":2: value 'x{37}\.\.\.' is not"),
    "missing arm": ("arm,value\n ,5\n", ":2: arm '' is empty"),
    "missing block": ("block,arm,value\n,a,5\n", ":2: block '' is empty"),
    "missing metric": ("metric,arm,value\n,a,5\n", ":2: metric '' is empty"),
    "escape in name": ("arm,value\n\x1b[31ma,5\n", r":2: arm '\\x1b\[31ma' is no printable text"),
    "NUL in name": ("arm,value\na\0b,5\n", r":2: arm 'a\\x00b' is no printable text"),
    "line end in name": ('arm,value\n"a\nb",5\n', r":3: arm 'a\\nb' is no printable text"),
    "turned writing": ("arm,value\n\u202ea,5\n", r":2: arm '\\u202ea' is no printable text"),
    "Latin-1": (b"arm,value\ncaf\xe9,5\n", r":2: arm 'caf\\udce9' is not UTF-8 text"),
    "Latin-1 header": (b"caf\xe9,value\n", r":1: unknown column 'caf\\udce9'"),
    "UTF-16": ("arm,value\na,5\n".encode("utf-16"), "is not UTF-8 text"),
    "random bytes": (bytes(range(255, 0, -1)) * 90, "is not UTF-8 text"),
    "half an order": ("arm,value,order\na,5,\n", ":2: order '' is not a whole number"),
    "broken order": ("arm,value,order\na,5,1.5\n", ":2: order '1.5' is not a whole number"),
    "endless order": ("arm,value,order\na,5," + "9" * 30, ":2: order '9+' is not a whole number"),
    "too few cells": ("arm,value\na,5\n\na\n", ":4: 1 cells, the header has 2"),
    "too many cells": ("arm,value\na,5\na,5,6\n", ":3: 3 cells, the header has 2"),
    "all lines too long": ("arm,value\na,5,6\na,5,6\n", ":2: 3 cells, the header has 2"),
    "open quote": ('arm,value\na,5\n"b,6\nc,7\n', ":4: unexpected end of data"),
    "open quote in a long file": ('arm,value\n"a,5\n' + "b,6\n" * 50_000, "field limit"),
    "text after a quote": ('arm,value\n"a"b,5\n', ":2: ',' expected after '\"'"),
    "JSON": ('{\n "results": [\n', "looks like JSON"),
    "go test": ("goos: linux\nBenchmarkGet-8 100 12 ns/op\n", "looks like the output of `go test"),
    "gzip": (b"\x1f\x8b\x08\x00", "is compressed with gzip"),
    "spreadsheet": (b"PK\x03\x04\x14\x00", "is a spreadsheet"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_table_of_runs_is_refused(kind, write):
    """With the file, the line where there is one, and a next step."""
    text, message = REFUSED[kind]
    with pytest.raises(DataError, match=message) as caught:
        read_files(write(runs=text))
    assert "runs.csv" in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 300
    assert caught.value.next_step


@pytest.mark.parametrize("at_once", [1, 4, 500])
@pytest.mark.parametrize("bad", ["x,a,oops,3", "x,a,5", "x,a,5,0.5", ",a,5,3", "x,a,5,3,4"])
def test_the_line_named_is_the_line_that_is_wrong(bad, at_once, write, monkeypatch):
    """Wherever it stands, behind blank lines and line ends in quotes, in pieces of any size."""
    monkeypatch.setattr(run_file, "LINES_AT_ONCE", at_once)
    good = ["1,a,5,0", "", '"1\n",b,5,1', "2,a,5,2"]
    for place in range(len(good) + 1):
        lines = ["block,arm,value,order", *good[:place], bad, *good[place:]]
        number = 1 + "\n".join(lines).split("\n").index(bad)
        with pytest.raises(DataError, match=f"runs.csv:{number}: "):
            read_files(write(runs="\n".join(lines)))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"a": "value\n1\n", "b": "block,value\n1,1\n"}, "b.csv:1: has a column block, unlike .*a"),
        ({"a": "block,value\n1,1\n", "b": "value\n1\n"}, "b.csv:1: has no column block, unlike"),
        ({"a": "value,order\n1,1\n", "b": "value\n1\n"}, "has no column order"),
        ({"a": "value\n1\n", "b": "metric,value\nm,1\n"}, "has a column metric"),
        ({"a\x1b": "value\n1\n"}, r"'.*a\\x1b.csv' is no name for an arm"),
        ({"a": "value\n", "b": "value\n"}, r"a.csv and .*b.csv have no runs"),
    ],
)
def test_files_that_do_not_go_together_are_refused(texts, message, write):
    """They name what differs, and where."""
    with pytest.raises(DataError, match=message) as caught:
        read_files(write(**texts))
    assert caught.value.next_step


def test_two_files_cannot_give_one_arm(write, tmp_path):
    """Runs of two folders would be mixed up under one name."""
    paths = write(runs="value\n1\n")
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "runs.csv"
    other.write_text("value\n2\n")
    with pytest.raises(DataError, match="several files would give the arm 'runs'"):
        read_files([*paths, other])
    with pytest.raises(DataError, match="several files would give the arm 'runs'"):
        read_files([*paths, *paths])


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    """Missing, or a folder."""
    with pytest.raises(DataError, match=r"none.csv cannot be read: No such file"):
        read_files([tmp_path / "none.csv"])
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_files([tmp_path])


def test_whoever_watches_is_told_how_far_reading_has_come(write):
    """In bytes over all files, up to the end."""
    paths = write(a="value\n" + "1\n" * 5000, b="value\n" + "2\n" * 5000)
    told: list[tuple[int, int]] = []
    read_files(paths, lambda done, total: told.append((done, total)))
    total = sum(path.stat().st_size for path in paths)
    assert {of for _, of in told} == {total}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == total


def test_values_that_slipped_into_the_wrong_column_are_noticed_quickly(write):
    """A thousand metrics may be meant; ten thousand and one are refused, as many arms are not."""
    lines = [f"a,{k},7\n" for k in range(10_001)]
    (path,) = write(runs="arm,metric,value\n" + "".join(lines[:1000]))
    found = read_files([path])
    assert len(found) == 1000
    assert rows(found["999"]) == [(1, "a", 7.0)]
    path.write_text("metric,arm,value\n" + "".join(lines))
    assert len(read_files([path])["a"].arms) == 10_001
    path.write_text("arm,metric,value\n" + "".join(lines))
    with pytest.raises(DataError, match="the column metric holds 10001 different names"):
        read_files([path])
