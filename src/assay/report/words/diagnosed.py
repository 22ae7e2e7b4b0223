"""A diagnosis in sentences: the answer, and each candidate with its bound."""

from __future__ import annotations

from assay.core.units import format_percent
from assay.diagnosis import Candidate, Diagnosis
from assay.verdict.rows import Bounded

TITLES = {
    "stands out": "What stands out",
    "possible": "What else could matter",
    "no bound": "What nothing here bounds",
    "ruled out": "What cannot matter here",
}
"""By standing of a candidate."""


def subject_line(found: Diagnosis) -> str:
    """Which server, for how long, by how many samples, and what looking took."""
    subject = found.subject
    kind = f", {subject.kind}" if subject.kind and subject.kind != subject.name else ""
    return (
        f"{subject.name} ({subject.pid}{kind}): {found.seconds:.0f} s, {found.samples:,} "
        f"sample{'s' * (found.samples != 1)} of CPU time; "
        f"looking took {100 * found.cost:.2f} % of the machine's"
    )


def answer(found: Diagnosis) -> str:
    """The one sentence."""
    sick = found.stands_out
    if not sick:
        return "Nothing stands out."
    first = sick[0]
    return f"Try {first.name} first: {first.text}, {gain(first)}."


def gain(candidate: Candidate) -> str:
    """The bound, and the middle of its interval: "at most +90.3 % (middle +85.0 %)"; empty without
    one."""
    most = candidate.most
    if most is None:
        return ""
    if most.high is None:
        return f"{format_percent(most.value)} by what is seen, and nothing bounds the rest"
    return f"at most {format_percent(most.high)} (middle {format_percent(most.value)})"


def share(candidate: Candidate) -> str:
    """The time spent in the mechanism; empty where it is not known."""
    if candidate.share is None:
        return ""
    value = format_percent(candidate.share.value, signed=False)
    ends = _ends(candidate.share)
    return f"{candidate.text}: {value}{ends} of {candidate.share_of}"


def interval(of: Bounded) -> str:
    """A share with its interval."""
    return f"{format_percent(of.value, signed=False)}{_ends(of)}"


def trial(candidate: Candidate) -> str:
    """What to try, in place of what."""
    tried = ", ".join(candidate.levels)
    if not tried:
        return ""
    if candidate.kind == "build":
        return f"another build: {tried}"
    now = f"{candidate.now} is in force; " if candidate.now else ""
    return f"{now}try {tried}" if now else tried


def moves(candidate: Candidate) -> str:
    """What it should move."""
    return ", ".join(f"{metric} {direction}" for metric, direction in candidate.moves)


def _ends(of: Bounded) -> str:
    if of.low is None or of.high is None or of.low == of.high:
        return ""
    low, high = (format_percent(end, signed=False) for end in (of.low, of.high))
    return f" [{low}, {high}]"
