"""What `perf stat -x,` printed, as numbers that may be used, and reasons where they may not.

    VALUE,UNIT,EVENT,RUN-TIME,PERCENT-RUNNING[,METRIC,METRIC-UNIT]
    TIME,VALUE,...          with -I, one block per interval
    CPU0,VALUE,...          with -a -A, after the time

`perf` itself scales up what it counted for a part of the time, and prints the estimate where
the count would stand. Such a figure is no count, so it never becomes a number here: like
`<not counted>` and `<not supported>` it has a reason instead.

Source: perf-stat(1), "CSV FORMAT".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from assay.core.errors import InputError

WHOLE = 0.9999
"""The share of the time from which an event was counted throughout: perf prints 100.00."""

_TIME = re.compile(r"\s*\d+\.\d{9}")
_CPU = re.compile(r"CPU(\d+)")
_WHERE = re.compile(r"[SNDC]\d+(-[SDC]\d+)*")
NO_COUNTS = {
    "<not counted>": "not counted: its turn never came",
    "<not supported>": "not supported by this processor",
}


@dataclass(frozen=True)
class Count:
    """One event. `value` is None, and `why` says it, unless it was counted all of the time.

    `unit` is empty for counts, "msec" for clocks; `running` the share of the time, None where the
    text does not say.
    """

    event: str
    value: float | None
    unit: str = ""
    running: float | None = None
    why: str = ""
    at_s: float | None = None
    cpu: int | None = None


def read_perf_stat(text: str, separator: str = ",") -> list[Count]:
    """Every line of it. InputError names the line that is not one of `perf stat -x`."""
    counts = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            counts.append(_line(number, line, separator))
    return counts


def _line(number: int, line: str, separator: str) -> Count:
    fields = line.split(separator)
    at_s = cpu = None
    if _TIME.fullmatch(fields[0]):
        at_s = float(fields.pop(0))
    where = _CPU.fullmatch(fields[0])
    if where:
        cpu = int(where[1])
        fields.pop(0)
    elif _WHERE.fullmatch(fields[0]):
        raise _wrong(number, line, "counts by socket, node or core are not read: use -a, or -A")
    if len(fields) < 3:
        raise _wrong(number, line, "three fields at least are expected")
    value, unit, event, *rest = _joined(fields, separator)
    return _count(number, line, value.strip(), unit, event, rest, at_s, cpu)


def _joined(fields: list[str], separator: str) -> list[str]:
    """Fields with the event as one, though `cpu/event=0x8,umask=0x1/` may hold separators."""
    event, end = fields[2], 3
    while event.count("/") == 1 and end < len(fields):
        event, end = f"{event}{separator}{fields[end]}", end + 1
    return [*fields[:2], event, *fields[end:]]


def _count(
    number: int,
    line: str,
    value: str,
    unit: str,
    event: str,
    rest: list[str],
    at_s: float | None,
    cpu: int | None,
) -> Count:
    running = None
    if len(rest) >= 2 and rest[1]:
        try:
            running = float(rest[1]) / 100
        except ValueError as error:
            raise _wrong(number, line, f"{rest[1]!r} is not a percentage") from error
    if value in NO_COUNTS:
        return Count(event, None, unit, running, NO_COUNTS[value], at_s, cpu)
    try:
        found = float(value)
    except ValueError as error:
        raise _wrong(number, line, f"{value!r} is not a number") from error
    if running is None:
        why = "the share of the time it was counted is missing"
        return Count(event, None, unit, None, why, at_s, cpu)
    if running < WHOLE:
        return Count(event, None, unit, running, multiplexed(running), at_s, cpu)
    return Count(event, found, unit, running, "", at_s, cpu)


def multiplexed(running: float) -> str:
    """Why an event that took turns with others has no number."""
    return f"multiplexed: counted in {100 * running:.2f} % of the time"


def _wrong(number: int, line: str, why: str) -> InputError:
    return InputError(
        f"line {number} is not of `perf stat -x,`: {line[:80]!r}: {why}",
        next_step="record with `perf stat -x, -o FILE ...`",
    )


def totals(counts: Iterable[Count]) -> dict[str, Count]:
    """Sums by event over intervals and CPUs; where one part has no number, the sum has none."""
    found: dict[str, Count] = {}
    for count in counts:
        before = found.get(count.event)
        if before is None:
            found[count.event] = Count(
                count.event, count.value, count.unit, count.running, count.why
            )
            continue
        shares = [r for r in (before.running, count.running) if r is not None]
        parts = [v for v in (before.value, count.value) if v is not None]
        found[count.event] = Count(
            count.event,
            sum(parts) if len(parts) == 2 else None,
            count.unit,
            min(shares, default=None),
            before.why or count.why,
        )
    return found
