"""One table of a TOML document, read key by key.

For files whose shape is plain: every mistake is noted with its line and column, the reading goes
on with a stand-in, and at the end `unknown` tells of keys that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.core.document import Document, Path
from assay.core.errors import Problem
from assay.core.parameters import nearest

REQUIRED: Any = object()
"""Stands for a default where there is none."""


class Fields:
    """The keys of the table at `path`. `what` names it in messages."""

    def __init__(self, document: Document, path: Path, what: str, problems: list[Problem]) -> None:
        self.document, self.path, self.what, self.problems = document, path, what, problems
        self.asked: list[str] = []
        values: Any = document.values
        for part in path:
            values = values[part]
        self.values: dict[str, Any] = values if isinstance(values, dict) else {}
        if not isinstance(values, dict):
            self.wrong((), f"{what} should be a table", "write it as [name] or { key = value }")

    def wrong(self, further: Path, message: str, next_step: str) -> None:
        """Note a mistake at a key of this table, or at the table itself."""
        self.problems.append(self.document.problem((*self.path, *further), message, next_step))

    def text(self, key: str, default: Any = REQUIRED) -> Any:
        """A text that is not empty."""
        return self._read(key, default, "", lambda v: isinstance(v, str) and v.strip(), "a text")

    def texts(self, key: str, default: Any = REQUIRED) -> Any:
        """A list of texts; one alone stands for a list of one."""
        value = self._read(key, default, [], _is_texts, "a text, or a list of texts")
        return [value] if isinstance(value, str) else value

    def flag(self, key: str) -> bool:
        """True or false; false where nothing is said."""
        return self._read(key, False, False, lambda v: isinstance(v, bool), "true or false")

    def count(self, key: str, default: Any = REQUIRED) -> Any:
        """A whole number of at least 1."""
        said = "a whole number of at least 1"
        return self._read(key, default, 1, lambda v: type(v) is int and v >= 1, said)

    def number(self, key: str, default: Any = REQUIRED) -> Any:
        """A positive number."""
        return self._read(
            key, default, 1.0, lambda v: type(v) in (int, float) and v > 0, "a number above 0"
        )

    def choice(self, key: str, choices: Iterable[str], default: Any = REQUIRED) -> Any:
        """One of the words given."""
        choices = list(choices)
        value = self.text(key, default)
        if key not in self.values or value in choices or not value:
            return value
        hint = nearest(str(value), choices)
        self.wrong(
            (key,), f"{key}: {value!r} is not allowed{hint}", f"use one of {', '.join(choices)}"
        )
        return choices[0]

    def table(self, key: str) -> dict[str, Any]:
        """A table; an empty one where nothing is said."""
        return self._read(key, {}, {}, lambda v: isinstance(v, dict), "a table")

    def tables(self, key: str) -> int:
        """How many tables stand in an array of them, written as [[key]]."""
        return len(self._read(key, [], [], _is_tables, f"tables, each written as [[{key}]]"))

    def unknown(self) -> None:
        """Note every key that was never asked for."""
        for key in self.values:
            if key not in self.asked:
                self.wrong(
                    (key,),
                    f"unknown key {key!r} in {self.what}{nearest(key, self.asked)}",
                    f"allowed here: {', '.join(self.asked)}",
                )

    def _read(self, key: str, default: Any, stand_in: Any, fits: Any, what: str) -> Any:
        self.asked.append(key)
        if key not in self.values:
            if default is not REQUIRED:
                return default
            self.wrong((), f"{key!r} is missing in {self.what}", f"add {key} = {what}")
            return stand_in
        value = self.values[key]
        if fits(value):
            return value
        self.wrong((key,), f"{key} should be {what}, not {value!r}", "correct it")
        return stand_in


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, dict) for v in value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)
    )
