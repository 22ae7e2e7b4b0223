"""Text of strangers on its way to a terminal: messages of servers, names out of bundles."""

from __future__ import annotations

import json
import unicodedata

_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control characters, marks of direction, halves of characters, separators of lines."""


def printable(text: str, kept: str = "") -> str:
    """The text, in which nothing can steer a terminal: \\x1b stands for an escape.

    Characters of `kept` stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(_written(c) if _steers(c) and c not in kept else c for c in text)


def printable_json(text: str) -> str:
    """JSON that means the same, in which nothing can steer a terminal."""
    if text.isascii():
        return text
    return "".join(json.dumps(c)[1:-1] if _steers(c) and c != "\n" else c for c in text)


def markdown_cell(text: str) -> str:
    """Text for a cell of a Markdown table: no part of it is taken for HTML, or ends the cell."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def _steers(character: str) -> bool:
    return unicodedata.category(character) in _STEERING


def _written(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
