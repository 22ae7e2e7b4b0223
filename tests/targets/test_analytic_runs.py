"""Whole runs of analytical workloads on DuckDB and chDB: prepared, measured, witnessed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from assay import native
from assay.changes import CATALOGUE
from assay.core.digest import file_digest
from assay.core.errors import InputError, MissingError, RunError
from assay.targets import TARGETS, Launch, Measured
from assay.targets.servers.framework.adapter import Place
from assay.targets.servers.framework.load import load_request, measured, unanswered
from assay.targets.wheels.chdb import CHDB
from assay.workloads import WORKLOADS
from server_kit import own_folders

__all__ = ["own_folders"]

NEEDS_CHDB = pytest.mark.skipif(CHDB.wheel.find() is None, reason=CHDB.wheel.next_step())
KINDS = pytest.mark.parametrize("kind", ["duckdb", pytest.param("chdb", marks=NEEDS_CHDB)])
ROWS = {"rows": 10_000}


def launch(kind: str, workload: str, parameters: dict[str, Any], **settings: Any) -> Launch:
    """As a study would have it, and short."""
    target, known = TARGETS[kind], WORKLOADS[workload]
    given = {n: p.default for n, p in target.settings.items() if p.default is not None}
    whole = {n: p.default for n, p in known.parameters.items() if p.default is not None}
    return Launch(
        {**given, **known.settings, **settings},
        workload,
        {**whole, **parameters},
        3,
        0.1,
        1.5,
        interval_s=0.5,
    )


def run(kind: str, asked: Launch, log: Path) -> tuple[Measured, dict[str, Any]]:
    """One run; what was measured, and its evidence."""
    TARGETS[kind].check(asked)
    for _ in range(4):
        server = TARGETS[kind].start(asked, log)
        try:
            server.read_back()
            return server.measure(lambda done, seconds: None), server.evidence()
        except RunError as error:
            # On a busy machine a short window may pass without any answer.
            if "nothing ended in the window" not in error.message:
                raise
            asked = replace(asked, window_s=3 * asked.window_s)
        finally:
            server.stop()
    raise AssertionError("no query ended in a window of 40 s")


@KINDS
def test_queries_are_answered_and_checked(kind: str, tmp_path: Path) -> None:
    """Over rows that were loaded through the shim; a second run takes the copy."""
    asked = launch(kind, "hits", {**ROWS, "query": "q03"})
    for turn in (asked, replace(asked, seed=4)):
        found, evidence = run(kind, turn, tmp_path / "log")
        assert found.operations > 0
        assert found.errors == 0
        assert found.metrics["latency_geomean"] > 0
        assert found.metrics["cpu_per_operation"] > 0
    assert evidence.executable.sha256 == run_library_digest(kind)
    kept = (tmp_path / "cache" / "assay" / "data").iterdir()
    assert len([p for p in kept if p.name != ".turn"]) == 1


def run_library_digest(kind: str) -> str:
    """Of the library, not of Python."""
    adapter = TARGETS[kind].adapter
    return file_digest(adapter.wheel.library(adapter.wheel.find()))


@KINDS
def test_batches_of_rows_are_taken(kind: str, tmp_path: Path) -> None:
    """Each with COPY, into a table that was empty."""
    asked = launch(kind, "hits-upload", {**ROWS, "rows_per_batch": 100})
    found, _ = run(kind, asked, tmp_path / "log")
    assert found.operations > 0
    assert found.errors == 0


@KINDS
@pytest.mark.parametrize("level", ["off", "on"])
def test_ninety_sums_are_right_with_rewriting_and_without(
    kind: str, level: str, tmp_path: Path
) -> None:
    """The load knows the sums; the witness sees which way they were computed."""
    change = CATALOGUE["sql.rewrite"]
    applied = change.level(level).application.settings
    further = {"jit": "off"} if kind == "chdb" else {}
    asked = launch(kind, "aggregate", {**ROWS, "sums": 10}, **applied, **further)
    found, evidence = run(kind, asked, tmp_path / "log")
    assert found.operations > 0
    assert found.errors == 0
    assert change.witness.judge(level, applied, evidence).held


@NEEDS_CHDB
@pytest.mark.parametrize("level", ["off", "on"])
def test_compiled_functions_are_counted_since_the_start(level: str, tmp_path: Path) -> None:
    """They are compiled before the window, which would not show them."""
    change = CATALOGUE["sql.jit"]
    applied = change.level(level).application.settings
    asked = launch("chdb", "aggregate", {**ROWS, "sums": 5}, **applied, rewrite="on")
    found, evidence = run("chdb", replace(asked, warmup_s=1.0), tmp_path / "log")
    assert change.witness.judge(level, applied, evidence).held
    assert (found.counters["jit_functions"] > 0) == (level == "on")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache whose data several tests share."""
    return tmp_path_factory.mktemp("kept")


