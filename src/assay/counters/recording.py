"""A recording of `perf stat` as `assay perf-stat` shows it: its events, and what follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.core.errors import InputError
from assay.counters.derived import DerivedFigure, figures
from assay.counters.models import Model
from assay.counters.perf_stat import Count, read_perf_stat, totals
from assay.counters.perf_text import is_for_people, read_perf_text


@dataclass(frozen=True)
class RecordedEvent:
    """One event, summed over intervals and CPUs; `name` is that of the model's table.

    `value` is null, and `why` says it, unless it was counted all of the time. `running` is the
    least share of the time in which it was counted.
    """

    event: str
    name: str | None
    value: float | None
    unit: str
    running: float | None
    why: str


@dataclass(frozen=True)
class Recording:
    """Events, and the figures that the model's table defines, each with a value or a reason.

    `headroom` is one of the figures: the gain, as a fraction, that no change of pages can exceed.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    model: str | None
    events: list[RecordedEvent]
    figures: list[DerivedFigure]


def recording(text: str, model: Model | None) -> Recording:
    """What was recorded on a processor of that model.

    The text is that of `perf stat` for people or of `perf stat -x,`. InputError names the line
    that is neither, or events that are one by the table, of which nobody can say which is meant.
    """
    found = totals(read_perf_text(text) if is_for_people(text) else read_perf_stat(text))
    if not found:
        raise InputError("there is no event in it", next_step="record with `perf stat -o FILE`")
    names = {event: model.named(event) if model else None for event in found}
    events = [
        RecordedEvent(event, names[event], c.value, c.unit, c.running, c.why)
        for event, c in found.items()
    ]
    return Recording(model.name if model else None, events, _figures(found, names, model))


def _figures(
    found: dict[str, Count], names: dict[str, str | None], model: Model | None
) -> list[DerivedFigure]:
    """Figures of events that were counted in one mode; of user space and kernel mixed, none."""
    ours: dict[str, Count] = {}
    for event, count in found.items():
        name = names[event] or event
        if name in ours:
            raise InputError(
                f"{ours[name].event} and {event} are both {name}",
                next_step="leave one of them out of the file",
            )
        ours[name] = count
    modes = {_mode(event) for event, name in names.items() if name}
    if len(modes) > 1:
        several = ", ".join(sorted(mode or "everything" for mode in modes))
        why = f"events were counted in different modes: {several}"
        return [DerivedFigure(name, None, why) for name in figures({}, model)]
    return list(figures(ours, model).values())


def _mode(event: str) -> str:
    """The modifiers of an event, such as the u of cycles:u and of cpu/event=0x08/u."""
    return event.rpartition("/")[2] if "/" in event else event.partition(":")[2]
