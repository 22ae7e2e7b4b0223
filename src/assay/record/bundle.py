"""The bundle: the folder of one study's results, complete enough to recompute it.

study.toml      the study's text, as it was run
plan.json       arms, schedule, seed, rule: fixed before the first run
host.json       the machine's facts
runs.jsonl      one line per run, appended and fsynced, each chained to the one before
profiles/       samples of each run's server, where the study asks for them
journal.jsonl   commands applied to the host and undone again
verdicts.json   the verdicts, recomputable from the files above
report.html     the report
logs/           stderr of every server
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from assay.core.digest import digest
from assay.core.errors import AlteredError, BundleError
from assay.plan import Plan
from assay.record import files
from assay.record.chain import ChainedBundle, require_free
from assay.record.profile import RunProfile
from assay.record.run import RunRecord
from assay.verdict.rows import Verdicts


class Bundle(ChainedBundle[Plan, RunRecord]):
    """The bundle of a study."""

    result = "verdicts.json"
    called = "run"
    again = "run the study again"

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

    def _plan(self, data: bytes) -> Plan:
        return Plan.model_validate_json(data)

    def _line(self, data: bytes) -> RunRecord:
        return RunRecord.model_validate_json(data)

    def _title(self, number: int, line: RunRecord) -> str:
        return line.title()

    def _own_copy(self) -> str:
        return f"`assay run --adopt {self.folder}` copies it and says what it would run here"

    def runs(self) -> list[RunRecord]:
        """Every whole run, its place in the chain checked; AlteredError names the bad one."""
        return self.lines()

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
        return self.has_result

    def verdicts(self) -> Verdicts:
        """What `verdicts.json` says; BundleError if the study has not got that far."""
        path = self.folder / self.result
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
        kept["runs.jsonl"] = b"".join(line + b"\n" for line in self._whole_lines())
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

    def write_verdicts(self, verdicts: Verdicts) -> None:
        """Write `verdicts.json` in one step."""
        self._write_result(verdicts)

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
        return self._log(f"run-{run:05d}")
