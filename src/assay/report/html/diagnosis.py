"""A diagnosis as one HTML file that needs nothing else: candidates with bounds, and what was seen.

The template escapes all that it is given; the page has no script, and its own policy forbids it
any request.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from assay.core.terms import EFFORTS
from assay.core.units import format_percent
from assay.diagnosis import Candidate, Diagnosis
from assay.report.html.page import environment, own
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
from assay.report.words.trials import trial_sentence

WORDS = {"stands out": "hurts", "possible": "undecided"}
"""By standing the class of its colour."""

KINDS = ("user", "system", "irq", "softirq", "steal")
WIDTH, HEIGHT = 600, 60
"""Of the picture of a CPU, in its own units."""


@dataclass(frozen=True)
class CandidateCard:
    """One candidate in full."""

    name: str
    kind: str
    word: str
    """The class of its colour."""
    gain: str
    why: str
    effort: str
    effort_text: str
    pairs: list[tuple[str, str]]
    study: str


@dataclass(frozen=True)
class CandidateGroup:
    """Candidates of one standing. Of those without a bound, and those ruled out, only the reason
    is shown."""

    title: str
    in_full: bool
    cards: list[CandidateCard]


@dataclass(frozen=True)
class CpuPicture:
    """A CPU over the window: shares of its time in words, and its load by second as points of a
    line."""

    name: str
    shares: list[str]
    points: str


@dataclass(frozen=True)
class ListedRow:
    """A row of a table: a name, what stands below it in small type, and its cells."""

    name: str
    below: str
    cells: list[str]


@dataclass(frozen=True)
class DiagnosisView:
    """What the page says."""

    subject: str
    answer: str
    groups: list[CandidateGroup]
    trials: list[ListedRow]
    noticed: list[tuple[str, str, bool]]
    functions: list[ListedRow]
    modules: list[ListedRow]
    waits: list[ListedRow]
    threads: list[ListedRow]
    cpus: list[CpuPicture]
    host: list[ListedRow]
    code: list[tuple[str, str, str]]
    """Flaws of hot functions: the function, the evidence, and its instructions."""
    unseen: list[ListedRow]


def diagnosis_html(found: Diagnosis) -> str:
    """The page."""
    style = own("templates/report.css") + own("templates/inspection.css")
    return (
        environment()
        .get_template("diagnosis.html")
        .render(
            title=found.subject.name,
            view=_view(found),
            kinds=KINDS,
            size=(WIDTH, HEIGHT),
            style=Markup(style + own("templates/diagnosis.css")),
        )
    )


def _view(found: Diagnosis) -> DiagnosisView:
    return DiagnosisView(
        subject=subject_line(found),
        answer=answer(found),
        groups=[_group(found, standing, title) for standing, title in TITLES.items()],
        trials=[ListedRow(t.candidate, t.bundle, [trial_sentence(t)]) for t in found.trials],
        noticed=[(n.name, n.text, n.grave) for n in found.noticed],
        functions=[
            ListedRow(f.name, f.module, [interval(f.own), _percent(f.total)])
            for f in found.functions
        ],
        modules=[ListedRow(m.name or "no file", "", [interval(m.own)]) for m in found.modules],
        waits=[ListedRow(w.event, "", [_percent(w.share)]) for w in found.waits],
        threads=[ListedRow(t.name, t.where, [t.state, _percent(t.share)]) for t in found.threads],
        cpus=[
            CpuPicture(
                f"CPU {use.cpu}",
                [_percent(getattr(use, kind)) for kind in KINDS],
                _points(use.busy),
            )
            for use in found.cpus
        ],
        host=[
            ListedRow(f"{f.rule} {f.severity}", f.source, [f.evidence, f.reason, f.advice])
            for f in found.host
        ],
        code=[
            (f"{c.name} in {c.module}", f"{flaw.rule}: {flaw.evidence}", "\n".join(flaw.listing))
            for c in found.code
            for flaw in c.flaws
        ],
        unseen=[ListedRow(u.what, "", [u.why, u.way]) for u in found.unseen],
    )


def _group(found: Diagnosis, standing: str, title: str) -> CandidateGroup:
    cards = [_card(c) for c in found.candidates if c.standing == standing]
    return CandidateGroup(title, standing in WORDS, cards)


def _card(candidate: Candidate) -> CandidateCard:
    return CandidateCard(
        name=candidate.name,
        kind=candidate.kind,
        word=WORDS.get(candidate.standing, "soft"),
        gain=gain(candidate),
        why=candidate.why,
        effort=candidate.effort,
        effort_text=EFFORTS[candidate.effort],
        pairs=[
            ("time", share(candidate)),
            ("seen", "; ".join(candidate.evidence)),
            ("try", trial(candidate)),
            ("moves", moves(candidate)),
            ("risk", candidate.risk),
            ("no study", candidate.no_study),
        ],
        study=candidate.study,
    )


def _points(busy: list[float]) -> str:
    """Points of a line over the window, idle at the bottom."""
    step = WIDTH / max(len(busy) - 1, 1)
    return " ".join(
        f"{step * i:.1f},{HEIGHT * (1 - min(share, 1.0)):.1f}" for i, share in enumerate(busy)
    )


def _percent(of: float | None) -> str:
    return "" if of is None else format_percent(of, signed=False)
