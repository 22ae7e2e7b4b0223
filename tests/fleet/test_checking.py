"""What speaks against measuring on a fleet, with agents of this process."""

from __future__ import annotations

import itertools
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import FleetError, InputError, LostError
from assay.fleet.agent import Agent
from assay.fleet.checking import FleetReport, check, offset, status
from assay.fleet.inventory import Inventory
from assay.fleet.local import LocalHosts
from fleet_kit import agent, inventory, local, two

ARCH = platform.machine()


def kinds(report: FleetReport) -> list[tuple[str, str]]:
    return [(finding.host, finding.kind) for finding in report.findings]


@pytest.fixture
def lab(tmp_path: Path) -> Inventory:
    return two(tmp_path)


def fitting(**facts: Any) -> Agent:
    """An agent whose clean start is not what the test is about."""
    return agent(arch=ARCH, **facts)


def checked(hosts: LocalHosts, inventory: Inventory) -> FleetReport:
    """Without what the test's own process has inherited."""
    report = check(hosts, inventory, idle_s=0.01)
    kept = [f for f in report.findings if f.kind not in ("start", "label")]
    return report.model_copy(update={"findings": kept})


def test_equal_hosts_have_nothing_against_them(lab: Inventory) -> None:
    """Each was asked, its clock twice, and its agent has ended."""
    hosts = local(lab, x86=fitting(), arm=fitting())
    report = checked(hosts, lab)
    assert kinds(report) == []
    assert report.differences == []
    assert [host.name for host in report.hosts] == ["x86", "arm"]
    assert all(host.hello is not None and not host.is_emulated for host in report.hosts)
    assert all(link.is_lost and link.calls.count("clock") == 60 for link in hosts.links)


def test_a_host_that_has_not_joined_is_absent(lab: Inventory) -> None:
    """The command that joins it is given; the others are asked all the same."""
    for find in (checked, status):
        report = find(local(lab, x86=fitting()), lab)
        assert kinds(report) == [("arm", "absent")]
        assert report.findings[0].advice.endswith("lab.toml --as arm`")
        assert [host.is_present for host in report.hosts] == [True, False]


def test_status_asks_nobody(lab: Inventory) -> None:
    """It reads what has joined."""
    hosts = local(lab, x86=fitting(), arm=fitting())
    assert kinds(status(hosts, lab)) == []
    assert hosts.links == []


def test_hosts_of_one_type_that_differ_are_a_fault(lab: Inventory) -> None:
    """What differs is named with both values."""
    report = checked(local(lab, x86=fitting(), arm=fitting(kernel="6.2", cpus=4)), lab)
    assert kinds(report) == [("x86 arm", "unequal")] * 2
    assert "differ in kernel: x86 6.1, arm 6.2" in report.findings[1].text


def test_what_differs_between_types_is_listed_and_no_fault(tmp_path: Path) -> None:
    """It comes with the type."""
    lab = two(tmp_path)
    lab.hosts["arm"].labels["type"] = "small"
    report = checked(local(lab, x86=fitting(), arm=fitting(cpus=4)), lab)
    assert kinds(report) == []
    assert [(d.fact, d.values) for d in report.differences] == [("cpus", {"x86": "2", "arm": "4"})]


def test_a_label_that_is_not_so_is_found(lab: Inventory) -> None:
    """The architecture of the inventory against that of the host."""
    report = check(local(lab, x86=agent(arch="riscv64")), lab, idle_s=0.01)
    (found,) = [f for f in report.findings if f.kind == "label"]
    assert found.text == "its label says arch = x86_64, but it is riscv64"


def test_a_host_whose_binary_is_of_another_architecture_is_emulated(lab: Inventory) -> None:
    """Behaviour only: its times count for nothing."""
    report = check(local(lab, x86=agent(arch="riscv64")), lab, idle_s=0.01)
    assert report.hosts[0].is_emulated


class Other(Agent):
    """An agent of another version, or one that does not answer a verb."""

    def __init__(self, lost: str = "", **hello: str) -> None:
        super().__init__(facts=lambda: {**agent().answer("hello", {})["facts"], "arch": ARCH})
        self._lost, self._other = lost, hello

    def answer(self, verb: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if verb == self._lost:
            raise LostError("it went away")
        more = self._other if verb == "hello" else {}
        return {**super().answer(verb, request), **more}


def test_another_version_is_refused_by_name(lab: Inventory) -> None:
    """Of Assay, and of Python to its minor version."""
    report = checked(local(lab, arm=Other(version="0.0.1", python="3.1.4")), lab)
    texts = [f.text for f in report.findings if f.kind == "version"]
    assert texts[0].startswith("Assay 0.0.1, and ")
    assert texts[1].startswith("Python 3.1, and ")


def test_a_host_that_is_lost_does_not_keep_the_others_from_being_asked(lab: Inventory) -> None:
    """It is said what was asked of it."""
    report = checked(local(lab, x86=Other(lost="idle"), arm=fitting()), lab)
    assert kinds(report) == [("x86", "lost")]
    assert report.findings[0].text == "x86: it went away"
    assert report.hosts[1].hello is not None


def test_without_an_inventory_all_that_have_joined_are_the_hosts(lab: Inventory) -> None:
    """A cluster of somebody's: its labels are the labels."""
    report = check(local(lab, x86=fitting(), arm=fitting()), None, idle_s=0.01)
    assert [host.name for host in report.hosts] == ["arm", "x86"]
    assert report.hosts[0].labels["type"] == "big"


def test_the_fastest_exchange_says_how_clocks_stand(tmp_path: Path) -> None:
    """An exchange of 4 ms while the other clock is 7 ms ahead, among slower ones."""
    lab = inventory(tmp_path, 'name = "a"\nhead = "b"\n[[host]]\nname = "b"\naddress = "::1"\n')
    ms = 1_000_000
    times = itertools.chain.from_iterable(
        (1000 * n * ms, (1000 * n + (4 if n == 5 else 50)) * ms) for n in itertools.count()
    )

    class Ahead(Agent):
        asked = -1

        def answer(self, verb: str, request: Mapping[str, Any]) -> dict[str, Any]:
            self.asked += 1
            took = 4 if self.asked == 5 else 90
            return {"wall_ns": (1000 * self.asked + took // 2 + 7) * ms, "monotonic_ns": 0}

    link = local(lab, b=Ahead()).place("b", 6.0)
    found = offset(link, lambda: next(times))
    assert (found.offset_s, found.error_s) == (0.007, 0.002)


def test_a_call_to_a_host_that_is_lost_is_an_error_and_so_is_an_unknown_verb(
    lab: Inventory,
) -> None:
    """Errors of an agent name its host."""
    hosts = local(lab, arm=fitting())
    link = hosts.place("arm", 6.0)
    with pytest.raises(InputError, match=r"arm: an agent of Assay .* knows no verb 'dance'"):
        link.call("dance")
    with pytest.raises(InputError, match="arm: idle was asked with what it does not take"):
        link.call("idle", {"second": 1})
    link.lose()
    with pytest.raises(LostError, match="arm: no answer to 'clock' in 15 s"):
        link.call("clock")
    with pytest.raises(FleetError, match="x86 has not joined"):
        hosts.place("x86", 6.0)
