"""A promise about latency in `[measure]`: each run searches the highest rate that keeps it.

Such a run is many windows, one for each rate, so it has `max_rate` and nothing that is counted over
one window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.core.errors import InputError
from assay.core.metrics import MAX_RATE
from assay.study.file import MeasureSection
from assay.study.model import Study
from assay.study.rules import Mistake
from assay.targets import Target
from assay.workloads.promise import Promise, parse_promise

EXAMPLE = 'promise = "p99<5ms"'


def promise_of(measure: MeasureSection) -> Promise | None:
    """The promise of a study; None where there is none, or it cannot be read."""
    if measure.promise is None:
        return None
    try:
        return parse_promise(measure.promise)
    except InputError:
        return None


def promise_mistakes(
    study: Study, measure: MeasureSection, targets: Mapping[str, Target]
) -> Iterator[Mistake]:
    """Everything that is wrong with the promise, or with its lack."""
    if MAX_RATE in study.also:
        yield ("measure", "also"), f"a run searches {MAX_RATE} or it does not", "make it primary"
    if measure.promise is None:
        if study.primary == MAX_RATE:
            message = f"{MAX_RATE} is the highest rate that keeps a promise, and there is none"
            yield ("measure", "primary"), message, f"write {EXAMPLE} in [measure]"
        return
    try:
        parse_promise(measure.promise)
    except InputError as error:
        yield ("measure", "promise"), error.message, error.next_step
    if study.primary != MAX_RATE:
        message = f"each run searches {MAX_RATE}, and has nothing else of its own"
        yield ("measure", "primary"), message, f'write primary = "{MAX_RATE}"'
    for case in study.cases:
        if not targets[case.target].searches_rate:
            able = ", ".join(kind for kind, target in targets.items() if target.searches_rate)
            message = f"{case.target} is not asked at a rate of Assay's"
            yield ("measure", "promise"), message, f"these are: {able or 'none here'}"
        if case.settings.get("rate") is not None:
            yield ("target", "rate"), "the search chooses the rate", "leave rate out"
    if study.auto:
        message = "a pilot looks at one window, and a search has many"
        yield ("measure", min(study.auto)), message, 'write for example window = "2s"'
    if study.counters or study.profile:
        key = "timeline" if study.timeline else "profile" if study.profile else "counters"
        yield ("measure", key), "a search has many windows, not one to count in", f"leave {key} out"
