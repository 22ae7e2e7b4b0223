"""Starts nginx as its adapter says, and nothing more: stands for the served target in tests."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.linux.own_user import give, opened, own_user
from assay.targets.servers.framework.adapter import Place
from assay.targets.servers.framework.process import as_user
from assay.targets.servers.nginx import NGINX, SETTINGS

DEFAULTS: dict[str, Any] = {n: p.default for n, p in SETTINGS.items() if p.default is not None}


@dataclass(frozen=True)
class Running:
    """A started server; calling it asks for paths."""

    place: Place
    pid: int
    beside: tuple[int, ...]

    def __call__(self, *asks: str) -> list[list[list[str | None]]]:
        return [[[self.get(path)]] for path in asks]

    def get(self, path: str) -> str:
        url = f"http://127.0.0.1:{self.place.port}{path}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read().decode()


def with_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    return {**DEFAULTS, **given}


@contextmanager
def running(binary: Path, **given: Any) -> Iterator[Running]:
    """nginx with these settings, until the block ends."""
    settings = with_defaults(given)
    with tempfile.TemporaryDirectory(prefix="assay-nginx-") as made:
        place = Place(Path(made), _free_port(), binary, user=own_user())
        with NGINX.beside(place, settings) as beside:
            log = (place.folder / "log").open("wb")
            give(place.folder, place.user)
            tied = ["setpriv", "--pdeathsig", NGINX.orphan_signal.name[3:], "--"]
            with opened(NGINX.command(place, settings), place.user) as (words, held):
                command = as_user([*tied, *words], place.user)
                process = subprocess.Popen(command, stdout=log, stderr=log, pass_fds=held)
            try:
                _wait(process, place)
                yield Running(place, process.pid, tuple(beside))
            finally:
                process.send_signal(NGINX.stop_signal)
                process.wait()
                log.close()


def _wait(process: subprocess.Popen[bytes], place: Place) -> None:
    while True:
        log = (place.folder / "log").read_text()
        fault = NGINX.is_fatal(log)
        if fault or process.poll() is not None:
            raise RuntimeError(f"{fault or process.returncode}\n{log}")
        try:
            socket.create_connection(("127.0.0.1", place.port), 1).close()
            return
        except OSError:
            time.sleep(0.02)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
