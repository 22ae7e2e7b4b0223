"""The second opinion on the census: binutils' listing, counted line by line.

Written apart from the native side, from texts instead of masks: mnemonics, operands and targets as
objdump prints them. Slow and plain.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TOOLS = {"aarch64": "aarch64-linux-gnu-", "x86_64": ""}
LOOP = 64
"""Instructions back that a branch may go and still make a loop."""

_LSE = re.compile(r"(casp?|swp|(ld|st)(add|clr|eor|set|smax|smin|umax|umin))(a|l|al)?[bh]?")
_KEYS = {
    "ll_sc": re.compile(r"(ldxr|ldaxr|stxr|stlxr)[bh]?|(ldxp|ldaxp|stxp|stlxp)"),
    "lse": _LSE,
    "ldar": re.compile(r"ldar[bh]?"),
    "stlr": re.compile(r"stlr[bh]?"),
    "crc32": re.compile(r"crc32c?[bhwx]"),
    "aes": re.compile(r"aes(e|d|mc|imc)"),
    "sha": re.compile(r"sha(1|256|512).*"),
    **{key: re.compile(key) for key in ("yield", "isb", "wfe", "wfet", "sb", "dmb")},
}


@dataclass
class Line:
    """One instruction of a listing."""

    address: int
    name: str
    operands: str

    @property
    def target(self) -> int | None:
        """Where a branch goes."""
        found = re.search(r"(?:^|[\s,])([0-9a-f]+) <", self.operands)
        return int(found[1], 16) if found else None


@dataclass
class Truth:
    """What the listing holds."""

    counts: dict[str, int]
    helpers: dict[int, int] = field(default_factory=dict)
    """Calls by the address of the helper."""
    delays: set[int] = field(default_factory=set)
    """Addresses of empty counting loops (aarch64)."""
    functions: dict[str, Counter[str]] = field(default_factory=dict)
    """Mnemonics of interest by function, where there are symbols."""


def listing(path: Path, arch: str) -> Iterator[Line | str]:
    """The instructions in order; a function's name where one begins."""
    command = [f"{TOOLS[arch]}objdump", "-d", "-w", "--no-show-raw-insn", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout is not None
        for text in process.stdout:
            parts = text.rstrip("\n").split("\t")
            if len(parts) == 1 or not parts[0].endswith(":"):
                if text.endswith(">:\n"):
                    yield text[text.index("<") + 1 : -3].split("@@")[0]
                continue
            address = int(parts[0].strip().rstrip(":"), 16)
            if arch == "aarch64":
                yield Line(address, parts[1], " ".join(parts[2:]).split("//")[0].strip())
            else:
                name, _, operands = parts[1].strip().partition(" ")
                yield Line(address, name, operands.strip())
    assert process.returncode == 0


def truth(path: Path, arch: str) -> Truth:
    """Everything counted."""
    seen = _A64() if arch == "aarch64" else _X86()
    for line in listing(path, arch):
        if isinstance(line, Line):
            seen.see(line)
        else:
            seen.function = line
    return seen.truth()


class _A64:
    """What has been seen of an aarch64 listing so far."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()
        self.targets: Counter[int] = Counter()
        self.places: dict[str, list[int]] = {"isb": [], "dmb": [], "lse": []}
        self.helpers: list[range] = []
        self.back: list[tuple[int, int]] = []
        self.delays: set[int] = set()
        self.pmull = 0
        self.recent: deque[Line] = deque(maxlen=16)
        self.function = ""
        self.open: tuple[int, int] | None = None
        """The start of a helper, and how many returns it has had."""

    def see(self, line: Line) -> None:
        name = line.name
        self.names[name] += 1
        if name[0] == "b" or name[:2] in ("cb", "tb"):
            self.branch(line)
        elif name in ("isb", "dmb"):
            self.places[name].append(line.address)
        elif name == "ret":
            self.returns(line)
        elif name.startswith("pmull"):
            self.pmull += ".1q" in line.operands
        elif _LSE.fullmatch(name):
            self.places["lse"].append(line.address)
            start = _helper(self.recent)
            if start is not None:
                self.open = (start, 0)
        self.recent.append(line)

    def branch(self, line: Line) -> None:
        target = line.target
        if target is None:
            return
        if line.name in ("b", "bl"):
            self.targets[target] += 1
        if line.name != "bl" and 0 <= line.address - target <= 4 * LOOP:
            self.back.append((target, line.address))
            _delay(self.recent, line, target, self.delays)

    def returns(self, line: Line) -> None:
        if self.open is not None:
            start, returns = self.open
            self.open = (start, 1) if returns == 0 else None
            if returns == 1:
                self.helpers.append(range(start, line.address))

    def truth(self) -> Truth:
        def inside(kind: str, place: range) -> bool:
            return any(at in place for at in self.places[kind])

        def among(kind: str) -> list[bool]:
            return [any(at in place for place in self.helpers) for at in self.places[kind]]

        calls = {place.start: self.targets[place.start] for place in self.helpers}
        counts = {
            key: sum(count for name, count in self.names.items() if pattern.fullmatch(name))
            for key, pattern in _KEYS.items()
        }
        counts |= {
            "pmull_q": self.pmull,
            "helpers": len(self.helpers),
            "helper_calls": sum(calls.values()),
            "helper_calls_sync": sum(calls[p.start] for p in self.helpers if inside("dmb", p)),
            "lse_in_helpers": among("lse").count(True),
            "dmb_outside_helpers": among("dmb").count(False),
            "isb_in_loop": _in_loops(self.places["isb"], self.back),
        }
        return Truth(counts, calls, self.delays)


def _helper(recent: deque[Line]) -> int | None:
    """The first address of the outline-atomics helper whose LSE instruction comes next."""
    if len(recent) < 4:
        return None
    first, page, load, test = list(recent)[-4:]
    shaped = (
        (page.name, load.name, test.name) == ("adrp", "ldrb", "cbz")
        and page.operands.startswith("x16,")
        and load.operands.startswith("w16, [x16")
        and test.operands.startswith("w16,")
    )
    if not shaped:
        return None
    return first.address if (first.name, first.operands) == ("bti", "c") else page.address


def _delay(recent: deque[Line], branch: Line, start: int, delays: set[int]) -> None:
    """An empty counting loop: up to three instructions that add a number to one register."""
    body = [line for line in recent if start <= line.address < branch.address]
    if not 1 <= len(body) <= 3 or body[0].address != start:
        return
    counters = set()
    for line in body:
        operands = [part.strip() for part in line.operands.split(",")]
        if line.name in ("sub", "subs", "add", "adds"):
            if operands[0] != operands[1] or not operands[2].startswith("#"):
                return
            counters.add(operands[0][1:])
        elif line.name not in ("cmp", "cmn", "nop"):
            return
    if len(counters) != 1 or branch.name in ("b", "tbz", "tbnz"):
        return
    (counter,) = counters
    tested = branch.operands.split(",")[0][1:] if branch.name[0] == "c" else None
    compared = any(
        line.name in ("cmp", "cmn", "subs", "adds")
        and re.search(rf"\b[wx]{counter}\b", line.operands)
        for line in body
    )
    if tested == counter or (tested is None and compared):
        delays.add(start)


def _in_loops(places: list[int], back: list[tuple[int, int]]) -> int:
    """How many places have a branch shortly behind that goes back before them."""
    branches = sorted((branch, target) for target, branch in back)

    def looped(place: int) -> bool:
        first = bisect_left(branches, (place, 0))
        last = bisect_left(branches, (place + 4 * LOOP + 1, 0))
        return any(target <= place for _, target in branches[first:last])

    return sum(looped(place) for place in places)


class _X86:
    """What has been seen of an x86-64 listing so far."""

    KEYS = ("insns", "lock", "xchg_mem", "pause", "crc32", "pclmul", "rdtsc", "xbegin", "zmm")
    PREFIXES = ("bnd", "notrack", "data16", "repz", "repnz", "rep", "cs", "ds", "es")
    KINDS = re.compile(r"(pause|crc32|v?pclmul|rdtsc|xbegin)")

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.recent: deque[int] = deque(maxlen=LOOP + 1)
        self.pauses: deque[int] = deque(maxlen=LOOP + 1)
        self.in_loops: set[int] = set()
        self.functions: dict[str, Counter[str]] = {}
        self.function = ""

    def see(self, line: Line) -> None:
        self.counts["insns"] += 1
        self.recent.append(line.address)
        name, operands = line.name, line.operands
        if name == "lock":
            self.counts["lock"] += 1
            name, _, operands = operands.partition(" ")
        while name in self.PREFIXES:
            name, _, operands = operands.strip().partition(" ")
        if name.startswith("xchg"):
            self.counts["xchg_mem"] += "(" in operands or "0x" in operands
        elif name[:1] == "j" or name.startswith("loop"):
            self.branch(line)
        elif kind := self.KINDS.match(name):
            self.counts[kind[1].lstrip("v")] += 1
            if name == "pause":
                self.pauses.append(line.address)
                self.functions.setdefault(self.function, Counter())["pause"] += 1
        self.counts["zmm"] += "%zmm" in operands

    def branch(self, line: Line) -> None:
        target = line.target if self.pauses else None
        if target is not None and target <= line.address and target in self.recent:
            self.in_loops.update(place for place in self.pauses if target <= place)

    def truth(self) -> Truth:
        counts = {key: self.counts[key] for key in self.KEYS}
        counts["pause_in_loop"] = len(self.in_loops)
        return Truth(counts, functions=self.functions)
