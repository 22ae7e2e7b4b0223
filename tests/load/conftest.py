"""Servers for the tests of load: one of each, for as long as they take."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import servers


@pytest.fixture(scope="session")
def redis() -> Iterator[servers.Server]:
    """A Redis."""
    with servers.redis() as server:
        yield server


@pytest.fixture(scope="session")
def nginx() -> Iterator[servers.Server]:
    """An nginx with a file of 512 bytes."""
    with servers.nginx() as server:
        yield server


@pytest.fixture(scope="session", params=["mariadb", "postgresql"])
def sql(request: pytest.FixtureRequest) -> Iterator[servers.Server]:
    """One SQL server after the other."""
    with getattr(servers, request.param)() as server:
        yield server
