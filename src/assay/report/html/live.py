"""A study while it runs, as a page shows it: from a replay, and from what its blocks said before.

The parts are the report's own: verdict tables, the forest, every run. Only `narrowing` is drawn of
a study that runs and of no other: the interval of each contrast after one block and another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from assay.core.units import format_duration
from assay.plan import Plan
from assay.record import Replay, expected_blocks, remaining_s, verdicts_of
from assay.report.html.rows import (
    Forest,
    ForestEffect,
    ForestGroup,
    axis,
    effect,
    forest,
    known_ends,
)
from assay.report.html.view import (
    Banner,
    RunSection,
    VerdictSection,
    banners,
    run_section,
    verdict_section,
)
from assay.report.words.sections import heading
from assay.report.words.wording import is_lead, label
from assay.verdict.rows import Row

CONTRASTS_SHOWN = 12
"""So many contrasts have a picture of how their interval narrows."""
BLOCKS_SHOWN = 8
"""So many intervals of a contrast are in its picture."""

Question = tuple[str, str]
"""A case, and what is compared in it."""


class Narrowed:
    """The intervals of a study by the number of blocks that they are from; only what moved."""

    def __init__(self) -> None:
        self.rows: dict[Question, list[tuple[int, Row]]] = {}

    def add(self, replay: Replay) -> None:
        """Take in what the blocks that are complete now say."""
        for row in replay.ruling.rows:
            if row.metric != replay.plan.primary or is_lead(row) or row.contrast.kind == "scaling":
                continue
            before = self.rows.setdefault((row.case, label(row)), [])
            if row.estimate is not None and (not before or _moved(before[-1][1], row)):
                before.append((len(replay.blocks), row))


def _moved(before: Row, now: Row) -> bool:
    return (before.low, before.high, before.word) != (now.low, now.high, now.word)


@dataclass(frozen=True)
class LiveView:
    """Everything the live part says. `progress` has the place in the schedule, `left` the time to
    go, `size` what the noise of the first blocks means; each may be empty."""

    blocks: int
    runs: int
    progress: str
    left: str
    size: str
    banners: list[Banner]
    verdicts: VerdictSection
    forest: Forest
    narrowing: Forest
    every_run: RunSection

    def charts(self) -> dict[str, object]:
        """What the page's script draws, but for the runs."""
        return {"forest": asdict(self.forest), "narrowing": asdict(self.narrowing)}


def live_view(replay: Replay, narrowed: Narrowed) -> LiveView:
    """What is to be said of a study now."""
    plan, blocks = replay.plan, len(replay.blocks)
    verdicts = verdicts_of(replay)
    return LiveView(
        blocks=blocks,
        runs=len(replay.records),
        progress=_progress(replay),
        left=_left(replay),
        size=verdicts.planned.sentence if verdicts.planned is not None else "",
        banners=banners(plan, verdicts, finished=True),
        verdicts=verdict_section(plan, verdicts, replay.records),
        forest=forest(plan, verdicts),
        narrowing=narrowing(plan, narrowed.rows),
        every_run=run_section(plan, replay.records, blocks),
    )


def _progress(replay: Replay) -> str:
    done, step = len(replay.blocks), replay.next()
    if replay.stopped:
        return f"Stopped after {done} blocks: {replay.stopped}."
    if step is None:
        return f"All blocks are made: {done}, of {len(replay.records)} runs."
    again = f", repetition {step.attempt}" if step.attempt else ""
    case = f" of case {step.case}" if len(replay.plan.cases) > 1 else ""
    return (
        f"Block {done + 1} of at most {expected_blocks(replay)}{again}: "
        f"run {len(replay.records)}, arm {step.arm}{case}."
    )


def _left(replay: Replay) -> str:
    left_s = remaining_s(replay)
    return f"At most {format_duration(left_s)} left." if left_s else ""


def narrowing(plan: Plan, rows: Mapping[Question, Sequence[tuple[int, Row]]]) -> Forest:
    """A picture for each contrast: its interval after so many blocks, from the first to now."""
    kept = {question: found for question, found in rows.items() if len(found) > 1}
    shown = list(kept.items())[:CONTRASTS_SHOWN]
    groups = [
        ForestGroup(case, _title(plan, case, name), [_after(*one) for one in _spread(found)])
        for (case, name), found in shown
    ]
    ends, logarithmic = axis(plan, known_ends(r for g in groups for r in g.rows))
    return Forest(
        groups=groups,
        margin=plan.margin,
        smallest=plan.smallest,
        domain=ends,
        logarithmic=logarithmic,
        words=sorted({r.word for g in groups for r in g.rows}),
        empty="" if groups else "No interval has moved yet.",
    )


def _title(plan: Plan, case: str, name: str) -> str:
    headed = heading(plan, case)
    return f"{headed}: {name}" if headed else name


def _after(blocks: int, row: Row) -> ForestEffect:
    return replace(effect(row), label=f"after {blocks} blocks")


def _spread(found: Sequence[tuple[int, Row]]) -> list[tuple[int, Row]]:
    """The last one, and before it as many as there is room for, evenly spaced."""
    if len(found) <= BLOCKS_SHOWN:
        return list(found)
    last = len(found) - 1
    places = {round(last * place / (BLOCKS_SHOWN - 1)) for place in range(BLOCKS_SHOWN)}
    return [found[place] for place in sorted(places)]
