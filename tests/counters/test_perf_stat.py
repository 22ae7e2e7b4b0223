"""`perf stat -x,` of five processors, written from the format; and what follows from it."""

from __future__ import annotations

import pytest

from assay.core.errors import InputError
from assay.counters import Count, figures, models, read_perf_stat, totals
from perf_stat_samples import BROADWELL, DECK, KUNPENG, NEOVERSE, SKYLAKE, ZEN4


def values(text: str) -> dict[str, float | None]:
    """Sums by event."""
    return {n: c.value for n, c in totals(read_perf_stat(text)).items()}


def derived(text: str, name: str) -> dict[str, float | None]:
    """Figures of a model's output."""
    model = models()[name]
    counts = totals(read_perf_stat(text))
    ours = {model.named(event) or event: count for event, count in counts.items()}
    return {n: f.value for n, f in figures(ours, model).items()}


def test_broadwell_has_walks_and_their_cycles() -> None:
    """Two walkers: 0.4 cycles of walks in each cycle are a fifth of their time."""
    found = derived(BROADWELL, "broadwell")
    assert found == {
        "instructions_per_cycle": pytest.approx(0.5),
        "dtlb_walks_per_1000_instructions": pytest.approx(36.0),
        "itlb_walks_per_1000_instructions": pytest.approx(4.0),
        "walk_cycles_per_cycle": pytest.approx(0.4),
        "walker_occupancy": pytest.approx(0.2),
        "cycles_per_walk": pytest.approx(20.0),
        "headroom": pytest.approx(0.4 / 0.6),
    }


def test_what_took_turns_or_was_not_counted_never_becomes_a_number() -> None:
    """Each has its own reason, and no figure is made of it."""
    found = totals(read_perf_stat(DECK))
    assert {n: c.value for n, c in found.items() if n != "cycles"} == dict.fromkeys(
        ("dTLB-load-misses", "r1008", "r28bc")
    )
    assert found["dTLB-load-misses"].why == "multiplexed: counted in 44.44 % of the time"
    assert found["dTLB-load-misses"].running == pytest.approx(0.4444)
    assert found["r1008"].why == "not counted: its turn never came"
    assert found["r28bc"].why == "not supported by this processor"
    model = models()["broadwell"]
    ours = {model.named(event) or event: count for event, count in found.items()}
    shown = figures(ours, model)
    assert all(f.value is None and f.why for f in shown.values())
    assert "dtlb_load_walk_cycles: not counted" in shown["walk_cycles_per_cycle"].why


def test_skylake_by_interval_is_added_up_and_one_gap_spoils_the_sum() -> None:
    """An event whose name holds commas is one field."""
    counts = read_perf_stat(SKYLAKE)
    assert [c.at_s for c in counts[::3]] == [pytest.approx(1.000123), pytest.approx(2.000223)]
    assert values(SKYLAKE) == {
        "cycles:u": 4e6,
        "instructions:u": 4e6,
        "cpu/event=0x08,umask=0x0e/u": None,
    }
    assert models()["skylake"].named("cpu/event=0x08,umask=0x0e/u") == "dtlb_load_walks"
    assert derived(SKYLAKE, "skylake")["instructions_per_cycle"] == pytest.approx(1.0)


def test_zen_4_by_cpu_has_walks_and_no_cycles_of_them() -> None:
    """What the model does not count is not among its figures."""
    assert [c.cpu for c in read_perf_stat(ZEN4)] == [0, 1] * 3
    assert derived(ZEN4, "zen4") == {
        "instructions_per_cycle": pytest.approx(1.0),
        "dtlb_walks_per_1000_instructions": pytest.approx(1.0),
        "itlb_walks_per_1000_instructions": None,
    }


def test_neoverse_n1_and_clocks_in_milliseconds() -> None:
    """A clock is no count, and has its unit."""
    assert derived(NEOVERSE, "neoverse-n1")["dtlb_walks_per_1000_instructions"] == 2.0
    assert derived(NEOVERSE, "neoverse-n1")["itlb_walks_per_1000_instructions"] == 0.1
    clock = totals(read_perf_stat(NEOVERSE))["task-clock"]
    assert (clock.value, clock.unit) == (1003.24, "msec")


def test_kunpeng_920_has_refills_where_others_have_walks() -> None:
    """They are called what they are."""
    assert derived(KUNPENG, "kunpeng-920") == {
        "instructions_per_cycle": pytest.approx(0.5),
        "dtlb_refills_per_1000_instructions": pytest.approx(40.0),
        "itlb_refills_per_1000_instructions": None,
    }


def test_walks_of_more_than_a_cycle_per_cycle_bound_nothing() -> None:
    """Several walkers at work at once: s / (1 - s) would be negative."""
    many = BROADWELL.replace("6000000000,,r1008", "60000000000,,r1008")
    found = derived(many, "broadwell")
    assert found["walk_cycles_per_cycle"] == pytest.approx(3.1)
    assert found["headroom"] is None


def test_a_text_that_does_not_say_how_long_it_counted_has_no_numbers() -> None:
    """Old versions of perf leave it out."""
    (count,) = read_perf_stat("123,,cycles\n")
    assert count == Count(
        "cycles", None, "", None, "the share of the time it was counted is missing"
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("abc,,cycles,1,100.00,,", "'abc' is not a number"),
        ("12", "three fields"),
        ("12,,cycles,1,x,,", "'x' is not a percentage"),
        ("S0,16,12,,cycles,1,100.00,,", "by socket"),
    ],
)
def test_a_line_of_another_kind_is_named(line: str, why: str) -> None:
    """With its number."""
    with pytest.raises(InputError, match="line 2") as caught:
        read_perf_stat(f"# a comment\n{line}\n")
    assert why in caught.value.message


def test_other_separators_are_read() -> None:
    """`perf stat -x ';'`."""
    (count,) = read_perf_stat("5;;cycles;1;100.00;;", separator=";")
    assert (count.event, count.value) == ("cycles", 5.0)
