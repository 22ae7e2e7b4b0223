"""Which events a model of processor has, as data: `library/pmu/*.toml`, one file per model.

A table names events in our words (`dtlb_load_walks`), gives the processor's numbers and the
names that `perf` prints for them, and says which events make up a role (`walk_cycles`). Nothing
is tried out here: what is not in a table is not asked for, because opening event after event has
crashed guests of some hypervisors.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

CPUINFO = Path("/proc/cpuinfo")
TYPES = {"hardware": 0, "software": 1, "raw": 4}
"""As perf_event_open(2) numbers them."""

Role = Literal["dtlb_walks", "itlb_walks", "walk_cycles", "dtlb_refills", "itlb_refills"]

_RAW = re.compile(r"r([0-9a-f]+)")
_SPELLED = re.compile(r"\w+/(.*)/")


class _TableFile(BaseModel):
    """The base of what a file holds: unknown keys are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Event(_TableFile):
    """One event. `event`, `umask` and `cmask` are the processor's, or the kernel's number."""

    kind: Literal["hardware", "raw"] = "raw"
    event: int
    umask: int = 0
    cmask: int = 0
    perf: tuple[str, ...] = ()
    """Names that `perf` has for it, without its modifiers."""
    erratum: str = ""

    @property
    def config(self) -> int:
        """What perf_event_open(2) takes, the same layout on every architecture here."""
        return self.event | self.umask << 8 | self.cmask << 24


class Match(_TableFile):
    """Whose table it is: what /proc/cpuinfo says."""

    vendor: str = ""
    family: int = -1
    models: tuple[int, ...] = ()
    implementer: int = -1
    part: int = -1

    def fits(self, identity: Mapping[str, Any]) -> bool:
        """Whether a processor is one of these."""
        if self.vendor:
            mine = (self.vendor, self.family)
            theirs = (identity.get("vendor"), identity.get("family"))
            return mine == theirs and identity.get("model") in self.models
        return (self.implementer, self.part) == (identity.get("implementer"), identity.get("part"))


class Model(_TableFile):
    """A model's events. `counters`: how many of them a hardware thread counts at once, beside
    those of cycles and instructions where these have counters of their own; `walkers`: page
    walks that may go on at once, 1 where nobody says."""

    name: str
    source: str
    counters: int
    walkers: int = 1
    notes: tuple[str, ...] = ()
    match: Match
    events: Mapping[str, Event]
    roles: Mapping[Role, tuple[str, ...]]

    def parts(self, name: str) -> tuple[str, ...]:
        """The events of a role; a name that is no role stands for itself."""
        return next((events for role, events in self.roles.items() if role == name), (name,))

    def named(self, spelled: str) -> str | None:
        """Our name of an event as `perf` prints it; None if the table has no such event.

        Understood are its own names, `rUUEE`, and `cpu/event=0x08,umask=0x10/`, each with or
        without modifiers such as `:u`.
        """
        config = _config_of(spelled)
        plain = spelled.split(":")[0].lower()
        for name, event in self.events.items():
            if plain in (p.lower() for p in event.perf):
                return name
            if config is not None and event.kind == "raw" and event.config == config:
                return name
        return None


def _config_of(spelled: str) -> int | None:
    """The number in a raw spelling of an event."""
    raw = _RAW.fullmatch(spelled.split(":")[0].lower())
    if raw:
        return int(raw[1], 16)
    inside = _SPELLED.match(spelled)
    if not inside:
        return None
    parts = dict(p.split("=", 1) for p in inside[1].split(",") if "=" in p)
    known = {"event", "umask", "cmask", "name", "config"}
    if not parts.keys() <= known or not {"event", "config"} & parts.keys():
        return None
    try:
        numbers = {k: int(v, 0) for k, v in parts.items() if k != "name"}
    except ValueError:
        return None
    if "config" in numbers:
        return numbers["config"]
    return numbers["event"] | numbers.get("umask", 0) << 8 | numbers.get("cmask", 0) << 24


@functools.cache
def models() -> Mapping[str, Model]:
    """Every table that ships, by the name of its file."""
    folder = resources.files("assay") / "library" / "pmu"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return {
        f.name.removesuffix(".toml"): Model.model_validate(tomllib.loads(f.read_text("utf-8")))
        for f in files
    }


def identity(cpuinfo: str) -> dict[str, Any]:
    """The first processor of a /proc/cpuinfo: vendor, family, model; or implementer, part."""
    keys = {
        "vendor_id": "vendor",
        "cpu family": "family",
        "model": "model",
        "CPU implementer": "implementer",
        "CPU part": "part",
    }
    found: dict[str, Any] = {}
    for line in cpuinfo.splitlines():
        key, colon, value = line.partition(":")
        name = keys.get(key.strip())
        if colon and name and name not in found:
            try:
                found[name] = value.strip() if name == "vendor" else int(value, 0)
            except ValueError:
                continue
    return found


def model_of(cpuinfo: str) -> Model | None:
    """The table of a processor; None if there is none for it."""
    is_this = identity(cpuinfo)
    return next((m for m in models().values() if m.match.fits(is_this)), None)


def model_here() -> Model | None:
    """The table of this machine's processor."""
    try:
        return model_of(CPUINFO.read_text("utf-8", "replace"))
    except OSError:
        return None
