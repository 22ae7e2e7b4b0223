"""SQL servers for tests: on data made once, for as long as a test takes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.targets.servers.framework.adapter import Adapter
from assay.targets.servers.framework.data import copy
from assay.targets.servers.framework.server import Started


def make(adapter: Adapter, data: Path, log: Path) -> None:
    """Fills a folder with the data of a server that nobody has used but to greet it."""
    with _started(adapter, {}, None, log) as server:
        if welcome := adapter.welcome(server.place):
            server.ask(*welcome)
        _keep(server, data)


@contextlib.contextmanager
def running(
    adapter: Adapter,
    settings: Mapping[str, Any],
    data: Path,
    log: Path,
    keep: Path | None = None,
) -> Iterator[Started]:
    """A server on a copy of `data`; what it makes of them is put into `keep`."""
    with _started(adapter, settings, data, log) as server:
        yield server
        if keep is not None:
            _keep(server, keep)


@contextlib.contextmanager
def _started(
    adapter: Adapter, settings: Mapping[str, Any], data: Path | None, log: Path
) -> Iterator[Started]:
    binary = adapter.programs[0].find()
    assert binary is not None, adapter.programs[0].next_step()
    server = Started(adapter, binary, settings, data, log, {})
    try:
        yield server
    finally:
        server.stop()


def _keep(server: Started, folder: Path) -> None:
    assert server.process.stop()
    folder.mkdir()
    copy(server.folder / "data", folder)
