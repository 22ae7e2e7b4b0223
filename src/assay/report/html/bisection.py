"""The page of a search: the answer, the history drawn, and every step in a table.

The picture is made here, as SVG, so that it needs no script: nodes from left to right, each
measured one at its speed against the good end, ranges that still hold a change shaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from assay.bisection import Found, SearchBundle, SearchPlan, checked_found, found_of, searched
from assay.bisection.plan import COMMITS
from assay.core.units import format_duration, format_percent
from assay.report.html.page import environment, own
from assay.report.words.bisection import answer, step_line

WIDTH, HEIGHT = 880, 260
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 20, 40
TICKS = 4
LEAST_RANGE = 0.01
"""The least height of the picture, as a fraction: less is noise made large."""


@dataclass(frozen=True)
class Dot:
    """A node in the picture. Coordinates in pixels; `y` is None where it was not measured."""

    x: float
    y: float | None
    kind: str
    """good, bad, unbuilt, or blank where nothing says."""
    text: str


@dataclass(frozen=True)
class Band:
    """A stretch of the history: a culprit, or a range that holds a change."""

    x: float
    width: float
    kind: str
    text: str


@dataclass(frozen=True)
class Tick:
    """A line across, at a speed against the good end."""

    y: float
    text: str


@dataclass(frozen=True)
class History:
    """The picture, and the words below its axis."""

    width: int
    height: int
    foot: float
    left: float
    right: float
    dots: list[Dot]
    bands: list[Band]
    ticks: list[Tick]
    first: str
    last: str


@dataclass(frozen=True)
class StepRow:
    """One thing that was asked."""

    kind: str
    text: str
    error: str


@dataclass(frozen=True)
class NodeRow:
    """One node that was built, or did not build."""

    name: str
    title: str
    level: str
    reason: str
    culprit: bool


@dataclass(frozen=True)
class SearchView:
    """All that the page says."""

    study: str
    question: str
    answer: list[str]
    scope: str
    stand_in: str
    primary: str
    nodes_called: str
    history: History
    steps: list[StepRow]
    nodes: list[NodeRow]
    measured: str


def search_html(bundle: SearchBundle) -> str:
    """The report of a search. AlteredError if its lines are not as they were written."""
    found = checked_found(bundle) if bundle.has_found else found_of(searched(bundle))
    page = environment().get_template("search.html")
    return page.render(
        view=search_view(bundle.plan, found), style=Markup(own("templates/report.css"))
    )


def search_view(plan: SearchPlan, found: Found) -> SearchView:
    """What the page says of a plan and what was found."""
    called = "commits" if plan.over == COMMITS else f"levels of {plan.over}"
    where = f" of {plan.repo}" if plan.repo else ""
    return SearchView(
        study=plan.study,
        question=plan.question,
        answer=answer(plan, found),
        scope=f"{found.searched} {called}{where}, {plan.nodes[0].short} to {plan.nodes[-1].short}; "
        f"{found.builds} builds ({found.unbuilt} failed), {found.runs} runs, "
        f"{format_duration(found.took_s)}, seed {plan.seed}.",
        stand_in=plan.stand_in or "",
        primary=plan.primary,
        nodes_called=called,
        history=_history(plan, found),
        steps=[
            StepRow(s.kind, step_line(plan, s), f"{s.error:.2g}" if s.error else "")
            for s in found.stages
        ],
        nodes=_rows(plan, found),
        measured=f"Window {format_duration(plan.window_s)} after a warm-up of "
        f"{format_duration(plan.warmup_s)}; measured in {plan.measuring}.",
    )


def _rows(plan: SearchPlan, found: Found) -> list[NodeRow]:
    guilty = {culprit.node for culprit in found.culprits}
    return [
        NodeRow(
            name=plan.nodes[n.node].short,
            title=n.title,
            level="" if n.level is None else format_percent(n.level),
            reason=n.reason,
            culprit=n.node in guilty,
        )
        for n in found.nodes
    ]


def _history(plan: SearchPlan, found: Found) -> History:
    last = len(plan.nodes) - 1
    levels = [n.level for n in found.nodes if n.level is not None and n.built]
    low, high = _range(levels)

    def x(node: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * node / last

    def y(level: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - level) / (high - low)

    edge = [low + (high - low) * k / TICKS for k in range(TICKS + 1)]
    return History(
        width=WIDTH,
        height=HEIGHT,
        foot=HEIGHT - BOTTOM,
        left=LEFT,
        right=WIDTH - RIGHT,
        dots=[
            Dot(
                x=x(n.node),
                y=y(n.level) if n.level is not None and n.built else None,
                kind=_kind(found, n.node) if n.built else "unbuilt",
                text=f"{plan.nodes[n.node].short} {n.title}".strip(),
            )
            for n in found.nodes
        ],
        bands=[
            *(
                Band(x(c.after), x(c.node) - x(c.after), "culprit", plan.nodes[c.node].short)
                for c in found.culprits
            ),
            *(Band(x(r.after), x(r.node) - x(r.after), "open", r.why) for r in found.ranges),
        ],
        ticks=[Tick(y(level), format_percent(level)) for level in edge],
        first=plan.nodes[0].short,
        last=plan.nodes[-1].short,
    )


def _range(levels: Sequence[float]) -> tuple[float, float]:
    low, high = min([0.0, *levels]), max([0.0, *levels])
    room = max(LEAST_RANGE, 0.15 * (high - low))
    return low - room, high + room


def _kind(found: Found, node: int) -> str:
    """On which side of all that was found a node lies."""
    answers = {s.middle: s.answer for s in found.stages if s.middle is not None}
    if node == 0:
        return "good"
    return answers.get(node, "bad" if node == found.searched - 1 else "")
