"""Positions in a TOML file."""

from __future__ import annotations

import pytest

from assay.core.document import parse
from assay.core.errors import StudyError

TEXT = """name = "x"

[target]
kind = "engine"
"quoted key" = 1
a.b = 2

[[factor]]
name = "one"   # a comment
levels = { off = "none", on = "pause" }

[[factor]]
name = "two"
levels = [
  1,
  # between
  2,
]

[[case]]
name = "c"
[case.target]
kind = "micro"
"""


@pytest.mark.parametrize(
    ("path", "position"),
    [
        (("name",), (1, 1)),
        (("target", "kind"), (4, 1)),
        (("target", "quoted key"), (5, 1)),
        (("target", "a", "b"), (6, 1)),
        (("factor", 0), (8, 3)),
        (("factor", 0, "levels", "on"), (10, 26)),
        (("factor", 1, "name"), (13, 1)),
        (("factor", 1, "levels", 1), (17, 3)),
        (("case", 0, "target", "kind"), (23, 1)),
        (("target", "no such key"), (3, 2)),
        (("nothing",), (1, 1)),
    ],
)
def test_every_value_knows_its_line_and_column(path: tuple, position: tuple[int, int]) -> None:
    """Tables, arrays of tables, inline tables, arrays; else the nearest thing around."""
    assert parse("t", TEXT).where(path) == position


@pytest.mark.parametrize(("text", "line"), [("a = \n", 1), ("a = 1\nb = [1,\n", 3), ("x", 1)])
def test_what_is_not_toml_is_refused_with_its_position(text: str, line: int) -> None:
    """The standard library says where; an unexpected end is the last line."""
    with pytest.raises(StudyError, match="not TOML") as caught:
        parse("t", text)
    assert caught.value.problems[0].line == line
