"""The table of the workload `hits`, for those who want its rows elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.load import hits_table


def test_rows_are_written_and_the_same_each_time(tmp_path: Path) -> None:
    """As many as were asked for, a column for each of the table's."""
    first = hits_table(10_000, to=tmp_path / "a.tsv")
    hits_table(10_000, to=tmp_path / "b.tsv")
    text = (tmp_path / "a.tsv").read_text()
    lines = text.splitlines()
    assert first.rows == len(lines) == 10_000
    assert first.bytes == len(text.encode())
    assert {line.count("\t") + 1 for line in lines} == {first.create.count(",") + 1}
    assert (tmp_path / "b.tsv").read_text() == text
    assert hits_table(10_000, seed=2, to=tmp_path / "c.tsv").bytes != 0
    assert (tmp_path / "c.tsv").read_text() != text


def test_statements_are_told_without_writing_anything(tmp_path: Path) -> None:
    """For one's own client."""
    table = hits_table(10_000)
    assert table.bytes == 0
    assert len(table.queries) == 40
    assert table.create.startswith("CREATE TABLE hits (")
    with pytest.raises(InputError):
        hits_table(1)
