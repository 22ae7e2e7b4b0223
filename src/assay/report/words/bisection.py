"""What a search found, in sentences: the answer, each step, and what the rest will take."""

from __future__ import annotations

import math

from assay.bisection import Found, FoundCulprit, FoundStage, PlannedNode, SearchPlan
from assay.bisection.plan import COMMITS
from assay.core.metrics import metric
from assay.core.units import format_duration, format_percent
from assay.stats.bisection import Forecast

WHY = {
    "unclear": "its middle is near neither end, as far as its blocks show",
    "unconfirmed": "fresh blocks did not confirm it",
    "stopped": "the search ended before it was narrowed further",
}
"""Why a range stays a range."""


def answer(plan: SearchPlan, found: Found) -> list[str]:
    """The sentences of the answer, most important first."""
    good, bad = plan.nodes[0].short, plan.nodes[-1].short
    if found.answer == "same":
        return [f"{good} and {bad} build the same program: there is nothing to search."]
    if found.answer in ("no difference", "undecided"):
        return _not_apart(plan, found)
    said = [named(plan, culprit) for culprit in found.culprits]
    if len(said) > 1:
        said.insert(0, f"{len(said)} changes were found, the largest first.")
    said += [text for culprit in found.culprits if (text := changed(plan, culprit))]
    said += [_left(plan, r.after, r.node, r.why) for r in found.ranges]
    if found.stopped:
        said.append(f"The search was stopped: {found.stopped}.")
    said += [_merge(plan, culprit) for culprit in found.culprits if culprit.merged]
    return said


def named(plan: SearchPlan, culprit: FoundCulprit) -> str:
    """A culprit, what it did, and on what that rests."""
    effect = f"{_moves(plan, culprit.estimate)} {_interval(plan, culprit.low, culprit.high)}"
    fresh = f"{culprit.blocks} fresh blocks against {_place(plan, culprit.after)}"
    if culprit.unbuilt:
        count = len(culprit.unbuilt)
        return (
            f"One of {count + 1} {_nodes(plan)} after {_place(plan, culprit.after)}, up to "
            f"{_title(plan, culprit.node)}, {effect}: {fresh}. The {count} between them do not "
            "build, so none of them is ruled out."
        )
    share = "" if culprit.share is None else f", {culprit.share:.0%} of the whole difference"
    return f"{_title(plan, culprit.node)} {effect}{share}: {fresh}."


NAMES_SHOWN = 6


def changed(plan: SearchPlan, culprit: FoundCulprit) -> str:
    """What a culprit changed in the program; empty where that is not known."""
    if not culprit.functions:
        return ""
    shown = culprit.functions[:NAMES_SHOWN]
    more = culprit.differing - len(shown)
    rest = f" and {more} more" if more else ""
    return (
        f"Between {_place(plan, culprit.after)} and {_place(plan, culprit.node)} the program "
        f"differs in {', '.join(shown)}{rest}."
    )


def _not_apart(plan: SearchPlan, found: Found) -> list[str]:
    good, bad = plan.nodes[0].short, plan.nodes[-1].short
    ends = found.ends
    assert ends is not None
    reach = _interval(plan, ends.low, ends.high)
    size = format_percent(plan.expected, signed=False)
    if found.answer == "no difference":
        return [f"{good} and {bad} differ by less than {size} {reach}: there is nothing to search."]
    return [
        f"{good} and {bad} show no confirmed difference in {ends.blocks} blocks {reach}.",
        "A longer budget, or a larger --expected, is the next step.",
    ]


def _left(plan: SearchPlan, after: int, node: int, why: str) -> str:
    count = node - after
    which = f"one of {count} {_nodes(plan)}" if count > 1 else "the change"
    place = f"after {_place(plan, after)}, up to {_title(plan, node)}"
    return f"Not pinned down: {which} {place}; {WHY[why]}."


def _merge(plan: SearchPlan, culprit: FoundCulprit) -> str:
    node = plan.nodes[culprit.node].short
    return (
        f"{node} is a merge. Its branch is searched by: assay bisect "
        f"$(git merge-base {node}^1 {node}^2) {node}^2, with the same study."
    )


def step_line(plan: SearchPlan, stage: FoundStage) -> str:
    """One thing that was asked and its answer, in a line."""
    ends = f"{_place(plan, stage.after)} .. {_place(plan, stage.node)}"
    shown = _interval(plan, stage.low, stage.high)
    blocks = f"{stage.blocks} blocks"
    if stage.kind == "ends":
        return f"ends {ends}: {stage.answer} {shown}, {blocks}"
    if stage.kind == "pair":
        return f"confirmation {ends}: {stage.answer} {shown}, {blocks}"
    assert stage.middle is not None
    middle = _place(plan, stage.middle)
    if stage.kind == "same":
        same = stage.after if stage.answer == "good" else stage.node
        return f"{middle} builds the same program as {_place(plan, same)}"
    answer = stage.answer or "not finished"
    return f"{middle} in {ends}: {answer}, {blocks}"


def forecast_sentence(plan: SearchPlan, left: Forecast, run_s: float, build_s: float) -> str:
    """What the rest takes, from what a run and a build took so far (s; zero where unknown)."""
    builds = f"at most {left.builds} builds and " if plan.over == COMMITS else ""
    runs = f"{left.runs} to {left.runs_most} runs"
    time = left.builds * build_s + left.runs_most * run_s
    shown = f", about {format_duration(time)} at most" if run_s else ""
    return f"{builds}{runs}{shown}"


def size_sentence(plan: SearchPlan) -> str:
    """What a search of so many nodes takes, before anything was measured."""
    count = len(plan.nodes)
    steps = math.ceil(math.log2(count - 1)) if count > 2 else 0
    if plan.over == COMMITS:
        said = f"{count - 1} commits after {plan.nodes[0].short}: at most {steps} more builds, and"
    else:
        said = f"{count} levels of {plan.over}: at most"
    runs = f"{steps} steps of some 30 runs each if the effect is clear"
    budget = f"within {format_duration(plan.budget_s)}"
    return f"{said} {runs}, {budget}; more is known once the ends are confirmed"


def _moves(plan: SearchPlan, better_by: float) -> str:
    """What an effect does to the metric as it is measured."""
    measured = _measured(plan, better_by)
    verb = "raises" if measured > 0 else "lowers"
    return f"{verb} {plan.primary} by {format_percent(abs(measured), signed=False)}"


def _interval(plan: SearchPlan, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "[unbounded]"
    ends = sorted((_measured(plan, low), _measured(plan, high)))
    return f"[{', '.join(format_percent(end) for end in ends)}]"


def _measured(plan: SearchPlan, better_by: float) -> float:
    """A fraction whose up is better, as a change of what was measured."""
    is_higher = metric(plan.primary).better == "higher"
    return better_by if is_higher else 1 / (1 + better_by) - 1


def _place(plan: SearchPlan, node: int) -> str:
    return plan.nodes[node].short


def _title(plan: SearchPlan, node: int) -> str:
    planned: PlannedNode = plan.nodes[node]
    return f"{planned.short} ({planned.title})" if planned.title else planned.short


def _nodes(plan: SearchPlan) -> str:
    return "commits" if plan.over == COMMITS else "levels"
