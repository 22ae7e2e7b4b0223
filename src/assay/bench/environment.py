"""What is around one run: the host as its arm wants it, a network, and who may run where.

All of it is made before the server starts and gone when the run is over. Values of the host
itself go through a transaction (`host_values`), those of a network's own device go with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace

from assay.bench.host_values import HOST, check_values, in_force, shown
from assay.bench.placement import Placing, placing
from assay.changes import Application, Evidence, HostValue
from assay.changes.host import POOL, ROOM
from assay.changes.pages import POLICIES
from assay.changes.witness import REFUSED
from assay.core.errors import InputError, MissingError, RunError
from assay.host import namespaces, steering
from assay.host.transaction import HostTree
from assay.host.transaction.plan import mask
from assay.host.view import NET
from assay.study import Network
from assay.targets import Around, Launch, Target
from assay.targets.base import PLAIN

OF_PLACE = ("pin", "numa")
PACKETS = ("rps", "xps", "irq")
PAGE_BYTES = {"2m": 2 << 20, "1g": 1 << 30}
EVENTS = "/proc/vmstat"


@dataclass(frozen=True)
class Surroundings:
    """The launch as it is to be started, and what the kernel then shows."""

    launch: Launch
    host: HostTree
    values: Mapping[str, str]
    """Those of the study's own words, by key or path."""
    steered: Mapping[str, Mapping[str, str]]
    """By named change the values that it became."""
    pair: namespaces.Pair | None
    placing: Placing
    refused: int | None = None
    """Huge pages that the kernel had refused before, if it was asked for any."""

    def shown(self, evidence: Evidence) -> dict[str, HostValue]:
        """What witnesses of the host look at, while the server still runs."""
        found = shown(self.values, self.host)
        for key, values in self.steered.items():
            found[key] = self._told(values)
        found |= self.placing.shown(evidence.server_placement, evidence.client_placement)
        if self.refused is not None:
            found[REFUSED] = HostValue(_refused(self.host) - self.refused, holds=True)
        if self.pair is not None:
            self._require_apart(evidence)
        return found

    def _told(self, values: Mapping[str, str]) -> HostValue:
        told: dict[str, HostValue] = {}
        for path, value in values.items():
            told |= shown({path: value}, self._tree(path))
            if path.endswith("/smp_affinity"):
                told |= _effective(path, value, self.host)
        names = {path: "/".join(path.split("/")[-3:]) for path in told}
        said = ", ".join(f"{names[path]} {seen.value}" for path, seen in told.items())
        return HostValue(said, all(seen.holds for seen in told.values()))

    def _tree(self, path: str) -> HostTree:
        return self.pair.server.tree if self.pair and path.startswith(NET) else self.host

    def _require_apart(self, evidence: Evidence) -> None:
        """RunError unless server and client each ran in their own namespace."""
        assert self.pair is not None
        wanted = {
            "server": (evidence.server_placement, self.pair.server.namespace),
            "client": (evidence.client_placement, self.pair.client.namespace),
        }
        for role, (placed, namespace) in wanted.items():
            seen = None if placed is None else placed.network
            if seen != namespace:
                raise RunError(f"the {role} ran in the network {seen}, not in its own, {namespace}")


def _effective(path: str, value: str, host: HostTree) -> dict[str, HostValue]:
    """The CPUs that an interrupt really has, where the kernel says so: some of those asked for."""
    path = path.replace("smp_affinity", "effective_affinity")
    raw = host.read(path)
    if raw is None:
        return {}
    cpus = mask(raw)
    return {path: HostValue(raw.strip(), bool(cpus) and not cpus & ~mask(value))}


@contextmanager
def surrounded(
    target: Target,
    launch: Launch,
    application: Application,
    wanted: Network | None,
    host: HostTree = HOST,
) -> Iterator[Surroundings]:
    """The surroundings of a run, as long as the block runs.

    MissingError with what this machine or user lacks for them; RestoreError if a value of the host
    could not be brought back.
    """
    with ExitStack() as left:
        pair = None if wanted is None else left.enter_context(namespaces.made(wanted.queues))
        made = _found(launch, application, host, pair)
        values, ours = _divided(made, host)
        if ROOM in application.steer:
            _gather(target, launch, application, host)
            made = replace(made, refused=_refused(host))
        left.enter_context(in_force({**values, **_pool(target, launch, application, host)}, host))
        if pair is not None:
            pair.put(ours)
        yield made


