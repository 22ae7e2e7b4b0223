"""nginx: a static file, or a reverse proxy before upstreams of Assay's own.

The settings are named here and become a configuration file. nginx cannot be asked
for them. Read back is what this very binary says of this very file (`nginx -T`,
which only proves that it was parsed), and what the kernel shows of the processes:

    setting                what shows it
    worker_processes       the master's children
    worker_cpu_affinity    the CPUs that each child may use
    zone, limit_req        their shared mappings, told by size, in every child
    reuseport              listening sockets on the port: one, or one for each child
    file_bytes             the body of an answer, through the upstreams where there are any
    all others             parsed, and no more than that

Counters: `status.requests`, `.accepts` and `.handled` of stub_status, and `contended`: rounds of
waiting for a lock, which a probe of the kernel counts. A round begins where a lock function looks
whether there is more than one CPU (`ngx_ncpu`); after giving up the CPU a waiter begins another.
Where the kernel refuses probes, or the file does not name its functions, there is no such counter.

Which of a built nginx's loops hold which instruction is told by its census and digest.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay import native
from assay.builds.nginx import FUNCTIONS
from assay.core.errors import InputError, RunError
from assay.core.parameters import Parameter, by_name
from assay.counters import Probes
from assay.linux.own_user import opened
from assay.targets.servers.framework.adapter import Adapter, Ask, Place, Program
from assay.targets.servers.framework.load import HTTP
from assay.targets.servers.framework.process import as_user
from assay.targets.servers.nginx_file import SHARED, configuration, parsed

PATIENCE_S = 10.0
"""How long workers may take to be as they were asked: the master listens before it forks."""

FILE = "/file"
STATUS = "/status"


def _switch(name: str, text: str, default: str | None = "off") -> Parameter:
    return Parameter(name, "choice", text, default, ("off", "on"))


SETTINGS = by_name(
    (
        Parameter("worker_processes", "count", "worker processes", 2, low=1, high=512),
        Parameter(
            "worker_cpu_affinity",
            "choice",
            "workers on any CPU, or each on one",
            "off",
            ("off", "auto"),
        ),
        Parameter("upstreams", "count", "servers behind it; 0 serves a file", 0, low=0, high=64),
        _switch("zone", "the upstream's state in shared memory, behind a lock", None),
        Parameter(
            "balancer",
            "choice",
            "how an upstream is chosen",
            None,
            ("round-robin", "least_conn", "ip_hash", "random"),
        ),
        Parameter(
            "keepalive",
            "count",
            "idle connections to upstreams that a worker keeps; 0 opens one for each request",
            None,
            low=0,
            high=10_000,
        ),
        Parameter(
            "keepalive_requests",
            "count",
            "requests on one connection before it is closed, of clients and to upstreams",
            100_000_000,
            low=1,
            high=1_000_000_000,
        ),
        _switch("reuseport", "a listening socket for each worker"),
        _switch("accept_mutex", "workers take turns at accepting"),
        _switch("sendfile", "files sent by the kernel"),
        _switch("tcp_nopush", "whole packets only, with sendfile"),
        Parameter(
            "open_file_cache", "count", "descriptors of files kept; 0 is off", 0, low=0, high=10_000
        ),
        _switch("limit_req", "a limit that is never reached: one more lock for each request"),
        Parameter("file_bytes", "count", "bytes of the file", 512, low=1, high=64 << 20),
        _switch("probes", "count contended locks with uprobes, where the kernel allows", "on"),
    )
)


ZONE_LOCKS = ("ngx_rwlock_wlock", "ngx_rwlock_rlock")
LIMIT_LOCKS = ("ngx_shmtx_lock",)
WAITING = "ngx_ncpu"
"""What a lock function looks at when it begins to wait."""

OF_UPSTREAMS = ("zone", "balancer", "keepalive")
"""Settings without a default: they are of upstreams, where there are any."""


class Nginx(Adapter):
    """The adapter."""

    kind = "nginx"
    text = "nginx, serving a file or as a reverse proxy before upstreams of Assay's own"
    programs = (Program("nginx", "nginx-light"),)
    protocol = HTTP
    workloads = ("http-get", "http-proxy")
    loads: Mapping[str, str] = {"http-proxy": "http-get"}
    is_movable = True
    orphan_signal = signal.SIGTERM
    """Workers outlive a master that is killed, so it must be told."""
    functions: Mapping[str, tuple[str, ...]] = {"lock_wait": FUNCTIONS}
    lock_classes = ("all", *ZONE_LOCKS, *LIMIT_LOCKS)

    def __init__(self) -> None:
        self._probes: dict[Path, Probes] = {}

    def settings(self, binary: Path | None) -> Mapping[str, Parameter]:
        return SETTINGS

    def version(self, binary: Path) -> str:
        done = subprocess.run([str(binary), "-v"], capture_output=True, text=True)
        return done.stderr.strip()

    def lacks(self, settings: Mapping[str, Any]) -> tuple[str, str] | None:
        """Nothing; but what is said of upstreams must have some to be said of."""
        idle = [name for name in OF_UPSTREAMS if name in settings]
        if idle and not settings["upstreams"]:
            raise InputError(
                f"{idle[0]} means nothing without upstreams",
                next_step="take workload http-proxy, or set upstreams",
            )
        return None

    def make(self, place: Place, settings: Mapping[str, Any]) -> list[list[str]]:
        return []

    @contextmanager
    def beside(self, place: Place, settings: Mapping[str, Any]) -> Iterator[Sequence[int]]:
        """Writes what this start serves and is told, and has the upstreams run meanwhile."""
        with _upstreams(settings, place.enter) as (pids, ports):
            (place.folder / "www").mkdir(exist_ok=True)
            (place.folder / "www" / FILE[1:]).write_bytes(b"x" * settings["file_bytes"])
            (place.folder / "nginx.conf").write_text(
                configuration(place.port, settings, ports, _connections(), place.host)
            )
            try:
                yield pids
            finally:
                probes = self._probes.pop(place.folder, None)
                if probes is not None:
                    probes.close()

    def command(self, place: Place, settings: Mapping[str, Any]) -> list[str]:
        return _words(place)

    def url(self, place: Place) -> str:
        return f"http://{place.host}:{place.port}{FILE}"

    def read_back(self, ask: Ask, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The table above; `counts_contention` says whether, or why not, that is counted."""
        end = time.monotonic() + PATIENCE_S
        told = parsed(_tested(ask.place))
        while True:
            seen = shown(ask.pid, ask.place.port, settings)
            late = [k for k, v in seen.items() if v != settings[k]]
            if not late or time.monotonic() > end:
                break
            time.sleep(0.02)
        body = ask(FILE)[0][0][0] or ""
        found = {**told, **seen, "file_bytes": len(body.encode())}
        if settings["probes"] == "on":
            self._probe(ask, settings)
        probes = self._probes.get(ask.place.folder)
        found["probes"] = "on" if probes else "off"
        found["counts_contention"] = (probes.refused or "yes") if probes else "off"
        return {k: v for k, v in found.items() if k in settings or k == "counts_contention"}

    def counters(self, ask: Ask) -> dict[str, float]:
        probes = self._probes.get(ask.place.folder)
        passed = probes.counts() if probes else {}
        found = {f"contended.{function}": passes for function, passes in passed.items()}
        return found | stub_status(ask(STATUS)[0][0][0] or "")

    def waits(self, counted: Mapping[str, float]) -> Mapping[str, Mapping[str, float]]:
        """Rounds of waiting by lock function, where the kernel counts them."""
        rounds = {
            name.removeprefix("contended."): value
            for name, value in counted.items()
            if name.startswith("contended.")
        }
        return {"waits_per_operation": {"all": sum(rounds.values()), **rounds}} if rounds else {}

    def is_fatal(self, log: str) -> str:
        """The first line at level `emerg`; a port in use is tried again by nginx, then fatal."""
        lines = (line for line in log.splitlines() if "[emerg]" in line or "[alert]" in line)
        return next((line for line in lines if "still could not bind" not in line), "")

    def _probe(self, ask: Ask, settings: Mapping[str, Any]) -> None:
        """Only functions that these settings make requests go through are probed."""
        if ask.place.folder not in self._probes:
            limited = LIMIT_LOCKS if settings["limit_req"] == "on" else ()
            places = slow_paths(ask.place.binary, (*ZONE_LOCKS, *limited))
            self._probes[ask.place.folder] = Probes(ask.place.binary, places)


