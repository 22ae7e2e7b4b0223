"""Ctrl-C that is not lost.

Python raises KeyboardInterrupt wherever its main thread stands. Inside of a finaliser (`__del__`,
the callback of a weak reference) it is printed and forgotten, and the study goes on. So the command
line keeps it in mind as well, and studies and pilots ask before each run.
"""

from __future__ import annotations

import signal
from types import FrameType

_asked = False


def listen() -> None:
    """SIGINT and SIGTERM are KeyboardInterrupt from now on, and kept in mind.

    SIGINT stays ignored where it is: a shell does that to what it starts in the background.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, hear)
    signal.signal(signal.SIGTERM, hear)


def hear(number: int, frame: FrameType | None) -> None:
    """The handler: raises KeyboardInterrupt."""
    global _asked
    _asked = True
    signal.default_int_handler(number, frame)


def stop_if_asked() -> None:
    """KeyboardInterrupt if one was raised before, whatever became of it."""
    if _asked:
        raise KeyboardInterrupt