def check_surroundings(
    target: Target,
    launch: Launch,
    application: Application,
    pair: namespaces.Pair | None,
    host: HostTree = HOST,
) -> None:
    """MissingError if this machine or this user cannot have them, or the target cannot start so.

    Nothing is written but a pool of huge pages and the policy of transparent ones, which only
    trying can tell: both are taken back.
    """
    made = _found(launch, application, host, pair)
    values, _ = _divided(made, host)
    pool = _pool(target, launch, application, host)
    check_values({**values, **pool}, host)
    policies = {key: value for key, value in values.items() if key in POLICIES}
    with in_force({**policies, **pool}, host):
        target.check(made.launch)


def _found(
    launch: Launch, application: Application, host: HostTree, pair: namespaces.Pair | None
) -> Surroundings:
    steered: dict[str, Mapping[str, str]] = {}
    attached = launch.settings.get("attach") is not None
    for key, level in application.steer.items():
        name, _, device = key.partition("@")
        if name in (POOL, ROOM, *OF_PLACE):
            continue
        if name in PACKETS and not device:
            if attached:
                raise InputError(
                    f"{name}: which device a server that already runs is reached by is not known",
                    next_step='add device = "eth0" to the factor',
                )
            device = steering.LOOPBACK if pair is None else pair.server.device
        tree = host if pair is None or device != pair.server.device else pair.server.tree
        steered[key] = steering.values(name, level, tree, device)
    placed = placing(application.steer, host)
    if attached and placed.is_any:
        raise InputError("a server that already runs is not moved", next_step="leave pin to it")
    around = Around(
        server=(*(pair.server.enter if pair else ()), *placed.server),
        client=(*(pair.client.enter if pair else ()), *placed.client),
        host=pair.server.address if pair else PLAIN.host,
        server_cpus=tuple(placed.server_cpus),
        is_watched=placed.pin is not None or placed.numa is not None,
        counts_packets=pair is not None or any(k.partition("@")[0] in PACKETS for k in steered),
    )
    return Surroundings(
        replace(launch, around=around), host, application.host, steered, pair, placed
    )


def _divided(made: Surroundings, host: HostTree) -> tuple[dict[str, str], dict[str, str]]:
    """Values of the host, and those of the network's own device."""
    values = dict(made.values)
    ours: dict[str, str] = {}
    for steered in made.steered.values():
        for path, value in steered.items():
            is_ours = made.pair is not None and f"{NET}/{made.pair.server.device}/" in path
            (ours if is_ours else values)[path] = value
    return values, ours


def _pool(
    target: Target, launch: Launch, application: Application, host: HostTree
) -> Mapping[str, str]:
    """The pool that a level asks for, as large as the target says that it needs."""
    kind = application.steer.get(POOL)
    if kind is None:
        return {}
    if launch.settings.get("attach") is not None:
        raise InputError("a server that already runs has its pages", next_step="leave them to it")
    page = PAGE_BYTES[kind]
    return steering.pool(page, target.huge_bytes(launch, page), host)


def _gather(target: Target, launch: Launch, application: Application, host: HostTree) -> None:
    """Memory in huge pieces, as far as there can be: a pool that is given back at once.

    A page fault that asks for a transparent huge page is content with base pages where files that
    were read fill the memory; a pool that grows is not.
    """
    page = PAGE_BYTES[application.steer[ROOM]]
    if launch.settings.get("attach") is not None:
        return  # it has its memory
    with suppress(MissingError):
        values = steering.pool(page, target.huge_bytes(launch, page), host)
        with in_force(values, host):
            pass


def _refused(host: HostTree) -> int:
    events = dict(line.split() for line in (host.read(EVENTS) or "").splitlines())
    return int(events.get(REFUSED, 0))
