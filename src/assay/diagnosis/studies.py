"""The study of a candidate: a file that `assay run` takes, read back before anybody gets it.

It starts a server of Assay's own with what the examined one has set, and a load of the same kind:
what is found there is found of that load. `attach` in the file measures the examined server itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.changes import CATALOGUE, Change
from assay.core.errors import InputError, StudyError
from assay.core.toml import toml_text, toml_value
from assay.core.units import parse_size
from assay.diagnosis.records import Candidate, Gathered, ServerAnswers
from assay.study import read, shipped
from assay.targets import TARGETS

ROW_BYTES = 250
"""A row of the OLTP tables, its index included. A guess."""

ROWS: tuple[tuple[str, ...], ...] = (
    (
        *("tup_updated", "tup_inserted", "tup_deleted"),
        *("Handler_update", "Handler_write", "Handler_delete"),
    ),
    ("xact_commit", "Handler_read_key"),
    ("tup_fetched", "Handler_read_key", "Handler_read_next"),
)
"""Counters of rows written, of look-ups, and of rows read: of PostgreSQL and of MariaDB."""

RANGE = 5
"""Rows that are read for each look-up or written row, from which on ranges are read. A guess."""

CONNECTIONS = 8
"""Where the server does not say how many it has."""

CONNECTIONS_MOST = 64
LATENCY = ("latency_p99",)
SIZES = {"kb": "KiB", "mb": "MiB", "gb": "GiB", "tb": "TiB"}
"""Units as servers write them, of 1024 each way."""


def with_study(candidate: Candidate, gathered: Gathered) -> Candidate:
    """The candidate with its study, or with why there is none."""
    if candidate.standing == "ruled out":
        return replace(candidate, no_study="it is ruled out")
    text, why = _text(candidate, gathered)
    if text:
        try:
            read(file_name(candidate), text, Path.cwd())
        except StudyError as error:
            text, why = "", f"a study of it is refused: {error.problems[0].message}"
    return replace(candidate, study=text, no_study=why)


def file_name(candidate: Candidate) -> str:
    """What the study's file is called."""
    return f"{re.sub(r'[^a-z0-9]+', '-', candidate.name.lower()).strip('-')[:60]}.toml"


def numbered(number: int, candidate: Candidate) -> str:
    """The same with the candidate's place among those that have a study."""
    return f"{number:02}-{file_name(candidate)}"


def write_studies(candidates: list[Candidate], folder: Path) -> list[Path]:
    """Writes each study into a folder, numbered by the order of the candidates.

    InputError if the folder cannot be written, or a file is there already.
    """
    written = []
    studied = [c for c in candidates if c.study]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, candidate in enumerate(studied, start=1):
            path = folder / numbered(number, candidate)
            with path.open("x", encoding="utf-8") as file:
                file.write(candidate.study)
            written.append(path)
    except FileExistsError as error:
        raise InputError(
            f"{error.filename} is there already", next_step="name another folder"
        ) from error
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {error.strerror}", next_step="name another folder"
        ) from error
    return written


def _text(candidate: Candidate, gathered: Gathered) -> tuple[str, str]:
    """The study, or empty and why there is none."""
    if candidate.kind == "build":
        return _of_build(candidate, gathered)
    kind = gathered.subject.kind
    if kind not in TARGETS:
        return "", f"Assay has no load for {gathered.subject.name}: a job of your own can be one"
    factor = _factor(candidate, gathered)
    if not factor:
        return "", "its cure is no value that a study can switch"
    change = CATALOGUE.get(candidate.name)
    return "\n".join(_lines(candidate, gathered, change, factor)) + "\n", ""


def _factor(candidate: Candidate, gathered: Gathered) -> list[str]:
    """The lines of its factor; none where nothing can be switched."""
    if candidate.kind == "host rule":
        return _factor_of_rule(candidate, gathered)
    if not candidate.levels:
        return []
    change = CATALOGUE[candidate.name]
    off = candidate.now or (change.on if change.off in candidate.levels else change.off)
    levels = [off, *(level for level in candidate.levels if level != off)]
    written = [_level(change, level) for level in levels]
    return [
        f"change = {toml_text(change.name)}",
        f"levels = [{', '.join(toml_value(level) for level in written)}]",
    ]


def _level(change: Change, level: str) -> Any:
    """A level as a study file has it: a whole number where the change takes numbers."""
    number = change.numeric_setting is not None and not change.sized
    return int(level) if number and level.lstrip("-").isdigit() else level


def _factor_of_rule(candidate: Candidate, gathered: Gathered) -> list[str]:
    rule = candidate.name
    cures = {key: value for f in gathered.host if f.rule == rule for key, value in f.cure}
    if not cures or any(key not in gathered.host_values for key in cures):
        return []
    now = {key: gathered.host_values[key] for key in cures}
    if len(cures) == 1:
        (key,) = cures
        levels = [f"off = {toml_text(now[key])}", f"on = {toml_text(cures[key])}"]
        return ['change = "host"', f"setting = {toml_text(key)}", *levels]
    return ['change = "host"', f"off = {toml_value(now)}", f"on = {toml_value(cures)}"]


