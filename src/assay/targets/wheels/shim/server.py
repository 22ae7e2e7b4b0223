"""Listens on a Unix socket, gives each connection a thread, and ends in order when it is told."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from pathlib import Path

from .engine import Engine
from .session import ClientSession

ENDS = {signal.SIGTERM, signal.SIGINT}
LEAVE_S = 5.0
"""How long connections get to end what they run, once they are told to."""


def hold_signals() -> None:
    """Signals that end wait until they are asked for. Called before a library starts threads."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)


class EngineServer:
    """Sessions of one engine."""

    def __init__(self, engine: Engine, path: Path, folder: Path) -> None:
        self._engine, self._folder = engine, folder
        self._version = engine.version()
        self._open: dict[ClientSession, tuple[socket.socket, threading.Thread]] = {}
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        path.chmod(0o600)
        self._listener.listen(1024)

    def serve(self) -> None:
        """Until a signal comes; then tells everybody to leave, and waits for them."""
        threading.Thread(target=self._accept, daemon=True).start()
        signal.sigwait(ENDS)
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes whoever waits in accept
        with self._lock:
            leaving = dict(self._open)
        for peer, _ in leaving.values():
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        end = time.monotonic() + LEAVE_S
        for session, (_, thread) in leaving.items():
            _end(session, thread, end)

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return  # shut down
            session = ClientSession(peer, self._engine.connect, self._version, self._folder)
            thread = threading.Thread(target=self._attend, args=(session, peer), daemon=True)
            with self._lock:
                self._open[session] = (peer, thread)
            thread.start()

    def _attend(self, session: ClientSession, peer: socket.socket) -> None:
        try:
            session.serve()
        finally:
            peer.close()
            with self._lock:
                del self._open[session]


def _end(session: ClientSession, thread: threading.Thread, end: float) -> None:
    """Interrupts a session again and again: it may begin what it had read before it was told."""
    while thread.is_alive():
        if session.connection is not None:
            session.connection.interrupt()
        thread.join(0.02)
        if time.monotonic() > end:
            # To close a library under a query that runs would crash it anyway, in more words.
            os.kill(os.getpid(), signal.SIGKILL)
