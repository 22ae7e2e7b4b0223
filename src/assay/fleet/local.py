"""Agents in this process: the transport without a network, exact and instant.

The experiment's logic is tested with it. A host can be lost at any moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.core.errors import AssayError, FleetError, LostError
from assay.fleet.agent import Agent
from assay.fleet.protocol import RENEW, AgentAnswer, as_problem
from assay.fleet.transport import PATIENCE_S, PresentHost


class LocalLink:
    """An agent of this process. `calls` are the verbs that it was asked."""

    def __init__(self, host: str, agent: Agent) -> None:
        self.host, self._agent = host, agent
        self.is_lost = False
        self.calls: list[str] = []

    def call(
        self, verb: str, request: Mapping[str, Any] | None = None, patience_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        if self.is_lost:
            raise LostError(f"{self.host}: no answer to {verb!r} in {patience_s:g} s")
        self.calls.append(verb)
        if verb == RENEW:
            return {}
        try:
            answer = AgentAnswer(id=0, result=self._agent.answer(verb, request or {}))
        except AssayError as error:
            answer = AgentAnswer(id=0, error=as_problem(error))
        return answer.value(self.host)

    def lose(self) -> None:
        if not self.is_lost:
            self._agent.end()
        self.is_lost = True


class LocalHosts:
    """Hosts that are agents of this process."""

    def __init__(self, hosts: Iterable[tuple[PresentHost, Agent]]) -> None:
        self._hosts = {host.name: (host, agent) for host, agent in hosts}
        self.links: list[LocalLink] = []

    def present(self) -> list[PresentHost]:
        return [self._hosts[name][0] for name in sorted(self._hosts)]

    def place(self, host: str, lease_s: float) -> LocalLink:
        if host not in self._hosts:
            raise FleetError(f"{host} has not joined", next_step="`assay fleet up` on it")
        link = LocalLink(host, self._hosts[host][1])
        self.links.append(link)
        return link
