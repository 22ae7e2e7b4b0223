"""Witnesses: evidence that a level is in force, judged the same in every arm.

A witness looks at what a server showed while it ran (its `Evidence`) and says
whether one level of one change was in force. It must be able to say no: each
kind is tested with the change off. Evidence is read by the target; judging it
is here, so that a bundle can be judged again without any server.

    kind         looks at                                     proves
    Functions    the census of the very functions that ran    which instructions they hold
    ReadBack     settings as the server reports them          what it was really given
    HugePages    smaps of the data's own mapping              which pages were obtained
    ServerHugePages  smaps of all processes of a server       huge pages for all of its pool
    Repeated     operations carried out against counted       a slow-down of known size
    Counted      counters that must have moved, or not        a mechanism that leaves a count
    ProcessShows /proc of a server's first process            threads, and what it may have
    PagesShow    smaps of the whole process                   pages of a kind, or none
    LogSays      what a library wrote into its own log        what it chose by itself
    Every        several witnesses                            that each of them holds
    Environ      /proc/PID/environ                            an environment variable
    Executable   digest of /proc/PID/exe                      which build ran
    BuiltAs      build id of /proc/PID/exe                    of which patch, flags, compiler
    HostShows    the kernel's files, while the server ran      a value of the host, where it ran
    OfKeys       some of what a level sets, by another        that one alone
    PageKinds    smaps of a server, beside all else           which pages hold its memory
    CommandSays  output of a witness command                  whatever the user asked
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay.changes.evidence import Evidence, RanFunction

ALL = 0.9
"""The share of a pool that counts as all of it: a server may keep some pages for itself."""


@dataclass(frozen=True)
class Held:
    """Whether a level was seen to be in force, and the evidence in words."""

    held: bool
    evidence: str


class Witness(Protocol):
    """Judges evidence for one level; `applied` is what the level sets."""

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held: ...


@dataclass(frozen=True)
class Expected:
    """What a function that runs at some level must be called, hold and lack.

    `where_counted` must be held on architectures whose census has such a class:
    elsewhere the same thing may be done by other instructions, or by a call.
    Of the instructions in `any_of` it holds at least one, and of those in
    `exactly` the number given.
    """

    symbol: str = ""
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    where_counted: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    exactly: Mapping[str, int] = field(default_factory=dict)

    def named(self) -> tuple[str, ...]:
        """Every instruction that is looked at, once."""
        return tuple(dict.fromkeys((*self.exactly, *self.has, *self.any_of, *self.lacks)))


@dataclass(frozen=True)
class Functions:
    """The function that ran in `role` is disassembled: its name and instructions tell the level.

    A level that several functions may serve, one for each kind of load, expects
    several; the one whose symbol is in the name of the function that ran counts.
    Without `must_run` a role that nothing played is no fault: another part may have
    taken its work. Such a witness stands beside one that must run.
    """

    role: str
    expected: Mapping[str, Expected | tuple[Expected, ...]]
    must_run: bool = True

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        ran = [f for f in evidence.functions if f.role == self.role]
        if not ran:
            return Held(not self.must_run, f"no function was seen to run as {self.role}")
        said = []
        for function in ran:
            wanted = _serving(function, self.expected[level])
            fault = _fault(function, wanted)
            if fault:
                return Held(False, fault)
            said.append(_census(function, wanted))
        return Held(True, "; ".join(said))


def _serving(function: RanFunction, expected: Expected | tuple[Expected, ...]) -> Expected:
    """The expectation for this function; without one, the first, which it then fails."""
    if isinstance(expected, Expected):
        return expected
    fitting = [e for e in expected if e.symbol in function.symbol]
    return (fitting or list(expected))[0]


def _fault(function: RanFunction, wanted: Expected) -> str:
    name, counts = function.symbol, function.counts
    if wanted.symbol not in name:
        return f"{name} ran, not {wanted.symbol}"
    absent = [i for i in wanted.has if not counts.get(i)]
    absent += [i for i in wanted.where_counted if counts.get(i) == 0]
    present = [i for i in wanted.lacks if counts.get(i)]
    for instruction, number in wanted.exactly.items():
        if counts.get(instruction, 0) == 0 and number:
            absent.append(instruction)
        elif counts.get(instruction, 0) != number:
            return f"{name} holds {counts[instruction]} {instruction}, not {number}"
    if wanted.any_of and not any(counts.get(i) for i in wanted.any_of):
        return f"{name} holds none of {', '.join(wanted.any_of)}"
    if absent:
        return f"{name} holds no {' or '.join(absent)}"
    return f"{name} holds {' and '.join(present)}" if present else ""


def _census(function: RanFunction, wanted: Expected) -> str:
    counts = function.counts
    counted = (i for i in wanted.where_counted if i in counts)
    shown = (*wanted.named(), *counted)
    holds = ", ".join(f"{counts.get(i, 0)} {i}" for i in shown)
    number = function.instructions
    size = "" if number is None else f"{number} instructions"
    inside = ": ".join(part for part in (size, holds) if part)
    return f"{function.symbol} ({inside})"


@dataclass(frozen=True)
class ReadBack:
    """The server reports each setting of the level with the value it was given.

    `alias` maps a level to other facts that the server must report with it.
    """

    alias: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        reported = evidence.read_back
        wanted = {**applied, **self.alias.get(level, {})}
        for key, value in wanted.items():
            if key not in reported:
                return Held(False, f"the server does not report {key}")
            if reported[key] != value:
                return Held(False, f"{key} is {reported[key]!r}, not {value!r}")
        return Held(True, ", ".join(f"{k} = {reported[k]}" for k in wanted) + " read back")


@dataclass(frozen=True)
class HugePages:
    """smaps of the data's mapping: huge pages at the levels that want them, none at the others.

    A level maps to the field that must be filled; None means that both must be 0.
    `share` is how much of the mapping must be huge: transparent huge pages may
    leave a ragged edge. `page_bytes` is the kernel's page size of pools.
    """

    wanted: Mapping[str, str | None]
    share: float = 0.9
    page_bytes: Mapping[str, int] = field(default_factory=dict)

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        memory = evidence.memory
        fields = ("anon_huge_bytes", "private_hugetlb_bytes")
        if any(f not in memory for f in fields):
            return Held(False, "the pages of the data were not read")
        said = ", ".join(f"{f} {memory[f]}" for f in fields) + f" of {memory['bytes']}"
        wanted = self.wanted[level]
        unwanted = [f for f in fields if f != wanted and memory[f]]
        short = wanted is not None and memory[wanted] < self.share * memory["bytes"]
        if level in self.page_bytes:
            found = memory.get("kernel_page_bytes")
            said += f", in pages of {found}"
            short = short or found != self.page_bytes[level]
        return Held(not unwanted and not short, said)


@dataclass(frozen=True)
class ServerHugePages:
    """smaps of a whole server: huge pages for `share` of its pool at some levels, none at others.

    A server's memory is many mappings, of which the pool (`pool_bytes`, as the
    server reports it) is the one that is meant. Pages are obtained when they are
    first touched. A server that goes on with other pages where huge ones are short
    must touch its whole pool to be believed; one that would not start without them
    is `strict`, and what it has mapped is enough, if some of it was touched.
    `page_bytes` is what a page must measure at a level.
    """

    huge: frozenset[str]
    strict: bool = False
    share: float = 0.9
    page_bytes: Mapping[str, int] = field(default_factory=dict)

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        memory, pool = evidence.memory, evidence.read_back.get("pool_bytes")
        pools = ("private_hugetlb_bytes", "shared_hugetlb_bytes")
        names = ("hugetlb_mapped_bytes", *pools, "anon_huge_bytes", "shmem_huge_bytes")
        if not pool or any(n not in memory for n in names):
            return Held(False, "the pages of the server's memory were not read")
        said = ", ".join(f"{n} {memory[n]}" for n in names) + f", pool {pool}"
        if level not in self.huge:
            return Held(not any(memory[n] for n in names), said)
        page, wanted = memory.get("kernel_page_bytes"), self.page_bytes.get(level)
        touched = sum(memory[n] for n in pools)
        found = memory["hugetlb_mapped_bytes"] if self.strict else touched
        held = touched > 0 and found >= self.share * pool and wanted in (None, page)
        return Held(held, f"{said}, in pages of {page}")


@dataclass(frozen=True)
class Repeated:
    """Operations carried out beyond those counted: one for every n at level n, none at 0.

    A tenth of what is wanted and a thousand operations are allowed: threads begin
    and end a window between two batches.
    """

    setting: str

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        if evidence.executed is None:
            return Held(False, "the operations carried out were not counted")
        counted, every = evidence.operations, applied[self.setting]
        extra = evidence.executed - counted
        wanted = counted / every if every else 0.0
        if abs(extra - wanted) > 0.1 * wanted + 1000:
            return Held(False, f"{extra} repeated of {counted}, not {wanted:.0f}")
        return Held(True, f"one operation repeated in {every}" if every else "nothing repeated")


@dataclass(frozen=True)
class Counted:
    """Counters that a level moves (True), or must leave at zero (False), and its read-back."""

    expected: Mapping[str, Mapping[str, bool]]

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        told = ReadBack().judge(level, applied, evidence)
        if not told.held:
            return told
        seen, wanted = evidence.counters, self.expected[level]
        for name, moves in wanted.items():
            if name not in seen:
                return Held(False, f"{name} was not counted")
            if bool(seen[name]) != moves:
                return Held(False, f"{name} is {seen[name]}, {'not above 0' if moves else 'not 0'}")
        said = ", ".join(f"{name} {seen[name]}" for name in wanted)
        return Held(True, f"{told.evidence}; {said}" if said else told.evidence)


@dataclass(frozen=True)
class ProcessShows:
    """What the kernel shows of the server's process at each level, by name; what it does not name
    is 0."""

    expected: Mapping[str, Mapping[str, Any]]

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        shown, wanted = evidence.status, self.expected[level]
        if not shown:
            return Held(False, "what the kernel shows of the process was not read")
        said = ", ".join(f"{name} {shown.get(name, 0)}" for name in wanted)
        return Held(all(shown.get(name, 0) == v for name, v in wanted.items()), said)


@dataclass(frozen=True)
class PagesShow:
    """Fields of the process' memory that are filled (True) or 0 (False) at each level."""

    expected: Mapping[str, Mapping[str, bool]]

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        memory, wanted = evidence.memory, self.expected[level]
        if any(name not in memory for name in wanted):
            return Held(False, "the pages of the process were not read")
        said = ", ".join(f"{name} {memory[name]}" for name in wanted)
        return Held(all(bool(memory[name]) == filled for name, filled in wanted.items()), said)


