"""Reading a study: from a file or a shipped name to a checked `Study`, or all its mistakes.

Shape comes first (`file`), then sense: targets, workloads, changes, levels,
designs, legality and budget. Every mistake carries line and column, what is
allowed, and the next step; nothing is started by then.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay.changes import Level
from assay.core import document
from assay.core.errors import InputError, Problem, StudyError
from assay.core.metrics import COUNTED, LOADED, OF_LOCKS, metric, names
from assay.core.parameters import Parameter, nearest
from assay.counters import GROUPS, group_of
from assay.plan import PlannedAxis
from assay.plan.names import BASELINE
from assay.study.axis import AxisError, spread, varied
from assay.study.build import read_build
from assay.study.designs import arms, unmet
from assay.study.factors import change_and_levels, key_at_fault
from assay.study.file import (
    AUTO,
    AxisSection,
    CaseSection,
    FactorSection,
    MeasureSection,
    OpenSection,
    StudyFile,
    check,
)
from assay.study.measured import counter_groups, loads_each_run
from assay.study.model import Arm, Case, Factor, Network, Study
from assay.study.phases import least_runs
from assay.study.pilot import SHARE, STAND_INS, pilot_cost_s
from assay.study.promise import promise_mistakes, promise_of
from assay.study.rules import design_mistakes, uncounted
from assay.targets import TARGETS, Target
from assay.targets.servers.framework.load import CLIENT, EACH_RUN
from assay.workloads import WORKLOADS


def shipped() -> dict[str, str]:
    """The studies that come with Assay: their text by name."""
    folder = resources.files("assay") / "library" / "studies"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return {f.name.removesuffix(".toml"): f.read_text("utf-8") for f in files}


def locate(study: str) -> tuple[str, str, Path]:
    """A study's display name, its text and the folder its paths start at."""
    path = Path(study)
    if path.is_file():
        return study, path.read_text("utf-8"), path.resolve().parent
    library = shipped()
    if study in library:
        return f"{study} (shipped)", library[study], Path.cwd()
    raise InputError(
        f"{study!r} is neither a file nor a shipped study{nearest(study, library)}",
        next_step=f"`assay list studies` shows what ships: {', '.join(library)}",
    )


def read(
    name: str,
    text: str,
    base: Path,
    overrides: Mapping[str, str] | None = None,
    targets: Mapping[str, Target] = TARGETS,
) -> Study:
    """The study in `text`; `overrides` maps dotted keys to TOML values or bare text."""
    doc = document.parse(name, text)
    for key, value in (overrides or {}).items():
        override(doc.values, key, value)
    return _StudyReader(doc, base, targets).study(text)


def read_alone(
    name: str,
    text: str,
    base: Path,
    factor: Mapping[str, Any],
    overrides: Mapping[str, str] | None = None,
    targets: Mapping[str, Target] = TARGETS,
) -> Study:
    """The study in `text` with one factor in the place of its own factors, arms and design."""
    doc = document.parse(name, text)
    for key, value in (overrides or {}).items():
        override(doc.values, key, value)
    doc.values.pop("arm", None)
    doc.values["factor"] = [dict(factor)]
    doc.values["design"] = {"kind": "one-at-a-time", "control": False}
    return _StudyReader(doc, base, targets).study(text)


def override(values: dict[str, Any], key: str, written: str) -> None:
    """Put a value into a study's tables; `written` is TOML, or bare text."""
    *tables, last = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise InputError(f"--set {key}: {table} is not a table", next_step="see the study file")
    try:
        values[last] = tomllib.loads(f"v = {written}")["v"]
    except tomllib.TOMLDecodeError:
        values[last] = written


MANY = 100
"""Names that are not worth listing."""


