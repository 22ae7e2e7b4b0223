"""Ray's part on this machine: started, found again and ended, by its mark in the environment.

`ray stop` would end every Ray of this user. What `start` began carries `ASSAY_FLEET=NAME/HOST`, and
`end` ends that and no other. Keepers are not killed: they end by themselves when their relay does,
and bring back what their agents changed.

Ray is told what to leave out (dashboard, metrics, task events, the monitor that kills for memory,
statistics of usage) and which ports to take: forty from the inventory's port on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from assay.core.errors import FleetError
from assay.core.paths import user_state
from assay.fleet import rays
from assay.fleet.clean_start import MARK
from assay.fleet.inventory import PORTS, FleetHost, Inventory
from assay.fleet.ray_transport import NAME_LABEL, require_ray
from assay.linux.processes import identity, is_alive, marked, read, tree

STARTED = "Ray runtime started."
"""What `ray start` writes when the host has joined."""
START_S = 60.0
END_S = 5.0
"""How long Ray may take to end before it is killed."""
KEEPERS_S = 30.0
"""How long keepers may take to bring back what their agents changed."""
KEEPER = "assay.fleet.keeper"
OBJECT_STORE_BYTES = 80 << 20
"""About the least that Ray takes; what goes between hosts are lines."""

QUIET = {
    "RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL": "minor",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_debug_dump_period_milliseconds": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_event_stats": "0",
    "RAY_health_check_failure_threshold": "24",
    "RAY_health_check_period_ms": "5000",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_raylet_check_gc_period_milliseconds": "1000",
    "RAY_raylet_report_resources_period_milliseconds": "1000",
    "RAY_task_events_report_interval_ms": "0",
}
"""Names as in Ray's ray_config_def.h: slower timers, nothing that nobody reads, and two minutes
until a host is given up, so that it may be stopped for a window. A lost one is seen by calls and by
its lease."""


def environment(secure: Mapping[str, str]) -> dict[str, str]:
    """Ray's variables for every process of a fleet."""
    return {**QUIET, **secure}


def inherited(secure: Mapping[str, str]) -> dict[str, str]:
    """The environment here, without a token of somebody else that would go before ours."""
    left = "RAY_AUTH_TOKEN" if secure else ""
    return {name: value for name, value in os.environ.items() if name != left}


def start(inventory: Inventory, host: FleetHost, secure: Mapping[str, str]) -> Path:
    """Start Ray's part of a host on this machine and wait until it has joined; its log.

    FleetError if it runs already, does not come up, or Ray is not here.
    """
    require_ray()
    if running(inventory, host):
        raise FleetError(
            f"{host.name} of the fleet {inventory.name} runs here already",
            next_step=f"`assay fleet down {inventory.path} --as {host.name}` ends it",
        )
    log = user_state() / "fleet" / f"{inventory.name}-{host.name}.log"
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark = {MARK: _mark(inventory, host)}
    with log.open("wb") as out:
        # It forks: what is started is nobody's child, and belongs to no terminal.
        subprocess.run(
            ["setsid", "--fork", *words(inventory, host, _folder())],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**inherited(secure), **environment(secure), **mark},
            cwd="/",
            check=True,
        )
    if not _has_started(inventory, host, log):
        end(inventory, host)
        said = [line.strip() for line in read(log).splitlines() if line.strip()]
        raise FleetError(
            f"{host.name} did not join: {(said or ['Ray wrote nothing'])[-1][:300]}",
            next_step=f"{log} says more; is the head up, and are the keys the same?",
        )
    return log


def _has_started(inventory: Inventory, host: FleetHost, log: Path) -> bool:
    until = time.monotonic() + START_S
    while running(inventory, host) and time.monotonic() < until:
        if STARTED in read(log):
            return True
        time.sleep(0.2)
    return False


