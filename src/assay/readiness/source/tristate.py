"""Three-valued conditions of the preprocessor: no, yes, and what only a build knows.

A world is a compiler for a processor, told by the macros that it predefines. Values of
expressions are integers, or None where they depend on what nobody told us.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NO, YES, MAYBE = 0, 1, 2

ABSENT = object()
"""In a table of macros: known not to be defined."""

Macros = Mapping[str, object]
"""A macro's text, ABSENT, or None for "perhaps defined, as who knows what"; others are unknown."""

_TOKEN = re.compile(
    r"\s*(?:([A-Za-z_]\w*)|(0[xX][0-9a-fA-F]+|\d[\d']*)[uUlLzZ]*|('(?:\\.|[^'])'|\"[^\"]*\"|<[\w./+-]+>)"
    r"|(&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%<>!~()&|^?:,]))"
)
_BINARY = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="),
    ("<<", ">>"), ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
MOST_DEPTH = 60


def both(a: int, b: int) -> int:
    """And."""
    if NO in (a, b):
        return NO
    return YES if a == b == YES else MAYBE


def either(a: int, b: int) -> int:
    """Or."""
    if YES in (a, b):
        return YES
    return NO if a == b == NO else MAYBE


def negated(a: int) -> int:
    """Not."""
    return MAYBE if a == MAYBE else 1 - a


def is_defined(name: str, macros: Macros) -> int:
    """Whether a macro is defined."""
    if name not in macros:
        return MAYBE
    value = macros[name]
    return NO if value is ABSENT else MAYBE if value is None else YES


def condition(text: str, macros: Macros) -> int:
    """The value of the expression of an #if; MAYBE for one that cannot be read."""
    try:
        value = _ConditionReader(text, macros, 0).expression()
    except _UnreadableError:
        return MAYBE
    return MAYBE if value is None else int(value != 0)


class _UnreadableError(Exception):
    """Not an expression, or too deep."""


class _ConditionReader:
    """A recursive descent over the tokens of one expression."""

    def __init__(self, text: str, macros: Macros, depth: int) -> None:
        if depth > MOST_DEPTH:
            raise _UnreadableError
        self._tokens = _tokens(text)
        self._at = 0
        self._macros = macros
        self._depth = depth

    def expression(self) -> int | None:
        """The whole of it."""
        value = self._ternary()
        if self._at != len(self._tokens):
            raise _UnreadableError
        return value

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise _UnreadableError
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise _UnreadableError

    def _ternary(self) -> int | None:
        value = self._binary(0)
        if self._peek() != "?":
            return value
        self._next()
        then = self._ternary()
        self._expect(":")
        other = self._ternary()
        if value is None:
            return then if then == other else None
        return then if value else other

    def _binary(self, level: int) -> int | None:
        if level == len(_BINARY):
            return self._unary()
        value = self._binary(level + 1)
        while self._peek() in _BINARY[level]:
            operator = self._next()
            value = _combined(operator, value, self._binary(level + 1))
        return value

    def _unary(self) -> int | None:
        token = self._next()
        if token in ("!", "-", "+", "~"):
            self._depth += 1
            if self._depth > MOST_DEPTH:
                raise _UnreadableError
            value = self._unary()
            if value is None:
                return None
            return {"!": int(not value), "-": -value, "+": value, "~": ~value}[token]
        if token == "(":
            self._depth += 1
            if self._depth > MOST_DEPTH:
                raise _UnreadableError
            value = self._ternary()
            self._expect(")")
            return value
        if token[0].isdigit():
            return _number(token)
        if token[0] in "'\"<":
            return None
        return self._name(token)

    def _name(self, name: str) -> int | None:
        if name == "defined":
            has_parenthesis = self._peek() == "("
            if has_parenthesis:
                self._next()
            asked = self._next()
            if has_parenthesis:
                self._expect(")")
            found = is_defined(asked, self._macros)
            return None if found == MAYBE else found
        if self._peek() == "(":
            self._arguments()
            return None
        if name in ("true", "false"):
            return int(name == "true")
        if name not in self._macros:
            return None
        value = self._macros[name]
        if value is ABSENT:
            return 0
        if not isinstance(value, str) or not value.strip():
            return None
        try:
            return _ConditionReader(value, self._macros, self._depth + 20).expression()
        except _UnreadableError:
            return None

    def _arguments(self) -> None:
        depth = 0
        while True:
            token = self._next()
            depth += (token == "(") - (token == ")")
            if depth == 0:
                return


def _tokens(text: str) -> list[str]:
    found = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise _UnreadableError
        found.append(next(group for group in match.groups() if group is not None))
        at = match.end()
    return found


def _number(token: str) -> int:
    plain = token.replace("'", "")
    if plain.lower().startswith("0x"):
        return int(plain, 16)
    is_octal = len(plain) > 1 and plain[0] == "0" and not set(plain) & {"8", "9"}
    return int(plain, 8 if is_octal else 10)


def _combined(operator: str, a: int | None, b: int | None) -> int | None:
    if operator == "&&":
        if a == 0 or b == 0:
            return 0
        return None if a is None or b is None else 1
    if operator == "||":
        if a or b:
            return 1
        return None if a is None or b is None else 0
    if a is None or b is None:
        return None
    if operator in ("/", "%"):
        return None if b == 0 else a // b if operator == "/" else a % b
    if operator in ("<<", ">>"):
        if not 0 <= b <= 64:
            return None
        return a << b if operator == "<<" else a >> b
    return int(
        {
            "|": a | b, "^": a ^ b, "&": a & b, "==": a == b, "!=": a != b, "<": a < b,
            ">": a > b, "<=": a <= b, ">=": a >= b, "+": a + b, "-": a - b, "*": a * b,
        }[operator]
    )  # fmt: skip
