"""What a rule finds, and how a rule is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from assay.host.view import View

Severity = Literal["S1", "S2", "S3", "info"]
"""S1: it does not do what was asked for, or fails; S2: it costs; S3: it may; info: to know."""


@dataclass(frozen=True)
class HostFinding:
    """One fault of the host, for one server or for any.

    `cure` are values that a plan would write, as key and value; empty where the cure is not a
    value of the kernel's: then `advice` says what it is.
    """

    rule: str
    severity: Severity
    evidence: str
    reason: str
    source: str
    advice: str
    cure: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class HostRule:
    """A rule: its number, what it says in a line, where that comes from, and how it looks."""

    id: str
    text: str
    source: str
    look: Callable[[View], Iterable[HostFinding]]
    cannot: Callable[[View], str | None] = lambda view: None
    """Why it cannot be judged here; None if it can."""
