"""Settings in a server's own spelling: what a study may write, and whether a server reports it.

A study keeps the value as it was written ("80MB", "ON"), so that its reader sees
what its writer meant; `told` is what the server is given, and `is_same` compares
by meaning. Servers count in 1024: "80MB", "80MiB", "80M" and 83886080 are one size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.parameters import Parameter, nearest

BYTES: Mapping[str, int] = {
    spelling: 1 << (10 * power)
    for power, letter in enumerate(("", "k", "m", "g", "t"))
    for spelling in ((letter, f"{letter}b", f"{letter}ib") if letter else ("b",))
}
"""Bytes of a unit, which may be written large or small."""

MICROSECONDS: Mapping[str, int] = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}

_ON = ("on", "true", "yes", "1")
_OFF = ("off", "false", "no", "0")
_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)")


def truth(value: object) -> bool | None:
    """The flag that a value spells; None if it spells none."""
    word = str(value).lower()
    return True if word in _ON else False if word in _OFF else None


def quantity(value: object, units: Mapping[str, int], unit: int = 1) -> float | None:
    """The number that a value spells, in the smallest of `units`; None if it spells none.

    One without a unit counts `unit`; -1 and 0 mean what they mean in any.
    """
    if isinstance(value, bool):
        return None
    match = _NUMBER.fullmatch(str(value).strip())
    if match is None:
        return None
    number = int(match[1]) if match[1].lstrip("-").isdigit() else float(match[1])
    if not match[2]:
        return number if number in (-1, 0) else number * unit
    scale = units.get(match[2].lower())
    return None if scale is None else number * scale


def no_fault(text: str) -> str:
    """What a setting says of a value when there is nobody to ask."""
    return ""


def as_reported(
    given: Mapping[str, Any],
    reported: Mapping[str, str | None],
    is_same: Callable[[str, Any, str], bool],
) -> dict[str, Any]:
    """What a server reports for each setting: the value given where it means the same, and what
    was reported where it does not. One that is not given, or not reported, is left out."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        told = reported.get(name)
        if value is not None and told is not None:
            found[name] = value if is_same(name, value, told) else told
    return found


def in_force(
    known: Mapping[str, Parameter], given: Mapping[str, Any], reported: Mapping[str, str | None]
) -> dict[str, Any]:
    """`as_reported` for settings that a server described itself."""
    own = {n: s for n, s in known.items() if isinstance(s, ServerSetting)}
    mine = {n: v for n, v in given.items() if n in own}
    return as_reported(mine, reported, lambda name, value, told: own[name].is_same(value, told))


def rendered(known: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, str]:
    """The texts that a server is given for values of settings that it described itself."""
    own = {n: s for n, s in known.items() if isinstance(s, ServerSetting)}
    return {n: own[n].told(v) for n, v in given.items() if v is not None}


@dataclass(frozen=True)
class ServerSetting(Parameter):
    """A setting of a server. `default` is None, what the server itself does, unless Assay gives it.

    `units` may be written after a number, and `unit` is what the server's own
    numbers count. Where `bare` is off a number needs one: 100 would be anybody's
    guess. `low` and `high` are in the server's unit; `fault` says what is wrong
    with a text, and is mostly the executable's own judgement. `own` is what the server has
    when it is given nothing, as it says it; empty where it does not say.
    """

    units: Mapping[str, int] = field(default_factory=dict, compare=False)
    unit: int = 1
    unit_name: str = ""
    suffix: str = ""
    """The smallest unit, as the server wants it after its numbers."""
    bare: bool = True
    fault: Callable[[str], str] = field(default=no_fault, compare=False)
    own: str = ""

    def allowed(self) -> str:
        if self.choices or not self.units:
            return super().allowed() if self.kind != "choice" or self.choices else "a text"
        example = '"80MiB"' if self.units is BYTES else '"200ms"'
        words = f"a number with a unit, such as {example}"
        return f"a whole number, or {words}" if self.bare else words

    def read(self, value: object) -> Any:
        """The value as it was written; ValueError says what is allowed."""
        why = self._fault(value)
        if why:
            raise ValueError(f"{value!r} is not allowed for {self.name}: {why}")
        return value

    def told(self, value: object) -> str:
        """The text that the server is given."""
        if self.kind == "flag":
            return "ON" if truth(value) else "OFF"
        if isinstance(value, bool):
            return "on" if value else "off"
        if self.units and (meant := quantity(value, self.units)) is not None:
            return f"{meant:.12g}" if meant in (-1, 0) else f"{round(meant)}{self.suffix}"
        return str(value)

    def is_same(self, given: object, reported: str | None) -> bool:
        """Whether the server's own text means what was given."""
        return self.meaning(given) == self.meaning(reported)

    def meaning(self, value: object) -> object:
        """What a value means, for comparison: a flag, a number, or a text in small letters."""
        if self.kind == "flag":
            return truth(value)
        if self.kind in ("count", "number"):
            return quantity(value, self.units, self.unit)
        return self.told(value).strip().lower()

    def _fault(self, value: object) -> str:
        meant = self.meaning(value)
        if value is None or meant is None:
            return self.allowed()
        if self.kind in ("count", "number"):
            return self._fault_of_number(value, meant) or self.fault(self.told(value))
        if self.kind == "choice" and self.choices:
            known = [str(c) for c in self.choices]
            if meant not in [k.lower() for k in known]:
                return self.allowed() + nearest(self.told(value), known)
        return self.fault(self.told(value))

    def _fault_of_number(self, value: object, meant: Any) -> str:
        written_bare = str(value).strip()[-1:].isdigit()
        if not self.bare and written_bare and meant not in (-1, 0):
            return f"{self.allowed()}; the server would count {value} times {self.unit_name}"
        low, high = self.low, self.high
        if low is None or high is None or (meant in (-1, 0) and low <= meant):
            return ""
        if low * self.unit <= meant <= high * self.unit:
            return ""
        return f"{low:.12g} to {high:.12g} times {self.unit_name or 1}"
