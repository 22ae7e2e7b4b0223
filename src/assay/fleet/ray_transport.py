"""Ray behind the seam: its nodes are the hosts, an actor on one holds a keeper with its agent.

Ray is imported here and nowhere else, and when it is used. Every call is bounded in time, because
`ray.get` of an actor on a host that was cut off hangs; and a node is looked for before an actor is
asked for, because Ray waits without end for a node that nobody has.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from assay.core.errors import FleetError, LostError
from assay.fleet.kept import KeptAgent
from assay.fleet.protocol import AgentAnswer
from assay.fleet.transport import PATIENCE_S, PresentHost, renewed

NAMESPACE = "assay"
NAME_LABEL = "assay-host"
"""The label of a node that says which host of the inventory it is."""
READY_S = 30.0
"""How long an agent may take to come up."""
CONNECT_S = 5.0
SLACK_S = 2.0
"""What a call may take on its way besides what the agent may take."""


class Relay:
    """The actor: passes requests on to a keeper, and holds nothing itself."""

    def __init__(self, lease_s: float) -> None:
        self._agent = KeptAgent(lease_s)

    def exchange(self, verb: str, request: dict[str, Any], patience_s: float) -> dict[str, Any]:
        """The answer as plain data: no class of Assay's travels."""
        return self._agent.exchange(verb, request, patience_s).model_dump()

    def end(self) -> None:
        """The agent ends, and what it changed is brought back."""
        self._agent.end()


def require_ray() -> None:
    """FleetError if the package is not here."""
    if find_spec("ray") is None:
        raise FleetError(
            "a fleet of several hosts needs Ray, which is not here",
            next_step="pip install 'assay[fleet]'",
        )


def import_ray() -> Any:
    """The package. FleetError if it is not here."""
    require_ray()
    return import_module("ray")


class RayLink:
    """An actor on a node."""

    def __init__(self, ray: Any, host: str, actor: Any) -> None:
        self.host, self._ray, self._actor, self._is_over = host, ray, actor, False

    def call(
        self, verb: str, request: Mapping[str, Any] | None = None, patience_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        asked = self._actor.exchange.remote(verb, dict(request or {}), patience_s)
        found = self._get(asked, patience_s + SLACK_S, verb)
        return AgentAnswer.model_validate(found).value(self.host)

    def lose(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        with suppress(LostError):
            self._get(self._actor.end.remote(), READY_S, "end")
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(self._actor, no_restart=True)

    def _get(self, asked: Any, patience_s: float, verb: str) -> Any:
        try:
            return self._ray.get(asked, timeout=patience_s)
        except self._ray.exceptions.GetTimeoutError:
            said = f"no answer to {verb!r} in {patience_s:g} s"
        except self._ray.exceptions.RayTaskError as error:
            said = str(getattr(error, "cause", None) or error).strip().rpartition("\n")[2]
        except self._ray.exceptions.RayError as error:
            said = f"{type(error).__name__} at {verb!r}"
        raise LostError(
            f"{self.host}: {said}", next_step="`assay fleet status` says which hosts are there"
        )


class RayHosts:
    """The hosts of a cluster of Ray's that this process has joined."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def present(self) -> list[PresentHost]:
        return sorted(
            (
                PresentHost(_name(node), node["NodeManagerAddress"], dict(node.get("Labels") or {}))
                for node in self._alive()
            ),
            key=lambda host: host.name,
        )

    def place(self, host: str, lease_s: float) -> RayLink:
        node = next((node for node in self._alive() if _name(node) == host), None)
        if node is None:
            here = ", ".join(h.name for h in self.present())
            raise FleetError(
                f"{host} has not joined the fleet; there are {here}",
                next_step=f"on it: `assay fleet up FILE --as {host}`",
            )
        affinity = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        actor = (
            self._ray.remote(Relay)
            .options(
                num_cpus=0,
                max_restarts=0,
                max_concurrency=4,
                scheduling_strategy=affinity(node["NodeID"], soft=False),
            )
            .remote(lease_s)
        )
        link = RayLink(self._ray, host, actor)
        try:
            # On a busy machine an agent takes longer to come up than a short lease lasts.
            with renewed(link, lease_s):
                link.call("clock", patience_s=READY_S)
        except LostError as error:
            link.lose()
            raise FleetError(
                f"no agent comes up on {error.message}",
                next_step="is the same version of Assay on that host? its Ray log says more",
            ) from error
        return link

    def _alive(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]


def _name(node: Mapping[str, Any]) -> str:
    labels = node.get("Labels") or {}
    return str(labels.get(NAME_LABEL) or node["NodeManagerAddress"])


@contextmanager
def connected(
    address: str, environment: Mapping[str, str], own_address: str | None = None
) -> Iterator[RayHosts]:
    """The cluster at HOST:PORT, as long as the block runs. `environment` has Ray's variables, with
    token and certificates. FleetError if it cannot be reached or refuses us."""
    if "RAY_AUTH_TOKEN_PATH" in environment:
        os.environ.pop("RAY_AUTH_TOKEN", None)  # it would go before the file
    os.environ.update(environment)
    _require_listening(address)
    ray = import_ray()
    more = {} if own_address is None else {"_node_ip_address": own_address}
    try:
        ray.init(
            address=address,
            namespace=NAMESPACE,
            log_to_driver=False,
            configure_logging=False,
            **more,
        )
    except Exception as error:  # Ray's are of many kinds, and some are bare
        said = " ".join(str(error).split())[:300]
        raise FleetError(
            f"no fleet answers at {address}: {said or type(error).__name__}",
            next_step="`assay fleet up` on the head; do both have the same keys?",
        ) from error
    try:
        yield RayHosts(ray)
    finally:
        ray.shutdown()


def _require_listening(address: str) -> None:
    """FleetError if nobody is at HOST:PORT: Ray would look for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except OSError as error:
        raise FleetError(
            f"no fleet answers at {address}: {error.strerror or error}",
            next_step="`assay fleet up` on the head",
        ) from error
