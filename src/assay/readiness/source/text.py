"""A source as text in which comments, and where asked strings, are blank; lines stay where they
are, and so does every offset."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

_COMMENT = r"//(?:[^\n\\]|\\.|\\\n)*|/\*.*?(?:\*/|\Z)"
# PRIuPTR"(" is no raw string. One that never ends goes to the end, so that it is looked at once.
_RAW = r'R(?<![A-KM-TV-Za-tv-z0-79_]R)"(?P<raw>[^\s()\\]{0,16})\((?:.*?\)(?P=raw)"|.*\Z)'
_STRING = r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\''
# Every alternative begins with a letter of its own: the search skips all others at once.
_C = re.compile(f"{_COMMENT}|{_RAW}|{_STRING}", re.DOTALL)
_QUOTED = re.compile(f"{_RAW}|{_STRING}", re.DOTALL)
_HASH = re.compile(r"(?:(?<=\s)|^)(?:#|dnl\b)[^\n]*", re.MULTILINE)


def blank(text: str) -> str:
    """As many spaces, with line ends kept."""
    if "\n" not in text:
        return " " * len(text)
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _blank_comment(match: re.Match[str]) -> str:
    return blank(match[0]) if match[0][0] in "/#d" else match[0]


def _blank_string(match: re.Match[str]) -> str:
    text = match[0]
    return f"{text[0]}{blank(text[1:-1])}{text[-1]}"


class Text:
    """The text of one file, and where its lines begin."""

    def __init__(self, raw: str, language: str) -> None:
        self.raw = raw.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")
        self.language = language

    @cached_property
    def bare(self) -> str:
        """Without comments."""
        pattern = _HASH if self.language == "build" else _C
        return pattern.sub(_blank_comment, self.raw)

    @cached_property
    def code(self) -> str:
        """Without comments and what is in strings."""
        return _QUOTED.sub(_blank_string, self.bare)

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        starts += [match.end() for match in re.finditer("\n", self.raw)]
        return starts

    def line_of(self, offset: int) -> int:
        """The line, from 1, that an offset lies in."""
        return bisect_right(self._starts, offset)

    def start_of(self, line: int) -> int:
        """The offset at which a line begins; the text's end for one beyond it."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.raw)

    def line(self, line: int) -> str:
        """A line, stripped."""
        return self.raw[self.start_of(line) : self.start_of(line + 1)].strip()

    @property
    def lines(self) -> int:
        """How many there are."""
        return len(self._starts)
