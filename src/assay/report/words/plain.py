"""The answer in one sentence that anybody understands: no term of the field, no hedge, one number.

It stands above the answer proper, and says nothing that the verdicts do not.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.plan import Plan
from assay.report.words.answer import by_how_much
from assay.report.words.sections import headline, left_race
from assay.report.words.wording import is_arm, listed, short
from assay.verdict.rows import Row, Verdicts

_BETTER = {
    "throughput": ("faster", "slower"),
    "latency": ("quicker to answer", "slower to answer"),
    "cpu_per_operation": ("cheaper in processor time", "dearer in processor time"),
    "operations_per_cpu_s": ("cheaper in processor time", "dearer in processor time"),
    "cpu_time": ("cheaper in processor time", "dearer in processor time"),
    "operations_per_joule": ("cheaper in energy", "dearer in energy"),
    "wall_time": ("quicker to finish", "slower to finish"),
    "load_seconds": ("quicker to load", "slower to load"),
    "resident_bytes": ("smaller in memory", "larger in memory"),
    "peak_memory": ("smaller in memory", "larger in memory"),
}
"""Metric, or its first word -> how something is that is better by it, and that is worse."""

NAMED = 3
"""Arms that a sentence names."""


def is_better(name: str) -> tuple[str, str]:
    """How something is that is better by a metric, and that is worse."""
    base = name.partition(".")[0]
    found = _BETTER.get(base) or _BETTER.get(base.partition("_")[0])
    return found or (f"better by {name}", f"worse by {name}")


def plainly(plan: Plan, verdicts: Verdicts) -> str:
    """The sentence."""
    if verdicts.told_apart:
        return "There is no answer: two equal configurations came out different."
    if plan.scaling is not None:
        return "How it grows with threads is a picture, not a yes or a no."
    better, worse = is_better(verdicts.primary)
    arms = [r for r in headline(plan, verdicts) if is_arm(r)]
    if not arms:
        done = verdicts.screen is not None
        return f"Nothing that was tried makes it {better}." if done else "There is no answer yet."
    helps, hurts = (_of(arms, word) for word in ("helps", "hurts"))
    if helps:
        return _gain(plan, verdicts, helps, better)
    open_ = [r for r in _of(arms, "undecided") if not left_race(r)]
    if len(_of(arms, "invalid")) == len(arms):
        return "There is no answer: no comparison was valid."
    if hurts:
        said = f"{_arms(hurts)} make{'s' * (len(hurts) == 1)} it {worse}"
        rest = "whether anything makes it" if open_ else "nothing that was tried makes it"
        return f"{said}; {rest} {better}{' is not known yet' if open_ else ''}."
    if open_:
        return f"It is not known yet whether anything that was tried makes it {better}."
    return "Nothing that was tried makes a difference worth having."


def _gain(plan: Plan, verdicts: Verdicts, helps: Sequence[Row], better: str) -> str:
    """What the arm to take gives, or the one that gives most of those that help."""
    taken = [r for r in helps if r.arm == verdicts.recommended]
    best = taken[0] if taken else max(helps, key=lambda r: r.low or 0.0)
    if plan.design == "ladder":
        return f"With every step up to {best.arm} it is {better}: each of them helped."
    return f"With {best.arm} it is {better}, {by_how_much(best)}."


def _of(arms: Sequence[Row], word: str) -> list[Row]:
    return [r for r in arms if r.word == word]


def _arms(rows: Sequence[Row]) -> str:
    names = [short(r) for r in rows]
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return listed([*names[:NAMED], *more])