NGINX = Nginx()


def slow_paths(binary: Path, functions: Sequence[str]) -> dict[str, int]:
    """Where each of these lock functions begins to wait, as offsets in the file.

    A function that the file does not name, or that looks in several places, is left out.
    """
    (about,) = native.objects([binary], references=[(f, WAITING) for f in functions])
    if isinstance(about, native.RefusedFile):
        return {}
    found: dict[str, list[int]] = {f: [] for f in functions}
    for place in about.references:
        if place.offset is not None:
            found[place.function].append(place.offset)
    return {function: places[0] for function, places in found.items() if len(places) == 1}


def stub_status(body: str) -> dict[str, float]:
    """The three totals of stub_status."""
    found = re.search(r"accepts handled requests\s+(\d+)\s+(\d+)\s+(\d+)", body)
    if found is None:
        raise RunError(f"nginx answered {STATUS} with {body[:80]!r}, which is no stub_status")
    names = ("status.accepts", "status.handled", "status.requests")
    return {name: float(n) for name, n in zip(names, found.groups(), strict=True)}


def children(pid: int) -> list[int]:
    """Processes that a process started and that still run."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(word) for word in text.split()]


def shown(pid: int, port: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the kernel shows of the processes now, in the words of the settings."""
    workers = children(pid)
    found: dict[str, Any] = {"worker_processes": len(workers)}
    try:
        single = [len(os.sched_getaffinity(w)) == 1 for w in workers]
        shared = [_shared_sizes(w) for w in workers]
    except (FileNotFoundError, ProcessLookupError):
        return found | {"worker_processes": len(children(pid))}
    alone = len(os.sched_getaffinity(pid)) == 1
    bound = bool(single) and all(single) and (not alone or settings["worker_cpu_affinity"] != "off")
    found["worker_cpu_affinity"] = "auto" if bound else "off"
    for name, size in SHARED.items():
        mapped = bool(shared) and all(size in sizes for sizes in shared)
        found[name] = "on" if mapped else "off"
    if "zone" not in settings:
        del found["zone"]
    sockets = _listening(port, pid)
    if len(workers) > 1:
        found["reuseport"] = "on" if sockets == len(workers) else "off"
    return found


