"""What a study's groups come to on hosts of different kinds; no counter is opened here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import MissingError
from assay.core.metrics import GROUPS_OF
from assay.counters import GROUPS, asked, group_of, models, why_absent

WITH: dict[str, Any] = {"can": {"pmu": {"ok": True, "why": "a cycles counter could be opened"}}}
WITHOUT: dict[str, Any] = {"can": {"pmu": {"ok": False, "why": "no such file"}}}


def ask(names: list[str], facts: dict[str, Any], model: str | None, may: bool = True) -> Any:
    """The answer on a host of this model."""
    table = models()[model] if model else None
    return asked(names, facts, lambda: table, lambda: may)


def events(found: Any) -> list[list[str]]:
    """The names of each set."""
    return [[e["name"] for e in s] for s in found.sets]


def test_without_counters_of_the_processor_only_the_kernels_own_events_are_asked_for() -> None:
    """The rest is refused with the reason, and nothing is tried."""
    found = ask(["vm", "perf", "tlb"], WITHOUT, "zen4")
    assert found.groups == ("vm",)
    assert [e["type"] for s in found.sets for e in s] == [1] * 5
    assert set(found.refused) == {"perf.cycles, perf.instructions", "tlb"}
    assert all("no such file" in why for why in found.refused.values())


def test_a_model_with_a_table_is_asked_for_its_own_events() -> None:
    """One set, so that all are counted at the same times."""
    found = ask(["tlb"], WITH, "broadwell")
    names = ["cycles", "instructions", "dtlb_load_walks", "dtlb_store_walks", "itlb_walks"]
    assert events(found) == [names]
    by_name = {e["name"]: e for e in found.sets[0]}
    assert (by_name["cycles"]["type"], by_name["cycles"]["config"]) == (0, 0)
    assert (by_name["dtlb_load_walks"]["type"], by_name["dtlb_load_walks"]["config"]) == (4, 0x0E08)
    assert found.refused == {}


def test_an_ordinary_users_events_are_of_user_space_and_are_called_so() -> None:
    """As perf calls them. The kernel's own events happen in the kernel, and are asked for whole."""
    found = ask(["perf"], WITH, "neoverse-n1", may=False)
    software, hardware = found.sets
    assert [e["name"] for e in hardware] == ["cycles:u", "instructions:u"]
    assert all(e["exclude_kernel"] for e in hardware)
    assert not any(e["exclude_kernel"] for e in software)


def test_events_that_would_take_turns_are_refused_before_anything_starts() -> None:
    """None of them would be a number."""
    with pytest.raises(MissingError, match="counts 4 events at once, and 6 are asked for"):
        ask(["tlb", "walk-cycles"], WITH, "skylake")


def test_a_model_that_lacks_a_role_says_so() -> None:
    """Zen 4 counts no cycles of walks."""
    found = ask(["walk-cycles", "perf"], WITH, "zen4")
    assert found.refused == {"walk-cycles": "AMD Zen 4 has no such events"}
    assert ["cycles", "instructions"] in events(found)


def test_a_model_without_a_table_has_cycles_and_instructions_only() -> None:
    """By the kernel's own numbers, which every processor has."""
    found = ask(["perf", "tlb"], WITH, None)
    assert events(found)[1] == ["cycles", "instructions"]
    assert "no table of events" in found.refused["tlb"]


def test_of_a_server_elsewhere_only_this_host_is_counted() -> None:
    """Its processes are not here."""
    request = ask(["process", "perf", "softnet"], WITH, "zen4").request(None)
    assert (request["groups"], request["pmu"]) == (["softnet"], [])


def test_a_counter_belongs_to_the_group_that_it_is_named_for() -> None:
    """The longest beginning counts."""
    names = list(GROUPS)
    assert group_of("host.softnet.processed.cpu0", names) == "softnet"
    assert group_of("host.context_switches", names) == "cpu"
    assert group_of("vm.thp_fault_alloc", ["psi", "vm"]) == "vm"
    assert group_of("vm.thp_fault_alloc", ["psi"]) is None


def test_why_something_is_absent_is_found_by_group_and_by_counter() -> None:
    """And what is not absent has no reason."""
    absent = {"perf.cycles, perf.instructions": "a", "tlb": "b", "energy": "c"}
    assert why_absent("perf", absent) == why_absent("perf.instructions", absent) == "a"
    assert why_absent("perf.dtlb_walks", absent) == why_absent("tlb", absent) == "b"
    assert why_absent("energy.package-0_uj", absent) == "c"
    assert why_absent("perf.page_faults", absent) == why_absent("vm.pgfault", absent) == ""
    assert why_absent("perf.cycles", {"perf.cycles:u": "d"}) == "d"


def test_the_page_names_every_group_and_every_metric_that_follows() -> None:
    """docs/counters.md is where a user finds them."""
    page = (Path(__file__).parents[2] / "docs" / "counters.md").read_text()
    for name in (*GROUPS, *GROUPS_OF):
        assert f"`{name}`" in page, name
