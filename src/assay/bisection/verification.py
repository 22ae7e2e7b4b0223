"""Recomputing a search: its lines through the fold to what was found, and where they differ."""

from __future__ import annotations

from assay.bisection.bundle import SearchBundle
from assay.bisection.findings import found_of
from assay.bisection.replay import SearchReplay
from assay.bisection.rows import Found
from assay.core.errors import AlteredError
from assay.record.replay import STOPPED_BY_USER


def searched(bundle: SearchBundle) -> SearchReplay:
    """The state of a bundle from its lines; AlteredError if they are not as they were written."""
    replay = SearchReplay(bundle.plan)
    for entry in bundle.lines():
        replay.add(entry)
    return replay


def found_differences(bundle: SearchBundle) -> list[str]:
    """Where `found.json` is not what the lines say, in words; empty when all is well.

    AlteredError names the line when one was altered.
    """
    replay, said = searched(bundle), bundle.found()
    if said.stopped == STOPPED_BY_USER and not replay.stopped and replay.next() is not None:
        replay.stop(STOPPED_BY_USER)
    found = found_of(replay)
    pairs = ((name, getattr(said, name), getattr(found, name)) for name in Found.model_fields)
    return [
        f"found.json.{name} says {one!r}; the runs give {other!r}"
        for name, one, other in pairs
        if one != other
    ]


def checked_found(bundle: SearchBundle) -> Found:
    """What was found, for whoever shows it; AlteredError if the lines do not give it."""
    found = found_differences(bundle)
    if found:
        raise AlteredError(
            f"what was found is not what the runs give: {found[0]}",
            next_step=f"`assay verify {bundle.folder}` names every difference",
        )
    return bundle.found()
