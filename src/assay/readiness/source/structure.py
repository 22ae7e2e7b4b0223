"""Functions and loops of a C file, found by brackets: where a line stands, not what it means.

The text is that of one world. A brace in the first column ends what was left open by macros or
by branches of an #if, so that one odd function costs no more than itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_TOKEN = re.compile(r"[{}();]|\b(?:for|while)\b")
_NAMED = re.compile(r"([A-Za-z_~][\w:~]*)\s*\(")
_CONTROL = re.compile(r"\s*(?:if|else|switch|catch|return|try|namespace|extern\s*\")")
_TYPE = re.compile(r"\s*(?:typedef\s+)?(?:struct|class|enum|union)\b")
_LOOP = re.compile(r"\s*(?:for|while)\b|(?:.*[\s;)])?do\s*$", re.DOTALL)
_ASSIGNED = re.compile(r"(?<![=!<>])=(?!=)")
_KEYWORDS = frozenset(
    ("if", "for", "while", "switch", "return", "sizeof", "catch", "defined", "__attribute__",
     "__declspec", "alignas", "noexcept", "decltype", "throw")
)  # fmt: skip


@dataclass(frozen=True)
class Span:
    """A stretch of the text, by offsets; `body` is where its block begins."""

    start: int
    end: int
    name: str = ""
    body: int = 0


@dataclass
class _Block:
    start: int
    kind: str
    name: str
    header: int


class Structure:
    """Where functions and loops are."""

    def __init__(self, code: str) -> None:
        self.functions: list[Span] = []
        self.loops: list[Span] = []
        self._stack: list[_Block] = []
        self._without_block: list[int] = []
        self._read(code)
        self.functions.sort(key=lambda span: span.start)
        self._starts = [span.start for span in self.functions]

    def function_at(self, offset: int) -> Span | None:
        """The function that an offset lies in."""
        at = bisect_right(self._starts, offset) - 1
        if at >= 0 and offset < self.functions[at].end:
            return self.functions[at]
        return None

    def loops_at(self, offset: int) -> list[Span]:
        """The loops that an offset lies in, the innermost first."""
        around = [span for span in self.loops if span.start <= offset < span.end]
        return sorted(around, key=lambda span: span.end - span.start)

    def _read(self, code: str) -> None:
        parentheses: list[int] = []  # where the loop began that each belongs to, or -1
        boundary, loop_at = 0, -1
        for match in _TOKEN.finditer(code):
            token, at = match[0], match.start()
            if token in "{}" and (at == 0 or code[at - 1] == "\n"):
                parentheses.clear()
            if token in ("for", "while"):
                loop_at = at
            elif token == "(":
                parentheses.append(loop_at)
                loop_at = -1
            elif token == ")":
                began = parentheses.pop() if parentheses else -1
                if began >= 0 and not code[at + 1 : at + 400].lstrip().startswith("{"):
                    self._without_block.append(began)
            elif not parentheses:
                if token == "{":
                    self._open(code, boundary, at)
                elif token == "}":
                    self._close(at, is_outer=at > 0 and code[at - 1] == "\n")
                if token != "{":
                    self._end_loops(at)
                boundary = at + 1

    def _end_loops(self, at: int) -> None:
        """Loops of one statement end with it, but not with those inside a block of theirs."""
        inner = self._stack[-1].start if self._stack else -1
        while self._without_block and self._without_block[-1] > inner:
            self.loops.append(Span(self._without_block.pop(), at + 1))

    def _open(self, code: str, boundary: int, at: int) -> None:
        header = code[boundary:at]
        lead = boundary + len(header) - len(header.lstrip())
        block = _Block(at, "other", "", boundary)
        if _LOOP.match(header):
            block = _Block(at, "loop", "", lead)
        elif _ASSIGNED.search(header):
            block.kind = "values"
        elif not any(b.kind in ("function", "values") for b in self._stack):
            named = self._function_in(header)
            if named is not None:
                block = _Block(at, "function", named[1], boundary + named.start())
        self._stack.append(block)

    @staticmethod
    def _function_in(header: str) -> re.Match[str] | None:
        is_type = _TYPE.match(header) and not header.rstrip().endswith(")")
        if is_type or _CONTROL.match(header):
            return None
        names = (n for n in _NAMED.finditer(header) if n[1] not in _KEYWORDS)
        return next(names, None)

    def _close(self, at: int, is_outer: bool) -> None:
        has_function = any(block.kind == "function" for block in self._stack)
        while self._stack:
            block = self._stack.pop()
            if block.kind == "function":
                self.functions.append(Span(block.header, at + 1, block.name, block.start))
            elif block.kind == "loop":
                self.loops.append(Span(block.header, at + 1, "", block.start))
            if not (is_outer and has_function) or block.kind == "function":
                return
