"""What a change is: data that says how to switch it and how to see that it is on.

A change has levels. A level is applied as settings of the target, environment
variables, another executable or commands; the bench merges the applications of
all factors of an arm into one launch. Changes know no target's code and targets
know no change: the names of settings are all they share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from assay.builds import Built, Variation
from assay.changes.witness import Witness
from assay.core.parameters import nearest
from assay.core.terms import OPPOSITE, Direction, Effort
from assay.core.units import parse_size


@dataclass(frozen=True)
class Command:
    """Programs that switch something outside the server; each is an argument list."""

    apply: tuple[str, ...]
    undo: tuple[str, ...]
    witness: tuple[str, ...]
    expect: str


@dataclass(frozen=True)
class Build:
    """An executable that Assay makes: an arm of a recipe, and what was made once it was."""

    recipe: str
    arm: str
    built: Built | None = None


@dataclass(frozen=True)
class Application:
    """How a level is put in force. Merging two that set one thing twice is an error.

    A `build` is made before the first run; its executable then stands in `binary` too. `host`
    are values of the kernel's by key or path, in force while the run lasts. `steer` names what
    becomes such values, or a place for server and client, on the machine of the run: which CPUs
    there are is not known before. `of_target` is what a level is for one kind of target only.
    `variation` is how the program of the study's `[build]` differs; several make one build.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str | None] = field(default_factory=dict)
    binary: str | None = None
    commands: Mapping[str, Command] = field(default_factory=dict)
    build: Build | None = None
    host: Mapping[str, str] = field(default_factory=dict)
    steer: Mapping[str, str] = field(default_factory=dict)
    of_target: Mapping[str, Application] = field(default_factory=dict)
    variation: Variation | None = None

    def of(self, target: str) -> Application:
        """All of it that is for this kind of target."""
        common = replace(self, of_target={})
        own = self.of_target.get(target)
        return common if own is None else common.merged(own)

    def merged(self, other: Application) -> Application:
        """Both applications at once; ValueError names what both would set."""
        both = (set(self.settings) & set(other.settings)) | (set(self.env) & set(other.env))
        both |= set(self.host) & set(other.host)
        both |= set(self.steer) & set(other.steer)
        named = [a.binary or a.build for a in (self, other)]
        varied = [a.variation is not None for a in (self, other)]
        if all(named) or (any(named) and any(varied)):
            both.add("the executable")
        if both:
            raise ValueError(f"two factors both set {', '.join(sorted(both))}")
        return Application(
            {**self.settings, **other.settings},
            {**self.env, **other.env},
            self.binary or other.binary,
            {**self.commands, **other.commands},
            self.build or other.build,
            {**self.host, **other.host},
            {**self.steer, **other.steer},
            _each(self.of_target, other.of_target),
            _built(self.variation, other.variation),
        )


def _built(one: Variation | None, other: Variation | None) -> Variation | None:
    """Both at once."""
    return (one or Variation()).merged(other) if other is not None else one


def _each(
    one: Mapping[str, Application], other: Mapping[str, Application]
) -> dict[str, Application]:
    """By target what either has for it."""
    nothing = Application()
    kinds = dict.fromkeys((*one, *other))
    return {k: one.get(k, nothing).merged(other.get(k, nothing)) for k in kinds}


HTM = "htm"
"""Needed by a level: hardware transactional memory that commits, not one that is only listed."""

THP_ALWAYS = "thp-always"
"""Needed by a level: a kernel that gives transparent huge pages to whoever does not refuse them."""


NUMA = "numa"
"""Needed by a level: more than one NUMA node."""


class LevelError(ValueError):
    """A level that a change does not have: `value` as a study file gives it."""

    def __init__(self, message: str, value: object) -> None:
        super().__init__(message)
        self.value = value


@dataclass(frozen=True)
class Level:
    """One setting of a change. `needs` names a processor architecture or feature, several with
    "or" between ways and "and" within one, or is `HTM`, `THP_ALWAYS` or `NUMA`."""

    name: str
    application: Application
    needs: str | None = None


