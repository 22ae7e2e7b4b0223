"""A folder whose lines are a chain: what the bundle of a study and that of a search have in common.

The study's text, the plan and the host's facts are fixed before the first line of `runs.jsonl`.
Each line carries a digest of itself and of the digest before; the first follows the digests of plan
and host. Lines are appended and fsynced, so a killed process loses at most what was in progress: a
line that is not whole is cut off when the bundle is opened to go on. What is computed from the
lines is one more file, which goes when a line is added.
"""

from __future__ import annotations

import fcntl
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar, Generic, Protocol, Self, TypeVar

from pydantic import BaseModel, ValidationError

from assay.core.digest import canonical, chained, digest
from assay.core.errors import AlteredError, BundleError
from assay.record import files

LEFT_BY_A_PILOT = frozenset({"logs", "journal.jsonl"})
"""What a folder may hold before its study has a plan, which is written last."""

UNFINISHED = LEFT_BY_A_PILOT | {"study.toml", "host.json", "runs.jsonl", "profiles"}
"""And what it may hold where the making of a bundle was cut off."""


class PlanOfStudy(Protocol):
    """A plan, which knows the text of the study it was made from."""

    @property
    def study_sha256(self) -> str: ...


class Sealed(Protocol):
    """A line of a chain."""

    @property
    def digest(self) -> str: ...

    def model_dump(self) -> dict[str, Any]: ...

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Self: ...


@dataclass(frozen=True)
class ChainPlace:
    """How far the lines were read: bytes, lines, and the digest of the last one, empty before the
    first."""

    end: int = 0
    number: int = 0
    digest: str = ""


Line = TypeVar("Line", bound=Sealed)
SomePlan = TypeVar("SomePlan", bound=PlanOfStudy)


