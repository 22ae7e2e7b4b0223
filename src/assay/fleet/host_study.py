"""A study on a host of a fleet: the agent's side. It makes runs, and keeps none of them.

The head decides what to run and alone writes the bundle. Here are a folder for the journal of
commands and for logs, which goes with the study, and the very classes that one machine uses:
`prepare` for the plan, `MachineRuns` for the runs.

    prepare   the study's text  -> plan and facts of the host, as they go into the bundle
    open      text and plan     -> what an agent that was killed left is undone
    runs      steps             -> records, with logs and profiles
    settle                      -> the host is quiet, or did not become so
    close                       -> the folder is gone
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from assay.bench.commands import CommandJournal, pending, undo_commands
from assay.bench.machine_runs import MachineRuns, MachineSeams, study_of
from assay.bench.study_run import prepare
from assay.core.digest import digest
from assay.core.errors import InputError, RestoreError
from assay.core.paths import user_state
from assay.linux.processes import identity, is_alive
from assay.plan import Plan
from assay.record import RunProfile, Step
from assay.record.files import read
from assay.study import read as read_study
from assay.undo.recovery import Abandoned

LOG_BYTES = 1 << 16
"""Of each run's log, its end."""
OWNER, STUDY, OVERRIDES, BUNDLE = "owner", "study.toml", "overrides.json", "bundle"
JOURNALS = ("journal.jsonl", f"{BUNDLE}/journal.jsonl")
"""Of runs, and of a pilot."""
_KEY = re.compile(r"[a-z0-9][a-z0-9.-]{0,79}")
_STEPS = TypeAdapter(list[Step])


class _StudyMessage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PrepareStudy(_StudyMessage):
    """A study by its text. `key` names its folder here."""

    key: str
    name: str
    text: str
    seed: int | None = None
    overrides: dict[str, str] = {}
    full: bool = False


class PreparedStudy(_StudyMessage):
    """Its plan, as the file has it, and the facts of the host."""

    plan: str
    facts: dict[str, Any]


class OpenStudy(_StudyMessage):
    """A study that has a plan."""

    key: str
    text: str
    plan: str
    facts: dict[str, Any]


class MakeRuns(_StudyMessage):
    """The steps to make runs of, numbered from `first`."""

    steps: list[dict[str, Any]]
    first: int
    as_it_is: bool


class MadeRuns(_StudyMessage):
    """Records as JSON; by number the end of a run's log, and its profile in base64."""

    records: list[dict[str, Any]]
    logs: dict[int, str] = {}
    profiles: dict[int, str] = {}


class Nothing(_StudyMessage):
    """Nothing to say, or to ask."""


def studies_folder() -> Path:
    """Where this user's agents have the folders of their studies."""
    return user_state() / "fleet" / "studies"


