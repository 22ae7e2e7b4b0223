"""A line on the terminal while a command works for more than two seconds: what, and how long yet.

How long deciding takes cannot be seen from outside, but it costs about so many times the reading
of the same runs; so the end is foretold from the time that reading took.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

from assay.core.units import format_duration

WORTH_SHOWING_S = 2.0
_SURE_AFTER_S = 0.2  # reading so long foretells the rest well enough
_DECIDING = 3.0  # times the reading; a million runs, with order and without: 2.5 to 4


class Waiting:
    """Shows itself on stderr if that is a terminal and the work turns out to be long."""

    def __init__(
        self,
        console: Console,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console, self.clock = console, clock
        self.doing = "reading the runs"
        self.began_s = clock()
        self.read_s: float | None = None
        self.end_s: float | None = None  # None: nothing foretells it
        self.spinner = Spinner("dots")
        self.live: Live | None = None

    def __enter__(self) -> Waiting:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def reading(self, done: int, total: int) -> None:
        """`done` of `total` bytes have been read (0: not known)."""
        spent = self.clock() - self.began_s
        if spent < _SURE_AFTER_S:
            return
        if done and total:
            self.end_s = self.began_s + spent * total / done * (1 + _DECIDING)
        self._show()

    def deciding(self, share: float) -> None:
        """Everything is read, and `share` of it (0 to 1) decided."""
        now = self.clock()
        if self.read_s is None:
            self.read_s = now - self.began_s
        self.doing = "deciding on them"
        self.end_s = now + self.read_s * _DECIDING * (1 - share)
        self._show()

    def text(self) -> str:
        """What is going on, for people."""
        if self.end_s is None:
            return f"{self.doing}, {format_duration(self.clock() - self.began_s)} so far"
        left = round(self.end_s - self.clock())
        if left < 1:
            return f"{self.doing}, nearly done"
        duration = f"{left} s" if left < 60 else format_duration(left)
        return f"{self.doing}, about {duration} left"

    def _show(self) -> None:
        now = self.clock()
        long = (self.end_s or now) - self.began_s > WORTH_SHOWING_S
        if self.live is None and long and self.console.is_terminal:
            self.live = Live(
                console=self.console,
                get_renderable=self._render,
                transient=True,
                refresh_per_second=4,
            )
            self.live.start()

    def _render(self) -> Spinner:
        self.spinner.update(text=self.text())
        return self.spinner
