"""A number out of what a command printed: by a regular expression, or by a path in JSON.

A pattern that begins with `$` and a dot or a bracket is a path: `$.runs[0].rate`, `$["op/s"]`. Any
other is a regular expression of Python's; its last match counts, and of that the first group.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from assay.core.errors import RunError

_STEP = re.compile(r"""\.([A-Za-z_][\w-]*)|\[(\d+)\]|\[(?:"([^"]*)"|'([^']*)')\]""")
_NUMBER = re.compile(r"[-+]?(?:\d[\d,_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
SHOWN = 200


@dataclass(frozen=True)
class Pattern:
    """Where the number stands. ValueError from `of` if the text is no such pattern."""

    text: str
    expression: re.Pattern[str] | None
    steps: tuple[str | int, ...]

    @classmethod
    def of(cls, text: str) -> Pattern:
        """The pattern in a text."""
        if re.match(r"\$[.\[]", text):
            return cls(text, None, _steps(text))
        try:
            expression = re.compile(text, re.MULTILINE)
        except re.error as error:
            raise ValueError(f"{text!r} is no regular expression: {error}") from None
        if expression.groups > 1:
            raise ValueError(f"{text!r} has {expression.groups} groups: put one around the number")
        return cls(text, expression, ())

    def find(self, printed: str) -> float:
        """The number in what was printed; RunError with its end if it is not there."""
        found = self._at_path(printed) if self.expression is None else self._matched(printed)
        if not math.isfinite(found):
            raise RunError(f"the command printed {found}, no number, at {self.text!r}")
        return found

    def _matched(self, printed: str) -> float:
        assert self.expression is not None
        matches = list(self.expression.finditer(printed))
        if not matches:
            raise RunError(
                f"the command printed nothing that matches {self.text!r}; "
                f"it ended with {printed.strip()[-SHOWN:]!r}",
                next_step="try the pattern on its output",
            )
        last = matches[-1]
        text = last.group(1) if self.expression.groups else last.group()
        number = _NUMBER.search(text or "")
        if number is None:
            raise RunError(f"what matches {self.text!r} holds no number: {text!r}")
        return float(number.group().replace(",", "").replace("_", ""))

    def _at_path(self, printed: str) -> float:
        try:
            value: Any = json.loads(printed)
        except ValueError as error:
            raise RunError(
                f"the command printed no JSON: {error}; it ended with {printed.strip()[-SHOWN:]!r}",
                next_step="of more than a MiB of output only the last is kept",
            ) from None
        for step in self.steps:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                raise RunError(
                    f"the JSON that was printed has no {step!r} of {self.text}"
                ) from None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RunError(f"{self.text} in the JSON that was printed is no number: {value!r}")
        return float(value)


def _steps(text: str) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    place = 1
    while place < len(text):
        match = _STEP.match(text, place)
        if match is None:
            raise ValueError(f"{text!r} is no path: write for example $.runs[0].rate")
        name, index, double, single = match.groups()
        steps.append(int(index) if index is not None else name or double or single or "")
        place = match.end()
    return tuple(steps)
