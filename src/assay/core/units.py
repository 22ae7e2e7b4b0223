"""Durations, sizes and percentages as people write them, and back again.

A study file carries units ("500ms", "1GiB", "2%"); inside Assay a duration is
seconds, a size is bytes, a percentage is a fraction. Bare numbers are refused:
a number without a unit is how a window of 5 ms becomes one of 5 s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

DURATION_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
SIZE_UNITS = {
    "B": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}

_QUANTITY = re.compile(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([A-Za-z%]*)\s*")


def _split(text: object, what: str, example: str) -> tuple[float, str]:
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{text!r} is not {what}; write for example {example}")
    return float(match[1]), match[2]


def _scaled(text: object, units: Mapping[str, float], what: str, example: str) -> float:
    number, unit = _split(text, what, example)
    if unit not in units:
        raise ValueError(
            f"{text!r} is not {what}: the unit {unit or '(none)'!r} is not one of "
            f"{', '.join(units)}; write for example {example}"
        )
    return number * units[unit]


def parse_duration(text: object) -> float:
    """Seconds of a duration such as "500ms", "2s" or "20min"; ValueError otherwise."""
    return _scaled(text, DURATION_UNITS, "a duration", '"500ms" or "2s"')


def parse_size(text: object) -> int:
    """Bytes of a size such as "4KiB" or "1GiB"; ValueError otherwise."""
    return int(_scaled(text, SIZE_UNITS, "a size", '"16KiB" or "1GiB"'))


def parse_percent(text: object) -> float:
    """The fraction of a percentage such as "2%"; ValueError otherwise."""
    return _scaled(text, {"%": 0.01}, "a percentage", '"2%"')


def format_duration(seconds: float) -> str:
    """A duration for people: "850 ms", "12 s", "3 min 20 s", "2 h 5 min"."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def percent(fraction: float) -> str:
    """A fraction as people read it: 0.021 becomes "2.1 %"."""
    return f"{100 * fraction:.3g} %"


def format_percent(fraction: float, *, signed: bool = True) -> str:
    """A fraction for people, with the digits that its size deserves: "+2.1 %"."""
    percent = 100 * fraction
    digits = 2 if abs(percent) < 1 else 1 if abs(percent) < 100 else 0
    sign = "+" if signed else ""
    return f"{percent:{sign}.{digits}f} %"


def format_quantity(value: float, unit: str) -> str:
    """A number with a unit and an SI prefix where it helps: "1.24 Mop/s"."""
    if unit == "ns":
        for limit, scale, name in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
            if abs(value) < limit:
                return f"{value / scale:.3g} {name}"
        return f"{value / 1e9:.3g} s"
    if unit == "fraction":
        return f"{100 * value:.3g} %"
    for scale, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {prefix}{unit}".strip()
    return f"{value:.3g} {unit}".strip()
