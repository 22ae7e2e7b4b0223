"""memcached: keys and values in memory, on a Unix socket in a folder of its own.

It keeps nothing when it ends, so every run loads its data before the window, which
is what `load_seconds` measures. Settings have the names and meanings that `stats settings`
reports, by which they are read back. `large_pages` is not reported: what is read is whether
the kernel was asked for huge pages (`hg` of a mapping in smaps).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from assay.core.parameters import Kind, Parameter, by_name
from assay.targets.servers.framework.adapter import Adapter, Ask, Place, Program
from assay.targets.setting_values import BYTES, ServerSetting, in_force, quantity, rendered, truth

GAUGES = re.compile(
    r"pid|uptime|time|version|libevent|pointer_size|bytes|threads|hash_.*|limit_.*|curr_.*"
    r"|.*_connections|connection_structures|response_obj_.*|read_buf_.*|reserved_fds|log_watchers"
    r"|accepting_conns|slab_global_page_pool|.*_running"
)
"""Numbers of `stats` that go up and down, or are none."""
LARGE = "large_pages"
SOCKET = "socket"


@dataclass(frozen=True)
class _Option:
    """A setting, and the words that give it: `option` before a value, in units of `scale`; of a
    flag the words of each value."""

    name: str
    kind: Kind
    text: str
    option: str = ""
    scale: int = 1
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    default: Any = None

    def setting(self) -> ServerSetting:
        """As a study may write it."""
        units = BYTES if self.kind == "count" else {}
        return ServerSetting(
            self.name, self.kind, self.text, self.default, choices=self.choices, units=units
        )

    def words(self, text: str) -> list[str]:
        """The words of the command line for a value as the server is given it."""
        if self.kind == "flag":
            return list(self.on if truth(text) else self.off)
        meant = quantity(text, BYTES) if self.scale > 1 else None
        value = text if meant is None else str(int(meant) // self.scale)
        extended = self.option.endswith("=")
        return ["-o", f"{self.option}{value}"] if extended else [self.option, value]


_OPTIONS = {
    o.name: o
    for o in (
        _Option("num_threads", "count", "threads that answer", "-t"),
        _Option(
            "maxbytes", "count", "memory for values, in whole MiB", "-m", 1 << 20, default="1GiB"
        ),
        _Option("maxconns", "count", "connections at a time", "-c", default=4096),
        _Option("reqs_per_event", "count", "commands of one connection in a row", "-R"),
        _Option("growth_factor", "number", "how chunk sizes of the slabs grow", "-f"),
        _Option("chunk_size", "count", "least bytes of key, value and flags", "-n"),
        _Option("item_size_max", "count", "bytes of the largest value", "-I"),
        _Option(
            "hash_algorithm",
            "choice",
            "what hashes the keys",
            "hash_algorithm=",
            choices=("jenkins", "murmur3", "xxh3"),
        ),
        _Option("hashpower_init", "count", "buckets at the start, as a power of 2", "hashpower="),
        _Option("slab_automove", "count", "memory moves between slabs: 0, 1, 2", "slab_automove="),
        _Option("hot_lru_pct", "count", "percent of the list of new values", "hot_lru_pct="),
        _Option("warm_lru_pct", "count", "percent of the list of values hit", "warm_lru_pct="),
        _Option(
            "watcher_logbuf_size",
            "count",
            "buffer of a log that nobody watches, in whole KiB",
            "watcher_logbuf_size=",
            1 << 10,
        ),
        _Option("cas_enabled", "flag", "each value has a number of its own", off=("-C",)),
        _Option(LARGE, "flag", "memory is taken at once, asking for huge pages", on=("-L",)),
    )
}
SETTINGS: Mapping[str, Parameter] = MappingProxyType(
    by_name(o.setting() for o in _OPTIONS.values())
)


class Memcached(Adapter):
    """The adapter."""

    kind = "memcached"
    text = "memcached, in memory, on a Unix socket; its data are loaded before each window"
    protocol = "memcached"
    programs = (Program("memcached", "memcached"),)
    workloads = ("memcached-get", "memcached-set", "ycsb")
    keeps_data = False
    on_socket = SOCKET
    ping = "version"

    def settings(self, binary: Path | None) -> Mapping[str, Parameter]:
        return SETTINGS

    def version(self, binary: Path) -> str:
        done = subprocess.run([str(binary), "-V"], capture_output=True, text=True)
        return done.stdout.strip()

    def make(self, place: Place, settings: Mapping[str, Any]) -> list[list[str]]:
        return []

    def command(self, place: Place, settings: Mapping[str, Any]) -> list[str]:
        given = rendered(SETTINGS, settings)
        words = [word for name, text in given.items() for word in _OPTIONS[name].words(text)]
        return [str(place.binary), "-s", str(place.folder / SOCKET), "-a", "0700", *words]

    def url(self, place: Place) -> str:
        return f"memcached:///?socket={quote(str(place.folder / SOCKET))}"

    def read_back(self, ask: Ask, settings: Mapping[str, Any]) -> dict[str, Any]:
        reported = {str(name): value for name, value in ask("stats settings")[0]}
        if LARGE in settings:
            reported[LARGE] = "yes" if _asked_for_huge_pages(ask.pid) else "no"
        return in_force(SETTINGS, settings, reported)

    def counters(self, ask: Ask) -> dict[str, float]:
        """Numbers of `stats` that only rise."""
        rows = ((str(name), value or "") for name, value in ask("stats")[0])
        return {n: float(v) for n, v in rows if not GAUGES.fullmatch(n) and _is_number(v)}


MEMCACHED = Memcached()


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) is not None


def _asked_for_huge_pages(pid: int) -> bool:
    """Whether any mapping of a process was advised to be of huge pages."""
    return re.search(r"(?m)^VmFlags:.* hg\b", Path(f"/proc/{pid}/smaps").read_text()) is not None
