"""What is around a run: the host as its arm wants it, words that bind, and all of it gone after."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import host_kit
from assay.bench.environment import Surroundings, check_surroundings, surrounded
from assay.bench.placement import placing
from assay.changes import Application, Evidence, HostValue, applied_values, find
from assay.core.errors import InputError, MissingError, RunError
from assay.host.transaction import statuses
from assay.host.transaction.fixture import FixtureTree
from assay.host.transaction.writable import HostTree
from assay.linux.placement import Placement
from assay.targets import TARGETS, Launch
from fakes import FakeTarget
from witness_kit import showing

THP = "/sys/kernel/mm/transparent_hugepage/enabled"
POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
RPS = "/sys/class/net/lo/queues/rx-0/rps_cpus"
FURTHER = {
    "/proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 15000000 kB\nHugepagesize: 2048 kB\n",
    "/sys/devices/system/cpu/online": "0-3\n",
    "/sys/class/net/lo/queues/rx-0/rps_flow_cnt": "0\n",
    RPS: "0\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> HostTree:
    made = host_kit.make(tmp_path / "host")
    for path, text in FURTHER.items():
        place = made.place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return made


class Paged(FakeTarget):
    """A fake that needs 20 MiB of huge pages, and says what it found."""

    def huge_bytes(self, launch: Launch, page_bytes: int) -> int:
        return 20 << 20


LAUNCH = Launch({}, "ycsb", {}, 1, 0.1, 0.3)


def level(change: str, name: str, target: str = "engine") -> Application:
    """What a level of a change applies to a kind of target."""
    return find(change, TARGETS[target]).level(name).application.of(target)


def judged(change: str, name: str, evidence: dict, target: str = "redis") -> bool:
    """Whether the change's witness holds."""
    found = find(change, TARGETS[target])
    made = found.level(name)
    return found.witness.judge(
        made.name, applied_values(made, "f", target), showing(**evidence)
    ).held


def test_a_pool_is_as_large_as_the_target_needs_while_the_run_lasts(tree: HostTree) -> None:
    """With the policy, and afterwards all is as before, without a journal."""
    before = host_kit.shown(tree)
    application = level("host.pages", "2m")
    with surrounded(Paged(), LAUNCH, application, None, tree) as around:
        assert tree.read(POOL) == "10\n"
        assert "[never]" in (tree.read(THP) or "")
        assert around.shown(Evidence())[THP] == HostValue("never", holds=True)
    assert host_kit.shown(tree) == before
    assert statuses(tree) == []


@dataclass(frozen=True)
class Written(FixtureTree):
    """A tree that keeps what was written to its pool of huge pages."""

    pools: list[str] = field(default_factory=list)

    def write(self, path: str, value: str) -> None:
        if path == POOL:
            self.pools.append(value)
        super().write(path, value)


def test_memory_is_gathered_for_a_server_that_asks_for_transparent_pages(tree: HostTree) -> None:
    """As a pool that is given back before the policy is in force; what the kernel refuses of it
    all the same is told."""
    place = tree.place("/proc/vmstat")
    place.write_text("thp_fault_alloc 100\nthp_fault_fallback 7\n")
    before, written = host_kit.shown(tree), Written(tree.root)
    with surrounded(Paged(), LAUNCH, level("host.pages", "thp"), None, written) as around:
        assert (written.pools[0], written.pools[-1]) == ("10", "4")
        assert "[always]" in (tree.read(THP) or "")
        place.write_text("thp_fault_alloc 103\nthp_fault_fallback 12\n")
        shown = around.shown(Evidence())
        assert shown["thp_fault_fallback"] == HostValue(5, holds=True)
        found = {"host": shown, "memory": {"anon_huge_bytes": 0, "private_hugetlb_bytes": 0}}
        witness = find("host.pages", TARGETS["engine"]).witness
        applied = {THP: "always", "room": "2m"}
        told = witness.judge("thp", applied, showing(**found, read_back={"pages": "thp"}))
        assert not told.held
        assert "5 page faults that asked for a huge page had none" in told.evidence
    place.write_text(before["/proc/vmstat"])
    assert host_kit.shown(tree) == before


