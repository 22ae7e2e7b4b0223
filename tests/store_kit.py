"""A pretender in the place of `assayer store`: it answers as it is told, over the same protocol.

It loads the library as `assayer` does, so that what /proc shows is real, and hands every
other verb on to `assayer`.
"""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay import native
from assay.targets import Launch
from assay.targets.stores.framework.store import Store
from assay.targets.stores.framework.target import StoreTarget
from assay.workloads import WORKLOADS
from fakes import HEALTHY, histogram

OPTIONS = {
    "block_size": "4096",
    "paranoid": "false",
    "ratio": "0.750000",
    "name": "",
    "depth": "-1",
}
RECORDS = 1000

PRETENDER = """#!{python}
import ctypes, json, os, sys, time
from pathlib import Path

verb = sys.argv[1]
if verb != "store":
    os.execv({assayer!r}, ["assayer", verb])
told = json.loads(Path({told!r}).read_text())
request = json.load(sys.stdin)
with open({asked!r}, "a") as asked:
    asked.write(json.dumps(request) + "\\n")

def say(kind, /, **data):
    print(json.dumps({{"type": kind, "data": data}}), flush=True)

if told.get("missing"):
    say("error", kind="missing", message=told["missing"], next="take another library")
    sys.exit(3)
kept = ctypes.CDLL(request["library"])
action = request["action"]
if action == "options":
    say("options", version=told["version"], options=told["options"])
elif request.get("check_only"):
    say("checked")
elif action == "prepare":
    assert not os.listdir(request["path"])
    Path(request["path"], "records").write_text("all")
    say("loading", rows=5, of=10)
    say("result", rows=10, seconds=0.1, faults=told.get("unsound", []))
else:
    assert Path(request["path"], "records").read_text() == "all"
    Path(request["path"], "records").write_text("changed")
    settings = {{**told["options"], **{{k: v for k, v in request["settings"].items()}}}}
    settings.update(told.get("lies", {{}}))
    for name in told.get("silent", []):
        settings.pop(name, None)
    manifest = {{"store": request["store"], "library": request["library"],
                "version": told["version"], "settings": settings, "records": 10,
                "log": {{"Fast CRC32 supported": "Not supported on x86"}}}}
    say("ready", verb="store", pid=os.getpid(), build_id="x", manifest=manifest)
    say("phase", name="measure")
    for index in range(2):
        say("interval", index=index, start_ms=100.0 * index, length_ms=100.0, operations=50,
            errors=0, histogram={histogram!r})
    time.sleep(told.get("sleep", 0))
    if told.get("dies"):
        os.kill(os.getpid(), 9)
    say("health", **{healthy!r})
    say("result", **{result!r} | told.get("result", {{}}))
"""

RESULT: dict[str, Any] = {
    "complete": True,
    "window_s": 0.2,
    "operations": 100,
    "errors": 0,
    "latency_of": "operations",
    "by_kind": {},
    "histogram": histogram(1000.0),
    "threads": [{"cpu": None, "operations": 100, "cpu_s": 0.1}],
    "contention": {},
    "lookups": {},
    "counters": {"block.cache.hit": 70},
    "executed": 100,
    "ran": [],
    "memory": {"bytes": 4096, "anon_huge_bytes": 0, "private_hugetlb_bytes": 0},
    "cpus": [],
    "state": {"records": 10, "checksum_ok": True, "faults": []},
    "server": {
        "cpu_s": 0.3,
        "rss_bytes": 5000,
        "pss_bytes": 4000,
        "processes": 1,
        "voluntary_switches": 1,
        "involuntary_switches": 2,
    },
}


class Shelf(Store):
    """A store that there is not."""

    kind = "shelf"
    text = "a pretended store"
    library = "libshelf.so"
    package = "libshelf-dev"
    passing = frozenset({"paranoid"})
    functions = "^shelf_"
    role = "shelf"


class Pretended:
    """The pretender, what it is told, and what it was asked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._told, self._asked = folder / "told.json", folder / "asked.jsonl"
        self.tell()
        program = folder / "pretender"
        program.write_text(
            PRETENDER.format(
                python=sys.executable,
                assayer=str(native.find_assayer()),
                told=str(self._told),
                asked=str(self._asked),
                histogram=histogram(1000.0),
                healthy={**HEALTHY.model_dump(), "loader": "in-process", "busiest_thread": None},
                result=RESULT,
            )
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("ASSAYER", str(program))
        self.library = shared_library(folder)
        self.target = StoreTarget(Shelf())

    def tell(self, **told: Any) -> None:
        """What it says from now on."""
        self._told.write_text(json.dumps({"version": "1.0", "options": OPTIONS, **told}))

    def asked(self, action: str) -> list[dict[str, Any]]:
        """The requests of one action, so far."""
        lines = self._asked.read_text().splitlines() if self._asked.exists() else []
        return [r for r in map(json.loads, lines) if r["action"] == action]

    def launch(self, **settings: Any) -> Launch:
        return store_launch("ycsb", library=str(self.library), **settings)


def shared_library(folder: Path, text: str = "int shelf_put(int x) { return x; }") -> Path:
    """A library that can be loaded."""
    path = folder / "libshelf.so.1"
    command = ["cc", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-x", "c", "-", "-o", str(path)]
    subprocess.run(command, input=text, text=True, check=True)
    return path


def store_launch(
    workload: str = "ycsb", parameters: Mapping[str, Any] | None = None, **settings: Any
) -> Launch:
    """A short run over few records."""
    defaults = {n: p.default for n, p in WORKLOADS[workload].parameters.items()}
    small = {"records": RECORDS, "operations": 10_000_000, **(parameters or {})}
    whole = {"threads": 2, "pin": False, **settings}
    return Launch(whole, workload, {**defaults, **small}, 3, 0.05, 0.3, interval_s=0.15)
