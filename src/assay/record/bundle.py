"""The bundle: the folder of one study's results, complete enough to recompute it.

    study.toml      the study's text, as it was run
    plan.json       arms, schedule, seed, rule: fixed before the first run
    host.json       the machine's facts
    runs.jsonl      one line per run, appended and fsynced as it ends
    profiles/       samples of each run's server, where the study asks for them
    journal.jsonl   commands applied to the host and undone again
    verdicts.json   the verdicts, recomputable from the files above
    report.html     the report
    logs/           stderr of every server

Each line of `runs.jsonl` carries a digest of itself and of the digest before;
the first follows the digests of plan and host. A killed study loses at most the
run in progress: a line that is not whole is cut off when the bundle is opened
to go on.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from assay.core.digest import canonical, chained, digest
from assay.core.errors import AlteredError, BundleError
from assay.plan import Plan
from assay.record import files
from assay.record.profile import RunProfile
from assay.record.run import RunRecord
from assay.verdict.rows import Verdicts


class Bundle:
    """One bundle on disk. Reading never changes it; `append` and `write_*` do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: IO[bytes] | None = None
        self._last = ""
        self._end = 0
        self._read: tuple[bytes, Plan] | None = None

    @classmethod
    def create(cls, folder: Path, study: str, plan: Plan, host: dict[str, Any]) -> Bundle:
        """A new bundle, everything but the runs on disk. BundleError if the folder has one."""
        require_free(folder)
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        bundle = cls(folder)
        files.replace(folder / "study.toml", study.encode())
        files.replace(folder / "host.json", _pretty(host))
        files.replace(folder / "runs.jsonl", b"")
        files.replace(folder / "plan.json", _pretty(plan.model_dump()))
        return bundle

    @classmethod
    def open(cls, folder: Path) -> Bundle:
        """An existing bundle; BundleError if it is none."""
        lacking = [
            n for n in ("study.toml", "plan.json", "runs.jsonl") if not (folder / n).exists()
        ]
        if lacking:
            raise BundleError(
                f"{folder} is not a bundle: it has no {', '.join(lacking)}",
                next_step="give the folder that `assay run` printed",
            )
        return cls(folder)

    # reading

    @property
    def study(self) -> str:
        """The study's text."""
        path = self.folder / "study.toml"
        try:
            return files.read(path).decode("utf-8")
        except UnicodeDecodeError as error:
            raise AlteredError(f"{path} is no text in UTF-8: {error.reason}") from error

    @property
    def host(self) -> dict[str, Any]:
        """The host's facts."""
        path = self.folder / "host.json"
        facts = _parsed(files.read(path), str(path))
        if not isinstance(facts, dict):
            raise AlteredError(f"{path} has no facts of a host")
        return facts

    @property
    def plan(self) -> Plan:
        """The plan; AlteredError if the study's text is not the one it was made from."""
        data = files.read(self.folder / "plan.json")
        if self._read is None or self._read[0] != data:
            try:
                self._read = data, Plan.model_validate_json(data)
            except ValidationError as error:
                raise AlteredError(f"{self.folder}/plan.json is not a plan: {error}") from error
        plan = self._read[1]
        if digest(self.study.encode()) != plan.study_sha256:
            raise AlteredError(f"{self.folder}/study.toml is not the one that was run")
        return plan

    def runs(self) -> list[RunRecord]:
        """Every whole line, its place in the chain checked; AlteredError names the bad run."""
        previous, found = self._start(), []
        for number, line in enumerate(self._lines()):
            record = _record(number, line)
            body = _parsed(line, f"line {number + 1} of runs.jsonl")
            if chained(previous, body) != record.digest:
                raise AlteredError(
                    f"{record.title()} was altered: its digest does not follow",
                    next_step="use the bundle as it was written, or run the study again",
                )
            previous = record.digest
            found.append(record)
        self._last = previous
        return found

    def profile(self, run: RunRecord) -> RunProfile | None:
        """A run's profile; None where it has none. AlteredError if its file is gone or is not the
        one that was written."""
        if not run.profile:
            return None
        path = self._profile(run.run)
        name = f"{path.parent.name}/{path.name}"
        if not path.exists():
            raise AlteredError(f"{run.title()}: its profile {name} is missing")
        data = files.read(path)
        if digest(data) != run.profile:
            raise AlteredError(
                f"{run.title()}: its profile {name} was altered: its digest is not the run's",
                next_step="use the bundle as it was written, or run the study again",
            )
        return RunProfile.unpacked(data, name)

    @property
    def has_verdicts(self) -> bool:
        """Whether the study got as far as `verdicts.json`."""
        return (self.folder / "verdicts.json").exists()

    def verdicts(self) -> Verdicts:
        """What `verdicts.json` says; BundleError if the study has not got that far."""
        path = self.folder / "verdicts.json"
        if not self.has_verdicts:
            raise BundleError(
                f"{self.folder} has no verdicts yet",
                next_step=f"finish it with `assay run --resume {self.folder}`",
            )
        try:
            return Verdicts.model_validate_json(files.read(path))
        except ValidationError as error:
            raise AlteredError(f"{path} is not a verdict file: {error}") from error

    def copied(self, folder: Path) -> Bundle:
        """A bundle of this user's own with the same plan, runs and profiles, to go on with: without
        journal, logs and verdicts. AlteredError if this one was altered; BundleError if the folder
        is taken."""
        require_free(folder)
        kept = {name: files.read(self.folder / name) for name in ("study.toml", "host.json")}
        kept["runs.jsonl"] = b"".join(line + b"\n" for line in self._lines())
        for run in self.runs():
            if self.profile(run) is not None:
                path = self._profile(run.run)
                kept[f"profiles/{path.name}"] = files.read(path)
        kept["plan.json"] = files.read(self.folder / "plan.json")
        for place in ("logs", "profiles"):
            (folder / place).mkdir(parents=True, exist_ok=True)
        for name, data in kept.items():
            files.replace(folder / name, data)
        return Bundle(folder)

    # writing

    def lock(self) -> None:
        """Hold the bundle for this process, and cut off a torn last line. AlteredError where what
        stands before it is no run, and nothing is cut off; BundleError for another's bundle."""
        copies = f"`assay run --adopt {self.folder}` copies it and says what it would run here"
        files.require_own(self.folder, copies)
        self._lock = files.plain(self.folder / "runs.jsonl", os.O_RDWR)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise BundleError(
                f"{self.folder} is being run by another process",
                next_step="wait for it, or end it first",
            ) from error
        data = self._lock.read()
        whole = data.rfind(b"\n") + 1
        try:
            _require_runs(data[:whole], data[whole:])
        except AlteredError:
            self.close()
            raise
        self._lock.truncate(whole)
        _sweep(self.folder)
        self._end = whole

    def append(self, record: RunRecord) -> RunRecord:
        """Add a run to the chain and to disk; returns it with its digest. Verdicts without it are
        none any more."""
        assert self._lock is not None, "lock the bundle before appending"
        (self.folder / "verdicts.json").unlink(missing_ok=True)
        previous = self._last or self._start()
        body = record.model_dump()
        sealed = chained(previous, body)
        line = canonical({**body, "digest": sealed}) + b"\n"
        files.extend(self.folder / "runs.jsonl", self._lock.fileno(), line, self._end)
        self._last, self._end = sealed, self._end + len(line)
        return record.model_copy(update={"digest": sealed})

    def write_verdicts(self, verdicts: Verdicts) -> None:
        """Write `verdicts.json` in one step."""
        files.replace(self.folder / "verdicts.json", _pretty(verdicts.model_dump()))

    def write_report(self, html: str) -> Path:
        """Write `report.html` in one step; returns its path."""
        files.replace(self.folder / "report.html", html.encode())
        return self.folder / "report.html"

    def write_profile(self, run: int, profile: RunProfile) -> str:
        """Write a run's profile in one step; returns what its record has of it."""
        path, data = self._profile(run), profile.packed()
        path.parent.mkdir(exist_ok=True)
        files.replace(path, data)
        return digest(data)

    def _profile(self, run: int) -> Path:
        return self.folder / "profiles" / f"run-{run:05d}.json.gz"

    def log(self, run: int) -> Path:
        """Where a run's server writes its stderr."""
        path = self.folder / "logs" / f"run-{run:05d}.log"
        files.require_writable_through_no_link(path)
        return path

    def close(self) -> None:
        """Let the bundle go."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _start(self) -> str:
        return files.identity(self.folder)

    def _lines(self) -> list[bytes]:
        data = files.read(self.folder / "runs.jsonl")
        return data[: data.rfind(b"\n") + 1].splitlines()


LEFT_BY_A_PILOT = frozenset({"logs", "journal.jsonl"})
"""What a folder may hold before its study has a plan, which is written last."""

UNFINISHED = LEFT_BY_A_PILOT | {"study.toml", "host.json", "runs.jsonl", "profiles"}
"""And what it may hold where the making of a bundle was cut off."""


def require_free(folder: Path) -> None:
    """BundleError if a new bundle cannot be made here: the folder holds more than a pilot's."""
    if not folder.exists():
        return
    files.require_own(folder, "name another --out, of your own")
    found = list(folder.iterdir())
    others = {p.name for p in found} - {p.name for p in files.partial(folder)} - UNFINISHED
    if others or any(p.is_symlink() for p in found) or _has_runs(folder):
        raise BundleError(f"{folder} is not empty", next_step="name another --out, or use --resume")


def _sweep(folder: Path) -> None:
    for path in files.partial(folder):
        path.unlink()


def _has_runs(folder: Path) -> bool:
    runs = folder / "runs.jsonl"
    return runs.exists() and runs.stat().st_size > 0


def _require_runs(lines: bytes, torn: bytes) -> None:
    """AlteredError if what runs.jsonl holds are no lines of runs, and perhaps a part of one."""
    for number, line in enumerate(lines.splitlines()):
        _record(number, line)
    if torn and not torn.startswith(b"{"):
        raise AlteredError("the last line of runs.jsonl is no part of a run")


def _record(number: int, line: bytes) -> RunRecord:
    try:
        return RunRecord.model_validate_json(line)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise AlteredError(
            f"line {number + 1} of runs.jsonl is not a run of this version: {'; '.join(wrong[:3])}",
            next_step="plan.json names the version of Assay that wrote it",
        ) from error


def _parsed(data: bytes, where: str) -> Any:
    """JSON, however deep; AlteredError if it is none, or holds what JSON does not (NaN)."""
    try:
        return json.loads(data, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise AlteredError(f"{where} is not JSON: {error}") from error


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _pretty(value: Any) -> bytes:
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"