class HostStudies:
    """The verbs of a study; an agent has one study at a time."""

    def __init__(self, seams: MachineSeams, facts: Callable[[], dict[str, Any]]) -> None:
        self._seams, self._facts = seams, facts
        self._folder: Path | None = None
        self._runs: MachineRuns | None = None
        self._kept: dict[int, str] = {}
        self.verbs: Mapping[str, Callable[[Mapping[str, Any]], BaseModel]] = {
            "prepare": self._prepare,
            "open": self._open,
            "runs": self._make,
            "settle": self._settle,
            "close": self._close,
        }

    def _prepare(self, request: Mapping[str, Any]) -> BaseModel:
        asked = PrepareStudy.model_validate(request)
        folder = self._own_folder(asked.key)
        study = read_study(asked.name, asked.text, folder, asked.overrides, self._seams.targets)
        facts = self._facts()
        _note(folder, asked.text, asked.overrides)
        shutil.rmtree(folder / BUNDLE, ignore_errors=True)
        bundle = prepare(
            study,
            folder / BUNDLE,
            facts,
            base=folder,
            seed=asked.seed,
            overrides=asked.overrides,
            full=asked.full,
            targets=self._seams.targets,
            clocks=self._seams.clocks,
        )
        return PreparedStudy(plan=read(bundle.folder / "plan.json").decode(), facts=facts)

    def _open(self, request: Mapping[str, Any]) -> BaseModel:
        asked = OpenStudy.model_validate(request)
        folder = self._own_folder(asked.key)
        plan = Plan.model_validate_json(asked.plan)
        _note(folder, asked.text, plan.overrides)
        study = study_of(plan, asked.text, folder, self._seams.targets)
        (folder / "logs").mkdir(exist_ok=True)
        self._runs = MachineRuns(
            plan, study, folder, asked.facts, partial(_log, folder), self._keep, self._seams
        )
        self._runs.undo()
        return Nothing()

    def _make(self, request: Mapping[str, Any]) -> BaseModel:
        asked = MakeRuns.model_validate(request)
        runs, folder = self._opened()
        steps = _STEPS.validate_python(asked.steps)
        self._kept = {}
        made = runs.make(steps, asked.first, asked.as_it_is, lambda step, done, spent: None)
        logs = {}
        for record in made:
            log = _log(folder, record.run)
            if log.exists():
                logs[record.run] = log.read_bytes()[-LOG_BYTES:].decode("utf-8", "replace")
                log.unlink()
        return MadeRuns(
            records=[record.model_dump(mode="json") for record in made],
            logs=logs,
            profiles=self._kept,
        )

    def _settle(self, request: Mapping[str, Any]) -> BaseModel:
        self._opened()[0].settle(lambda foreign_cpus, spent_s, limit_s: None)
        return Nothing()

    def _close(self, request: Mapping[str, Any]) -> BaseModel:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = self._runs = None
        return Nothing()

    def release(self) -> None:
        """Somebody else may have the folder."""
        if self._folder is not None:
            (self._folder / OWNER).unlink(missing_ok=True)
        self._folder = self._runs = None

    def _own_folder(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise InputError(f"{key!r} is no name of a study's folder")
        folder = studies_folder() / key
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder != self._folder and _is_in_use(folder):
            raise InputError(
                f"another agent has the study {key}", next_step="wait until it has ended"
            )
        (folder / OWNER).write_text(identity(os.getpid()))
        self._folder = folder
        return folder

    def _opened(self) -> tuple[MachineRuns, Path]:
        if self._runs is None or self._folder is None:
            raise InputError("no study is open on this host")
        return self._runs, self._folder

    def _keep(self, run: int, profile: RunProfile) -> str:
        data = profile.packed()
        self._kept[run] = base64.b64encode(data).decode()
        return digest(data)


def _log(folder: Path, run: int) -> Path:
    return folder / "logs" / f"run-{run:05d}.log"


def _is_in_use(folder: Path) -> bool:
    """Whether the agent that has a folder still runs."""
    owner = folder / OWNER
    return owner.exists() and is_alive(owner.read_text())


def abandoned() -> Iterator[Abandoned]:
    """Commands of studies whose agent is gone, which are to be undone, and their folders."""
    for folder in sorted(studies_folder().glob("*")):
        if not _is_in_use(folder):
            yield Abandoned(f"commands of the study {folder.name}", partial(_bring_back, folder))


def _note(folder: Path, text: str, overrides: Mapping[str, str]) -> None:
    """What is needed to undo commands of the study, should this process be killed."""
    (folder / STUDY).write_text(text)
    (folder / OVERRIDES).write_text(json.dumps(dict(overrides)))


def _bring_back(folder: Path) -> bool:
    """Undo the commands of a study that its own text names; whether there were any."""
    left = [folder / name for name in JOURNALS if pending(folder / name)]
    if left:
        try:
            overrides = json.loads((folder / OVERRIDES).read_text())
            study = read_study(STUDY, (folder / STUDY).read_text(), folder, overrides)
        except (OSError, ValueError) as error:
            raise RestoreError(
                f"{folder} does not say which study it is of", next_step="undo its journal by hand"
            ) from error
        for journal in left:
            CommandJournal(journal, undo_commands(study)).undo()
    shutil.rmtree(folder, ignore_errors=True)
    return bool(left)
