"""Why a verdict is what it is, in words: the cause in one line, and all parts of it.

Effects stand as measured: a wait that fell is told as less, whatever is better.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.units import format_percent
from assay.explain import Bound, Explanation, Identity, Limit
from assay.report.words.kinds import kinds_of, kinds_text
from assay.report.words.speeds import NamedSpeeds, meaning, parted, share
from assay.report.words.wording import as_measured, estimate, interval, listed
from assay.verdict.predictions import FLOOR
from assay.verdict.rows import Bounded, Row

GONE = 1.5 * FLOOR - 1

NEW = 1 / (1.5 * FLOOR) - 1
"""Effects that are as large as is looked for."""

WENT = {"up": "up", "down": "down", "same": "unmoved"}


def cause(found: Explanation) -> str:
    """The cause in one line; empty where nothing was predicted, and nothing else stands out."""
    said = [text for text in (_moves(found), _controls(found), _unmeasured(found)) if text]
    if found.limits:
        said.append(f"next limit: {_limit(found.limits[0])}")
    if found.identity is not None and found.identity.elsewhere:
        said.append(f"not all by cheaper work: {_terms(found.identity, elsewhere=True)}")
    if found.bound is not None and found.bound.finding == "exceeds":
        said.append(f"more than {found.bound.mechanism} can give ({_most(found.bound)})")
    if found.speeds:
        arms = listed(str(reason.fields["arm"]) for reason in found.speeds)
        said.append(f"two speeds of {arms}")
    return "; ".join(said)


def holds(found: Explanation) -> bool:
    """Whether nothing that was predicted turned out otherwise."""
    return all(row.outcome != "not held" for row in found.predictions)


def _moves(found: Explanation) -> str:
    """What was to move: as predicted, in part, not at all, or unclear."""
    rows = [r for r in found.predictions if r.predicted != "same" and r.estimate is not None]
    held, wrong = ([r for r in rows if r.outcome == word] for word in ("held", "not held"))
    if held and not wrong:
        return f"as predicted: {_named(held)}"
    if held:
        return f"in part as predicted: {_named(held)}; but {_named(wrong, told=True)}"
    if wrong:
        return f"the predicted cause did not show: {_named(wrong, told=True)}"
    return f"unclear whether as predicted: {_named(rows, told=True)}" if rows else ""


def _controls(found: Explanation) -> str:
    moved = [r for r in found.predictions if r.predicted == "same" and r.outcome == "not held"]
    return f"should not have moved: {_named(moved)}" if moved else ""


def _unmeasured(found: Explanation) -> str:
    rows = [r for r in found.predictions if r.outcome == "not measured"]
    measured = len(rows) < len(found.predictions)
    if not rows or measured:
        return ""
    return f"the predicted cause was not measured: {listed(r.metric for r in rows)}"


def _named(rows: Sequence[Row], *, told: bool = False) -> str:
    return ", ".join(
        _effect(row) + (f" (predicted {WENT[row.predicted or 'same']})" if told else "")
        for row in rows
    )


def _effect(row: Row) -> str:
    shown = as_measured(row)
    if shown.estimate is not None and shown.estimate <= GONE:
        return f"{row.metric} down to 1 % or less"
    if shown.estimate is not None and shown.estimate >= NEW:
        return f"{row.metric} up from 1 % or less"
    return f"{row.metric} {estimate(shown)} {interval(shown)}"


def _limit(limit: Limit) -> str:
    level = format_percent(limit.level).lstrip("+")
    now = level if not limit.metric.startswith("waits_per") else f"{limit.level:.3g}"
    return f"{limit.metric} {format_percent(limit.estimate)}, now {now}"


def _most(bound: Bound) -> str:
    return f"at most {format_percent(bound.most.value)} {_interval(bound.most)}"


def _terms(identity: Identity, *, elsewhere: bool) -> str:
    terms = [t for t in identity.terms if not elsewhere or t.name in identity.elsewhere]
    return ", ".join(f"{t.name} {format_percent(t.gain.value)} {_interval(t.gain)}" for t in terms)


def _interval(of: Bounded) -> str:
    if of.low is None or of.high is None:
        return "[unbounded]"
    return f"[{format_percent(of.low)}, {format_percent(of.high)}]"


def parts(one: Explanation) -> list[tuple[str, str, str]]:
    """Heading, text and style of every part of an explanation."""
    found = [("predicted", _prediction(row), _style(row)) for row in one.predictions]
    if not one.predictions:
        found.append(("predicted", "nothing", "dim"))
    found += [("next", _limit(limit), "") for limit in one.limits]
    if one.bound is not None:
        found.append(("headroom", _headroom(one.bound), ""))
    if one.identity is not None:
        found.append(("gain by", _terms(one.identity, elsewhere=False), ""))
        if one.identity.elsewhere:
            text = f"{listed(one.identity.elsewhere)} moved: that part is no cheaper work"
            found.append(("", text, "yellow"))
    found += [("speeds", _speeds(NamedSpeeds.of(reason)), "yellow") for reason in one.speeds]
    found += [
        ("by kind", f"{group.metric}, up is better: {kinds_text(group)}", "")
        for group in kinds_of(one.verdict)
    ]
    return found


def _speeds(found: NamedSpeeds) -> str:
    return f"{found.arm}: {share(found)}; {parted(found)}; {meaning(found)}"


def _prediction(row: Row) -> str:
    shown = f"   {_effect(row)}" if row.estimate is not None else f"   {row.metric}"
    told = f"{WENT[row.predicted or 'same']}: {row.outcome}"
    return f"{told:18}{shown}" + (f"   {row.reason}" if row.outcome != "held" else "")


def _style(row: Row) -> str:
    return {"held": "green", "not held": "red"}.get(row.outcome or "", "dim")


def _headroom(bound: Bound) -> str:
    share = f"{bound.mechanism} {format_percent(bound.share.value).lstrip('+')} of CPU time"
    said = {
        "within": "the gain is not surely larger",
        "exceeds": "the gain is larger: it has a further cause",
    }
    return f"{share}, without all of it {_most(bound)}; {said[bound.finding]}"
