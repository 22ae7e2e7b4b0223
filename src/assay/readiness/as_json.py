"""An inspection as JSON: one object for each file."""

from __future__ import annotations

from typing import Any

from assay.readiness.finding import Finding
from assay.readiness.inspection import Inspection, Report


def as_json(found: Inspection) -> list[dict[str, Any]]:
    """Binaries, sources in which something was found, the sources as a whole, and what was
    refused: each with all keys."""
    told = [_report(report) for report in found.reports]
    if found.sources:
        told.append(
            {
                **_EMPTY,
                "path": "",
                "kind": "sources",
                "coverage": {"files": found.sources, "lines": found.source_lines},
            }
        )
    told += [
        {**_EMPTY, "path": refused.shown, "kind": "refused", "refused": refused.why}
        for refused in found.refused
    ]
    return told


_EMPTY: dict[str, Any] = {
    "path": "",
    "member": None,
    "kind": "",
    "arch": None,
    "build_id": None,
    "counts": {},
    "unverified": {},
    "helpers": [],
    "findings": [],
    "coverage": None,
    "refused": None,
}


def _report(report: Report) -> dict[str, Any]:
    told = {**_EMPTY, "path": report.shown, "findings": [finding(f) for f in report.findings]}
    image = report.image
    if image is None:
        return {**told, "kind": "source", "coverage": {"files": 1, "lines": report.lines}}
    return {
        **told,
        "member": image.member or None,
        "kind": image.kind,
        "arch": image.arch,
        "build_id": image.build_id or None,
        "counts": dict(image.counts),
        "unverified": dict(image.unverified),
        "helpers": [
            {"name": h.name, "address": f"{h.address:#x}", "calls": h.calls} for h in image.helpers
        ],
        "coverage": dict(image.coverage),
    }


def finding(found: Finding) -> dict[str, Any]:
    """One finding; an address is hexadecimal text, as tools of binaries write it."""
    return {
        "rule": found.rule,
        "severity": found.severity,
        "path": found.path,
        "line": found.line or None,
        "function": found.function or None,
        "address": None if found.address is None else f"{found.address:#x}",
        "evidence": found.evidence,
        "reason": found.reason,
        "source": found.source,
        "study": found.study,
        "advice": found.advice,
        "fingerprint": found.fingerprint,
        "accepted": found.accepted,
        "listing": list(found.listing),
    }
