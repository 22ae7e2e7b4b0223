"""What people and programs read of a diagnosis: the page, the lines, the command, the schema."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

import assay
from assay import api
from assay.cli import app
from assay.cli import doctor as command
from assay.diagnosis import Diagnosis, Gathered, diagnose
from assay.report.html.diagnosis import diagnosis_html
from assay.report.terminal.diagnosed import diagnosis_lines
from diagnosis_kit import HEALTHY, TINY_BUFFERS, cpu_seconds, gathered, server

HOSTILE = "<script>alert(1)</script>&\"'"


def text_of(gathered: Gathered) -> str:
    return "\n".join(line.text for line in diagnosis_lines(diagnose(gathered)))


def test_the_lines_begin_with_the_answer() -> None:
    """Then its bound, its time, what to try."""
    text = text_of(TINY_BUFFERS)
    assert "Try postgresql.shared_buffers first: reading data pages from files, at most" in text
    assert "reading data pages from files: 54.1 % [" in text
    assert "1MB is in force; try 128MiB, 512MiB" in text
    assert "What cannot matter here" in text


def test_a_healthy_server_is_said_to_be_that() -> None:
    """In three words."""
    assert "Nothing stands out." in text_of(HEALTHY)


def test_a_server_that_idles_is_said_to_be_that() -> None:
    """Bounds of it mean little."""
    assert "hardly anything is asked of it" in text_of(gathered(counters={"process.cpu_us": 1e4}))


def test_what_held_it_up_is_noticed() -> None:
    """Throttling, pressure, stolen time, packets."""
    counters = {"process.cpu_us": 9e6, "psi.memory.some_us": 5e6, "vm.pswpin": 50.0}
    counters["host.softnet.dropped.cpu1"] = 3.0
    cpus = [replace(c, steal=0.1) for c in cpu_seconds(0.1, 0.1)]
    found = diagnose(gathered(counters=counters, throttled_s=4.0, cpus=cpus))
    grave = {n.name: n.text for n in found.noticed if n.grave}
    assert grave.keys() >= {"throttling", "pressure, memory", "stolen time", "swap", "network"}
    assert "40 % of the time" in grave["throttling"]


def test_the_page_needs_nothing_and_escapes_everything() -> None:
    """Functions, threads and files may be called anything."""
    chains = {(HOSTILE,): 90, ("main",): 10}
    found = diagnose(
        gathered(chains=chains, cpus=cpu_seconds(0.1, 0.2), subject=server(name=HOSTILE))
    )
    page = diagnosis_html(found)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "default-src 'none'" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert page.count('<svg class="load"') == 2


def test_the_page_shows_candidates_with_their_bounds_and_studies() -> None:
    """As the terminal does, and the study in full."""
    page = diagnosis_html(diagnose(TINY_BUFFERS))
    assert "Try postgresql.shared_buffers first" in page
    assert "name = &#34;doctor-postgresql-shared-buffers&#34;" in page
    assert "What could not be seen" not in page


def test_what_is_printed_as_json_can_be_read_back() -> None:
    """And so can what was gathered, to be judged again elsewhere."""
    shape = TypeAdapter(Diagnosis)
    found = diagnose(TINY_BUFFERS)
    assert (
        shape.validate_python(json.loads(json.dumps(shape.dump_python(found, mode="json"))))
        == found
    )
    kept = TypeAdapter(Gathered)
    again = kept.validate_json(kept.dump_json(TINY_BUFFERS))
    assert diagnose(again) == found


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The command, with a server that was looked at already."""
    asked: dict[str, Any] = {"gathered": TINY_BUFFERS}

    def find(who: str, url: str = "") -> Any:
        asked["who"] = (who, url)
        return asked["gathered"].subject

    def look(server: Any, seconds: float, sources: Any = None, tell: Any = print) -> Gathered:
        asked["seconds"] = seconds
        return asked["gathered"]

    for module in (command, api):
        monkeypatch.setattr(module, "find_subject", find)
        monkeypatch.setattr(module, "gather", look)
    return asked


def test_the_command_writes_what_it_is_asked_for(examined: dict[str, Any], tmp_path: Path) -> None:
    """Lines, a page, studies; exit code 1, because something stands out."""
    page, studies = tmp_path / "page.html", tmp_path / "studies"
    given = ["doctor", "postgres", "--for", "5s", "--html", str(page), "--study", str(studies)]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 1, done.output
    assert "Try postgresql.shared_buffers first" in done.stdout
    assert examined["who"] == ("postgres", "")
    assert examined["seconds"] == 5.0
    assert page.read_text().startswith("<!doctype html>") or "<!doctype html>" in page.read_text()
    assert (studies / "01-postgresql-shared-buffers.toml").exists()


def test_the_command_prints_json_and_ends_well_where_nothing_stands_out(
    examined: dict[str, Any],
) -> None:
    """By its schema."""
    examined["gathered"] = HEALTHY
    done = CliRunner().invoke(app, ["doctor", "--attach", "postgresql://x@/y?host=/run", "--json"])
    assert done.exit_code == 0, done.output
    assert TypeAdapter(Diagnosis).validate_json(done.stdout) == diagnose(HEALTHY)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["doctor"], "which server?"),
        (["doctor", "1", "--for", "soon"], "--for"),
        (["doctor", "1", "--for", "100ms"], "a second is the least"),
        (["doctor", "1", "--smallest", "2"], "--smallest"),
    ],
)
def test_wrong_use_names_the_option(given: list[str], says: str) -> None:
    """And nothing was looked at."""
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 2
    assert says in done.stderr


def test_python_has_the_same_answer(examined: dict[str, Any]) -> None:
    """By number or by name."""
    assert assay.doctor(4242, seconds=3) == diagnose(TINY_BUFFERS)
    assert examined["who"] == ("4242", "")
    assert examined["seconds"] == 3
