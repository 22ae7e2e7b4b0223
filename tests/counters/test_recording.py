"""`assay perf-stat`: recordings of `perf stat -x,` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

from assay.cli import app
from assay.counters import Recording
from perf_stat_samples import BROADWELL, DECK, KUNPENG, SKYLAKE


def shown(folder: Path, text: str, *options: str) -> Any:
    """What the command did with a recording."""
    path = folder / "counts.csv"
    path.write_text(text)
    return CliRunner().invoke(app, ["perf-stat", str(path), *options])


def told(folder: Path, text: str, model: str) -> dict[str, Any]:
    """The same as JSON, which has the shape of its schema."""
    done = shown(folder, text, "--model", model, "--json")
    assert done.exit_code == 0, done.stderr
    TypeAdapter(Recording).validate_json(done.stdout, strict=True)
    return json.loads(done.stdout)


def by_name(found: list[dict[str, Any]], key: str) -> dict[str, dict[str, Any]]:
    """Rows by one of their keys."""
    return {row[key]: row for row in found}


def test_events_figures_and_the_bound_are_printed(tmp_path: Path) -> None:
    """Events with the names of the table; the bound in words, because it is only one."""
    out = shown(tmp_path, BROADWELL, "--model", "broadwell").stdout
    lines = {line.split("  ")[0]: line.split()[-1] for line in out.splitlines() if line}
    assert lines["r0e08 (dtlb_load_walks)"] == "300,000,000"
    assert lines["instructions_per_cycle"] == "0.5"
    assert "no change of pages can gain more than +66.7 %" in out


def test_what_was_not_counted_is_never_a_number(tmp_path: Path) -> None:
    """Neither in the terminal nor in JSON, and so are the figures that would need it."""
    out = shown(tmp_path, DECK, "--model", "broadwell").stdout
    assert "444444444" not in out.replace(",", "")
    assert "none: multiplexed: counted in 44.44 % of the time" in out
    assert "no change of pages" not in out
    found = told(tmp_path, DECK, "broadwell")
    events = by_name(found["events"], "event")
    assert (events["r28bc"]["value"], events["r28bc"]["why"]) == (
        None,
        "not supported by this processor",
    )
    assert events["dTLB-load-misses"]["running"] == pytest.approx(0.4444)
    assert all(f["value"] is None and f["why"] for f in found["figures"])


def test_a_processor_without_cycles_of_walks_has_no_bound(tmp_path: Path) -> None:
    """The figure is not among those of its table."""
    found = told(tmp_path, KUNPENG, "kunpeng-920")
    assert found["model"] == "Kunpeng 920"
    names = by_name(found["figures"], "name")
    assert "headroom" not in names
    assert names["dtlb_refills_per_1000_instructions"]["value"] == pytest.approx(40.0)


def test_events_of_user_space_keep_their_figures_and_mixed_modes_have_none(tmp_path: Path) -> None:
    """Instructions of user space over all cycles would be a number of nothing."""
    figures = by_name(told(tmp_path, SKYLAKE, "skylake")["figures"], "name")
    assert figures["instructions_per_cycle"]["value"] == pytest.approx(1.0)
    found = told(tmp_path, SKYLAKE.replace("cycles:u", "cycles"), "skylake")
    mixed = by_name(found["figures"], "name")["instructions_per_cycle"]
    assert mixed["value"] is None
    assert "different modes: everything, u" in mixed["why"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("nonsense\n", (), "line 1"),
        ("# nothing\n", (), "no event"),
        (BROADWELL, ("--model", "broadwel"), "did you mean 'broadwell'"),
        (f"{BROADWELL}5,,cpu-cycles,1,100.00,,\n", ("--model", "broadwell"), "are both cycles"),
    ],
)
def test_what_cannot_be_read_is_wrong_use(
    tmp_path: Path, text: str, options: tuple[str, ...], message: str
) -> None:
    """Exit code 2 and the next step."""
    done = shown(tmp_path, text, *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert "next: " in done.stderr
