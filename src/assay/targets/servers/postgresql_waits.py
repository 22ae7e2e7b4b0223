"""What statements of PostgreSQL wait for: `pg_stat_activity`, looked at some times a second.

A thread of ours asks over one connection of its own, by the simple query protocol. A
statement that is seen waiting in one of n samples is taken to have waited a share
1/n of the time: totals are in ns, as a server's own would be. Each look is a
transaction of its own, so that none holds back the cleaning of old rows. What it
costs is in the counters: `sampler.busy_s`, the time from asking to the answer. The
looking backend belongs to the server, and its CPU time is counted as such.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import Counter
from pathlib import Path

from assay.core.errors import RunError
from assay.targets.servers.framework.attachment import Asks

PATIENCE_S = 60.0
EVENTS = (
    "all",
    *(
        f"LWLock/{name}"
        for name in (
            *("BufferContent", "BufferMapping", "LockManager", "ProcArray", "WALInsert"),
            *("WALWrite", "XactSLRU", "XidGen"),
        )
    ),
    *("Lock/transactionid", "Lock/tuple", "Lock/relation", "Lock/extend"),
    *("IO/WALSync", "IO/WALWrite", "IO/DataFileRead", "IO/DataFileWrite", "IO/DataFileExtend"),
    "BufferPin/BufferPin",
)
"""Events that a study may name; any other that is seen is told too."""

RUNNING = "running"
_LOOK = (
    f"SELECT coalesce(wait_event_type || '/' || wait_event, '{RUNNING}'), count(*) "
    "FROM pg_stat_activity WHERE backend_type = 'client backend' AND state = 'active' "
    "AND wait_event_type IS DISTINCT FROM 'Client' AND pid <> pg_backend_pid() GROUP BY 1"
)


class Sampler:
    """Looks from now on, until it is stopped."""

    def __init__(self, path: Path, user: str, database: str, per_s: float) -> None:
        self._period_s = 1.0 / per_s
        self._seen: Counter[str] = Counter()
        self._samples, self._busy_s = 0, 0.0
        self._fault = ""
        self._over = threading.Event()
        self._connection = _Connection(path, user, database)
        self._begun = time.monotonic()
        self._ended = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                begun = time.monotonic()
                for event, count in self._connection.rows(_LOOK):
                    self._seen[event] += int(count)
                self._samples += 1
                self._busy_s += time.monotonic() - begun
                self._over.wait(max(0.0, begun + self._period_s - time.monotonic()))
        except (OSError, RunError) as error:
            self._fault = str(error)  # the run fails by itself, if the server is gone

    def stop(self) -> dict[str, float]:
        """`wait_ns` by event, in ns summed over statements; samples, and what they took."""
        self._over.set()
        self._thread.join()
        self._ended = self._ended or time.monotonic()
        self._connection.close()
        if self._fault or not self._samples:
            return {}
        totals = _totals(self._seen, self._samples, self._ended - self._begun)
        return totals | {"sampler.busy_s": self._busy_s}


def looked(ask: Asks, seconds: float, per_s: float) -> dict[str, float]:
    """The same over one connection of whoever may ask, which sleeps between two looks; it takes
    `seconds`. RunError if the server refuses."""
    looks = max(round(seconds * per_s), 1)
    answers = ask(*[_LOOK, f"SELECT pg_sleep({1 / per_s:.3f})"] * looks)[::2]
    seen: Counter[str] = Counter()
    for event, count in (row for rows in answers for row in rows):
        seen[str(event)] += int(count or 0)
    return _totals(seen, looks, seconds)


def _totals(seen: Counter[str], samples: int, span_s: float) -> dict[str, float]:
    each = 1e9 * span_s / samples
    waited = {f"wait_ns.{e}": n * each for e, n in seen.items() if e != RUNNING}
    return waited | {"running_ns": seen[RUNNING] * each, "wait_samples": float(samples)}


class _Connection:
    """A connection over a Unix socket, of a user that is trusted."""

    def __init__(self, path: Path, user: str, database: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(PATIENCE_S)
        try:
            self._socket.connect(str(path))
            names = f"user\0{user}\0database\0{database}\0application_name\0assay\0\0".encode()
            self._socket.sendall(struct.pack("!ii", 8 + len(names), 196608) + names)
            self._until_ready()
        except OSError as error:
            self._socket.close()
            raise RunError(f"waits cannot be sampled: {error}") from error
        except BaseException:
            self._socket.close()
            raise

    def rows(self, query: str) -> list[list[str]]:
        """The rows of a query, whose values are no NULLs."""
        body = query.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack("!i", 4 + len(body)) + body)
        return self._until_ready()

    def close(self) -> None:
        self._socket.close()

    def _until_ready(self) -> list[list[str]]:
        found: list[list[str]] = []
        while True:
            kind, length = struct.unpack("!ci", self._exactly(5))
            body = self._exactly(length - 4)
            if kind == b"Z":
                return found
            if kind == b"E":
                fields = (f.decode("utf-8", "replace") for f in body.split(b"\0"))
                said = next((f[1:] for f in fields if f.startswith("M")), "an error")
                raise RunError(f"waits cannot be sampled: {said}")
            if kind == b"D":
                found.append(_row(body))

    def _exactly(self, length: int) -> bytes:
        read = b""
        while len(read) < length:
            part = self._socket.recv(length - len(read))
            if not part:
                raise ConnectionError("the server closed the connection")
            read += part
        return read


def _row(body: bytes) -> list[str]:
    """The columns of a DataRow as texts."""
    (columns,) = struct.unpack_from("!h", body)
    found, at = [], 2
    for _ in range(columns):
        (length,) = struct.unpack_from("!i", body, at)
        found.append(body[at + 4 : at + 4 + length].decode())
        at += 4 + length
    return found
