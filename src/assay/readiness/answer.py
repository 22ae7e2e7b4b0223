"""An inspection as JSON: one object for each file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from assay.readiness.census import ImageKind
from assay.readiness.finding import ReadinessFinding, Severity
from assay.readiness.inspection import Inspection, Report


@dataclass(frozen=True)
class InspectedHelper:
    """A function that does one atomic operation; its address is hexadecimal text."""

    name: str
    address: str
    calls: int


@dataclass(frozen=True)
class InspectedFinding:
    """One finding; an address is hexadecimal text, as tools of binaries write it."""

    rule: str
    severity: Severity
    path: str
    line: int | None
    function: str | None
    address: str | None
    evidence: str
    reason: str
    source: str
    study: str
    advice: str
    fingerprint: str
    accepted: bool
    listing: list[str]


@dataclass(frozen=True)
class InspectedFile:
    """One file: an ELF image, or a source in which something was found.

    `kind` "sources" stands for all sources together, "refused" for what was not inspected, and
    `refused` says why.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    path: str
    kind: ImageKind | Literal["source", "sources", "refused"]
    member: str | None = None
    arch: str | None = None
    build_id: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    unverified: dict[str, int] = field(default_factory=dict)
    helpers: list[InspectedHelper] = field(default_factory=list)
    findings: list[InspectedFinding] = field(default_factory=list)
    coverage: dict[str, Any] | None = None
    refused: str | None = None


def as_json(found: Inspection) -> list[dict[str, Any]]:
    """Binaries, sources in which something was found, the sources as a whole, and what was
    refused: an InspectedFile each."""
    told = [_report(report) for report in found.reports]
    if found.sources:
        whole = {"files": found.sources, "lines": found.source_lines}
        told.append(InspectedFile("", "sources", coverage=whole))
    told += [InspectedFile(r.shown, "refused", refused=r.why) for r in found.refused]
    return [asdict(file) for file in told]


def _report(report: Report) -> InspectedFile:
    findings = [_finding(f) for f in report.findings]
    image = report.image
    if image is None:
        whole = {"files": 1, "lines": report.lines}
        return InspectedFile(report.shown, "source", findings=findings, coverage=whole)
    return InspectedFile(
        path=report.shown,
        kind=image.kind,
        member=image.member or None,
        arch=image.arch,
        build_id=image.build_id or None,
        counts=dict(image.counts),
        unverified=dict(image.unverified),
        helpers=[InspectedHelper(h.name, f"{h.address:#x}", h.calls) for h in image.helpers],
        findings=findings,
        coverage=dict(image.coverage),
    )


def _finding(found: ReadinessFinding) -> InspectedFinding:
    return InspectedFinding(
        rule=found.rule,
        severity=found.severity,
        path=found.path,
        line=found.line or None,
        function=found.function or None,
        address=None if found.address is None else f"{found.address:#x}",
        evidence=found.evidence,
        reason=found.reason,
        source=found.source,
        study=found.study,
        advice=found.advice,
        fingerprint=found.fingerprint,
        accepted=found.accepted,
        listing=list(found.listing),
    )
