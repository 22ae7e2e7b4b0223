"""A parameter: one thing a target or a workload can be told, and what is allowed.

Targets declare their settings and workloads their parameters with this one
type, so that a study file is checked, listed and explained the same way
everywhere, before anything starts.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assay.core.units import parse_duration, parse_size

Kind = Literal["choice", "count", "flag", "size", "duration", "number", "any", "words"]


@dataclass(frozen=True)
class Parameter:
    """What may be given. `default` is in the unit used inside (seconds, bytes)."""

    name: str
    kind: Kind
    text: str
    default: Any = None
    choices: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None

    def allowed(self) -> str:
        """What may be written, for an error message or a list."""
        if self.choices:
            return ", ".join(str(c) for c in self.choices)
        words = {
            "count": "a whole number",
            "flag": "true or false",
            "size": 'a size such as "16KiB"',
            "duration": 'a duration such as "50ms"',
            "number": "a number",
            "choice": "a name",
            "any": "a text, a number, or true or false",
            "words": 'a list of words, such as ["systemctl", "restart", "mariadb"]',
        }[self.kind]
        if self.low is not None and self.high is not None:
            return f"{words} from {self.low:.12g} to {self.high:.12g}"
        return f"{words} of at least {self.low:.12g}" if self.low is not None else words

    def read(self, value: object) -> Any:
        """The value in the unit used inside; ValueError says what is allowed."""
        if self.choices:
            if value in self.choices and type(value) is type(self.choices[0]):
                return value
            hint = nearest(str(value), [str(c) for c in self.choices])
            raise ValueError(f"{value!r} is not allowed for {self.name}: {self.allowed()}{hint}")
        return self._in_range(self._of_kind(value), value)

    def _of_kind(self, value: object) -> Any:
        if self.kind == "size":
            return parse_size(value)
        if self.kind == "duration":
            return parse_duration(value)
        if self.kind == "words":
            if isinstance(value, list) and value and all(isinstance(w, str) for w in value):
                return value
            raise ValueError(f"{value!r} is not allowed for {self.name}: {self.allowed()}")
        wanted: tuple[type, ...] = {
            "count": (int,),
            "flag": (bool,),
            "number": (int, float),
            "choice": (str,),
            "any": (str, int, float),
        }[self.kind]
        is_bool = isinstance(value, bool) and self.kind not in ("flag", "any")
        if not isinstance(value, wanted) or is_bool:
            raise ValueError(f"{value!r} is not allowed for {self.name}: {self.allowed()}")
        return value

    def _in_range(self, read: Any, written: object) -> Any:
        if (self.low is not None and read < self.low) or (
            self.high is not None and read > self.high
        ):
            raise ValueError(f"{written!r} is not allowed for {self.name}: {self.allowed()}")
        return read


def by_name(parameters: Iterable[Parameter]) -> Mapping[str, Parameter]:
    """The parameters keyed by name, in the order given."""
    return {p.name: p for p in parameters}


def nearest(word: str, known: Iterable[str]) -> str:
    """'; did you mean X?' for the nearest known name, or nothing."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""
