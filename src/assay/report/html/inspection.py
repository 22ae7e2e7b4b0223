"""An inspection as one HTML file that needs nothing else: a table, and a page for each finding.

The template escapes all that it is given; the page has no script, and its own policy forbids it
any request.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from assay.readiness import Inspection, ReadinessFinding, Report
from assay.report.html.page import environment, own
from assay.report.words.inspection import WORDS, image_lines

WORDS_OF_SEVERITY = {"S1": "hurts", "S2": "undecided", "S3": "no-difference", "I": "soft"}


@dataclass(frozen=True)
class SeverityCount:
    """How many findings of one severity nobody accepted."""

    name: str
    text: str
    """What the severity means."""
    count: int
    word: str
    """The class of its colour."""


@dataclass(frozen=True)
class HelperCalls:
    """One helper of atomics."""

    name: str
    address: str
    calls: str


@dataclass(frozen=True)
class FindingPage:
    """One finding in full."""

    id: str
    """Its anchor."""
    rule: str
    severity: str
    word: str
    """The class of its colour."""
    accepted: bool
    where: str
    evidence: str
    listing: str
    """Instructions around it; empty where there are none."""
    pairs: list[tuple[str, str]]


@dataclass(frozen=True)
class FileSection:
    """One file with its findings."""

    shown: str
    """Its name."""
    about: list[str]
    counts: list[int]
    """Findings by severity, in the order of `WORDS`."""
    helpers: list[HelperCalls]
    findings: list[FindingPage]


@dataclass(frozen=True)
class InspectionView:
    """What the page of an inspection says."""

    severities: list[SeverityCount]
    accepted: int
    files: list[FileSection]
    refused: list[tuple[str, str]]
    """Files that were not inspected, and why."""
    not_judged: list[str]
    sources: int
    source_lines: str


def inspection_html(found: Inspection, title: str) -> str:
    """The page."""
    return (
        environment()
        .get_template("inspection.html")
        .render(
            title=title,
            view=_view(found),
            style=Markup(own("templates/report.css") + own("templates/inspection.css")),
        )
    )


def _view(found: Inspection) -> InspectionView:
    numbered = {id(f): at for at, f in enumerate(_all(found), start=1)}
    return InspectionView(
        severities=[
            SeverityCount(
                name=severity,
                text=text,
                count=sum(f.severity == severity and not f.accepted for f in found.findings),
                word=WORDS_OF_SEVERITY[severity],
            )
            for severity, text in WORDS.items()
        ],
        accepted=sum(f.accepted for f in found.findings),
        files=[_file(report, numbered) for report in found.reports],
        refused=[(refused.shown, refused.why) for refused in found.refused],
        not_judged=list(found.not_judged),
        sources=found.sources,
        source_lines=f"{found.source_lines:,}",
    )


def _all(found: Inspection) -> list[ReadinessFinding]:
    return [f for report in found.reports for f in report.findings]


def _file(report: Report, numbered: dict[int, int]) -> FileSection:
    image = report.image
    return FileSection(
        shown=report.shown,
        about=image_lines(image) if image is not None else [f"{report.lines:,} lines"],
        counts=[
            sum(f.severity == severity and not f.accepted for f in report.findings)
            for severity in WORDS
        ],
        helpers=[
            HelperCalls(h.name, f"{h.address:#x}", f"{h.calls:,}")
            for h in (image.helpers if image is not None else ())
        ],
        findings=[_finding(f, numbered[id(f)]) for f in report.findings],
    )


def _finding(finding: ReadinessFinding, number: int) -> FindingPage:
    where = [finding.function] if finding.function else []
    where += [f"line {finding.line}"] if finding.line else []
    where += [f"{finding.address:#x}"] if finding.address is not None else []
    return FindingPage(
        id=f"finding-{number}",
        rule=finding.rule,
        severity=finding.severity,
        word=WORDS_OF_SEVERITY[finding.severity],
        accepted=finding.accepted,
        where=", ".join(where),
        evidence=finding.evidence,
        listing="\n".join(finding.listing),
        pairs=[
            ("why", finding.reason),
            ("source", finding.source),
            ("cure", finding.advice),
            ("measure", finding.measured_by),
            ("fingerprint", finding.fingerprint),
        ],
    )