@dataclass(frozen=True)
class LogSays:
    """What a fact in the log holds at each level, large and small letters told apart."""

    fact: str
    expected: Mapping[str, str]

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        said = evidence.log.get(self.fact)
        if said is None:
            return Held(False, f"its log does not say {self.fact}")
        return Held(self.expected[level] in said, f"its log says {self.fact}: {said}")


@dataclass(frozen=True)
class Every:
    """Several witnesses of one change: the first that does not hold is the answer."""

    witnesses: tuple[Witness, ...]

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        answers = [w.judge(level, applied, evidence) for w in self.witnesses]
        failed = next((a for a in answers if not a.held), None)
        return failed or Held(True, "; ".join(a.evidence for a in answers if a.evidence))


@dataclass(frozen=True)
class Environ:
    """The environment of the running process holds the variable, or lacks it.

    A level that sets none has nothing to show."""

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        if not applied:
            return Held(True, "")
        seen = evidence.environ
        if seen is None:
            return Held(False, "the environment of the process was not read")
        for name, value in applied.items():
            if seen.get(name) != value:
                return Held(False, f"{name} is {seen.get(name)!r}, not {value!r}")
        words = [f"{k} = {v}" if v is not None else f"{k} absent" for k, v in applied.items()]
        return Held(True, ", ".join(words) + " in the running process")


