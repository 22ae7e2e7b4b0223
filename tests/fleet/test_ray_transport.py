"""What Ray says becomes errors of Assay's, without Ray."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from assay.core.errors import FleetError, InputError, LostError
from assay.fleet import ray_transport
from assay.fleet.protocol import AgentAnswer, as_problem
from assay.fleet.ray_transport import NAME_LABEL, RayHosts, RayLink, connected, import_ray


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class GetTimeoutError(RayError):
    pass


class FakeRay:
    """Nodes, and a `get` that returns or raises what it is given."""

    exceptions = SimpleNamespace(
        RayError=RayError, RayTaskError=RayTaskError, GetTimeoutError=GetTimeoutError
    )

    def __init__(self, *nodes: dict[str, Any]) -> None:
        self.found: Any = None
        self.killed: list[Any] = []
        self._nodes = list(nodes)

    def get(self, asked: Any, timeout: float) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def kill(self, actor: Any, no_restart: bool) -> None:
        self.killed.append(actor)

    def nodes(self) -> list[dict[str, Any]]:
        return self._nodes


def link(ray: FakeRay) -> RayLink:
    method = SimpleNamespace(remote=lambda *given: given)
    return RayLink(ray, "arm", SimpleNamespace(exchange=method, end=method))


def test_an_answer_comes_through_and_an_error_of_the_agent_too() -> None:
    """As from an agent of this process."""
    ray = FakeRay()
    ray.found = AgentAnswer(id=1, result={"wall_ns": 3}).model_dump()
    assert link(ray).call("clock") == {"wall_ns": 3}
    ray.found = AgentAnswer(id=1, error=as_problem(InputError("it broke"))).model_dump()
    with pytest.raises(InputError, match="arm: it broke"):
        link(ray).call("clock")


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (GetTimeoutError("x"), "arm: no answer to 'clock' in 17 s"),
        (RayError("x"), "arm: RayError at 'clock'"),
        (RayTaskError("line\nLostError: the agent has ended"), "arm: LostError: the agent has end"),
    ],
)
def test_whatever_ray_raises_is_a_lost_host(raised: Exception, said: str) -> None:
    """With what is known of why."""
    ray = FakeRay()
    ray.found = raised
    with pytest.raises(LostError, match=said) as found:
        link(ray).call("clock")
    assert "assay fleet status" in found.value.next_step


def test_a_host_is_given_up_once_even_if_it_does_not_answer() -> None:
    """Its actor is killed; the lease does the rest."""
    ray = FakeRay()
    ray.found = GetTimeoutError("x")
    lost = link(ray)
    lost.lose()
    lost.lose()
    assert len(ray.killed) == 1


def test_nodes_that_live_are_hosts_by_label_or_address() -> None:
    """One that is dead is not present, and no agent is asked for on it."""
    node = {"Alive": True, "NodeManagerAddress": "198.18.0.9", "Labels": {"arch": "riscv64"}}
    named = {**node, "Labels": {NAME_LABEL: "arm"}, "NodeManagerAddress": "198.18.0.2"}
    dead = {**node, "Alive": False, "Labels": {NAME_LABEL: "gone"}}
    hosts = RayHosts(FakeRay(dead, named, node))
    assert [(h.name, h.labels.get("arch")) for h in hosts.present()] == [
        ("198.18.0.9", "riscv64"),
        ("arm", None),
    ]
    with pytest.raises(FleetError, match="gone has not joined the fleet; there are 198"):
        hosts.place("gone", 6.0)


def test_without_ray_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything else of Assay runs without."""
    monkeypatch.setattr(ray_transport, "find_spec", lambda name: None)
    with pytest.raises(FleetError, match="needs Ray, which is not here") as raised:
        import_ray()
    assert raised.value.next_step == "pip install 'assay[fleet]'"


def test_where_nobody_listens_it_is_said_at_once() -> None:
    """Ray would look for minutes."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with (
            pytest.raises(FleetError, match=rf"no fleet answers at 127\.0\.0\.1:{port}: "),
            connected(f"127.0.0.1:{port}", {}),
        ):
            pass
