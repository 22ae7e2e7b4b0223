"""What speaks against measuring on a fleet: each host asked, and all of them compared."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from assay.core.errors import AssayError
from assay.fleet.agent import AgentClock, AgentHello
from assay.fleet.facts import Difference, differences
from assay.fleet.inventory import LEASE_S, FleetHost, Inventory
from assay.fleet.rays import IdleCost
from assay.fleet.transport import Link, PresentHost, Transport, placed

EXCHANGES = 30
CLOCK_OFFSET_S = 0.05
"""Nothing is measured across clocks, but logs of several hosts are read side by side."""
CLOCK_DRIFT_S = 0.001
QUIET_WAKEUPS = 1.0
"""Of Ray, a second, while it is stopped: what a window may have."""
IDLE_S = 2.0
EMULATED = "emulated: behaviour only"

Kind = Literal["absent", "lost", "version", "label", "unequal", "clock", "start", "noise"]


class FleetFinding(BaseModel):
    """One thing that speaks against measuring, and what to do."""

    model_config = ConfigDict(frozen=True)

    host: str
    kind: Kind
    text: str
    advice: str


class ClockOffset(BaseModel):
    """A host's wall clock against the head's, in seconds; `error_s` is half of the exchange."""

    model_config = ConfigDict(frozen=True)

    offset_s: float
    error_s: float


class HostReport(BaseModel):
    """What was found of one host. None where it could not be asked, or Ray is not there."""

    model_config = ConfigDict(frozen=True)

    name: str
    address: str
    roles: list[str]
    labels: dict[str, str]
    is_present: bool
    price_per_hour: float | None = None
    currency: str | None = None
    hello: AgentHello | None = None
    is_emulated: bool = False
    before: ClockOffset | None = None
    after: ClockOffset | None = None
    idle: IdleCost | None = None
    stopped: IdleCost | None = None


class FleetReport(BaseModel):
    """All hosts, what speaks against measuring, and in what types differ from each other."""

    model_config = ConfigDict(frozen=True)

    name: str
    hosts: list[HostReport]
    findings: list[FleetFinding]
    differences: list[Difference]


def status(transport: Transport, inventory: Inventory | None = None) -> FleetReport:
    """Which hosts are there, by what has joined; no agent is started."""
    hosts = [
        _report(host, where is not None) for host, where in _hosts(transport, inventory).values()
    ]
    findings = [_absent(h.name, inventory) for h in hosts if not h.is_present]
    return FleetReport(name=_name(inventory), hosts=hosts, findings=findings, differences=[])


def check(
    transport: Transport,
    inventory: Inventory | None = None,
    watch: Callable[[str], object] = lambda host: None,
    idle_s: float = IDLE_S,
) -> FleetReport:
    """Ask each host that is there, one after the other, and compare them.

    `watch` is called with the name of the host that is asked.
    """
    reports, findings = [], []
    lease_s = LEASE_S if inventory is None else inventory.lease_s
    for host, where in _hosts(transport, inventory).values():
        report = _report(host, where is not None)
        if where is None:
            findings.append(_absent(host.name, inventory))
        else:
            watch(host.name)
            try:
                with placed(transport, host.name, lease_s) as link:
                    report = _asked(report, link, idle_s)
            except AssayError as error:
                advice = error.next_step or "look at Ray's log there"
                findings.append(_finding(host.name, "lost", error.message, advice))
            findings += _judged(report)
        reports.append(report)
    unequal, between = _compared(reports)
    return FleetReport(
        name=_name(inventory), hosts=reports, findings=findings + unequal, differences=between
    )


def _hosts(
    transport: Transport, inventory: Inventory | None
) -> dict[str, tuple[FleetHost, PresentHost | None]]:
    """The hosts of the inventory, or all that have joined."""
    joined = {host.name: host for host in transport.present()}
    if inventory is not None:
        return {name: (host, joined.get(name)) for name, host in inventory.hosts.items()}
    return {
        name: (FleetHost(name, host.address, labels=dict(host.labels)), host)
        for name, host in joined.items()
    }


def _name(inventory: Inventory | None) -> str:
    return "" if inventory is None else inventory.name


def _report(host: FleetHost, is_present: bool) -> HostReport:
    return HostReport(
        name=host.name,
        address=host.address,
        roles=list(host.roles),
        labels=host.labels,
        is_present=is_present,
        price_per_hour=None if host.price is None else host.price.per_hour,
        currency=None if host.price is None else host.price.currency,
    )


def _asked(report: HostReport, link: Link, idle_s: float) -> HostReport:
    hello = AgentHello.model_validate(link.call("hello", patience_s=60.0))
    before = offset(link)
    costs = [
        IdleCost.model_validate(
            link.call("idle", {"seconds": idle_s, "stopped": stopped}, idle_s + 30.0)
        )
        for stopped in (False, True)
    ]
    idle, stopped = costs if costs[0].processes else (None, None)
    return report.model_copy(
        update={
            "hello": hello,
            "is_emulated": hello.is_emulated,
            "before": before,
            "after": offset(link),
            "idle": idle,
            "stopped": stopped,
        }
    )


def offset(link: Link, now: Callable[[], int] = time.time_ns) -> ClockOffset:
    """A host's clock against ours, from the fastest of some exchanges: it is off by at most half of
    what that took."""
    found = []
    for _ in range(EXCHANGES):
        sent = now()
        there = AgentClock.model_validate(link.call("clock")).wall_ns
        back = now()
        found.append((back - sent, there - (sent + back) / 2))
    took, off = min(found)
    return ClockOffset(offset_s=off / 1e9, error_s=took / 2e9)


def _judged(report: HostReport) -> Iterator[FleetFinding]:
    """What speaks against one host, whatever the others are."""
    hello = report.hello
    if hello is None:
        return
    here, there = _versions(), _versions(hello)
    for what, is_here in here.items():
        if there[what] != is_here:
            text = f"{what} {there[what]}, and {is_here} on the head"
            yield _finding(report.name, "version", text, "install the same version on all hosts")
    arch = report.labels.get("arch")
    if arch is not None and arch != hello.facts["arch"]:
        text = f"its label says arch = {arch}, but it is {hello.facts['arch']}"
        yield _finding(report.name, "label", text, "correct the inventory, then `up` again")
    for left in hello.leftovers:
        text = f"servers that it starts would inherit {left}"
        yield _finding(
            report.name, "start", text, "run Ray there as root, or with limits that allow 0"
        )
    yield from _clock(report)
    stopped = report.stopped
    if stopped is not None and stopped.wakeups_per_s > QUIET_WAKEUPS:
        text = f"Ray, stopped, wakes up {stopped.wakeups_per_s:g} times a second"
        yield _finding(report.name, "noise", text, "is it another user's Ray? start it as yourself")


def _versions(hello: AgentHello | None = None) -> dict[str, str]:
    """Of a host, or of this process: what must be the same everywhere."""
    python = platform.python_version() if hello is None else hello.python
    found = {"Assay": version("assay") if hello is None else hello.version}
    return found | {"Python": ".".join(python.split(".")[:2])}


def _clock(report: HostReport) -> Iterator[FleetFinding]:
    before, after = report.before, report.after
    if before is None or after is None:
        return
    drift = abs(after.offset_s - before.offset_s) - before.error_s - after.error_s
    advice = "let both take their time from the same source (chrony)"
    if abs(after.offset_s) - after.error_s > CLOCK_OFFSET_S:
        text = f"its clock is {1000 * after.offset_s:+.0f} ms off the head's"
        yield _finding(report.name, "clock", text, advice)
    if drift > CLOCK_DRIFT_S:
        text = f"its clock moved by {1000 * drift:.1f} ms against the head's meanwhile"
        yield _finding(report.name, "clock", text, advice)


def _compared(reports: list[HostReport]) -> tuple[list[FleetFinding], list[Difference]]:
    """Differences inside of a type, which are faults, and those between types."""
    facts: dict[str, Mapping[str, Any]] = {
        report.name: report.hello.facts for report in reports if report.hello is not None
    }
    types: dict[str, list[str]] = {}
    for report in reports:
        if report.name in facts and "type" in report.labels:
            types.setdefault(report.labels["type"], []).append(report.name)
    findings = []
    for kind, names in types.items():
        for difference in differences({name: facts[name] for name in names}):
            values = ", ".join(f"{host} {value}" for host, value in difference.values.items())
            text = f"hosts of the type {kind} differ in {difference.fact}: {values}"
            advice = "make them equal, or give them different types"
            findings.append(_finding(" ".join(names), "unequal", text, advice))
    return findings, differences(facts)


def _absent(host: str, inventory: Inventory | None) -> FleetFinding:
    file = "FILE" if inventory is None else inventory.path
    advice = f"on it: `assay fleet up {file} --as {host}`"
    return _finding(host, "absent", "it has not joined", advice)


def _finding(host: str, kind: Kind, text: str, advice: str) -> FleetFinding:
    return FleetFinding(host=host, kind=kind, text=text, advice=advice)
