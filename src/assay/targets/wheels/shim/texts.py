"""Statements as texts: where one ends and the next begins, what one is, and COPY."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PIECE = re.compile(
    r"""(?:[^;'"/-]+|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|[-/'"])+""", re.DOTALL
)
"""As far as the next semicolon that stands in no text, no name and no comment."""
_COMMENTS = re.compile(r"(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)+", re.DOTALL)
_COPY = re.compile(
    r"COPY\s+(?P<table>[^\s(]+)\s*(?P<columns>\([^)]*\))?\s+FROM\s+STDIN\s*(?P<options>.*)",
    re.IGNORECASE | re.DOTALL,
)
_TEXT_FORMAT = re.compile(r"(?:WITH\s*)?(?:\(\s*FORMAT\s+'?text'?\s*\))?", re.IGNORECASE)

CHANGES = frozenset({"INSERT", "UPDATE", "DELETE", "COPY"})
"""First words of statements whose result is a count of rows."""
ROWS = frozenset(
    {"SELECT", "WITH", "VALUES", "FROM", "EXPLAIN", "DESCRIBE", "DESC", "SHOW", "PRAGMA", "TABLE"}
)
"""First words of statements whose result is rows."""


def statements(text: str) -> Iterator[str]:
    """The statements of a text, without what stands around them."""
    pieces = _PIECE.findall(text) if ";" in text else [text]
    for piece in pieces:
        bare = piece[match.end() :] if (match := _COMMENTS.match(piece)) else piece
        if bare.strip():
            yield bare.strip()


def word(statement: str) -> str:
    """Its first word, in capitals."""
    match = re.match(r"\(*\s*(\w+)", statement)
    return match[1].upper() if match else ""


def tag(statement: str, rows: int) -> str:
    """What a server says when a statement was run."""
    first = word(statement)
    if first in ROWS:
        return f"SELECT {rows}"
    if first == "INSERT":
        return f"INSERT 0 {rows}"
    if first in CHANGES:
        return f"{first} {rows}"
    words = statement.split(maxsplit=2)
    two = first in ("CREATE", "DROP", "ALTER", "TRUNCATE") and len(words) > 1
    return f"{first} {words[1].upper()}" if two else first


def copied(statement: str) -> tuple[str, str] | None:
    """The table and the columns, in parentheses or empty, of a COPY FROM STDIN; None for others.

    ValueError for one in another format than PostgreSQL's text format.
    """
    match = _COPY.fullmatch(statement)
    if match is None:
        return None
    if not _TEXT_FORMAT.fullmatch(match["options"].strip()):
        raise ValueError(f"only the text format of COPY is served, not {match['options'].strip()}")
    return match["table"], match["columns"] or ""


_ESCAPES = {
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}
_ESCAPED = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", re.DOTALL)


def unescaped(value: bytes) -> bytes | None:
    r"""A value of COPY's text format, or of ClickHouse's TabSeparated: `\N` is NULL."""
    if b"\\" not in value:
        return value
    return None if value == rb"\N" else _ESCAPED.sub(_meant, value)


def _meant(match: re.Match[bytes]) -> bytes:
    escaped = match[1]
    if escaped[:1] == b"x" and len(escaped) > 1:
        return bytes([int(escaped[1:], 16)])
    if escaped.isdigit():
        return bytes([int(escaped, 8) & 0xFF])
    return _ESCAPES.get(escaped, escaped)
