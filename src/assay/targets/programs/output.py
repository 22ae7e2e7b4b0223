"""The output of a program: watched while it runs, and cut to its two ends when it is over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

MOST_BYTES = 64 << 20
"""More makes the disk, and not the server, what is measured."""
KEPT_BYTES = 1 << 16
"""Of each end."""
EVERY_S = 0.25


class OutputLimit:
    """Looks at a log now and then, and calls once when it has grown too much."""

    def __init__(self, log: Path, exceeded: Callable[[], object]) -> None:
        self._log, self._exceeded = log, exceeded
        self._begun = _size(log)
        self._over = threading.Event()
        self.is_exceeded = False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    @property
    def why(self) -> str:
        """What is to be said of it; empty where it was not exceeded."""
        if not self.is_exceeded:
            return ""
        return (
            f"it was killed, for it wrote more than {MOST_BYTES >> 20} MiB to its output: make it "
            "write less, or throw it away with quiet = true"
        )

    def _watch(self) -> None:
        while not self._over.wait(EVERY_S):
            if _size(self._log) - self._begun > MOST_BYTES:
                self.is_exceeded = True
                self._exceeded()
                return

    def stop(self) -> None:
        """Ends it, and cuts the log where it is long. Safe to call twice."""
        self._over.set()
        self._thread.join()
        cut(self._log)


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0


def cut(log: Path) -> None:
    """Leaves of a long log its two ends, and says what is gone."""
    size = _size(log)
    if size <= 4 * KEPT_BYTES:
        return
    with log.open("rb+") as file:
        head = file.read(KEPT_BYTES)
        file.seek(size - KEPT_BYTES)
        tail = file.read()
        file.seek(0)
        gone = f"\nassay: {size - 2 * KEPT_BYTES} bytes are left out here\n".encode()
        file.write(head + gone + tail)
        file.truncate()