def test_memory_that_cannot_be_gathered_keeps_no_server_from_starting(tree: HostTree) -> None:
    """Its witness will tell; a server that runs already has its memory."""

    class Small(FakeTarget):
        def huge_bytes(self, launch: Launch, page_bytes: int) -> int:
            raise MissingError("smaller than a page", next_step="leave that level out")

    attached = replace(LAUNCH, settings={"attach": "mariadb://somewhere"})
    for target, launch in ((Small(), LAUNCH), (Paged(), attached)):
        written = Written(tree.root)
        with surrounded(target, launch, level("host.pages", "thp"), None, written):
            assert written.pools == []


def test_a_target_is_checked_with_its_pages_in_place_and_without_them_after(
    tree: HostTree,
) -> None:
    """Only trying can tell whether this machine gives such pages, whatever its policy is now."""
    tree.write(THP, "never")
    before, seen = host_kit.shown(tree), []

    class Looking(Paged):
        def check(self, launch: Launch) -> None:
            seen.append((tree.read(POOL), tree.read(THP)))

    for kind in ("2m", "thp"):
        check_surroundings(Looking(), LAUNCH, level("host.pages", kind), None, tree)
    assert seen == [
        ("10\n", "always madvise [never]\n"),
        ("4\n", "[always] madvise never\n"),
    ]
    assert host_kit.shown(tree) == before


def test_pages_of_a_size_that_the_kernel_has_not_are_a_missing_level(tree: HostTree) -> None:
    """Told before anything runs."""
    with pytest.raises(MissingError, match="no huge pages of 1024 MiB"):
        check_surroundings(Paged(), LAUNCH, level("host.pages", "1g"), None, tree)


def test_masks_without_a_network_are_those_of_loopback(tree: HostTree) -> None:
    """Where a private server's packets arrive; witnessed by the kernel's file."""
    application = level("host.rps", "others", "redis")
    with surrounded(FakeTarget(), LAUNCH, application, None, tree) as around:
        assert tree.read(RPS) == "e\n"
        assert around.launch.around.counts_packets
        told = {"host": around.shown(Evidence())}
        assert judged("host.rps", "others", told)
        tree.write(RPS, "1")
        assert not judged("host.rps", "others", {"host": around.shown(Evidence())})
        tree.write(RPS, "e")
    assert tree.read(RPS) == "0\n"


def test_a_factor_may_name_its_device(tree: HostTree) -> None:
    """Another one's masks are left alone."""
    place = tree.place("/sys/class/net/eth0/queues/rx-0/rps_flow_cnt")
    place.write_text("0\n")
    application = Application(steer={"rps@eth0": "all"})
    with surrounded(FakeTarget(), LAUNCH, application, None, tree) as around:
        assert tree.read("/sys/class/net/eth0/queues/rx-0/rps_cpus") == "f\n"
        assert tree.read(RPS) == "0\n"
        assert around.shown(Evidence())["rps@eth0"].holds


def test_an_interrupt_is_where_the_kernel_says_it_really_is(tree: HostTree) -> None:
    """Its mask may name CPUs that it is not served by."""
    for path, text in {
        "/sys/class/net/eth0/device/msi_irqs/24": "msix\n",
        "/proc/irq/24/smp_affinity": "f\n",
        "/proc/irq/24/effective_affinity": "2\n",
    }.items():
        place = tree.place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    application = Application(steer={"irq@eth0": "0-1"})
    with surrounded(FakeTarget(), LAUNCH, application, None, tree) as around:
        told = around.shown(Evidence())["irq@eth0"]
        assert told.holds
        assert "effective_affinity 2" in told.value
        tree.write("/proc/irq/24/effective_affinity", "4")
        assert not around.shown(Evidence())["irq@eth0"].holds
    assert tree.read("/proc/irq/24/smp_affinity") == "f\n"


