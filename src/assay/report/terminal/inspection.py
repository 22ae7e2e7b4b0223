"""An inspection as lines of text: a table for each file, and a page for a finding."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from assay.readiness import Inspection, ReadinessFinding, Report
from assay.report.words.inspection import WORDS, image_lines
from assay.report.words.line import Line

STYLES = {"S1": "red", "S2": "yellow", "S3": "", "I": "dim"}

SHOWN_OF_A_RULE = 6


def inspection_lines(found: Inspection, facts: bool = True) -> Iterator[Line]:
    """All files, the refused, what was not judged, and the sum. `facts` are findings of kind I."""
    for report in found.reports:
        if report.image is None and not facts and all(f.severity == "I" for f in report.findings):
            continue
        yield from _file(report, facts)
        yield Line("")
    for refused in found.refused:
        yield Line(f"not inspected: {refused.shown}: {refused.why}", "yellow")
    for text in found.not_judged:
        yield Line(f"not judged: {text}", "dim")
    yield Line(_sum(found), "bold")


def _file(report: Report, facts: bool) -> Iterator[Line]:
    yield Line(report.shown, "bold")
    if report.image is not None:
        for text in image_lines(report.image):
            yield Line(f"  {text}", "dim")
    shown = [f for f in report.findings if facts or f.severity != "I"]
    by_rule = groupby(shown, key=lambda f: (f.severity, f.rule))
    for _, group in by_rule:
        yield from _rule(list(group))
    if report.image is not None and not shown:
        yield Line("  nothing found")


def _rule(found: list[ReadinessFinding]) -> Iterator[Line]:
    first = found[0]
    style = STYLES[first.severity]
    for finding in found[:SHOWN_OF_A_RULE]:
        accepted = " (accepted)" if finding.accepted else ""
        yield Line(
            f"  {finding.severity:2} {finding.rule}  {_where(finding)}{finding.evidence}"
            f"  [{finding.fingerprint[:8]}]{accepted}",
            "dim" if finding.accepted else style,
        )
    more = len(found) - SHOWN_OF_A_RULE
    if more > 0:
        yield Line(f"         and {more} more of {first.rule}, in --json and --html", style)
    if first.severity != "I":
        yield Line(f"         why      {first.reason} ({first.source})")
        yield Line(f"         measure  {first.measured_by}")


def _where(finding: ReadinessFinding) -> str:
    words = []
    if finding.line:
        words.append(f"line {finding.line}")
    if finding.function and finding.function not in finding.evidence:
        words.append(finding.function)
    elif finding.address is not None and f"{finding.address:#x}" not in finding.evidence:
        words.append(f"{finding.address:#x}")
    return f"{' '.join(words)}: " if words else ""


def _sum(found: Inspection) -> str:
    counts = []
    for severity in WORDS:
        count = sum(f.severity == severity and not f.accepted for f in found.findings)
        counts.append(f"{severity} {count}")
    accepted = sum(f.accepted for f in found.findings)
    images = sum(report.image is not None for report in found.reports)
    told = [f"{images} binaries" if images != 1 else "1 binary"] if images else []
    if found.sources:
        told.append(f"{found.sources:,} sources with {found.source_lines:,} lines")
    if not told:
        told.append("nothing inspected")
    return f"{', '.join(told)}: {', '.join(counts)}" + (
        f", {accepted} accepted" if accepted else ""
    )


def finding_pages(found: Inspection, asked: str) -> list[Line]:
    """A page for each finding whose fingerprint begins so, or whose rule it is."""
    lines: list[Line] = []
    for finding in found.findings:
        if finding.fingerprint.startswith(asked.lower()) or finding.rule == asked.upper():
            lines += _page(finding)
    return lines


def _page(finding: ReadinessFinding) -> Iterator[Line]:
    yield Line(f"{finding.rule} {finding.severity}  {finding.path}", STYLES[finding.severity])
    rows = {
        "where": _where(finding).removesuffix(": "),
        "function": finding.function,
        "evidence": finding.evidence,
        "severity": WORDS[finding.severity],
        "why": finding.reason,
        "source": finding.source,
        "cure": finding.advice,
        "measure": finding.measured_by,
        "fingerprint": finding.fingerprint,
    }
    for name, text in rows.items():
        if text:
            yield Line(f"  {name:12} {text}")
    for text in finding.listing:
        yield Line(f"    {text}")
    yield Line("")
