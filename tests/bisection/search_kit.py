"""Searches on fakes: levels of a factor, and commits whose builds are only said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.bisection import Found, SearchBundle
from assay.bisection.building import BuildFailed, BuiltNode
from assay.bisection.plan import COMMITS, FACTOR
from assay.bisection.running import Wanted, prepare_search, search
from assay.bisection.subject import Subject, subject_of
from assay.changes import SeenExecutable, generic_change
from assay.core.digest import file_digest
from assay.study import Factor
from assay.study.read import read_alone
from fakes import FACTS, FakeServer, FakeTarget

LEVELS = tuple(str(1000 + k) for k in range(24))

STUDY = f"""
name = "spin"
question = "Which limit made it slower?"

[target]
kind = "engine"

[workload]
kind = "ycsb"

[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"
design = "runs"

[[factor]]
name = "limit"
change = "setting"
setting = "spin_limit"
levels = [{", ".join(LEVELS)}]

[design]
kind = "sweep"

[decide]
smallest = "4%"
budget = "30min"
"""


def slower_from(level: int, by: float = 0.05):
    """The speed of a fake engine whose limit, from a level on, costs so much."""
    return lambda settings, env: 1 - by * (settings["spin_limit"] >= 1000 + level)


@dataclass
class Lab:
    """A fake target, a subject on it, and the search."""

    folder: Path
    fake: FakeTarget
    subject: Subject
    wanted: Wanted = field(default_factory=lambda: Wanted(LEVELS[0], LEVELS[-1], seed=3))

    @property
    def targets(self):
        return {"engine": self.fake}

    def prepared(self) -> SearchBundle:
        clocks = self.fake.clock.clocks()
        options = {"targets": self.targets, "clocks": clocks}
        return prepare_search(self.subject, self.wanted, self.folder, FACTS, **options)

    def go_on(self, bundle: SearchBundle) -> Found:
        clocks = self.fake.clock.clocks()
        return search(bundle, self.subject, targets=self.targets, clocks=clocks)

    def searched(self) -> tuple[SearchBundle, Found]:
        bundle = self.prepared()
        return bundle, self.go_on(bundle)


def lab(folder: Path, effect, study: str = STUDY, **fake) -> Lab:
    """A search over the levels of a factor."""
    made = FakeTarget(effect=effect, **fake)
    targets = {"engine": made}
    subject = subject_of(("study.toml", study, Path(".")), repo=None, over="limit", targets=targets)
    return Lab(folder, made, subject)


class BuiltServer(FakeServer):
    """A fake server that says which executable it is."""

    def evidence(self):
        binary = Path(self.launch.binary)
        return replace(
            super().evidence(), executable=SeenExecutable(file_digest(binary), binary.name)
        )


@dataclass
class BuiltTarget(FakeTarget):
    """A fake whose speed is that of its executable."""

    speeds: Mapping[str, float] = field(default_factory=dict)

    def start(self, launch, log):
        number = self.started
        self.started += 1
        self.effect = lambda settings, env: self.speeds.get(Path(launch.binary).name, 1.0)
        return BuiltServer(self, launch, number)


@dataclass
class FakeBuilder:
    """Commits as files: those of equal `code` are equal; some do not build."""

    folder: Path
    codes: Mapping[str, str]
    broken: frozenset[str] = frozenset()
    built: list[str] = field(default_factory=list)

    def build(self, name: str) -> BuiltNode:
        self.built.append(name)
        if name in self.broken:
            raise BuildFailed("server.c:3: error: expected ';'", "the whole log")
        code = self.codes.get(name, name)
        path = self.folder / code
        path.write_text(code)
        return BuiltNode(code, file_digest(path), 2.0)

    def compared(self, one, other):
        return ["work"] if one.code != other.code else []


@dataclass(frozen=True)
class FakeCommits(Subject):
    """Commits c0, c1, ... without a repository."""

    names: tuple[str, ...] = ()

    def nodes(self, good, bad, paths=()):
        from assay.bisection import PlannedNode

        return [PlannedNode(name=name, title=f"change {name}") for name in self.names]

    def with_builds(self, built, place=None):
        paths = {name: str(self.builder.folder / node.code) for name, node in built.items()}
        change = generic_change(
            "binary", FACTOR, None, paths, target=self.case.target, base=Path("/")
        )
        factor = Factor(FACTOR, change, dict(change.levels), change.effort)
        return replace(self.study, factors={FACTOR: factor})


def commits(folder: Path, count: int, culprit: int, *, codes=None, broken=()) -> Lab:
    """A search over commits, from `culprit` on 5 % slower."""
    names = tuple(f"c{k}" for k in range(count))
    codes = {name: name for name in names} | dict(codes or {})
    speeds = {codes[n]: 1 - 0.05 * (k >= culprit) for k, n in enumerate(names)}
    fake = BuiltTarget(speeds=speeds)
    builds = folder / "built"
    builds.mkdir()
    builder = FakeBuilder(builds, codes, frozenset(broken))
    factor = {"name": FACTOR, "change": "env", "variable": "NODE", "levels": {"a": "a", "b": "b"}}
    study = read_alone("s", STUDY, Path("."), factor, None, {"engine": fake})
    subject = FakeCommits(study, COMMITS, builder, Path("."), names=names)
    return Lab(folder / "bundle", fake, subject, Wanted("c0", names[-1], seed=3))
