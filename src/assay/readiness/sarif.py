"""An inspection as SARIF 2.1.0, which code hosts show beside the lines.

Fingerprints do not hold lines or addresses, so a host sees that a finding moved. Accepted
findings are suppressed; facts are informational.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.readiness.finding import ReadinessFinding, ReadinessRule, measured_by
from assay.readiness.inspection import Inspection
from assay.readiness.rules import RULES

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
LEVELS = {"S1": "error", "S2": "warning", "S3": "note", "I": "none"}
FINGERPRINT = "assayReadiness/v1"


def sarif_log(found: Inspection, version: str, baseline: bool = False) -> dict[str, Any]:
    """The log of one run. With a baseline each result says whether it is new."""
    index = {rule.id: at for at, rule in enumerate(RULES)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "assay inspect",
                        "version": version,
                        "rules": [_rule(rule) for rule in RULES],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "toolExecutionNotifications": _notes(found),
                    }
                ],
                "results": [_result(f, index[f.rule], baseline) for f in found.findings],
            }
        ],
    }


def _notes(found: Inspection) -> list[dict[str, Any]]:
    """What was not inspected."""
    return [
        {"level": "warning", "message": {"text": f"{refused.shown}: {refused.why}"}}
        for refused in found.refused
    ]


def _rule(rule: ReadinessRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.text},
        "fullDescription": {"text": f"{rule.reason}. Source: {rule.source}."},
        "help": {"text": f"{rule.advice}. To measure it: {measured_by(rule.study)}."},
        "defaultConfiguration": {"level": LEVELS[rule.worst]},
    }


def _result(finding: ReadinessFinding, index: int, baseline: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "kind": "informational" if finding.severity == "I" else "fail",
        "message": {
            "text": f"{finding.evidence}. {finding.reason}. To measure it: {finding.measured_by}"
        },
        "locations": [_location(finding)],
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
        "properties": {"severity": finding.severity, "study": finding.study},
    }
    if finding.accepted:
        told["suppressions"] = [{"kind": "external", "justification": "in the baseline"}]
    if baseline:
        told["baselineState"] = "unchanged" if finding.accepted else "new"
    return told


def _location(finding: ReadinessFinding) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri(finding.path)}}
    if finding.line:
        physical["region"] = {"startLine": finding.line}
    if finding.address is not None:
        physical["address"] = {"absoluteAddress": finding.address}
    told: dict[str, Any] = {"physicalLocation": physical}
    if finding.function:
        told["logicalLocations"] = [{"name": finding.function, "kind": "function"}]
    return told


def uri(path: str) -> str:
    """A path as SARIF wants it: relative to here where it lies below, percent-encoded."""
    try:
        below = os.path.relpath(path) if Path(path).is_absolute() else path
    except ValueError:
        below = path
    if below.startswith(".."):
        return "file://" + quote(path)
    return quote(below.removeprefix("./"), safe="/()!,+=@~-_.")