def lacking(needs: str | None, facts: Mapping[str, Any]) -> str:
    """Why a host with these facts cannot have a level that `needs` this; empty if it can."""
    if needs == HTM:
        htm = facts["can"]["htm"]
        if htm["state"] == "usable":
            return ""
        return f"needs hardware transactional memory, which is {htm['state']} here: {htm['why']}"
    if needs == THP_ALWAYS:
        mode = (facts["thp"] or {}).get("enabled", "absent")
        if mode == "always":
            return ""
        return f"needs transparent huge pages for all (mode always), which are {mode} here"
    if needs == NUMA:
        nodes = facts["numa_nodes"]
        return "" if nodes > 1 else "needs several NUMA nodes; this machine has one"
    here = {facts["arch"], *facts["cpu_features"]}
    if needs is None or any(set(way.split(" and ")) <= here for way in needs.split(" or ")):
        return ""
    return f"needs {needs}; this is {facts['arch']}"


@dataclass(frozen=True)
class Dose:
    """The counter that tells how often the mechanism ran, and in what unit.

    Where `may_lack`, a host that cannot count it has no dose, rather than one of 0.
    """

    counter: str
    unit: str
    per_operation: bool = True
    may_lack: bool = False


@dataclass(frozen=True)
class Prediction:
    """A metric that the change should move, as measured, or must leave alone ("same"): part of
    its signature. A family's bare name stands for its member that is largest in a run."""

    metric: str
    direction: Direction


Signature = tuple[Prediction, ...]


class Kind(Protocol):
    """What a change asks of a target."""

    @property
    def kind(self) -> str: ...

    @property
    def protocol(self) -> str:
        """What the load speaks to it; empty where the load runs inside it."""
        ...


@dataclass(frozen=True)
class Change:
    """Something that can be switched.

    It is for `targets` by name, or with `scope` for all servers that a load connects to, or all
    targets.

    `levels` are the named ones; a change with `numeric_setting` takes any number
    that the target allows for that setting, and where it is `sized` any size
    ("80MiB"), of which `off` and `on` are two. `requires` maps a setting to the
    values under which the change means anything, and `workloads` names those in
    which its part runs at all; empty is all of the target's. `written` makes a level of a text
    that names none, such as a list of CPUs; LevelError if it cannot. With `remakes_data` the
    levels cannot share prepared data: a setting that they differ in shapes what is stored. With
    `whole_runs` its witness counts operations that slices leave out, so arms run one by one.
    """

    name: str
    text: str
    targets: frozenset[str]
    levels: Mapping[str, Level]
    off: str
    on: str
    witness: Witness
    effort: Effort
    dose: Dose | None = None
    numeric_setting: str | None = None
    requires: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    signature: Signature = ()
    workloads: frozenset[str] = frozenset()
    sized: bool = False
    written: Callable[[str], Level] | None = None
    mechanism: str = ""
    scope: Literal["named", "servers", "all"] = "named"
    remakes_data: bool = False
    whole_runs: bool = False

    def fits(self, target: Kind) -> bool:
        """Whether it can be switched on a target."""
        if self.scope == "servers":
            return bool(target.protocol)
        return self.scope == "all" or target.kind in self.targets

    def predicted(self, off: str, on: str) -> dict[str, Direction]:
        """What going from one level to another should do, by metric.

        The signature is that of leaving `self.off`; a way back is its opposite, and of two levels
        that are neither, nothing is known unless they are numbers.
        """
        if self.numeric_setting is not None:
            back = self._rises(off, on) != self._rises(self.off, self.on)
        elif self.off in (off, on):
            back = on == self.off
        else:
            return {}
        return {p.metric: OPPOSITE[p.direction] if back else p.direction for p in self.signature}

    def _rises(self, low: str, high: str) -> bool:
        size = parse_size if self.sized else int
        return size(high) > size(low)

    def level(self, value: object) -> Level:
        """The level called `value`, or holding that number; LevelError lists what there is."""
        if self.numeric_setting is not None and self.sized:
            if not isinstance(value, str) or not value[:1].isdigit():
                message = f'{value!r} is not a level of {self.name}: write a size, "80MiB"'
                raise LevelError(message, value)
            return Level(value, Application({self.numeric_setting: value}))
        if self.numeric_setting is not None:
            if isinstance(value, bool) or not isinstance(value, int):
                message = f"{value!r} is not a level of {self.name}: write a whole number"
                raise LevelError(message, value)
            return Level(str(value), Application({self.numeric_setting: value}))
        name = value if isinstance(value, str) else str(value)
        if name not in self.levels and self.written is not None:
            return self.written(name)
        if name not in self.levels:
            known = ", ".join(self.levels)
            message = f"{value!r} is not a level of {self.name}: {known}"
            raise LevelError(message + nearest(name, self.levels), value)
        return self.levels[name]