@dataclass(frozen=True)
class Executable:
    """The running process has the contents of the level's file, by SHA-256 taken before the study.

    Where the target is a library, the file is the one that the process has mapped.

    The level without a digest is the target's own executable: it must be none of
    the other levels' files.
    """

    digests: Mapping[str, str | None]

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        seen = evidence.executable
        if seen is None:
            return Held(False, "the executable of the process was not read")
        what = f"running {seen.what}"
        said = f"{what} {seen.sha256[:12]}, build id {seen.build_id}"
        wanted = self.digests[level]
        if wanted is not None:
            return Held(wanted == seen.sha256, said)
        return Held(seen.sha256 not in self.digests.values(), said)


@dataclass(frozen=True)
class BuiltAs:
    """The running process is a link of a build with this level, by the build id that Assay gave it.

    `marks` are the beginnings of the build ids of all builds with a level: with several factors
    there are several, and the witnesses of all together leave one. A build id names the source,
    the patches, the compiler and the flags by their digests, and the order of the link.
    """

    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        seen = evidence.executable
        if seen is None or seen.build_id is None:
            return Held(False, "the build id of the process was not read")
        said = f"running {seen.what} {seen.sha256[:12]}, build id {seen.build_id}"
        return Held(seen.build_id.startswith(self.marks.get(level, ())), said)