def _shared_sizes(pid: int) -> set[int]:
    """Sizes of a process's anonymous shared mappings, in bytes."""
    sizes = set()
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        extent, rights, *_ = line.split()
        if rights == "rw-s" and "/dev/zero" in line:
            begin, end = (int(part, 16) for part in extent.split("-"))
            sizes.add(end - begin)
    return sizes


def _listening(port: int, pid: int) -> int:
    """Sockets that listen on a port of IPv4 in a process' network."""
    lines = (line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:])
    return sum(w[3] == "0A" and int(w[1].rpartition(":")[2], 16) == port for w in lines)


def _words(place: Place) -> list[str]:
    words = [str(place.binary), "-p", f"{place.folder}/", "-c", "nginx.conf"]
    return [*words, "-e", "stderr"]


def _tested(place: Place) -> str:
    """The configuration as this binary accepts it, where its address is there to listen on."""
    with opened(_words(place), place.user) as (words, held):
        command = [*place.enter, *as_user([*words, "-T"], place.user)]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", pass_fds=held
        )
    if done.returncode:
        raise RunError(f"{place.binary} -T refuses its configuration: {done.stderr[-400:]}")
    return done.stdout


def _connections() -> int:
    """Connections that a worker may have: descriptors it may have, within reason."""
    return min(20_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


@contextmanager
def _upstreams(
    settings: Mapping[str, Any], before: Sequence[str]
) -> Iterator[tuple[list[int], list[int]]]:
    """Upstreams on ports that the kernel chose: their processes and ports."""
    if not settings["upstreams"]:
        yield [], []
        return
    request = {
        "kind": "http-file",
        "ports": [0] * settings["upstreams"],
        "bytes": settings["file_bytes"],
        "upstreams": [],
        "stall_ms": 0,
        "period_ms": 1000,
    }
    session = native.Session("serve", request, before=before)
    try:
        first = next(session.messages())
        if not isinstance(first, native.FixtureServers):
            raise RunError("assayer serve did not say where it listens")
        yield [first.pid], first.ports
    finally:
        session.stop()
