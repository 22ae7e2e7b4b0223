"""Values as TOML writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def toml_text(text: str) -> str:
    """A basic string: JSON's, but that it may not hold DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_list(words: Iterable[str]) -> str:
    """An array of strings."""
    return f"[{', '.join(map(toml_text, words))}]"


def toml_value(value: Any) -> str:
    """A flag, a number, a string, an array of strings, or an inline table of such values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{toml_text(k)} = {toml_value(v)}' for k, v in value.items())} }}"
    return toml_list(value) if isinstance(value, list | tuple) else toml_text(value)
