"""Small servers of Assay's own, to try clients and proxies on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from assay.core.errors import InputError, RunError
from assay.native import FixtureServers, Session

SCHEMES = {
    "http-file": "http",
    "http-proxy": "http",
    "resp": "redis",
    "memcached": "memcached",
    "tpcc": "",
}
"""Kinds, and how their addresses begin; that of a stand-in is its protocol's name."""

STAND_IN = "tpcc"
"""The kind that answers without data."""

STAND_IN_WORDS = "assay stand-in"
"""How each of its errors begins, and what its version has in it."""

STAND_IN_PROTOCOLS = ("postgresql", "mysql")


@contextlib.contextmanager
def serve(
    kind: str,
    ports: Sequence[int] = (0,),
    bytes_: int = 512,
    upstreams: Sequence[str] = (),
    stall_ms: int = 0,
    period_ms: int = 1000,
    protocol: str | None = None,
) -> Iterator[list[str]]:
    """Serve on loopback as long as the block runs; the servers' URLs.

    `http-file` answers with a file of `bytes_`, `resp` every command with a value of
    that size, `http-proxy` passes requests on to `upstreams` ("HOST:PORT") by turns.
    `tpcc` speaks `protocol` ("postgresql" or "mysql"), lets everybody in and answers the
    statements of TPC-C's terminals without data: for measuring a client, not a server.
    For the last `stall_ms` of each period nobody is answered. Port 0 is a free one.
    Raises InputError and MissingError (a port that is taken).
    """
    request = {
        "kind": kind, "ports": list(ports), "bytes": bytes_, "upstreams": list(upstreams),
        "stall_ms": stall_ms, "period_ms": period_ms,
    }  # fmt: skip
    if kind == STAND_IN:
        if protocol not in STAND_IN_PROTOCOLS:
            raise InputError(
                f"a stand-in for an SQL server speaks {' or '.join(STAND_IN_PROTOCOLS)}",
                next_step=f"--protocol {STAND_IN_PROTOCOLS[0]}",
            )
        request["protocol"] = protocol
    session = Session("serve", request)
    try:
        first = next(session.messages())
        if not isinstance(first, FixtureServers):
            raise RunError("assayer serve did not say where it listens")
        if kind == STAND_IN:
            yield [f"{protocol}://assay@127.0.0.1:{port}/assay" for port in first.ports]
        else:
            yield [f"{SCHEMES[kind]}://127.0.0.1:{port}" for port in first.ports]
    finally:
        session.stop()
