"""How much is simulated, and the shape of a function that makes a table."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from .rows import Table

Steps = Generator[float, None, Table]
"""Yields the share of its work that is done, for the line on the terminal; returns the table."""


@dataclass(frozen=True)
class Scale:
    """How many.

    studies  simulated under each condition
    timed    per side and block, where seconds are compared
    """

    studies: int = 2000
    timed: int = 100
    seed: int = 1


QUICK = Scale(studies=10, timed=1)
