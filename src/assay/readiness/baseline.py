"""A file of accepted findings: what is in it is shown, and does not count against a build."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from assay.core.errors import InputError
from assay.readiness.finding import ReadinessFinding
from assay.readiness.inspection import Inspection

FORM = "assay-readiness-baseline/1"


def write(path: Path, findings: Iterable[ReadinessFinding]) -> int:
    """Accept all of these, facts left out; how many."""
    accepted = sorted(
        (
            {
                "fingerprint": f.fingerprint,
                "rule": f.rule,
                "path": f.name or f.path,
                "evidence": f.evidence,
            }
            for f in findings
            if f.severity != "I"
        ),
        key=lambda entry: (entry["path"], entry["rule"], entry["fingerprint"]),
    )
    text = json.dumps({"form": FORM, "accepted": accepted}, indent=1, ensure_ascii=False) + "\n"
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror}", next_step="name another file"
        ) from error
    return len(accepted)


def read(path: Path) -> frozenset[str]:
    """The fingerprints in a file. InputError if it is none of ours."""
    try:
        held = json.loads(path.read_text("utf-8"))
        if held["form"] != FORM:
            raise ValueError(f"its form is {held['form']!r}, not {FORM!r}")
        return frozenset(str(entry["fingerprint"]) for entry in held["accepted"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is no baseline: {error}", next_step="write one by --write-baseline FILE"
        ) from error


def accept(found: Inspection, fingerprints: frozenset[str]) -> int:
    """Mark what is accepted; how many of the accepted were not found any more."""
    met: set[str] = set()
    for at, report in enumerate(found.reports):
        marked = []
        for finding in report.findings:
            is_accepted = finding.fingerprint in fingerprints
            met |= {finding.fingerprint} if is_accepted else set()
            marked.append(replace(finding, accepted=is_accepted))
        found.reports[at] = replace(report, findings=tuple(marked))
    return len(fingerprints - met)
