"""One table of a TOML document, read key by key.

For files whose shape is plain: every mistake is noted with its line and column, the reading goes
on with a stand-in, and at the end `unknown` tells of keys that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, TypeGuard, TypeVar, overload

from assay.core.document import Document, Path
from assay.core.errors import Problem
from assay.core.parameters import nearest

T = TypeVar("T")
D = TypeVar("D")
C = TypeVar("C", bound=str)


class _Required(Enum):
    """Stands for a default where there is none."""

    REQUIRED = "required"


REQUIRED = _Required.REQUIRED


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

    @overload
    def text(self, key: str) -> str: ...
    @overload
    def text(self, key: str, default: D) -> str | D: ...
    def text(self, key: str, default: object = REQUIRED) -> object:
        """A text that is not empty."""
        return self._read(key, default, "", _is_text, "a text")

    @overload
    def texts(self, key: str) -> list[str]: ...
    @overload
    def texts(self, key: str, default: D) -> list[str] | D: ...
    def texts(self, key: str, default: object = REQUIRED) -> object:
        """A list of texts; one alone stands for a list of one."""
        value = self._read(key, default, [], _is_texts, "a text, or a list of texts")
        return [value] if isinstance(value, str) else value

    def flag(self, key: str) -> bool:
        """True or false; false where nothing is said."""
        return self._read(key, False, False, _is_flag, "true or false")

    @overload
    def count(self, key: str) -> int: ...
    @overload
    def count(self, key: str, default: D) -> int | D: ...
    def count(self, key: str, default: object = REQUIRED) -> object:
        """A whole number of at least 1."""
        return self._read(key, default, 1, _is_count, "a whole number of at least 1")

    @overload
    def number(self, key: str) -> float: ...
    @overload
    def number(self, key: str, default: D) -> float | D: ...
    def number(self, key: str, default: object = REQUIRED) -> object:
        """A positive number."""
        return self._read(key, default, 1.0, _is_positive, "a number above 0")

    @overload
    def choice(self, key: str, choices: Iterable[C]) -> C: ...
    @overload
    def choice(self, key: str, choices: Iterable[C], default: D) -> C | D: ...
    def choice(self, key: str, choices: Iterable[str], default: object = REQUIRED) -> object:
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
        return self._read(key, {}, {}, _is_table, "a table")

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

    def _read(
        self,
        key: str,
        default: D | _Required,
        stand_in: T,
        fits: Callable[[object], TypeGuard[T]],
        what: str,
    ) -> T | D:
        self.asked.append(key)
        if key not in self.values:
            if not isinstance(default, _Required):
                return default
            self.wrong((), f"{key!r} is missing in {self.what}", f"add {key} = {what}")
            return stand_in
        value = self.values[key]
        if fits(value):
            return value
        self.wrong((key,), f"{key} should be {what}, not {value!r}", "correct it")
        return stand_in


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _is_flag(value: object) -> TypeGuard[bool]:
    return isinstance(value, bool)


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and value >= 1


def _is_positive(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_tables(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(v, dict) for v in value)


def _is_texts(value: object) -> TypeGuard[str | list[str]]:
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)
    )
