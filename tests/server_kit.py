"""What tests of served targets share: a launch of Redis, and looking for what was left behind."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.targets import TARGETS, Launch
from assay.targets.servers.framework.target import ServerTarget
from assay.targets.servers.redis import Redis
from assay.workloads import WORKLOADS

KEYS = {"keys": 500, "value_bytes": 20, "pipeline": 1}


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a temporary folder of the test's own, which any user may enter; nothing may be
    left in the latter."""
    temporary = Path(tempfile.mkdtemp(prefix="servers-"))
    temporary.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield temporary
    assert left_in(temporary) == []
    # A process that was killed may take a moment to be gone.
    end = time.monotonic() + 10
    while servers_in(temporary) and time.monotonic() < end:
        time.sleep(0.01)
    assert servers_in(temporary) == []
    shutil.rmtree(temporary)


def left_in(folder: Path) -> list[str]:
    """What a run has left in a folder."""
    return [p.name for p in folder.iterdir() if p.name.startswith("assay-")]


def wait_for(is_so, patience_s: float = 60.0) -> bool:
    """Waits for something that will be so soon."""
    end = time.monotonic() + patience_s
    while not (found := bool(is_so())) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def servers_in(folder: Path) -> list[int]:
    """Processes that work below a folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if Path(os.readlink(f"/proc/{pid}/cwd")).is_relative_to(folder):
                found.append(int(pid))
        except OSError:
            continue
    return found


def launch(workload: str = "redis-get", parameters: Mapping[str, Any] | None = None, **further):
    """A short run. Settings are written with underscores."""
    known = WORKLOADS[workload].parameters
    whole = {n: p.default for n, p in known.items()} | dict(parameters or KEYS)
    settings = {
        n if n in ("client_threads", "rate") else n.replace("_", "-"): v
        for n, v in {"connections": 4, "client_threads": 1, **further}.items()
    }
    return Launch(settings, workload, whole, 3, 0.05, 0.3, interval_s=0.15)


def redis() -> ServerTarget:
    """The target of the registry."""
    return TARGETS["redis"]


class Forgetful(Redis):
    """Redis that is never told of some settings, as if somebody had taken them out by hand."""

    def __init__(self, *forgotten: str) -> None:
        self.forgotten = forgotten

    def command(self, place, settings):
        told = {n: v for n, v in settings.items() if n not in self.forgotten}
        return super().command(place, told)


class Unread(Forgetful):
    """The same, where nothing is said about it when settings are read back."""

    def read_back(self, ask, settings):
        return {**super().read_back(ask, settings), **settings}
