"""Verdicts by kind of request: found where they are, and withheld where they cannot be given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.record import Bundle, differences
from assay.stats.discoveries import discoveries
from assay.targets import Measured
from assay.verdict.rows import KindRow, Row
from fakes import STUDY, FakeTarget, run_fake, with_kinds

TWO = {"read": (700_000.0, 1_000_000.0), "update": (1_000_000.0, 1_000_000.0)}


def ran(tmp_path: Path, fake: FakeTarget, study, script) -> Bundle:
    fake.script = script
    return run_fake(tmp_path / "kinds", fake, study)


def row_of(bundle: Bundle, arm: str) -> Row:
    rows = bundle.verdicts().verdicts
    return next(r for r in rows if r.arm == arm and r.metric == "throughput")


def kind(row: Row, request: str, metric: str) -> KindRow:
    return next(k for k in row.by_kind if (k.request, k.metric) == (request, metric))


def test_each_kind_of_request_has_its_verdict(tmp_path: Path, fake: FakeTarget, study) -> None:
    """A change that makes reads faster helps reads, and no other kind."""
    bundle = ran(tmp_path, fake, study, with_kinds(TWO))
    row = row_of(bundle, "cache")
    assert {(k.request, k.metric) for k in row.by_kind} == {
        (request, metric)
        for request in TWO
        for metric in ("throughput", "latency_p50", "latency_p99")
    }
    read, update = (kind(row, name, "latency_p50") for name in TWO)
    assert read.word == "helps"
    assert read.low is not None
    assert read.high is not None
    assert read.low < 1 / 0.7 - 1 < read.high
    assert update.word in ("no difference", "undecided")
    assert kind(row, "read", "throughput").word == "no difference"
    assert row_of(bundle, "hint").by_kind
    assert not differences(bundle)


def test_a_kind_with_few_requests_has_its_mean_only(
    tmp_path: Path, fake: FakeTarget, study
) -> None:
    """As queries that run a few times in a window."""
    row = row_of(ran(tmp_path, fake, study, with_kinds(TWO, operations=50)), "cache")
    assert {k.metric for k in row.by_kind} == {"latency_mean"}
    assert kind(row, "read", "latency_mean").word == "helps"


def test_a_tail_needs_its_requests(tmp_path: Path, fake: FakeTarget, study) -> None:
    """A 99th percentile of a thousand requests is a story of ten."""
    row = row_of(ran(tmp_path, fake, study, with_kinds(TWO, operations=1000)), "cache")
    assert {k.metric for k in row.by_kind} == {"throughput", "latency_p50"}


def test_one_kind_of_request_is_the_whole(tmp_path: Path, fake: FakeTarget, study) -> None:
    """It has no verdict of its own, nor a record."""
    bundle = ran(tmp_path, fake, study, with_kinds({"read": TWO["read"]}))
    assert not row_of(bundle, "cache").by_kind
    assert not bundle.runs()[0].by_kind


def test_a_kind_that_a_run_lacks_has_no_verdict(tmp_path: Path, fake: FakeTarget, study) -> None:
    """An arm in which nothing of it was answered cannot be compared."""
    script = with_kinds({**TWO, "scan": (1e6, 1e6)})

    def lacking(number: int, measured: Measured) -> Measured:
        found = script(number, measured)
        if number % 7:
            return found
        return replace(found, by_kind={k: v for k, v in found.by_kind.items() if k != "scan"})

    row = row_of(ran(tmp_path, fake, study, lacking), "cache")
    assert {k.request for k in row.by_kind} == set(TWO)


def test_an_invalid_verdict_has_no_kinds(tmp_path: Path, fake: FakeTarget, read_study) -> None:
    """Where a witness does not hold, no kind says anything."""
    fake.lies = {"lock_stride_bytes": 8}
    text = STUDY.replace("engine.spin_hint", "engine.padding").replace('on = "pause"', "on = 64")
    bundle = ran(tmp_path, fake, read_study(text), with_kinds(TWO))
    assert row_of(bundle, "hint").word == "invalid"
    assert not row_of(bundle, "hint").by_kind
    assert row_of(bundle, "cache").by_kind


def test_an_altered_kind_is_named(tmp_path: Path, fake: FakeTarget, study) -> None:
    """Rows by kind are recomputed as all others are."""
    bundle = ran(tmp_path, fake, study, with_kinds(TWO))
    path = bundle.folder / "verdicts.json"
    text = path.read_text()
    assert '"request": "read"' in text
    path.write_text(text.replace('"request": "read"', '"request": "write"', 1))
    assert any("by_kind" in found for found in differences(bundle))


def test_discoveries_are_those_of_benjamini_and_hochberg_at_one_look() -> None:
    """With a level that is what is spent, the procedure is theirs."""
    p = {f"h{n}": value for n, value in enumerate([0.001, 0.011, 0.02, 0.04, 0.2, 0.9])}
    found, spent = discoveries(p, 0.06, lambda name, spent: spent)
    assert found == {"h0", "h1", "h2", "h3"}
    assert spent == pytest.approx(0.04)
    assert discoveries({}, 0.1, lambda name, spent: spent)[0] == frozenset()
    assert discoveries({"a": 0.5, "b": 0.9}, 0.1, lambda n, spent: spent) == (frozenset(), 0.05)


def test_a_look_on_the_way_asks_for_more() -> None:
    """What a study has spent by its look counts, not what it may spend in all."""
    shares = {"early": 0.05, "late": 1.0}
    found, _ = discoveries(dict.fromkeys(shares, 0.01), 0.1, lambda n, spent: spent * shares[n])
    assert found == {"late"}
