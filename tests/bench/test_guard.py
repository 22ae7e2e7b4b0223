"""The guard: what voids a run, and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.bench.guard import void_reason
from assay.targets import Launch
from fakes import HEALTHY, FakeServer, FakeTarget


@pytest.fixture
def good(fake: FakeTarget):
    settings = {name: p.default for name, p in fake.settings.items()}
    launch = Launch(settings, "ycsb", {}, 1, 0.1, 0.3)
    return FakeServer(fake, launch, 0).measured(1e6, 300_000)


def test_a_healthy_run_counts(good) -> None:
    """A client that works at 30 % beside a busy server."""
    assert void_reason(good) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"busiest_thread": 0.95, "server_idle": 0.3}, "busiest thread 95 %"),
        ({"late_sends": 0.2}, "20.0 % of sends were late"),
        (
            {"asked_per_s": 1000.0, "achieved_per_s": 980.0, "server_idle": 0.2},
            "980 of 1000 operations/s were sent while the server's CPUs idled 20 %",
        ),
        ({"foreign_cpu": 0.5}, "other processes took 0.50 CPUs"),
        ({"steal": 0.2}, "the hypervisor took 0.20 CPUs"),
        ({"clock_step_ms": -500.0}, "the clock stepped by -500 ms"),
    ],
)
def test_what_disturbs_a_run_voids_it_and_is_named(good, change: dict, said: str) -> None:
    """Each rule by itself."""
    assert said in void_reason(replace(good, health=HEALTHY.model_copy(update=change)))


@pytest.mark.parametrize(
    "change",
    [
        {"busiest_thread": 0.95, "server_idle": 0.01},
        {"busiest_thread": 0.70, "server_idle": 0.5},
        {"asked_per_s": 1000.0, "achieved_per_s": 995.0, "server_idle": 0.2},
        {"asked_per_s": 1000.0, "achieved_per_s": 900.0, "server_idle": 0.01},
        {"busiest_thread": None, "late_sends": None},
    ],
)
def test_what_does_not_limit_does_not_void(good, change: dict) -> None:
    """A busy client beside a saturated server is no fault; nor is a load inside the server."""
    assert void_reason(replace(good, health=HEALTHY.model_copy(update=change))) == ""


def test_errors_above_one_in_a_thousand_void(good) -> None:
    """And one in a thousand does not."""
    assert void_reason(replace(good, errors=int(0.0009 * good.operations))) == ""
    assert "of operations failed" in void_reason(replace(good, errors=good.operations // 100))
