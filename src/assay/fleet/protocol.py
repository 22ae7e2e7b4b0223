"""What goes between head and agent: one JSON object a line, each way.

    {"id": 7, "verb": "idle", "request": {"seconds": 4.0, "stopped": true}}
    {"id": 7, "result": {...}}   or   {"id": 7, "error": {"kind": ..., "message": ..., ...}}

Between keeper and agent go words of theirs as well (`Control`); they never leave the host.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.core.errors import (
    AssayError,
    FleetError,
    InputError,
    LostError,
    MissingError,
    RestoreError,
    RunError,
)

RENEW = "renew"
"""The verb that the keeper itself answers: the head is there."""

_KINDS: dict[str, type[AssayError]] = {
    "input": InputError,
    "fleet": FleetError,
    "missing": MissingError,
    "lost": LostError,
    "run": RunError,
    "restore": RestoreError,
}
"""Each error by its word. What is more special stands before what is less."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def line(self) -> bytes:
        """As it is sent."""
        return json.dumps(self.model_dump()).encode() + b"\n"


class Request(_Line):
    """What an agent is asked."""

    id: int
    verb: str
    request: dict[str, Any] = {}


class SentError(_Line):
    """An error of the agent's."""

    kind: str
    message: str
    next: str = ""


class AgentAnswer(_Line):
    """What it answers: a result or an error."""

    id: int
    result: dict[str, Any] | None = None
    error: SentError | None = None

    def value(self, host: str) -> dict[str, Any]:
        """The result; the error is raised, and names the host."""
        if self.error is None:
            return self.result or {}
        kind = _KINDS.get(self.error.kind, RunError)
        raise kind(f"{host}: {self.error.message}", next_step=self.error.next)


class Control(_Line):
    """Between agent and keeper: `stop` Ray for at most so long, or `go_on`; `done` is the answer.
    `pids` are those that were stopped until then."""

    control: Literal["stop", "go_on", "done"]
    seconds: float = 0.0
    pids: list[int] = []


def as_problem(error: AssayError) -> SentError:
    """An error as it is sent."""
    word = next((word for word, kind in _KINDS.items() if isinstance(error, kind)), "run")
    return SentError(kind=word, message=error.message, next=error.next_step)


def read_request(line: bytes) -> Request:
    """A line as a request; InputError if it is none."""
    try:
        return Request.model_validate_json(line)
    except ValidationError as error:
        raise InputError(f"no request of a fleet: {line[:80]!r}") from error


def read_answer(line: bytes) -> AgentAnswer | Control:
    """A line of an agent's; RunError if it is not of the protocol."""
    try:
        if b'"control"' in line[:12]:
            return Control.model_validate_json(line)
        return AgentAnswer.model_validate_json(line)
    except ValidationError as error:
        raise RunError(
            f"an agent wrote a line that is not of its protocol: {line[:80]!r}",
            next_step="`assay fleet check` says whether all hosts have the same version",
        ) from error
