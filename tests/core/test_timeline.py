"""What a timeline keeps: growth from moment to moment, and states, of what is in its table."""

from __future__ import annotations

from assay.core.timeline import CPU_KINDS, GROUPS, SERIES, of_machine, series_of
from assay.counters import GROUPS as EVERY_GROUP
from assay.counters import group_of

FLUSHED, DIRTY = "Innodb_buffer_pool_pages_flushed", "Innodb_buffer_pool_pages_dirty"


def test_growth_is_between_moments_and_a_state_is_what_it_is() -> None:
    """The first moment is the beginning of the first interval."""
    readings = [{FLUSHED: 5.0, DIRTY: 7.0}, {FLUSHED: 9.0, DIRTY: 3.0}, {FLUSHED: 9.0, DIRTY: 4.0}]
    assert series_of(readings) == {FLUSHED: [4.0, 0.0], DIRTY: [3.0, 4.0]}


def test_growth_over_a_gap_is_spread_and_what_nobody_knows_is_none() -> None:
    """A server that answers late says nothing of when it was."""
    readings = [{FLUSHED: 0.0}, None, None, {FLUSHED: 9.0}, None]
    assert series_of(readings) == {FLUSHED: [3.0, 3.0, 3.0, None]}


def test_what_is_never_anything_but_zero_is_left_out() -> None:
    """So are counters that no timeline keeps, and a window of one moment."""
    assert series_of([{FLUSHED: 4.0, "other": 1.0}, {FLUSHED: 4.0, "other": 9.0}]) == {}
    assert series_of([{FLUSHED: 4.0}]) == {}
    assert series_of([]) == {}


def test_a_counter_of_one_cpu_is_a_part_of_the_machines() -> None:
    """By its last word, which is a CPU's number."""
    assert of_machine("host.cpu.user_ms.cpu11") == "host.cpu.user_ms"
    assert of_machine("host.softirq.net_rx.cpu0") == "host.softirq.net_rx"
    assert of_machine("psi.cpu.some_us") == "psi.cpu.some_us"
    assert of_machine("process.cpu_us") == "process.cpu_us"


def test_every_series_of_the_machine_is_of_a_group_that_a_timeline_asks_for() -> None:
    """Else it could not be there; kinds of CPU time are series too."""
    for name in SERIES:
        if name.startswith(("host.", "psi.", "process.")):
            assert group_of(name, GROUPS) is not None, name
    assert CPU_KINDS.keys() <= SERIES.keys()
    assert set(GROUPS) <= EVERY_GROUP.keys()
