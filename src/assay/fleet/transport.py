"""The seam between the experiment and what carries it: hosts, an agent on one, a call, a loss.

transport          present()    place()                             call()
local.py           given        an agent of this process            a function call
ray_transport.py   ray.nodes()  an actor there, below it a keeper   Ray, bounded in time
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from assay.core.errors import LostError
from assay.fleet.protocol import RENEW

PATIENCE_S = 15.0
"""How long a short call may take."""


@dataclass(frozen=True)
class PresentHost:
    """A host that has joined: its name in the inventory, or its address."""

    name: str
    address: str
    labels: Mapping[str, str]


class Link(Protocol):
    """An agent on a host."""

    host: str

    def call(
        self, verb: str, request: Mapping[str, Any] | None = None, patience_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        """Its answer. LostError if none comes in time; the agent's own errors name the host."""
        ...

    def lose(self) -> None:
        """End the agent, and bring back what it changed, as far as the host can be reached: where
        it cannot, the lease does. Safe to call twice."""
        ...


class Transport(Protocol):
    """What carries calls to hosts."""

    def present(self) -> list[PresentHost]:
        """The hosts that have joined, in order of names."""
        ...

    def place(self, host: str, lease_s: float) -> Link:
        """An agent on a host, by name. FleetError if it is not present, or none comes up there."""
        ...


@contextmanager
def placed(transport: Transport, host: str, lease_s: float) -> Iterator[Link]:
    """An agent for as long as the block runs, its lease renewed meanwhile."""
    link = transport.place(host, lease_s)
    try:
        with renewed(link, lease_s):
            yield link
    finally:
        link.lose()


@contextmanager
def renewed(link: Link, lease_s: float) -> Iterator[None]:
    """The lease of an agent is renewed as long as the block runs."""
    over = threading.Event()
    renewing = threading.Thread(target=_renew, args=(link, lease_s, over), daemon=True)
    renewing.start()
    try:
        yield
    finally:
        over.set()
        renewing.join(lease_s)


def _renew(link: Link, lease_s: float, over: threading.Event) -> None:
    """Three times a lease. A renewal that is lost is no end yet: the next may come through."""
    while not over.wait(lease_s / 3):
        with suppress(LostError):
            link.call(RENEW, patience_s=lease_s)
