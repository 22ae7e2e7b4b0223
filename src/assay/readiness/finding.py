"""What a rule of readiness finds, and what a rule says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from assay.core.digest import digest

GRAVITON_GUIDE = "AWS Graviton getting started, c-c++.md"
"""A source of several rules."""

Severity = Literal["S1", "S2", "S3", "I"]
"""S1: silently wrong or unreachable; S2: likely measurable under contention; S3: advice; I: a
fact."""

ORDER: tuple[Severity, ...] = ("S1", "S2", "S3", "I")
GRAVE: tuple[Severity, ...] = ("S1", "S2")
"""What makes the command end with exit code 1."""


@dataclass(frozen=True)
class ReadinessFinding:
    """One thing found in one file.

    `line` is 1-based and 0 in a binary; `address` is a link-time address and None in a source.
    `key` is what identifies the finding when lines and addresses move; `nth` tells findings with
    the same key in the same file apart. `listing` is an excerpt of the code that it is about.
    """

    rule: str
    severity: Severity
    path: str
    evidence: str
    reason: str
    source: str
    study: str
    advice: str
    line: int = 0
    function: str = ""
    address: int | None = None
    listing: tuple[str, ...] = ()
    key: str = ""
    nth: int = 0
    accepted: bool = False
    name: str = ""
    """What the file is called whatever holds it; `path` is how people find it."""

    @property
    def fingerprint(self) -> str:
        """The same after lines were moved, code was added elsewhere, or a file was rebuilt."""
        named = self.key or f"{self.function}|{' '.join(self.evidence.split())}"
        return digest(f"{self.rule}|{self.name or self.path}|{named}|{self.nth}".encode())[:32]

    @property
    def measured_by(self) -> str:
        """How to find out what it costs."""
        return measured_by(self.study)

    @property
    def is_grave(self) -> bool:
        """Whether it makes the answer a "no"."""
        return self.severity in GRAVE and not self.accepted


def measured_by(study: str) -> str:
    """A command for a shipped study; words for a change that a study of one's own can name."""
    is_change = "." in study or study == "binary"
    return f"a study with the change {study}" if is_change else f"assay run {study}"


@dataclass(frozen=True)
class ReadinessRule:
    """A rule: what it looks for, why that matters, who says so, and which study would tell.

    `study` is a shipped study or a change of the catalogue; `worst` the gravest severity it gives.
    """

    id: str
    text: str
    worst: Severity
    reason: str
    source: str
    study: str
    advice: str

    def at(
        self,
        path: str,
        evidence: str,
        *,
        severity: Severity | None = None,
        line: int = 0,
        function: str = "",
        address: int | None = None,
        listing: tuple[str, ...] = (),
        key: str = "",
        study: str = "",
        reason: str = "",
    ) -> ReadinessFinding:
        """A finding of this rule; what is not said is the rule's own."""
        return ReadinessFinding(
            rule=self.id,
            severity=severity or self.worst,
            path=path,
            evidence=evidence,
            reason=reason or self.reason,
            source=self.source,
            study=study or self.study,
            advice=self.advice,
            line=line,
            function=function,
            address=address,
            listing=listing,
            key=key,
        )


def in_order(found: Iterable[ReadinessFinding]) -> list[ReadinessFinding]:
    """The gravest first, then by place; each numbered among those with its key."""
    ordered = sorted(
        found,
        key=lambda f: (ORDER.index(f.severity), f.rule, f.path, f.line, f.address or 0, f.key),
    )
    seen: dict[tuple[str, str, str], int] = {}
    numbered = []
    for finding in ordered:
        named = finding.key or f"{finding.function}|{finding.evidence}"
        of = (finding.rule, finding.path, named)
        numbered.append(replace(finding, nth=seen.get(of, 0)))
        seen[of] = seen.get(of, 0) + 1
    return numbered