class _StudyReader:
    """Collects every mistake of sense before it gives up."""

    def __init__(self, doc: document.Document, base: Path, targets: Mapping[str, Target]) -> None:
        self.doc, self.base, self.targets = doc, base, targets
        self.problems: list[Problem] = []
        self.unread: set[str] = set()  # factors with a mistake; what names them is not judged

    def wrong(self, path: document.Path, message: str, next_step: str) -> None:
        self.problems.append(self.doc.problem(path, message, next_step))

    def stop_if_wrong(self) -> None:
        if self.problems:
            raise StudyError(self.doc.name, self.problems)

    def study(self, text: str) -> Study:
        file, self.problems = check(self.doc)
        cases = self.cases(file)
        if not cases:
            self.stop_if_wrong()
        factors = self.factors(file, cases)
        self.counters(file)
        self.metrics(file, cases)
        if self.unread and file.design.kind in ("ladder", "sweep", "scaling"):
            self.stop_if_wrong()
        order = self.order(file, factors)
        if not order and file.design.kind in ("sweep", "scaling"):
            self.stop_if_wrong()
        listed = self.arms(file, factors)
        axis, cases = self.axis(file, cases, factors)
        study = Study(
            name=file.name,
            question=file.question,
            source=file.source or "",
            text=text,
            cases=tuple(cases),
            factors=factors,
            primary=file.measure.primary,
            also=tuple(dict.fromkeys(file.measure.also)),
            warmup_s=_time_of(file.measure, "warmup"),
            window_s=_time_of(file.measure, "window"),
            design=file.design.kind,
            order=order,
            control=file.design.control,
            size=file.design.size,
            blocks=file.design.blocks,
            arms_listed=tuple(listed),
            smallest=file.decide.smallest,
            margin=file.decide.margin,
            alpha=file.decide.alpha,
            budget_s=file.decide.budget,
            counters=counter_groups(file.measure),
            profile=file.measure.profile,
            timeline=file.measure.timeline,
            promise=promise_of(file.measure),
            measuring=file.measure.design,
            slice_asked_s=file.measure.slice,
            auto=frozenset(n for n in STAND_INS if getattr(file.measure, n) == AUTO),
            network=self.network(file, cases),
            axis=axis,
            build=read_build(
                self.doc,
                self.problems,
                self.base,
                [c.target for c in cases],
                [f.change for f in file.factor],
            ),
        )
        promised = promise_mistakes(study, file.measure, self.targets)
        for mistake in (*design_mistakes(study, file.design), *promised):
            self.wrong(*mistake)
        self.sense(study)
        self.stop_if_wrong()
        return study

    # cases

    def cases(self, file: StudyFile) -> list[Case]:
        sections = self.case_sections(file)
        found = [self.case(path, section) for path, section in sections]
        named = [section.name for _, section in sections]
        for index, name in enumerate(named):
            if name in named[:index]:
                self.wrong(("case", index, "name"), f"two cases are called {name!r}", "rename one")
        return [c for c in found if c] if all(found) else []

    def case_sections(self, file: StudyFile) -> list[tuple[document.Path, CaseSection]]:
        single = file.target is not None or file.workload is not None
        if single and file.case:
            self.wrong(("case",), "[[case]] excludes [target] or [workload]", "keep one form")
            return []
        if file.case:
            return [(("case", i), c) for i, c in enumerate(file.case)]
        if file.target is None or file.workload is None:
            lacks = "target" if file.target is None else "workload"
            self.wrong((), f"[{lacks}] is missing", f'add [{lacks}] with kind = "..."')
            return []
        name = f"{file.target.kind}/{file.workload.kind}"
        return [((), CaseSection(name=name, target=file.target, workload=file.workload))]

    def case(self, path: document.Path, section: CaseSection) -> Case | None:
        target = self.targets.get(section.target.kind)
        if target is None:
            self.unknown((*path, "target", "kind"), "target", section.target.kind, self.targets)
            return None
        kind = section.workload.kind
        workload = WORKLOADS.get(kind)
        if workload is None or kind not in target.workloads:
            self.unknown((*path, "workload", "kind"), "workload", kind, target.workloads)
            return None
        known = target.settings
        defaults = {n: v for n, v in workload.settings.items() if n in known}
        settings = self.parameters((*path, "target"), section.target, known, defaults)
        takes = workload.parameters_for(target.kind)
        parameters = self.parameters((*path, "workload"), section.workload, takes)
        return Case(section.name, target.kind, settings, kind, parameters)

    def unknown(self, path: document.Path, what: str, kind: str, known: Any) -> None:
        listed = ", ".join(known)
        self.wrong(path, f"{kind!r} is not a {what} here{nearest(kind, known)}", f"use {listed}")

    def parameters(
        self,
        path: document.Path,
        section: OpenSection,
        known: Mapping[str, Parameter],
        defaults: Mapping[str, Any] = MappingProxyType({}),
    ) -> dict[str, Any]:
        # Without a default it is the server's own business until it is given.
        # And of a server that already runs all settings are, but the load's.
        mine = known if "attach" not in section.further else CLIENT
        defined = {name: p.default for name, p in mine.items() if p.default is not None}
        values = defined | dict(defaults)
        for key, written in section.further.items():
            if key not in known:
                message = f"{section.kind} has no {key!r}{nearest(key, known)}"
                self.wrong((*path, key), message, f"allowed here: {_named(known)}")
                continue
            try:
                values[key] = known[key].read(written)
            except ValueError as error:
                self.wrong((*path, key), str(error), f"{key}: {known[key].text}")
        return values

    def network(self, file: StudyFile, cases: list[Case]) -> Network | None:
        """What joins server and client, where they are to be two hosts."""
        if file.network is None or file.network.hosts == "one":
            return None
        able = [kind for kind, target in self.targets.items() if target.is_movable]
        for case in cases:
            if case.target not in able:
                message = f"{case.target} cannot answer from a network host of its own"
                self.wrong(("network",), message, f"these can: {', '.join(able)}")
            if case.settings.get("attach") is not None:
                message = "a server that already runs is not moved to a network of its own"
                self.wrong(("network",), message, "leave [network] out")
        return Network(file.network.queues)

    # factors

    def factors(self, file: StudyFile, cases: list[Case]) -> dict[str, Factor]:
        found: dict[str, Factor] = {}
        for index, section in enumerate(file.factor):
            path: document.Path = ("factor", index)
            if section.name in found:
                message = f"two factors are called {section.name!r}"
                self.wrong((*path, "name"), message, "rename one")
            factor = self.factor(path, section, cases)
            if factor:
                found[section.name] = factor
            else:
                self.unread.add(section.name)
        for index, section in enumerate(file.factor):
            for other in section.requires:
                if other not in found and other not in self.unread:
                    self.unknown(("factor", index, "requires"), "factor", other, found)
        return found

    def factor(
        self, path: document.Path, section: FactorSection, cases: list[Case]
    ) -> Factor | None:
        try:
            change, levels = change_and_levels(section, cases, self.base, self.targets)
        except ValueError as error:
            key = key_at_fault(section, error)
            self.wrong((*path, key), str(error), "`assay list changes` shows changes and levels")
            return None
        for name, level in levels.items():
            self.level_fits(path, section, name, level, cases)
        for case in cases:
            if change.workloads and case.workload not in change.workloads:
                message = f"{change.name} does nothing under workload {case.workload}"
                known = ", ".join(sorted(change.workloads))
                self.wrong((*path, "change"), message, f"its part runs under {known}")
        effort = section.effort or change.effort
        touches = None if section.touches is None else frozenset(section.touches)
        return Factor(
            section.name,
            change,
            levels,
            effort,
            section.absent,
            tuple(section.requires),
            section.predicts,
            touches,
        )

    def level_fits(
        self,
        path: document.Path,
        section: FactorSection,
        name: str,
        level: Level,
        cases: list[Case],
    ) -> None:
        key = "levels" if section.levels is not None else ("off" if name == "off" else "on")
        for case in cases:
            known = self.targets[case.target].settings
            for setting, value in level.application.of(case.target).settings.items():
                if setting not in known:
                    message = f"{case.target} has no setting {setting!r}{nearest(setting, known)}"
                    self.wrong((*path, "setting"), message, f"it has {_named(known)}")
                    continue
                try:
                    known[setting].read(value)
                except ValueError as error:
                    self.wrong((*path, key), str(error), f"{setting}: {known[setting].text}")
                if self.given(case, setting):
                    message = f"{setting} is set by factor {section.name} and for all arms"
                    self.wrong(("target", setting), message, "leave it to the factor")

    def given(self, case: Case, setting: str, table: str = "target") -> bool:
        written = self.doc.values.get(table)
        if written is None:
            sections = self.doc.values["case"]
            written = next(s[table] for s in sections if s["name"] == case.name)
        return setting in written

    # the axis

    def axis(
        self, file: StudyFile, cases: list[Case], factors: Mapping[str, Factor]
    ) -> tuple[PlannedAxis | None, list[Case]]:
        """The axis of a study, and its cases at each point of it."""
        if not file.axis or not cases:
            return None, cases
        if len(file.axis) > 1:
            message = f"a study has one axis, not {len(file.axis)}: a curve runs along one"
            self.wrong(("axis", 1), message, "write a second study, or [[case]] for the other")
        section = file.axis[0]
        try:
            self.only_the_axis(section, cases, factors)
            return spread(section, cases, self.targets)
        except AxisError as error:
            self.wrong(("axis", 0, error.key), str(error), error.next_step)
            return None, cases

    def only_the_axis(
        self, section: AxisSection, cases: list[Case], factors: Mapping[str, Factor]
    ) -> None:
        """What an axis varies is set by nothing else."""
        table, key = varied(section, cases, self.targets)
        for case in cases:
            if self.given(case, key, table):
                message = f"{key} is varied by axis {section.name} and set under [{table}]"
                raise AxisError(message, "name", f"leave {key} to the axis")
            for factor in factors.values() if table == "target" else ():
                levels = factor.levels.values()
                if any(key in level.application.of(case.target).settings for level in levels):
                    message = f"{key} is varied by axis {section.name} and by factor {factor.name}"
                    raise AxisError(message, "name", "keep one of the two")

    # the rest

    def counters(self, file: StudyFile) -> None:
        for index, name in enumerate(file.measure.counters):
            if name not in GROUPS:
                self.unknown(("measure", "counters", index), "group of counters", name, GROUPS)

    def metrics(self, file: StudyFile, cases: list[Case]) -> None:
        classes = [set(self.targets[c.target].lock_classes) for c in cases]
        members = sorted(set.intersection(*classes)) if classes else []
        keys: list[tuple[document.Path, str]] = [(("measure", "primary"), file.measure.primary)]
        keys += [(("measure", "also", i), n) for i, n in enumerate(file.measure.also)]
        for path, name in keys:
            if name == file.measure.primary and path != ("measure", "primary"):
                self.wrong(path, f"{name} is the primary metric already", "leave it out here")
        for index, factor in enumerate(file.factor):
            predicted = set(factor.predicts or {}) - OF_LOCKS  # of which the largest member counts
            keys += [(("factor", index, "predicts", name), name) for name in sorted(predicted)]
        for path, name in keys:
            try:
                metric(name)
            except ValueError as error:
                self.wrong(path, str(error), f"metrics here: {', '.join(names(members))}")
                continue
            lacks = uncounted(name, counter_groups(file.measure))
            if lacks and not _own_counter(path, name):
                self.wrong(path, *lacks)
            idle = [c.target for c in cases if not loads_each_run(c, self.targets[c.target])]
            if name in LOADED and idle:
                message = f"no run of {idle[0]} has {name}: its data are made once and copied"
                self.wrong(path, message, f"write {EACH_RUN} = true in [target]")
            base, _, member = name.partition(".")
            if base in OF_LOCKS and member not in members:
                message = f"{name}: this target counts no {member!r}{nearest(member, members)}"
                self.wrong(path, message, f"it counts {', '.join(members)}")

    def order(self, file: StudyFile, factors: dict[str, Factor]) -> tuple[str, ...]:
        """The factors of a ladder, a sweep or a scaling study, in their order."""
        if file.design.kind == "ladder":
            return self.climb(file, factors)
        if file.design.kind not in ("sweep", "scaling"):
            return ()
        first = file.design.factor or (next(iter(factors)) if len(factors) == 1 else None)
        if first is None:
            message = f"a {file.design.kind} needs one factor"
            self.wrong(("design",), message, 'add factor = "NAME"')
            return ()
        found = (first, *([file.design.compare] if file.design.compare else []))
        for key, name in zip(("factor", "compare"), found, strict=False):
            if name not in factors:
                self.unknown(("design", key), "factor", name, factors)
        return found if all(name in factors for name in found) else ()

    def climb(self, file: StudyFile, factors: dict[str, Factor]) -> tuple[str, ...]:
        given = file.design.order or list(factors)
        for name in given:
            if name not in factors:
                self.unknown(("design", "order"), "factor", name, factors)
        left_out = [f for f in factors if f not in given]
        if left_out or len(set(given)) != len(given):
            missing = ", ".join(left_out) or "some stand twice"
            message = f"a ladder climbs every factor once: {missing}"
            self.wrong(("design", "order"), message, "list each factor once")
        return tuple(given)

    def arms(self, file: StudyFile, factors: dict[str, Factor]) -> list[Arm]:
        if file.arm and file.design.kind not in ("arms", "race"):
            message = f"[[arm]] belongs to design arms or race, not {file.design.kind}"
            self.wrong(("arm", 0), message, 'write kind = "arms", or remove the arms')
            return []
        found: list[Arm] = []
        for index, section in enumerate(file.arm):
            path: document.Path = ("arm", index)
            if section.name in (BASELINE, *(a.name for a in found)):
                message = f"duplicate arm: {section.name!r} is there already"
                self.wrong((*path, "name"), message, "rename it, or remove it")
            if self.unread & set(section.levels):
                continue
            levels = {}
            for name, value in section.levels.items():
                factor = factors.get(name)
                if factor is None:
                    self.unknown((*path, "levels", name), "factor", name, factors)
                elif str(value) not in factor.levels:
                    self.unknown((*path, "levels", name), "level", str(value), factor.levels)
                else:
                    levels[name] = str(value)
            found.append(Arm(section.name, levels, section.placebo))
        return found

    def sense(self, study: Study) -> None:
        """Mistakes that only the whole study shows."""
        if self.unread and len(arms(study)) < 2:
            return
        if not study.factors and not study.arms_listed:
            self.wrong(("design",), "the design is empty: no factor, no arm", "add a [[factor]]")
            return
        if study.design == "arms" and not study.arms_listed:
            self.wrong(
                ("design",), "the design is empty: no arm", "add an [[arm]], or another kind"
            )
            return
        self.duplicates(study)
        try:
            self.legality(study)
            self.budget(study)
            self.pilot_budget(study)
        except ValueError as error:
            self.wrong(("factor",), f"illegal combination: {error}", "keep one of the factors")

    def duplicates(self, study: Study) -> None:
        off = {f.name: f.off for f in study.factors.values()}
        seen = [off]
        for index, arm in enumerate(study.arms_listed):
            levels = {**off, **arm.levels}
            if levels in seen and not arm.placebo:
                message = f"duplicate arm: {arm.name!r} has the same levels as another"
                advice = "change a level, or say placebo = true if that is meant"
                self.wrong(("arm", index), message, advice)
            seen.append(levels)

    def legality(self, study: Study) -> None:
        for index, arm in enumerate(study.arms_listed):
            whole = Arm(
                arm.name, {f.name: f.off for f in study.factors.values()} | dict(arm.levels)
            )
            self.legal(("arm", index), study, whole)
        if study.arms_listed:
            return
        legal = arms(study)
        for factor in study.factors.values():
            if self.unread & set(factor.requires):
                continue
            unreached = [v for v in factor.others if all(a.levels[factor.name] != v for a in legal)]
            varied = study.design not in ("sweep", "scaling") or factor.name in study.order
            if unreached and varied:
                levels = {f.name: f.off for f in study.factors.values()}
                why = unmet(study, Arm("", {**levels, factor.name: unreached[0]}))
                message = f"illegal combination: {why}"
                advice = "set what it requires under [target], or add the factor it requires"
                self.wrong(self.place(factor), message, advice)

    def place(self, factor: Factor) -> document.Path:
        """Where a factor stands in the file."""
        names_ = [section.get("name") for section in self.doc.values["factor"]]
        return ("factor", names_.index(factor.name))

    def legal(self, path: document.Path, study: Study, arm: Arm) -> None:
        partners = {other for f in arm.levels for other in study.factors[f].requires}
        try:
            why = "" if partners & self.unread else unmet(study, arm)
        except ValueError as error:
            why = str(error)
        if why:
            message = f"illegal combination in arm {arm.name!r}: {why}"
            self.wrong(path, message, "set what it requires, or drop the level")

    def budget(self, study: Study) -> None:
        made = arms(study)
        launches = [(c.target, study.launch(c, arm, seed=0)) for c in study.opening for arm in made]
        one = sum(self.targets[t].seconds(launch) for t, launch in launches) / len(launches)
        runs = least_runs(study, made) * len(study.opening)
        if one * runs > study.budget_s:
            message = (
                f"budget too small: {study.budget_s:g} s, and the {runs} runs before anything can "
                f"be decided take about {one * runs:.0f} s"
            )
            advice = f'write budget = "{2 * one * runs:.0f}s" or more'
            self.wrong(("decide", "budget"), message, advice)

    def pilot_budget(self, study: Study) -> None:
        if not study.auto:
            return
        bare = replace(study, warmup_s=0.0, window_s=0.0)

        def beside(case: Case, arm: Arm) -> float:
            return self.targets[case.target].seconds(bare.launch(case, arm, seed=0))

        need = pilot_cost_s(study, beside)
        if need > SHARE * study.budget_s:
            message = (
                f"budget too small for a pilot: it takes about {need:.0f} s, and may take "
                f"{SHARE:.0%} of {study.budget_s:g} s"
            )
            advice = f'write budget = "{need / SHARE:.0f}s" or more, or give warmup and window'
            self.wrong(("decide", "budget"), message, advice)


def _own_counter(path: document.Path, name: str) -> bool:
    """Whether a signature speaks of a counter of the server's own, which needs no sampler."""
    base, _, counter = name.partition(".")
    return path[0] == "factor" and base == COUNTED and group_of(counter, list(GROUPS)) is None


def _named(known: Mapping[str, Parameter]) -> str:
    """The names that there are; of a real server, which has hundreds, only where they are from."""
    return ", ".join(known) if len(known) <= MANY else f"the {len(known)} that it says it has"


def _time_of(measure: MeasureSection, name: str) -> float:
    written = getattr(measure, name)
    return STAND_INS[name] if written == AUTO else written
