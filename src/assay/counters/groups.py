"""The groups of counters that a study may ask for, and what each asks of `assayer sample`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import MissingError
from assay.counters.models import TYPES, Event, Model, Role, model_here

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")

SOFTWARE = {
    "cpu_clock_ns": 0,
    "task_clock_ns": 1,
    "page_faults": 2,
    "context_switches": 3,
    "cpu_migrations": 4,
}
"""Events of the kernel itself, by its numbers: they need no counters of the processor."""


@dataclass(frozen=True)
class CounterGroup:
    """A group: what it says, what its counters' names begin with, and, of events, which.

    `needs` are the roles of which a model must have one.
    """

    name: str
    text: str
    prefix: str
    native: bool = True
    needs: tuple[Role, ...] = ()

    @property
    def whole_machine(self) -> bool:
        """Whether it counts what all processes do, not the server's alone."""
        return self.native and self.name != "process"


def _by_name(*groups: CounterGroup) -> dict[str, CounterGroup]:
    return {g.name: g for g in groups}


GROUPS = _by_name(
    CounterGroup("cpu", "CPU time by CPU, context switches, interrupts", "host."),
    CounterGroup("softirqs", "soft interrupts by kind and CPU", "host.softirq."),
    CounterGroup("softnet", "packets by CPU: processed, dropped, steered by RPS", "host.softnet."),
    CounterGroup("vm", "page faults, huge pages made and split, compaction", "vm."),
    CounterGroup("psi", "time that tasks waited for CPU, memory, I/O", "psi."),
    CounterGroup("energy", "energy of the processor's packages", "energy."),
    CounterGroup("process", "the server's CPU time, faults, switches, page tables", "process."),
    CounterGroup(
        "perf", "cycles and instructions, and the kernel's own events", "perf.", native=False
    ),
    CounterGroup(
        "tlb",
        "page walks, or misses of the first TLB where walks are not counted",
        "perf.",
        native=False,
        needs=("dtlb_walks", "dtlb_refills", "itlb_walks", "itlb_refills"),
    ),
    CounterGroup(
        "walk-cycles",
        "cycles of page walks",
        "perf.",
        native=False,
        needs=("walk_cycles",),
    ),
)


@dataclass(frozen=True)
class CounterRequest:
    """What a study's groups come to on this host.

    `groups` and `sets` as the protocol has them; `refused`: by name, why it is not even tried.
    """

    groups: tuple[str, ...]
    sets: tuple[tuple[Mapping[str, Any], ...], ...]
    refused: Mapping[str, str]
    model: Model | None = None

    def request(self, pid: int | None, **more: Any) -> dict[str, Any]:
        """The request for a process and what descends from it. Of a server on another machine
        only what this host does is counted."""
        groups = [g for g in self.groups if pid is not None or g != "process"]
        sets = self.sets if pid is not None else ()
        return {"pid": pid, "groups": groups, "pmu": [list(s) for s in sets], **more}


def asked(
    names: Sequence[str],
    facts: Mapping[str, Any],
    model: Callable[[], Model | None] = model_here,
    may_count_kernel: Callable[[], bool] | None = None,
) -> CounterRequest:
    """What these groups come to on a host with these facts; nothing is opened.

    Events of the processor are asked for only where `facts` found that one can be opened.
    MissingError where they would have to take turns, because then none would be a number.
    """
    may = (may_count_kernel or _may_count_kernel)()
    sets: list[tuple[Mapping[str, Any], ...]] = []
    refused: dict[str, str] = {}
    table = None
    if "perf" in names:
        sets.append(tuple(_event(n, "software", c) for n, c in SOFTWARE.items()))
    wanted = [n for n in ("perf", "tlb", "walk-cycles") if n in names]
    pmu = facts["can"]["pmu"] if wanted else {"ok": True, "why": ""}
    if not pmu["ok"]:
        refused = {_what(n): f"no counters of the processor here: {pmu['why']}" for n in wanted}
    elif wanted:
        table = model()
        found, refused = _hardware(wanted, table)
        _require_no_turns(found, table)
        sets += [tuple(_of_table(n, e, may) for n, e in found.items())] if found else []
    native = tuple(n for n in names if GROUPS[n].native)
    return CounterRequest(native, tuple(sets), refused, table)


def _what(name: str) -> str:
    """What is lacking of a group where there are no counters of the processor."""
    return "perf.cycles, perf.instructions" if name == "perf" else name


def _hardware(
    wanted: Sequence[str], model: Model | None
) -> tuple[dict[str, Event], dict[str, str]]:
    """The table's events of these groups, and the groups that it has none for."""
    found: dict[str, Event] = {}
    if model is None:
        # Every processor's counters have these two, by the kernel's own numbers.
        found["cycles"] = Event(kind="hardware", event=0)
        found["instructions"] = Event(kind="hardware", event=1)
        why = "no table of events for this model of processor; docs/counters.md says how to add one"
        return found, {n: why for n in wanted if n != "perf"}
    refused = {}
    for event in ("cycles", "instructions"):
        found[event] = model.events[event]
    for name in wanted:
        roles = [r for r in GROUPS[name].needs if r in model.roles]
        if GROUPS[name].needs and not roles:
            refused[name] = f"{model.name} has no such events"
        for role in roles:
            found |= {e: model.events[e] for e in model.roles[role]}
    return found, refused


def _require_no_turns(found: Mapping[str, Event], model: Model | None) -> None:
    """MissingError where the events are more than the processor counts at once."""
    if model is None:
        return
    # Cycles and instructions have counters of their own on Intel; elsewhere they take one each.
    own = {"cycles", "instructions"} if found["cycles"].kind == "hardware" else set()
    taken = [n for n in found if n not in own]
    if len(taken) > model.counters:
        raise MissingError(
            f"{model.name} counts {model.counters} events at once, and {len(taken)} are asked for: "
            f"{', '.join(taken)}",
            next_step='ask for "tlb" in one study and "walk-cycles" in another',
        )


def _event(name: str, kind: str, config: int, exclude_kernel: bool = False) -> dict[str, Any]:
    return {
        "name": name,
        "type": TYPES[kind],
        "config": config,
        "exclude_kernel": exclude_kernel,
    }


def _of_table(name: str, event: Event, may_count_kernel: bool) -> dict[str, Any]:
    """An ordinary user's events are of user space, and are called so, as perf does."""
    suffix = "" if may_count_kernel else ":u"
    return _event(name + suffix, event.kind, event.config, not may_count_kernel)


def _may_count_kernel() -> bool:
    """Whether the kernel's own work may be counted."""
    if os.geteuid() == 0:
        return True
    try:
        return int(PARANOID.read_text()) < 2
    except (OSError, ValueError):
        return False


def why_absent(name: str, absent: Mapping[str, str]) -> str:
    """Why a counter or a group is among what is absent; empty if it is not."""
    wanted = "perf.cycles" if name == "perf" else name
    for what, why in absent.items():
        for lacking in what.split(", "):
            plain = lacking.removesuffix(":u")
            if wanted in (plain, lacking) or wanted.startswith(f"{plain}."):
                return why
    event = wanted.removeprefix("perf.")
    if event != wanted and event not in (*SOFTWARE, "cycles", "instructions"):
        return next((absent[g] for g in ("tlb", "walk-cycles") if g in absent), "")
    return ""


def group_of(counter: str, names: Sequence[str]) -> str | None:
    """Which of these groups a counter belongs to; None if to none of them."""
    fitting = [n for n in names if counter.startswith(GROUPS[n].prefix)]
    return max(fitting, key=lambda n: len(GROUPS[n].prefix), default=None)
