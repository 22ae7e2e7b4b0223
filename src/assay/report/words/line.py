"""A line of text for people, before anything decides where it is printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line of text and the style that a terminal may give it."""

    text: str
    style: str = ""
