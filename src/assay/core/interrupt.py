"""Ctrl-C that is not lost.

Python raises KeyboardInterrupt wherever its main thread stands. Inside of a finaliser (`__del__`,
the callback of a weak reference) it is printed and forgotten, and the study goes on. So the command
line keeps it in mind as well, and studies and pilots ask before each run. What must not be left
half done, such as bringing values of the host back, holds it off for a moment.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_asked = False
_waits = False


def listen() -> None:
    """SIGINT and SIGTERM are KeyboardInterrupt from now on, and kept in mind.

    SIGINT stays ignored where it is: a shell does that to what it starts in the background.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, hear)
    signal.signal(signal.SIGTERM, hear)


def hear(number: int, frame: FrameType | None) -> None:
    """The handler: raises KeyboardInterrupt, now or when the block that holds it off is over."""
    global _asked
    is_first, _asked = not _asked, True
    if not (_waits and is_first):
        signal.default_int_handler(number, frame)


def stop_if_asked() -> None:
    """KeyboardInterrupt if one was raised before, whatever became of it."""
    if _asked:
        raise KeyboardInterrupt


@contextmanager
def held_off() -> Iterator[None]:
    """Ctrl-C waits until the block is over. A second one does not."""
    global _waits
    before, _waits = _waits, True
    try:
        yield
    finally:
        _waits = before
    stop_if_asked()


@contextmanager
def heard() -> Iterator[None]:
    """Inside of such a block: here it does not wait."""
    global _waits
    before, _waits = _waits, False
    try:
        stop_if_asked()
        yield
    finally:
        _waits = before