@dataclass(frozen=True)
class HostShows:
    """The kernel's own files held the level's values after the window, the server still running.

    Values are compared as they were when they were written: `host` maps a key to what was read
    and to whether that means the same.
    """

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        seen = evidence.host
        if not applied:
            return Held(False, "the level sets nothing on the host")
        for key, value in applied.items():
            if key not in seen:
                return Held(False, f"{key} was not read")
            if not seen[key].holds:
                return Held(False, f"{key} is {seen[key].value}, not {value}")
        return Held(True, ", ".join(f"{k} is {seen[k].value}" for k in applied))


@dataclass(frozen=True)
class OfKeys:
    """Another witness, which is shown what these keys set and no more; the others, if `others`."""

    keys: frozenset[str]
    witness: Witness
    others: bool = False

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        wanted = {k: v for k, v in applied.items() if (k in self.keys) != self.others}
        return self.witness.judge(level, wanted, evidence)


@dataclass(frozen=True)
class PageKinds:
    """smaps of a target: pages of the kind that a level is, and of no other huge kind.

    A page of a pool that is mapped is of no other kind, touched or not: such a mapping never
    falls back. Of transparent ones, whether private or shared (shmem), at least `share` of the
    memory that was touched and could have them is wanted.
    """

    page_bytes: Mapping[str, int]
    transparent: frozenset[str]
    share: float = 0.5

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        memory = evidence.memory
        if "anon_huge_bytes" not in memory or "private_hugetlb_bytes" not in memory:
            return Held(False, "the pages of the data were not read")
        touched = memory["private_hugetlb_bytes"] + memory.get("shared_hugetlb_bytes", 0)
        pool = max(touched, memory.get("hugetlb_mapped_bytes", 0))
        thp = memory["anon_huge_bytes"] + memory.get("shmem_huge_bytes", 0)
        found = memory.get("kernel_page_bytes")
        said = f"{pool} bytes in pools (pages of {found}, {touched} touched), {thp} in THP"
        if level in self.transparent:
            could = memory.get("touched_bytes", memory.get("bytes", 0))
            said += f" of {could} touched{_eligible(memory)}{_refusals(evidence)}"
            return Held(pool == 0 and thp > 0 and thp >= self.share * could, said)
        wanted = self.page_bytes.get(level)
        if wanted is None:
            return Held(pool == 0 and thp == 0, said)
        whole = evidence.read_back.get("pool_bytes") or memory.get("bytes", 0)
        return Held(touched > 0 and found == wanted and pool >= ALL * whole, said)


REFUSED = "thp_fault_fallback"
"""The kernel's count of page faults that asked for a transparent huge page and got base pages."""


def _eligible(memory: Mapping[str, int]) -> str:
    """What the process asked for as the policy wants it: the kernel decides about no more."""
    found = memory.get("eligible_bytes")
    return "" if found is None else f" and {found} asked for"


def _refusals(evidence: Evidence) -> str:
    """What the kernel says of huge pages that it was asked for and had not."""
    refused = evidence.host[REFUSED].value if REFUSED in evidence.host else 0
    said = f"; on this machine {refused} page faults that asked for a huge page had none"
    return said if refused else ""


@dataclass(frozen=True)
class CommandSays:
    """The witness command of the level printed the text it was expected to print."""

    factor: str

    def judge(self, level: str, applied: Mapping[str, Any], evidence: Evidence) -> Held:
        said = evidence.commands.get(self.factor)
        if said is None:
            return Held(False, "the witness command did not run")
        wanted = applied["expect"]
        return Held(wanted == said.strip(), f"witness command printed {said.strip()[:80]!r}")
