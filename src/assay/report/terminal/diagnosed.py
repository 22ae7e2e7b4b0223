"""A diagnosis as lines of text: the answer, candidates in their order, and what was seen."""

from __future__ import annotations

from collections.abc import Iterator

from assay.diagnosis import Candidate, Diagnosis
from assay.report.words.diagnosed import (
    TITLES,
    answer,
    gain,
    interval,
    moves,
    share,
    subject_line,
    trial,
)
from assay.report.words.line import Line
from assay.report.words.trials import trial_sentence

FUNCTIONS, WAITS = 10, 6
STYLES = {"stands out": "red", "possible": "yellow"}


def diagnosis_lines(found: Diagnosis) -> Iterator[Line]:
    """All of it; the page and `--json` have more functions, and each CPU's time by second."""
    yield Line(subject_line(found), "dim")
    yield Line(answer(found), "bold")
    for standing, title in TITLES.items():
        group = [c for c in found.candidates if c.standing == standing]
        if group:
            yield Line("")
            yield Line(title, "bold")
        for candidate in group:
            yield from _candidate(candidate)
    if found.trials:
        yield Line("")
        yield Line("What was measured", "bold")
    for made in found.trials:
        style = "red" if made.why or made.holds is False else ""
        yield Line(f"  {trial_sentence(made)}", style)
    yield from _seen(found)
    if found.unseen:
        yield Line("")
        yield Line("What could not be seen", "bold")
    for unseen in found.unseen:
        way = f"; {unseen.way}" if unseen.way else ""
        yield Line(f"  {unseen.what}: {unseen.why}{way}", "dim")


def _candidate(candidate: Candidate) -> Iterator[Line]:
    style = STYLES.get(candidate.standing, "")
    if candidate.standing in ("no bound", "ruled out"):
        yield Line(f"  {candidate.name}: {candidate.why}", "dim")
        return
    yield Line(f"  {candidate.name}  {gain(candidate)}  effort {candidate.effort}", style)
    rows = {
        "time": share(candidate),
        "seen": "; ".join(candidate.evidence),
        "try": trial(candidate),
        "moves": moves(candidate),
        "risk": candidate.risk,
        "study": "none: " + candidate.no_study if candidate.no_study else "",
    }
    for name, text in rows.items():
        if text:
            yield Line(f"      {name:6} {text}")


def _seen(found: Diagnosis) -> Iterator[Line]:
    yield Line("")
    yield Line("What was seen", "bold")
    for noticed in found.noticed:
        yield Line(f"  {noticed.name}: {noticed.text}", "yellow" if noticed.grave else "")
    for use in found.cpus:
        kinds = ("user", "system", "irq", "softirq", "steal")
        shares = ", ".join(f"{kind} {100 * getattr(use, kind):.0f} %" for kind in kinds)
        yield Line(f"  CPU {use.cpu}: {shares}")
    for function in found.functions[:FUNCTIONS]:
        yield Line(f"  {interval(function.own):>26}  {function.name}  {function.module}")
    for wait in found.waits[:WAITS]:
        yield Line(f"  {100 * wait.share:.1f} % of the time of statements: {wait.event}")
    for finding in found.host:
        if finding.severity != "info":
            yield Line(f"  {finding.rule} {finding.severity}: {finding.evidence}", "yellow")
