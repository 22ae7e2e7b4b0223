"""The line on the terminal that says how long the rest will take."""

from __future__ import annotations

import time
from typing import TextIO

from assay.core.units import format_duration

_LINE = 100


class Progress:
    """Writes to `stream` if that is a terminal, and nothing otherwise.

    `total` is the work of all tables, in any unit; `within` moves on in the present one.
    """

    def __init__(self, stream: TextIO, total: float) -> None:
        self._stream, self._total, self._done = stream, total, 0.0
        self._shown = stream.isatty()
        self._start = time.monotonic()

    def within(self, name: str, work: float, share: float) -> None:
        """`share` of a table that is worth `work` is done."""
        if not self._shown:
            return
        done = (self._done + share * work) / self._total
        spent = time.monotonic() - self._start
        left = spent * (1 - done) / done if done else 0.0
        line = f"{name}: {done:.0%} of all, about {format_duration(left)} left"
        self._stream.write(f"\r{line:{_LINE}.{_LINE}s}\r")
        self._stream.flush()

    def finished(self, work: float) -> None:
        """A table is done: clear the line for it."""
        self._done += work
        if self._shown:
            self._stream.write(f"\r{' ' * _LINE}\r")
            self._stream.flush()
