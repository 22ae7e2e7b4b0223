"""Small servers of Assay's own, to try clients and proxies on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from assay._errors import RunError
from assay.native import Serving, Session

SCHEMES = {"http-file": "http", "http-proxy": "http", "resp": "redis"}
"""Kinds, and how their addresses begin."""


@contextlib.contextmanager
def serve(
    kind: str,
    ports: Sequence[int] = (0,),
    bytes_: int = 512,
    upstreams: Sequence[str] = (),
    stall_ms: int = 0,
    period_ms: int = 1000,
) -> Iterator[list[str]]:
    """Serve on loopback as long as the block runs; the servers' URLs.

    `http-file` answers with a file of `bytes_`, `resp` every command with a value of
    that size, `http-proxy` passes requests on to `upstreams` ("HOST:PORT") by turns.
    For the last `stall_ms` of each period nobody is answered. Port 0 is a free one.
    Raises InputError and MissingError (a port that is taken).
    """
    request = {
        "kind": kind, "ports": list(ports), "bytes": bytes_, "upstreams": list(upstreams),
        "stall_ms": stall_ms, "period_ms": period_ms,
    }  # fmt: skip
    session = Session("serve", request)
    try:
        first = next(session.messages())
        if not isinstance(first, Serving):
            raise RunError("assayer serve did not say where it listens")
        yield [f"{SCHEMES[kind]}://127.0.0.1:{port}" for port in first.ports]
    finally:
        session.stop()