@pytest.mark.parametrize(
    ("name", "level"), [("sql.jit", "off"), ("sql.jit", "on"), ("postgresql.jit", "on")]
)
def test_a_postgresql_compiles_sums_that_it_finds_costly(
    name: str, level: str, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each query anew, so that the window shows it; and the witness holds for no other level."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
    monkeypatch.delenv("TMPDIR")  # its own user may not look into the test's folder
    change = CATALOGUE[name]
    applied = change.level(level).application.of("postgresql").settings
    costly = {"jit_above_cost": 0, **applied}
    asked = launch("postgresql", "aggregate", {**ROWS, "sums": 3}, **costly)
    found, evidence = run("postgresql", asked, tmp_path / "log")
    assert change.witness.judge(level, applied, evidence).held
    assert (found.counters[change.dose.counter] > 0) == (level == "on")
    other = {"off": "on", "on": "off"}[level]
    wrong = change.level(other).application.of("postgresql").settings
    assert not change.witness.judge(other, wrong, evidence).held


def test_what_a_library_refuses_is_refused_before_anything_is_loaded() -> None:
    """An unknown setting, a value it does not take, a file that is not there."""
    asked = launch("duckdb", "hits", ROWS)
    with pytest.raises(InputError, match="has no setting no_such"):
        TARGETS["duckdb"].check(replace(asked, settings={**asked.settings, "no_such": 1}))
    with pytest.raises(InputError, match="at least 1 thread"):
        TARGETS["duckdb"].check(replace(asked, settings={**asked.settings, "threads": 0}))
    absent = {**asked.parameters, "checkout_create": "no-such-file"}
    with pytest.raises(MissingError, match="no-such-file"):
        TARGETS["duckdb"].start(replace(asked, parameters=absent), Path("unused"))


def test_files_of_a_checkout_reach_the_load_together() -> None:
    """As the protocol has them; without any there is no checkout."""
    place = Place(Path("/"), 1, Path("/"))
    files = {"create": "c.sql", "queries": "q.sql", "data": "d.tsv"}
    given = {f"checkout_{name}": path for name, path in files.items()}
    asked = launch("duckdb", "hits", given)
    workload = load_request(asked, TARGETS["duckdb"].adapter, place)["workload"]
    assert workload["checkout"] == files
    assert not [n for n in workload if n.startswith("checkout_")]
    plain = load_request(launch("duckdb", "hits", {}), TARGETS["duckdb"].adapter, place)
    assert "checkout" not in plain["workload"]


def encoded(latencies_ns: list[int]) -> str:
    """A histogram as the load gives it."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for latency in latencies_ns:
        histogram.record_value(latency)
    return histogram.encode().decode()


def result(**kinds: list[int]) -> native.RunResult:
    """A result of the protocol's examples, with other kinds of request."""
    examples = Path(__file__).parents[2] / "native/crates/assayer/examples/protocol/load.jsonl"
    lines = [line for line in examples.read_text().splitlines() if '"type":"result"' in line]
    found = native.parse(lines[-1], native.RunResult)
    assert isinstance(found, native.RunResult)
    by_kind = {
        name: native.KindResult(operations=len(values), histogram=encoded(values))
        for name, values in kinds.items()
    }
    return found.model_copy(update={"by_kind": by_kind})


def test_the_geometric_mean_is_of_medians_over_all_queries() -> None:
    """Whatever their number: an answer of a rare query weighs as much as one of a frequent one."""
    health = native.Health(
        loader="client", busiest_thread=0.1, late_sends=0.0, asked_per_s=None, achieved_per_s=1.0,
        server_idle=0.1, foreign_cpu=0.0, steal=0.0, clock_step_ms=0.0,
    )  # fmt: skip
    whole = result(q01=[1000] * 9 + [50_000], q02=[4000])
    metrics = measured(whole, health, [], {}, {}).metrics
    assert metrics["latency_geomean"] == pytest.approx(2000, rel=0.01)
    part = result(q01=[1000], q02=[4000], q03=[])
    assert unanswered(part) == ["q03"]
    assert "latency_geomean" not in measured(part, health, [], {}, {}).metrics


def test_a_window_that_answers_some_queries_only_has_no_geometric_mean(tmp_path: Path) -> None:
    """And its log says which it did not answer."""
    asked = launch("duckdb", "hits", ROWS, rate=5.0)
    found, _ = run("duckdb", asked, tmp_path / "log")
    assert 0 < found.operations < 40
    assert "latency_geomean" not in found.metrics
    assert found.metrics["latency_mean"] > 0
    assert "no latency_geomean: the window answered no q" in (tmp_path / "log").read_text()
