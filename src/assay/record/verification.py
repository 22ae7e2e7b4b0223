"""Recomputing a bundle: the runs through the schedule to the verdicts, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

from pydantic import BaseModel

from assay.core.digest import chained
from assay.core.errors import AlteredError, StatisticsError
from assay.record.bundle import Bundle
from assay.record.observations import counting
from assay.record.replay import STOPPED_BY_USER, Replay
from assay.record.run import RunRecord
from assay.verdict.rows import Verdicts
from assay.verdict.summary import summarise


def replayed(bundle: Bundle) -> Replay:
    """The state of a bundle from its runs; AlteredError if they are not as they were written."""
    replay = Replay(bundle.plan)
    for record in bundle.runs():
        replay.add(record)
    return replay


def verdicts_of(replay: Replay) -> Verdicts:
    """`verdicts.json` of a replayed study."""
    statuses = [(r.arm, r.status) for r in replay.records]
    verdicts = summarise(
        replay.plan, replay.ruling, len(replay.blocks), statuses, replay.stopped, replay.extensions
    )
    last = replay.records[-1].digest if replay.records else ""
    end = chained(last, {"runs": verdicts.runs, "stopped": verdicts.stopped})
    return verdicts.model_copy(update={"end": end})


def checked_verdicts(bundle: Bundle) -> Verdicts:
    """The verdicts of a bundle, for whoever shows them or goes by them.

    AlteredError if the runs do not give them. A bundle that another version of the statistics
    decided, and that this one cannot recompute, gives what it says.
    """
    try:
        found = differences(bundle)
    except StatisticsError:
        return bundle.verdicts()
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise AlteredError(
            f"the verdicts are not those of the runs: {found[0]}{more}",
            next_step=f"`assay verify {bundle.folder}` names every difference; "
            "without the file verdicts.json, `assay report` says what the runs give",
        )
    return bundle.verdicts()


def counted_runs(bundle: Bundle) -> list[RunRecord]:
    """The runs that the verdicts of a bundle are made of, or would be if it ended here."""
    if bundle.has_verdicts:
        return counting(bundle.runs(), checked_verdicts(bundle).blocks)
    return counting(bundle.runs(), len(replayed(bundle).blocks))


def differences(bundle: Bundle) -> list[str]:
    """Where `verdicts.json` is not what the runs say, in words; empty when all is well.

    Sentences are compared where this version of Assay wrote them.
    AlteredError names the run when one was altered; StatisticsError names the version of the
    statistics that decided the bundle when this version cannot recompute it.
    """
    bundle.runs()
    replay = replayed(bundle)
    said = bundle.verdicts()
    if said.stopped == STOPPED_BY_USER and not replay.stopped:
        replay.stop(STOPPED_BY_USER)
    coded = any(row.reasons for row in said.verdicts) or not said.verdicts
    worded = coded and bundle.plan.version == version("assay")
    skipped = frozenset() if worded else SENTENCES
    found = list(_differing("verdicts.json", said, verdicts_of(replay), skipped))
    return found + list(_altered_profiles(bundle, replay))


SENTENCES = frozenset({"reason", "sentence", "warnings", "told_apart", "unestimable", "refused"})
"""What is worded for people. Another version of Assay, or one before reasons had codes, may word
it otherwise."""


def _altered_profiles(bundle: Bundle, replay: Replay) -> Iterator[str]:
    """Profiles that are not as they were written: each is said, since the verdicts do not need
    them."""
    for record in replay.records:
        try:
            bundle.profile(record)
        except AlteredError as error:
            yield error.message


def _differing(where: str, said: object, found: object, skipped: frozenset[str]) -> Iterator[str]:
    """Where two values differ; of a record only the fields that its file has, for a later version
    may have added some."""
    if isinstance(said, BaseModel) and isinstance(found, type(said)):
        for name in sorted(said.model_fields_set - skipped):
            inner = getattr(said, name), getattr(found, name)
            yield from _differing(f"{where}.{name}", *inner, skipped)
    elif isinstance(said, dict) and isinstance(found, dict):
        for key in sorted(set(said) | set(found)):
            yield from _differing(f"{where}.{key}", said.get(key), found.get(key), skipped)
    elif isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        for place, inner in enumerate(zip(said, found, strict=True)):
            yield from _differing(f"{where}[{place}]", *inner, skipped)
    elif said != found:
        yield f"{where} says {said!r}; the runs give {found!r}"
