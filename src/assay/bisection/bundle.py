"""The bundle of a search: the folder from which a stranger recomputes what was found.

study.toml   the study's text
plan.json    the nodes, the rule and the seed: fixed before the first run
host.json    the machine's facts
runs.jsonl   builds and runs, a line each, appended and fsynced, each chained to the one before
found.json   what was found, recomputable from the files above
report.html  the report
logs/        stderr of every server, and of builds that failed
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from assay.bisection.lines import LINES, Entry
from assay.bisection.plan import SearchPlan
from assay.bisection.rows import Found
from assay.core.digest import canonical, chained, digest
from assay.core.errors import AlteredError, BundleError
from assay.record import files, require_free


def is_search(folder: Path) -> bool:
    """Whether a folder is the bundle of a search, and not that of a study."""
    path = folder / "plan.json"
    if not path.exists() or not (folder / "runs.jsonl").exists():
        return False
    try:
        plan = json.loads(files.read(path))
    except (ValueError, RecursionError):
        return False
    return isinstance(plan, dict) and plan.get("kind") == "search"


class SearchBundle:
    """One search on disk. Reading never changes it; `append` and `write_*` do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: IO[bytes] | None = None
        self._last = ""
        self._end = 0

    @classmethod
    def create(
        cls, folder: Path, study: str, plan: SearchPlan, host: dict[str, Any]
    ) -> SearchBundle:
        """A new bundle, everything but the runs on disk. BundleError if the folder has one."""
        require_free(folder)
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        files.replace(folder / "study.toml", study.encode())
        files.replace(folder / "host.json", _pretty(host))
        files.replace(folder / "runs.jsonl", b"")
        files.replace(folder / "plan.json", _pretty(plan.model_dump()))
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> SearchBundle:
        """An existing one; BundleError if it is none."""
        if not is_search(folder):
            raise BundleError(
                f"{folder} is not the bundle of a search",
                next_step="give the folder that `assay bisect` printed",
            )
        return cls(folder)

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
        found: dict[str, Any] = _json(files.read(self.folder / "host.json"), "host.json")
        return found

    @property
    def plan(self) -> SearchPlan:
        """The plan; AlteredError if the study's text is not the one it was made from."""
        try:
            plan = SearchPlan.model_validate_json(files.read(self.folder / "plan.json"))
        except ValidationError as error:
            raise AlteredError(f"{self.folder}/plan.json is not a plan: {error}") from error
        if digest(self.study.encode()) != plan.study_sha256:
            raise AlteredError(f"{self.folder}/study.toml is not the one that was run")
        return plan

    def lines(self) -> list[Entry]:
        """Every whole line, its place in the chain checked; AlteredError names the bad one."""
        previous, found = self._start(), []
        data = files.read(self.folder / "runs.jsonl")
        for number, text in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
            entry = _entry(number, text)
            body = _json(text, f"line {number} of runs.jsonl")
            if chained(previous, body) != entry.digest:
                raise AlteredError(
                    f"line {number} of runs.jsonl was altered: its digest does not follow",
                    next_step="use the bundle as it was written, or search again",
                )
            previous = entry.digest
            found.append(entry)
        self._last = previous
        return found

    @property
    def has_found(self) -> bool:
        return (self.folder / "found.json").exists()

    def found(self) -> Found:
        """What `found.json` says; AlteredError if it says nothing of the kind."""
        try:
            return Found.model_validate_json(files.read(self.folder / "found.json"))
        except ValidationError as error:
            raise AlteredError(f"{self.folder}/found.json is not a result: {error}") from error

    def lock(self) -> None:
        """Hold the bundle for this process, and cut off a torn last line. AlteredError where what
        stands before it is no line of a search, and nothing is cut off; BundleError for another's
        bundle."""
        files.require_own(self.folder, "search again into a folder of your own")
        self._lock = files.plain(self.folder / "runs.jsonl", _READ_WRITE)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise BundleError(
                f"{self.folder} is in use by another `assay bisect`",
                next_step="wait for it, or end it first",
            ) from error
        data = self._lock.read()
        self._end = data.rfind(b"\n") + 1
        try:
            _require_lines(data[: self._end], data[self._end :])
        except AlteredError:
            self.close()
            raise
        self._lock.truncate(self._end)
        for path in files.partial(self.folder):
            path.unlink()

    def append(self, entry: Entry) -> Entry:
        """Add a line to the chain and to the disk; returns it with its digest."""
        assert self._lock is not None, "lock the bundle before appending"
        (self.folder / "found.json").unlink(missing_ok=True)
        body = entry.model_dump()
        sealed = chained(self._last or self._start(), body)
        line = canonical({**body, "digest": sealed}) + b"\n"
        files.extend(self.folder / "runs.jsonl", self._lock.fileno(), line, self._end)
        self._last, self._end = sealed, self._end + len(line)
        return entry.model_copy(update={"digest": sealed})

    def write_found(self, found: Found) -> None:
        """Write `found.json` in one step."""
        files.replace(self.folder / "found.json", _pretty(found.model_dump()))

    def write_report(self, html: str) -> Path:
        """Write `report.html` in one step; returns its path."""
        files.replace(self.folder / "report.html", html.encode())
        return self.folder / "report.html"

    def log(self, name: str) -> Path:
        """Where a run's server, or a build that failed, writes."""
        path = self.folder / "logs" / f"{name}.log"
        files.require_writable_through_no_link(path)
        return path

    def close(self) -> None:
        """Let the bundle go."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _start(self) -> str:
        return files.identity(self.folder)


_READ_WRITE = os.O_RDWR


def _require_lines(whole: bytes, torn: bytes) -> None:
    """AlteredError if what runs.jsonl holds is no search's, and perhaps a part of a line."""
    for number, line in enumerate(whole.splitlines(), 1):
        _entry(number, line)
    if torn and not torn.startswith(b"{"):
        raise AlteredError("the last line of runs.jsonl is no part of a search")


def _entry(number: int, line: bytes) -> Entry:
    try:
        return LINES.validate_json(line)
    except ValidationError as error:
        raise AlteredError(
            f"line {number} of runs.jsonl is no line of a search: {error.errors()[0]['msg']}",
            next_step="plan.json names the version of Assay that wrote it",
        ) from error


def _json(data: bytes, where: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise AlteredError(f"{where} is not JSON: {error}") from error


def _pretty(value: Any) -> bytes:
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"
