"""TPC-C's limits by kind of transaction, in the report and in the terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.native.messages import KindResult
from assay.record import Bundle, counted_runs
from assay.report.html.page import report_html
from assay.report.words.limits import kind_limits, limit_lines
from assay.targets import Measured
from assay.workloads.tpcc_conditions import LIMITS_S
from fakes import STUDY, FakeTarget, histogram, run_fake

SHARES = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}


def transactions(**p90_ns: float):
    """A script: runs of TPC-C whose kinds take a second, or what is given."""

    def script(number: int, measured: Measured) -> Measured:
        kinds = {
            name: KindResult(operations=10 * share, histogram=histogram(p90_ns.get(name, 1e9)))
            for name, share in SHARES.items()
        }
        return replace(measured, by_kind=kinds)

    return script


@pytest.fixture
def judged(tmp_path: Path, fake: FakeTarget, read_study):
    """A bundle of such runs."""

    def made(**p90_ns: float) -> Bundle:
        fake.script, fake.workloads = transactions(**p90_ns), ("tpcc",)
        text = STUDY.replace('kind = "ycsb"', 'kind = "tpcc"')
        return run_fake(tmp_path / "b", fake, read_study(text))

    return made


def test_every_kind_of_every_arm_stands_beside_its_limit(judged) -> None:
    """Twenty seconds for a stock level, five for the others."""
    bundle = judged()
    found = kind_limits(bundle.plan, counted_runs(bundle))
    assert [one.kind for one in found[:5]] == list(LIMITS_S)
    assert {one.arm for one in found} == {arm.name for arm in bundle.plan.arms}
    assert all(one.holds for one in found)
    (line,) = limit_lines(bundle.plan, counted_runs(bundle))
    assert line.text.startswith("TPC-C: every kind keeps its limit")
    html = report_html(bundle)
    assert 'id="limits"' in html
    assert html.index('id="limits"') < html.index('id="runs"')


def test_a_kind_beyond_its_limit_is_named(judged) -> None:
    """With how many runs kept it."""
    bundle = judged(payment=6e9, stock_level=6e9)
    broken = [one for one in kind_limits(bundle.plan, counted_runs(bundle)) if not one.holds]
    assert {one.kind for one in broken} == {"payment"}
    assert all(one.kept == 0 for one in broken)
    texts = [line.text for line in limit_lines(bundle.plan, counted_runs(bundle))]
    assert any("payment: 90th percentile" in text and "kept in 0 of" in text for text in texts)


def test_other_workloads_have_no_such_limits(finished: Bundle) -> None:
    """Nor a section for them."""
    assert kind_limits(finished.plan, counted_runs(finished)) == []
    assert limit_lines(finished.plan, counted_runs(finished)) == []
    assert 'id="limits"' not in report_html(finished)
