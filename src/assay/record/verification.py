"""Recomputing a bundle: the runs through the schedule to the verdicts, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from assay.core.errors import AlteredError
from assay.record.bundle import Bundle
from assay.record.observations import counting
from assay.record.replay import Replay
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
    return summarise(
        replay.plan, replay.ruling, len(replay.blocks), statuses, replay.stopped, replay.extensions
    )


def counted_runs(bundle: Bundle) -> list[RunRecord]:
    """The runs that the verdicts of a bundle are made of, or would be if it ended here."""
    if bundle.has_verdicts:
        return counting(bundle.runs(), bundle.verdicts().blocks)
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
    if said.stopped and not replay.stopped:
        replay.stop(said.stopped)
    kept, made = said.model_dump(), verdicts_of(replay).model_dump()
    coded = any(row.reasons for row in said.verdicts) or not said.verdicts
    if not coded or bundle.plan.version != version("assay"):
        kept, made = (_without(found, SENTENCES if coded else WORDING) for found in (kept, made))
    found = list(_differing("verdicts.json", kept, made))
    return found + list(_altered_profiles(bundle, replay))


SENTENCES = frozenset({"reason", "sentence", "warnings", "told_apart", "unestimable", "refused"})
"""What is worded for people. Another version of Assay may word it otherwise."""

WORDING = SENTENCES | {"reasons", "warning_codes"}
"""The same of bundles made before reasons had codes."""


def _without(found: Any, keys: frozenset[str]) -> Any:
    """A value read from JSON without some keys, at any depth."""
    if isinstance(found, dict):
        return {k: _without(v, keys) for k, v in found.items() if k not in keys}
    return [_without(v, keys) for v in found] if isinstance(found, list) else found


def _altered_profiles(bundle: Bundle, replay: Replay) -> Iterator[str]:
    """Profiles that are not as they were written: each is said, since the verdicts do not need
    them."""
    for record in replay.records:
        try:
            bundle.profile(record)
        except AlteredError as error:
            yield error.message


def _differing(where: str, said: Any, found: Any) -> list[str]:
    if isinstance(said, dict) and isinstance(found, dict):
        keys = sorted(set(said) | set(found))
        return [d for k in keys for d in _differing(f"{where}.{k}", said.get(k), found.get(k))]
    if isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        pairs = enumerate(zip(said, found, strict=True))
        return [d for i, (s, f) in pairs for d in _differing(f"{where}[{i}]", s, f)]
    if said == found:
        return []
    return [f"{where} says {said!r}; the runs give {found!r}"]
