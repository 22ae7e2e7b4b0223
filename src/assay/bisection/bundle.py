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

from pathlib import Path

from pydantic import ValidationError

from assay.bisection.lines import LINES, Entry
from assay.bisection.plan import SearchPlan
from assay.bisection.rows import Found
from assay.core.errors import AlteredError, BundleError
from assay.record import files
from assay.record.chain import ChainedBundle, parsed


def is_search(folder: Path) -> bool:
    """Whether a folder is the bundle of a search, and not that of a study."""
    path = folder / "plan.json"
    if not path.exists() or not (folder / "runs.jsonl").exists():
        return False
    data = files.read(path)
    try:
        plan = parsed(data, str(path))
    except AlteredError:
        return False
    return isinstance(plan, dict) and plan.get("kind") == "search"


class SearchBundle(ChainedBundle[SearchPlan, Entry]):
    """The bundle of a search."""

    result = "found.json"
    called = "line of a search"
    again = "search again"

    @classmethod
    def open(cls, folder: Path) -> SearchBundle:
        """An existing one; BundleError if it is none."""
        if not is_search(folder):
            raise BundleError(
                f"{folder} is not the bundle of a search",
                next_step="give the folder that `assay bisect` printed",
            )
        return cls(folder)

    def _plan(self, data: bytes) -> SearchPlan:
        return SearchPlan.model_validate_json(data)

    def _line(self, data: bytes) -> Entry:
        return LINES.validate_json(data)

    def _title(self, number: int, line: Entry) -> str:
        return f"line {number} of runs.jsonl"

    def _own_copy(self) -> str:
        return "search again into a folder of your own"

    @property
    def has_found(self) -> bool:
        """Whether the search got as far as `found.json`."""
        return self.has_result

    def found(self) -> Found:
        """What `found.json` says; AlteredError if it says nothing of the kind."""
        try:
            return Found.model_validate_json(files.read(self.folder / self.result))
        except ValidationError as error:
            raise AlteredError(f"{self.folder}/found.json is not a result: {error}") from error

    def write_found(self, found: Found) -> None:
        """Write `found.json` in one step."""
        self._write_result(found)

    def log(self, name: str) -> Path:
        """Where a run's server, or a build that failed, writes."""
        return self._log(name)