def test_a_server_that_runs_already_is_neither_moved_nor_given_pages(tree: HostTree) -> None:
    """And which device it is reached by must be named."""
    attached = replace(LAUNCH, settings={"attach": "redis://somewhere"})
    for change, name, why in (
        ("host.pin", "split", "not moved"),
        ("host.rps", "all", "add device"),
    ):
        application = level(change, name, "redis")
        with pytest.raises(InputError) as told:
            check_surroundings(FakeTarget(), attached, application, None, tree)
        assert why in f"{told.value.message} {told.value.next_step}"


@pytest.fixture
def four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})


def test_pinning_is_words_before_both_commands(tree: HostTree, four_cpus) -> None:
    """And the load is told nothing: the kernel holds it there."""
    with surrounded(
        FakeTarget(), LAUNCH, Application(steer={"pin": "split"}), None, tree
    ) as around:
        made = around.launch.around
        assert made.server[1:] == ("--cpu-list", "0-1")
        assert made.client[1:] == ("--cpu-list", "2-3")
        assert made.server_cpus == (0, 1)
        assert made.looks
        told = Evidence(
            server_placement=Placement({"0-1": 5}, {}), client_placement=Placement({"2-3": 2}, {})
        )
        assert around.shown(told)["pin"].holds
        assert judged("host.pin", "split", {"host": around.shown(told)})


@pytest.mark.parametrize(
    ("server", "client", "holds"),
    [
        ({"0-1": 4, "1": 1}, {"2-3": 1}, True),
        ({"0-1": 4, "0-3": 1}, {"2-3": 1}, False),
        ({"0-1": 4}, {"0-3": 1}, False),
        ({}, {"2-3": 1}, False),
    ],
)
def test_every_thread_must_be_where_it_was_bound(
    tree: HostTree, four_cpus, server: dict, client: dict, holds: bool
) -> None:
    """One that is not spoils it; a thread may have bound itself to fewer."""
    made = placing({"pin": "split"}, tree)
    assert made.shown(Placement(server, {}), Placement(client, {}))["pin"].holds is holds


def test_not_being_bound_is_seen_too(tree: HostTree, four_cpus) -> None:
    """Off is proved as on is."""
    made = placing({"pin": "none"}, tree)
    assert not made.is_any
    free, bound = Placement({"0-3": 3, "2": 1}, {}), Placement({"0-1": 3}, {})
    client = Placement({"0-3": 1}, {})
    assert made.shown(free, client)["pin"].holds
    assert not made.shown(bound, client)["pin"].holds


def test_memory_is_where_its_node_is(tree: HostTree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Local, remote and by turns, told apart by pages; one node has none of it."""
    with pytest.raises(MissingError, match="one NUMA node"):
        placing({"numa": "local"}, tree)
    for node, cpus in ((0, "0-1"), (1, "2-3")):
        place = tree.place(f"/sys/devices/system/node/node{node}/cpulist")
        place.parent.mkdir(parents=True)
        place.write_text(f"{cpus}\n")
    monkeypatch.setattr("assay.bench.placement.shutil.which", lambda name: f"/usr/bin/{name}")
    seen = {"local": {0: 95, 1: 5}, "remote": {0: 5, 1: 95}, "interleave": {0: 50, 1: 50}}
    words = {"local": "--membind=0", "remote": "--membind=1", "interleave": "--interleave=all"}
    for name in seen:
        made = placing({"numa": name}, tree)
        assert words[name] in made.server
        for shown, pages in seen.items():
            told = made.shown(Placement({}, pages), None)
            assert told["numa"].holds is (shown == name)


def test_a_run_outside_its_own_network_has_failed(tree: HostTree) -> None:
    """Whoever asks for two hosts gets two, or no number."""

    class Side:
        namespace = "net:[1]"

    class Pair:
        server = client = Side()

    made = Surroundings(LAUNCH, tree, {}, {}, Pair(), placing({}, tree))  # type: ignore[arg-type]
    mine, other = Placement({}, {}, "net:[1]"), Placement({}, {}, "net:[2]")
    made.shown(Evidence(server_placement=mine, client_placement=mine))
    with pytest.raises(RunError, match=r"the client ran in the network net:\[2\]"):
        made.shown(Evidence(server_placement=mine, client_placement=other))
    with pytest.raises(RunError, match="the server ran in the network None"):
        made.shown(Evidence())
