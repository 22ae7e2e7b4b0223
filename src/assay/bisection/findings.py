"""From a replayed search to what it found."""

from __future__ import annotations

import math

from assay.bisection.replay import SearchReplay
from assay.bisection.rows import (
    AnswerWord,
    Found,
    FoundCulprit,
    FoundNode,
    FoundRange,
    FoundStage,
)
from assay.core.digest import chained
from assay.stats.bisection import Search, Stage


def found_of(replay: SearchReplay) -> Found:
    """`found.json` of a replayed search."""
    search, plan = replay.search, replay.plan
    stages = [_stage(stage, search.sign) for stage in search.stages]
    ends = next((s for s in stages if s.kind == "ends"), None)
    whole = next((s.estimate for s in search.stages if s.kind == "ends"), None)
    stopped = replay.stopped or search.stopped
    runs = len(replay.runs)
    return Found(
        answer=_answer(search, stopped),
        over=plan.over,
        primary=plan.primary,
        better=search.sign > 0 if search.told_apart else None,
        ends=ends,
        culprits=_culprits(replay, whole),
        ranges=_ranges(replay),
        stages=stages,
        nodes=_nodes(replay),
        searched=len(plan.nodes),
        builds=len(replay.builds),
        unbuilt=sum(b.status == "failed" for b in replay.builds),
        runs=runs,
        took_s=round(replay.spent_s, 3),
        stopped=stopped,
        end=chained(replay.last, {"runs": runs, "stopped": stopped}),
    )


def _answer(search: Search, stopped: str) -> AnswerWord:
    if search.same_ends:
        return "same"
    if search.culprits:
        return "named"
    if stopped:
        return "stopped"
    if search.ends is not None and not search.told_apart:
        return "no difference" if search.ends.word == "no difference" else "undecided"
    return "range"


def _culprits(replay: SearchReplay, whole: float | None) -> list[FoundCulprit]:
    """The largest first."""
    nodes, found = replay.plan.nodes, []
    for culprit in replay.search.culprits:
        low, high = culprit.interval
        node = nodes[culprit.high]
        differ = replay.differences.get(culprit.high)
        found.append(
            FoundCulprit(
                node=culprit.high,
                name=node.name,
                title=node.title,
                after=culprit.low,
                after_name=nodes[culprit.low].name,
                unbuilt=list(range(culprit.low + 1, culprit.high)),
                merged=node.merged,
                estimate=math.expm1(culprit.estimate),
                low=math.expm1(low),
                high=math.expm1(high),
                blocks=culprit.blocks,
                share=culprit.estimate / whole if whole else None,
                functions=differ.names if differ else [],
                differing=differ.count if differ else 0,
            )
        )
    return sorted(found, key=lambda c: -abs(math.log1p(c.estimate)))


def _ranges(replay: SearchReplay) -> list[FoundRange]:
    nodes, search = replay.plan.nodes, replay.search
    left = [(u.low, u.high, u.why) for u in search.unresolved]
    if replay.stopped and not search.over and search.told_apart:
        left += [(s.low, s.high, "stopped") for s in search.open_spans()]
    return [
        FoundRange(
            after=low, node=high, after_name=nodes[low].name, name=nodes[high].name, why=why
        )
        for low, high, why in left
    ]  # fmt: skip


def _stage(stage: Stage, sign: float) -> FoundStage:
    """Its contrasts as fractions, up is better: steps are held towards the bad end."""
    turn = sign if stage.kind == "step" else 1.0
    low, high = _fractions(stage.interval, turn)
    right_low, right_high = _fractions(stage.right_interval, turn)
    return FoundStage(
        kind=stage.kind,
        after=stage.low,
        node=stage.high,
        middle=stage.middle,
        answer=stage.answer,
        blocks=stage.blocks,
        planned=stage.planned,
        estimate=_fraction(stage.estimate, turn),
        low=low,
        high=high,
        right_estimate=_fraction(stage.right_estimate, turn),
        right_low=right_low,
        right_high=right_high,
        error=stage.alpha,
    )


def _fraction(value: float | None, turn: float) -> float | None:
    return None if value is None else math.expm1(turn * value)


def _fractions(
    interval: tuple[float | None, float | None], turn: float
) -> tuple[float | None, float | None]:
    low, high = interval if turn > 0 else interval[::-1]
    return _fraction(low, turn), _fraction(high, turn)


def _nodes(replay: SearchReplay) -> list[FoundNode]:
    """Every node that was built or did not build, in the order of the history."""
    levels = _levels(replay.search)
    builds = {line.node: line for line in replay.builds}
    found = []
    for node in sorted(builds):
        planned, line = replay.plan.nodes[node], builds[node]
        built = node not in replay.search.broken and line.status == "ok"
        reason = line.reason or ("" if built else "it does not run")
        level = levels.get(node)
        found.append(
            FoundNode(
                node=node, name=planned.name, title=planned.title, built=built, reason=reason,
                level=None if level is None else math.expm1(level),
            )
        )  # fmt: skip
    return found


def _levels(search: Search) -> dict[int, float]:
    """Log speed of measured nodes against the good end: each from the ends it was measured with."""
    levels = {0: 0.0}
    for stage in search.stages:
        if stage.kind == "ends" and stage.estimate is not None:
            levels[stage.high] = stage.estimate
        elif stage.kind == "step" and stage.middle is not None:
            levels[stage.middle] = _between(levels, stage, search.sign)
        elif stage.kind == "same" and stage.middle is not None:
            end = stage.low if stage.answer == "good" else stage.high
            levels[stage.middle] = levels.get(end, 0.0)
    return levels


def _between(levels: dict[int, float], stage: Stage, sign: float) -> float:
    """The middle's level: the mean of what the two ends say of it."""
    from_low = levels.get(stage.low, 0.0) + sign * (stage.estimate or 0.0)
    from_high = levels.get(stage.high, 0.0) - sign * (stage.right_estimate or 0.0)
    return (from_low + from_high) / 2