def words(inventory: Inventory, host: FleetHost, folder: Path) -> list[str]:
    """The command that starts Ray's part of a host."""
    is_head = host.name == inventory.head
    port = inventory.port
    labels = {NAME_LABEL: host.name, **host.labels}
    first = (
        ["--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}"]
        if is_head
        else [f"--address={inventory.address}"]
    )
    return [
        *(sys.executable, "-P", "-c", "from ray.scripts.scripts import main; main()"),
        *("start", "--block", "--disable-usage-stats", "--include-log-monitor=false", *first),
        f"--node-ip-address={host.address}",
        f"--node-manager-port={port + 1}",
        f"--object-manager-port={port + 2}",
        f"--runtime-env-agent-port={port + 3}",
        f"--dashboard-agent-grpc-port={port + 4}",
        f"--dashboard-agent-listen-port={port + 5}",
        f"--metrics-export-port={port + 6}",
        f"--min-worker-port={port + 10}",
        f"--max-worker-port={port + PORTS - 1}",
        f"--object-store-memory={OBJECT_STORE_BYTES}",
        "--num-cpus=0",
        "--num-gpus=0",
        f"--labels={','.join(f'{key}={value}' for key, value in sorted(labels.items()))}",
    ]


def _folder() -> Path:
    """Where Ray has its sockets: a short path, below a folder that no other user may enter. Ray
    opens its own to everybody."""
    folder = Path(tempfile.gettempdir(), f"assay-ray-{os.geteuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o077 or folder.is_symlink():
        raise FleetError(f"{folder} is somebody else's, or open to others", next_step="remove it")
    return folder / "r"


def _mark(inventory: Inventory, host: FleetHost) -> str:
    return f"{inventory.name}/{host.name}"


def running(inventory: Inventory, host: FleetHost) -> list[int]:
    """What of a host runs on this machine: Ray's processes, without keepers and agents."""
    return sorted(_members(inventory, host)[0])


def end(inventory: Inventory, host: FleetHost) -> bool:
    """End what `start` began on this machine; whether there was anything.

    FleetError if a keeper does not end: it may still bring back what its agent changed.
    """
    members, keepers = _members(inventory, host)
    if not members and not keepers:
        return False
    names, kept = _names(members), _names(keepers)
    # What was stopped for a window does not hear anything but this and SIGKILL.
    rays.go_on(members)
    _send(_names(pid for pid in members if not rays.is_starter(pid)), signal.SIGTERM)
    _wait(names, END_S)
    _send(names, signal.SIGKILL)
    _wait(names, END_S)
    if not _wait(kept, KEEPERS_S):
        raise FleetError(
            f"a keeper of {host.name} has not ended: process {living(kept)[0].partition(':')[0]}",
            next_step="it may be bringing back what a study changed; look again in a minute",
        )
    return True


def _members(inventory: Inventory, host: FleetHost) -> tuple[set[int], set[int]]:
    """Ray's processes of a host on this machine, and keepers with all below them."""
    found = {p for root in marked(f"{MARK}={_mark(inventory, host)}") for p in tree(root)}
    for pid in list(found):
        if read(Path(f"/proc/{pid}/comm")).strip() == "raylet":
            found |= rays.of_raylet(pid)
    roots = [pid for pid in found if KEEPER in read(Path(f"/proc/{pid}/cmdline"))]
    keepers = {below for pid in roots for below in tree(pid)}
    return found - keepers - {os.getpid()}, keepers


def _names(pids: Iterable[int]) -> list[str]:
    return [name for pid in pids if (name := identity(pid))]


def living(names: Iterable[str]) -> list[str]:
    """Those of some processes that have not ended, by identity."""
    return [name for name in names if is_alive(name) and not _is_zombie(name)]


def _is_zombie(name: str) -> bool:
    """It has ended, and whoever started it has not looked yet."""
    stat = read(Path(f"/proc/{name.partition(':')[0]}/stat"))
    return stat.rpartition(")")[2].split()[:1] == ["Z"]


def _send(names: Iterable[str], number: signal.Signals) -> None:
    for name in living(names):
        with suppress(OSError):
            os.kill(int(name.partition(":")[0]), number)


def _wait(names: Iterable[str], patience_s: float) -> bool:
    """Whether all have ended in time."""
    names, until = list(names), time.monotonic() + patience_s
    while living(names):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