class ChainedBundle(ABC, Generic[SomePlan, Line]):
    """One bundle on disk. Reading never changes it; `append` and `write_*` do."""

    result: ClassVar[str]
    """The file of what is computed from the lines."""
    called: ClassVar[str]
    """What a line is, in messages."""
    again: ClassVar[str]
    """What to do if the bundle is not as it was written, in words."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: IO[bytes] | None = None
        self._last = ""
        self._end = 0
        self._read: tuple[bytes, SomePlan] | None = None

    @classmethod
    def create(cls, folder: Path, study: str, plan: BaseModel, host: Mapping[str, Any]) -> Self:
        """A new bundle, everything but the runs on disk. BundleError if the folder has one."""
        require_free(folder)
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        files.replace(folder / "study.toml", study.encode())
        files.replace(folder / "host.json", _pretty(host))
        files.replace(folder / "runs.jsonl", b"")
        files.replace(folder / "plan.json", _pretty(plan.model_dump()))
        return cls(folder)

    @abstractmethod
    def _plan(self, data: bytes) -> SomePlan:
        """The plan in a file; ValidationError if it is none."""

    @abstractmethod
    def _line(self, data: bytes) -> Line:
        """A line of `runs.jsonl`; ValidationError if it is none."""

    @abstractmethod
    def _title(self, number: int, line: Line) -> str:
        """How a message names a line."""

    @abstractmethod
    def _own_copy(self) -> str:
        """How to go on with a bundle of somebody else's, in words."""

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
        facts = parsed(files.read(path), str(path))
        if not isinstance(facts, dict):
            raise AlteredError(f"{path} has no facts of a host")
        return facts

    @property
    def plan(self) -> SomePlan:
        """The plan; AlteredError if the study's text is not the one it was made from."""
        data = files.read(self.folder / "plan.json")
        if self._read is None or self._read[0] != data:
            try:
                self._read = data, self._plan(data)
            except ValidationError as error:
                raise AlteredError(f"{self.folder}/plan.json is not a plan: {error}") from error
        plan = self._read[1]
        if digest(self.study.encode()) != plan.study_sha256:
            raise AlteredError(f"{self.folder}/study.toml is not the one that was run")
        return plan

    def lines(self) -> list[Line]:
        """Every whole line, its place in the chain checked; AlteredError names the bad one."""
        found, place = self.lines_after(ChainPlace())
        self._last = place.digest or self._start()
        return found

    def lines_after(
        self, place: ChainPlace, most: int | None = None
    ) -> tuple[list[Line], ChainPlace]:
        """The whole lines that follow a place, at most so many, and the place after them: for
        whoever watches a bundle grow. AlteredError as `lines`."""
        found: list[Line] = []
        previous, end = place.digest or self._start(), place.end
        whole = self._whole(after=place.end).splitlines(keepends=True)[:most]
        for number, data in enumerate(whole, place.number + 1):
            line = self._read_line(number, data)
            body = parsed(data, f"line {number} of runs.jsonl")
            if chained(previous, body) != line.digest:
                raise AlteredError(
                    f"{self._title(number, line)} was altered: its digest does not follow",
                    next_step=f"use the bundle as it was written, or {self.again}",
                )
            previous, end = line.digest, end + len(data)
            found.append(line)
        if not found:
            return found, place
        return found, ChainPlace(end, place.number + len(found), previous)

    @property
    def has_result(self) -> bool:
        """Whether it came as far as its result."""
        return (self.folder / self.result).exists()

    # writing

    def lock(self) -> None:
        """Hold the bundle for this process, and cut off a torn last line. AlteredError where what
        stands before it is no line, and nothing is cut off; BundleError for another's bundle."""
        files.require_own(self.folder, self._own_copy())
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
            self._require_lines(data[:whole], data[whole:])
        except AlteredError:
            self.close()
            raise
        self._lock.truncate(whole)
        _sweep(self.folder)
        self._end = whole

    def append(self, line: Line) -> Line:
        """Add a line to the chain and to disk; returns it with its digest. A result without it is
        none any more."""
        assert self._lock is not None, "lock the bundle before appending"
        (self.folder / self.result).unlink(missing_ok=True)
        body = line.model_dump()
        sealed = chained(self._last or self._start(), body)
        data = canonical({**body, "digest": sealed}) + b"\n"
        files.extend(self.folder / "runs.jsonl", self._lock.fileno(), data, self._end)
        self._last, self._end = sealed, self._end + len(data)
        return line.model_copy(update={"digest": sealed})

    def write_report(self, html: str) -> Path:
        """Write `report.html` in one step; returns its path."""
        files.replace(self.folder / "report.html", html.encode())
        return self.folder / "report.html"

    def close(self) -> None:
        """Let the bundle go."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _write_result(self, result: BaseModel) -> None:
        files.replace(self.folder / self.result, _pretty(result.model_dump()))

    def _log(self, name: str) -> Path:
        path = self.folder / "logs" / f"{name}.log"
        files.require_writable_through_no_link(path)
        return path

    def _start(self) -> str:
        return files.identity(self.folder)

    def _whole_lines(self) -> list[bytes]:
        return self._whole().splitlines()

    def _whole(self, after: int = 0) -> bytes:
        data = files.read(self.folder / "runs.jsonl", after)
        return data[: data.rfind(b"\n") + 1]

    def _read_line(self, number: int, data: bytes) -> Line:
        try:
            return self._line(data)
        except ValidationError as error:
            wrong = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
            raise AlteredError(
                f"line {number} of runs.jsonl is not a {self.called} of this version: "
                f"{'; '.join(wrong[:3])}",
                next_step="plan.json names the version of Assay that wrote it",
            ) from error

    def _require_lines(self, whole: bytes, torn: bytes) -> None:
        """AlteredError if `runs.jsonl` holds other things than lines, and perhaps a part of one."""
        for number, data in enumerate(whole.splitlines(), 1):
            self._read_line(number, data)
        if torn and not torn.startswith(b"{"):
            raise AlteredError(f"the last line of runs.jsonl is no part of a {self.called}")


def require_free(folder: Path) -> None:
    """BundleError if a new bundle cannot be made here: the folder holds more than a pilot's."""
    if not folder.exists():
        return
    files.require_own(folder, "name another --out, of your own")
    found = list(folder.iterdir())
    others = {p.name for p in found} - {p.name for p in files.partial(folder)} - UNFINISHED
    if others or any(p.is_symlink() for p in found) or _has_lines(folder):
        raise BundleError(f"{folder} is not empty", next_step="name another --out, or use --resume")


def _sweep(folder: Path) -> None:
    for path in files.partial(folder):
        path.unlink()


def _has_lines(folder: Path) -> bool:
    runs = folder / "runs.jsonl"
    return runs.exists() and runs.stat().st_size > 0


def parsed(data: bytes, where: str) -> Any:
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
