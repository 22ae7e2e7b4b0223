"""What is said of a TPC-C run beside its rate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.load import TpccReport
from load_samples import NOTHING

CARDS = {"new_order": 450, "payment": 430, "order_status": 40, "delivery": 40, "stock_level": 40}
FAST = replace(
    NOTHING,
    window_s=120.0,
    operations=1000,
    by_kind={name: {"operations": n, "0.9": 1e9} for name, n in CARDS.items()},
    counters={"rolled_back": 5},
)


def test_new_orders_that_rolled_back_are_left_out_and_efficiency_needs_waits():
    """445 in two minutes."""
    report = TpccReport.of(FAST, {"warehouses": 20})
    assert report.new_orders_per_minute == pytest.approx(222.5)
    assert report.efficiency is None
    assert any("not applicable" in line for line in report.lines())
    waited = TpccReport.of(FAST, {"warehouses": 20, "waits": True})
    assert waited.efficiency == pytest.approx(222.5 / 257.2)
    assert any("86.5 %" in line for line in waited.lines())


def test_each_kind_has_its_own_limit_and_a_mix_that_is_off_is_told():
    """Six seconds are too many for a payment and few enough for a stock level."""
    kinds = {**FAST.by_kind, "payment": {"operations": 430, "0.9": 6e9}}
    kinds["stock_level"] = {"operations": 20, "0.9": 6e9}
    report = TpccReport.of(replace(FAST, by_kind=kinds), {})
    assert report.too_slow == {"payment": 6.0}
    text = "\n".join(report.lines())
    assert "payment took 6.0 s" in text
    assert "stock_level is too rare" in text
    assert "order_status is too rare" not in text
