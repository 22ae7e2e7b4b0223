"""What the hot functions of a server are made of: `assay inspect`, restricted to them.

A function that was stripped of its name is known by its address. A finding about a whole file
(checksums by tables) belongs to those hot functions whose names say that they do such work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay import native
from assay.core.errors import AssayError
from assay.diagnosis.looks import address_of, is_unnamed, own_samples
from assay.diagnosis.records import Flaw, HotCode, Unseen
from assay.linux.processes import read, tree
from assay.readiness.ask import survey
from assay.readiness.binary import judge
from assay.readiness.census import Image, Site, image
from assay.readiness.finding import ReadinessFinding
from assay.readiness.machine import Machine
from assay.record import RunProfile

HOT = 0.005
"""The own share of CPU time from which on a function is looked into."""

MOST_FUNCTIONS, MOST_FILES = 40, 4
NO_FILE = re.compile(r"^\[|^$")
WORK = {"crc32c by tables": re.compile(r"(?i)crc")}
"""By the key of a finding about a whole file, the functions that do such work."""


@dataclass(frozen=True)
class _Body:
    """A hot function: where it is in its file, if it has an address, and its instructions."""

    name: str
    start: int = 0
    length: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    def holds(self, function: str, address: int | None) -> bool:
        """Whether a place that the survey found is in it."""
        if self.length:
            return address is not None and self.start <= address < self.start + self.length
        return bool(function) and _is_named(self.name, function)


def hot_code(
    profile: RunProfile, pid: int, machine: Machine | None
) -> tuple[list[HotCode], list[Unseen]]:
    """The code of hot functions, and the files that could not be read."""
    found: list[HotCode] = []
    unseen = []
    for module, names in list(_hot(profile).items())[:MOST_FILES]:
        path = _file(pid, module)
        try:
            if path is None:
                raise AssayError("it is not mapped any more, or not ours to see")
            found += _of_file(path, module, names, machine)
        except (AssayError, OSError) as error:
            why = getattr(error, "message", "") or str(error)
            unseen.append(Unseen(f"the code of {module}", why, "run as root, while it still runs"))
    return found, unseen


def _hot(profile: RunProfile) -> dict[str, list[str]]:
    """Hot functions by file, the hottest first."""
    found: dict[str, list[str]] = {}
    for place, count in own_samples(profile).most_common(MOST_FUNCTIONS):
        function = profile.functions[place]
        if count >= HOT * profile.samples and not NO_FILE.match(function.module):
            found.setdefault(function.module, []).append(function.name)
    return found


def _file(pid: int, module: str) -> Path | None:
    """A mapped file by its name, as the server sees it."""
    for member in tree(pid):
        for line in read(Path(f"/proc/{member}/maps")).splitlines():
            words = line.split(maxsplit=5)
            if len(words) == 6 and Path(words[5]).name == module:
                inside = Path(f"/proc/{member}/root{words[5]}")
                return inside if inside.is_file() else Path(words[5])
    return None


def _of_file(
    path: Path, module: str, names: Sequence[str], machine: Machine | None
) -> Iterator[HotCode]:
    ((kind, data),) = survey([path])
    if kind == "refused":
        raise AssayError(str(data["why"]))
    about = image(data, module)
    judged = [f for f in judge(about, machine=machine) if f.severity != "I"]
    for body in _bodies(path, names):
        sites = [s for s in about.sites if body.holds(s.function, s.address)]
        yield HotCode(
            name=body.name,
            module=module,
            instructions=dict(body.counts),
            spins=any(map(_waits, sites)),
            flaws=tuple(_flaw(f) for f in judged if _concerns(f, body, about)),
        )


def _bodies(path: Path, names: Sequence[str]) -> list[_Body]:
    stripped = {hex(a): name for name in names if (a := address_of(name)) is not None}
    census = native.census(path, addresses=list(stripped)) if stripped else None
    found = [_Body(name) for name in names if not is_unnamed(name)]
    for f in census.functions if census else ():
        name = stripped.get(f.asked, "")
        if name:
            found.append(_Body(name, int(f.address, 16), f.bytes, f.counts))
    return found


def _waits(site: Site) -> bool:
    """Whether a place is a loop that waits, with a hint."""
    hinted = site.facts.get("hint") not in (None, "none")
    return site.kind in ("spin-loop", "delay-loop") and hinted


def _concerns(finding: ReadinessFinding, body: _Body, about: Image) -> bool:
    if finding.address is None and not finding.function:
        work = WORK.get(finding.key)
        return work is not None and bool(work.search(body.name))
    return body.holds(finding.function, finding.address)


def _flaw(finding: ReadinessFinding) -> Flaw:
    return Flaw(
        finding.rule,
        finding.severity,
        finding.evidence,
        finding.reason,
        finding.advice,
        finding.study,
        finding.listing,
    )


def _is_named(shown: str, symbol: str) -> bool:
    """Whether a name without parameters ("a::b") is that of a symbol, which may be mangled."""
    if shown == symbol:
        return True
    plain = re.sub(r"<.*>|\(.*\)", "", shown)
    parts = [part for part in plain.split("::") if part.isidentifier()]
    if not symbol.startswith(("_Z", "_R")) or not parts:
        return False
    return all(f"{len(part)}{part}" in symbol for part in parts)
