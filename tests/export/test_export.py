"""A bundle for other tools: tables that say what it says, frames, Markdown, charts."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from pathlib import Path

import pytest

import assay
from assay.core.errors import MissingError
from assay.export import chart_names, draw, markdown_of, table_of, write_csv
from assay.record import Bundle
from assay.report.html.view import view
from cli_kit import assay as command
from fakes import FakeTarget, run_fake, with_kinds

ROOT = Path(__file__).parent.parent.parent
KINDS = {"read": (7e5, 1e6), "update": (1e6, 1e6)}


@pytest.fixture
def bundle(tmp_path: Path, fake: FakeTarget, study) -> Bundle:
    """One with kinds of request."""
    fake.script = with_kinds(KINDS)
    return run_fake(tmp_path / "kinds", fake, study)


def test_every_run_is_a_row_with_its_levels_and_metrics(bundle: Bundle) -> None:
    """In the order they were made, in the units of the bundle."""
    table = table_of(bundle, "runs")
    runs = bundle.runs()
    assert table["run"] == [r.run for r in runs]
    assert table["throughput"] == [r.metrics["throughput"] for r in runs]
    assert set(table["status"]) == {"counts"}
    assert set(table["level.hint"]) == {"none", "pause"}
    assert table["latency_p50[read]"] == [r.by_kind["read"].metrics["latency_p50"] for r in runs]
    assert len({len(column) for column in table.values()}) == 1


def test_every_verdict_is_a_row_and_kinds_too(bundle: Bundle) -> None:
    """With word, interval and strength."""
    table = table_of(bundle, "verdicts")
    rows = bundle.verdicts().verdicts
    assert len(table["word"]) == len(rows) + sum(len(r.by_kind) for r in rows)
    assert set(table["strength"]) == {"confirmed", "suggests", "by kind"}
    assert {"read", "update", ""} == set(table["request"])


def test_intervals_are_rows(bundle: Bundle) -> None:
    """Their operations add up to those of the runs."""
    table = table_of(bundle, "intervals")
    assert sum(table["operations"]) == sum(r.operations for r in bundle.runs())


def test_csv_reads_back(bundle: Bundle) -> None:
    """What has no value is empty."""
    text = io.StringIO()
    table = table_of(bundle, "verdicts")
    write_csv(table, text)
    back = list(csv.DictReader(io.StringIO(text.getvalue())))
    assert [r["reason"] for r in back] == table["reason"]
    assert [r["low"] for r in back] == ["" if v is None else str(v) for v in table["low"]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_a_notebook(bundle: Bundle, library: str) -> None:
    """Of both libraries, with the same rows."""
    pytest.importorskip(library)
    frames = assay.load_bundle(bundle.folder, library)
    assert type(frames.runs).__module__.startswith(library)
    assert len(frames.runs) == len(bundle.runs())
    helped = frames.verdicts["word"] == "helps"
    assert sum(helped) >= 1
    assert frames.bundle.folder == bundle.folder


def test_a_library_that_is_not_here_is_named(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that installs it."""
    for name in ("pandas", "pyarrow", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingError, match="pandas"):
        assay.load_bundle(bundle.folder)
    with pytest.raises(MissingError, match="matplotlib"):
        draw(bundle, bundle.folder / "x", "svg")
    done = command("export", bundle.folder, "--to", "parquet", "--out", bundle.folder / "p")
    assert done.returncode == 3
    assert "assay[export]" in done.stderr


def test_parquet_reads_back(bundle: Bundle, tmp_path: Path) -> None:
    """With types: numbers are numbers."""
    parquet = pytest.importorskip("pyarrow.parquet")
    done = command("export", bundle.folder, "--to", "parquet", "--out", tmp_path / "p")
    assert done.returncode == 0, done.stderr
    back = parquet.read_table(tmp_path / "p" / "runs.parquet").to_pydict()
    assert back["throughput"] == table_of(bundle, "runs")["throughput"]


def test_markdown_has_the_verdicts(bundle: Bundle) -> None:
    """A row each, kinds under their comparison."""
    text = markdown_of(bundle)
    assert "| cache |  | throughput | helps | [" in text
    assert "| read | latency_p50 | helps |" in text


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_every_chart_of_the_report_is_a_file(bundle: Bundle, tmp_path: Path, kind: str) -> None:
    """Without a browser, the same bytes each time."""
    pytest.importorskip("matplotlib")
    first, second = (draw(bundle, tmp_path / name, kind) for name in ("one", "two"))
    names = chart_names(view(bundle))
    assert {"forest", "kinds", "runs", "latency", "cpus"} <= set(names)
    assert {p.name.partition("-")[0] for p in first} == set(names)
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_the_command_writes_what_is_asked(bundle: Bundle, tmp_path: Path) -> None:
    """One table to stdout, all of them into a folder; anything else is an error."""
    done = command("export", bundle.folder, "--table", "verdicts")
    assert done.stdout.startswith("case,scope,kind,of,")
    assert command("export", bundle.folder, cwd=tmp_path).returncode == 0
    written = {p.name for p in (tmp_path / "kinds-export").iterdir()}
    assert written == {"runs.csv", "intervals.csv", "verdicts.csv"}
    assert "| verdict |" in command("export", bundle.folder, "--to", "markdown").stdout
    assert command("export", bundle.folder, "--to", "gif").returncode == 2
    assert command("export", bundle.folder, "--table", "rnus").returncode == 2
    (bundle.folder / "verdicts.json").write_text(
        (bundle.folder / "verdicts.json").read_text().replace('"helps"', '"hurts"', 1)
    )
    assert command("export", bundle.folder).returncode == 1
    shutil.rmtree(tmp_path / "kinds-export")


def test_the_notebook_of_the_documents_runs(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cell of it, one after the other."""
    pytest.importorskip("pandas")
    notebook = json.loads((ROOT / "docs" / "bundle.ipynb").read_text())
    shutil.copytree(bundle.folder, tmp_path / "desk" / "BUNDLE")
    monkeypatch.chdir(tmp_path / "desk")
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert len(names["kinds"]) > 0
    assert names["ratio"].median()["cache"] > 0.2
