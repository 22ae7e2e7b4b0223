"""The tables of events: whose they are, and how `perf` spells what is in them."""

from __future__ import annotations

import pytest

from assay.counters import Model, model_of, models

CPUINFO = {
    "broadwell": "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 79\nmodel name\t: Xeon\n",
    "skylake": "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n",
    "zen4": "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n",
    "neoverse-n1": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
    "kunpeng-920": "CPU implementer\t: 0x48\nCPU part\t: 0xd01\nCPU revision\t: 0\n",
}


@pytest.mark.parametrize("name", CPUINFO)
def test_a_processor_has_its_own_table(name: str) -> None:
    """By vendor, family and model on x86-64, by implementer and part on Arm."""
    assert model_of(CPUINFO[name]) == models()[name]


@pytest.mark.parametrize(
    "cpuinfo",
    [
        "",
        CPUINFO["broadwell"].replace("79", "63"),  # Haswell
        CPUINFO["zen4"].replace("17", "1"),  # Zen 3
        CPUINFO["neoverse-n1"].replace("0xd0c", "0xd40"),
        CPUINFO["skylake"].replace("GenuineIntel", "Other"),
    ],
)
def test_a_processor_without_a_table_has_none(cpuinfo: str) -> None:
    """Nothing is guessed from a neighbour."""
    assert model_of(cpuinfo) is None


@pytest.mark.parametrize("model", models().values(), ids=models())
def test_every_role_is_made_of_events_that_the_table_has(model: Model) -> None:
    """And of no two events with the same number."""
    for events in model.roles.values():
        assert set(events) <= model.events.keys()
    assert {"cycles", "instructions"} <= model.events.keys()
    numbers = [(e.kind, e.config) for e in model.events.values()]
    assert len(numbers) == len(set(numbers))
    spelled = [p.lower() for e in model.events.values() for p in e.perf]
    assert len(spelled) == len(set(spelled))


def test_the_numbers_of_the_deck_are_those_of_the_table() -> None:
    """The raw events on the ASE deck's command line, and what they are."""
    named = models()["broadwell"].named
    assert named("r1008") == "dtlb_load_walk_cycles"
    assert named("r1085:u") == "itlb_walk_cycles"
    assert named("cpu/event=0xbc,umask=0x18,name=x/") == "walker_loads_from_memory"
    assert named("dTLB-load-misses:u") == "dtlb_load_walks_begun"
    # Not on this model, whatever the deck says: only Haswell-X has it.
    assert named("r28bc") is None


def test_a_mask_of_cycles_makes_another_event() -> None:
    """Cycles in which any walk is active are not the sum over walkers."""
    named = models()["skylake"].named
    assert named("cpu/event=0x8,umask=0x10/") == "dtlb_load_walk_cycles"
    assert named("cpu/event=0x8,umask=0x10,cmask=0x1/") == "dtlb_load_walk_active"
    assert named("cpu/event=0x8,umask=0x10,edge=1/") is None
    assert named("cpu/event=x/") is None