def _lines(
    candidate: Candidate, gathered: Gathered, change: Change | None, factor: list[str]
) -> Iterator[str]:
    subject, answers = gathered.subject, gathered.answers or ServerAnswers()
    workload = workload_of(subject.kind, answers, change)
    name = file_name(candidate).removesuffix(".toml")
    yield from _heading(candidate)
    yield f"name = {toml_text(f'doctor-{name}')}"
    question = f"Does {candidate.name} make this {subject.kind} faster?"
    yield f"question = {toml_text(question)}"
    yield ""
    yield "[target]"
    yield f"kind = {toml_text(subject.kind)}"
    if subject.url:
        yield f"# attach = {toml_text(subject.url)}   # the examined server itself: docs/servers.md"
    if "connections" in TARGETS[subject.kind].settings:
        yield f"connections = {min(answers.connections or CONNECTIONS, CONNECTIONS_MOST)}"
    switched = _switched(change)
    for setting, value in answers.settings.items():
        if setting not in switched:
            yield f"{setting} = {toml_value(value)}"
    yield ""
    yield "[workload]"
    yield f"kind = {toml_text(workload)}"
    yield from _data(candidate, change, workload)
    yield ""
    yield "[measure]"
    yield 'primary = "throughput"'
    yield f"also = {toml_value(LATENCY)}"
    yield 'warmup = "1s"'
    yield 'window = "3s"'
    yield "profile = true"
    yield ""
    yield "[[factor]]"
    yield 'name = "candidate"'
    yield from factor
    yield ""
    yield "[design]"
    yield 'kind = "one-at-a-time"'
    yield ""
    yield "[decide]"
    yield 'smallest = "2%"'
    yield 'margin = "2%"'
    yield 'budget = "15min"'


def _heading(candidate: Candidate) -> Iterator[str]:
    yield "# Written by `assay doctor`."
    for evidence in candidate.evidence:
        yield f"# Seen: {_one_line(evidence)}"
    if candidate.most is not None and candidate.most.high is not None:
        yield f"# Bound: no gain above {100 * candidate.most.high:+.1f} % is possible by it alone."
    if candidate.risk:
        yield f"# Risk: {_one_line(candidate.risk)}"


def _one_line(text: str) -> str:
    """Text that stays within a comment, whoever named what it speaks of."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _switched(change: Change | None) -> set[str]:
    """Settings that the factor itself gives."""
    if change is None:
        return set()
    named = {n for level in change.levels.values() for n in level.application.settings}
    return named | ({change.numeric_setting} if change.numeric_setting else set())


def workload_of(kind: str, answers: ServerAnswers, change: Change | None) -> str:
    """The load of a target that is most like what the server does, and in which a change acts."""
    known = TARGETS[kind].workloads
    allowed = [w for w in known if change is None or not change.workloads or w in change.workloads]
    guess = _guess(answers.counters)
    return next((w for w in guess if w in allowed), (allowed or list(known))[0])


def _guess(counters: Mapping[str, float]) -> list[str]:
    """Loads by how much is written, and by how many rows a look-up reads, the likeliest first."""
    sets, gets = counters.get("calls.set", 0.0), counters.get("calls.get", 0.0)
    if sets or gets:
        return ["redis-set"] if sets > gets else ["redis-get"]
    written, sought, read = (sum(counters.get(n, 0.0) for n in names) for names in ROWS)
    if not written:
        return ["oltp-read-only" if read > RANGE * sought else "oltp-point-select"]
    return ["oltp-read-write" if read > RANGE * written else "oltp-update-index"]


def _data(candidate: Candidate, change: Change | None, workload: str) -> Iterator[str]:
    """Tables that do not fit where a size of memory is the question."""
    if change is None or not change.sized or not workload.startswith("oltp"):
        return
    sizes = [parse_size(_size(level)) for level in (candidate.now or change.off, change.on)]
    rows = max(10_000, min(8 * min(sizes), max(sizes) // 2) // ROW_BYTES)
    yield f"table_size = {rows}   # more than the memory that it has now"
    yield 'distribution = "uniform"'


def _size(text: str) -> str:
    """A size as Assay reads it."""
    found = re.fullmatch(r"(\d+)\s*([a-zA-Z]*)", text)
    if found is None:
        return "0B"
    return f"{found[1]}{SIZES.get(found[2].lower(), found[2] or 'B')}"


def _of_build(candidate: Candidate, gathered: Gathered) -> tuple[str, str]:
    """The shipped study that measures what a finding is about."""
    name = next(
        (
            flaw.study
            for code in gathered.code
            for flaw in code.flaws
            if f"{flaw.rule} {code.name}" == candidate.name
        ),
        "ydb-spinlock",
    )
    text = shipped().get(name)
    if text is None:
        return "", f"a study with the change {name} would measure it"
    heading = "\n".join([*_heading(candidate), f"# The shipped study {name}, as it is."])
    return f"{heading}\n{text}", ""
