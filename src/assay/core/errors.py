"""Every error Assay raises on purpose, and the exit code each becomes.

    AssayError
    ├── InputError            exit 2: the request is wrong
    │   ├── FileError         a file somebody wrote, with one Problem per mistake
    │   │   ├── StudyError        a study
    │   │   ├── ClaimError        a claim: a published table, transcribed
    │   │   ├── CatalogueError    a catalogue of prices
    │   │   └── InventoryError    the hosts of a fleet
    │   ├── DataError         somebody's measurements
    │   └── BundleError       a bundle that is not one, or not the one meant
    ├── AlteredError          exit 1: a bundle was changed after it was written
    ├── MissingError          exit 3: something needed is not on this machine
    │   ├── StatisticsError   another version of the statistics decided a bundle
    │   └── FleetError        a host of the fleet is not there, or may not be used
    ├── VoidError             exit 4: the measurement cannot count
    ├── RestoreError          exit 5: the host could not be put back
    └── RunError              one run failed; the bench retries, then records it

A message says what happened and to what; `next_step` says what to do about it.
Errors of libraries are translated where they enter, never shown raw.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class ExitCode(enum.IntEnum):
    """What the process tells its caller; one meaning each."""

    OK = 0
    NO = 1  # the answer is a "no": verify differs, a check found problems
    USAGE = 2  # wrong use or bad input
    MISSING = 3  # a server, a permission, a CPU feature or a pool is not here
    VOID = 4  # the measurement is void
    NOT_RESTORED = 5  # the host could not be restored
    INTERRUPTED = 130  # Ctrl-C or SIGTERM; what was done is kept


class AssayError(Exception):
    """The root: a message for people, the next step, and an exit code."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step


class InputError(AssayError):
    """The user asked for something that cannot be done as asked."""


class DataError(InputError):
    """Measurements handed to `assay decide` cannot be decided on."""


class BundleError(InputError):
    """A folder is not a bundle, or not in the state the command needs."""


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in a file: where (1-based), what, and what to do next."""

    line: int
    column: int
    message: str
    next_step: str


class FileError(InputError):
    """A file has mistakes. `problems` holds all that could be found at once."""

    remedy = "mend the file"

    def __init__(self, path: str, problems: list[Problem]) -> None:
        self.path = path
        self.problems = sorted(set(problems))
        lines = [
            f"{path}:{p.line}:{p.column}: {p.message}\n    next: {p.next_step}"
            for p in self.problems
        ]
        super().__init__("\n".join(lines), next_step=self.remedy)


class StudyError(FileError):
    """A study file has mistakes."""

    remedy = "mend the study file; nothing was started"


class ClaimError(FileError):
    """A claim file has mistakes."""

    remedy = "mend the claim file; docs/price.md has its vocabulary"


class CatalogueError(FileError):
    """A catalogue of prices has mistakes."""

    remedy = "mend the catalogue; docs/price.md has its keys"


class InventoryError(FileError):
    """An inventory of hosts has mistakes."""

    remedy = "mend the inventory; docs/fleet.md has its keys"


class AlteredError(AssayError):
    """A bundle does not recompute to what it says."""

    exit_code = ExitCode.NO


class MissingError(AssayError):
    """This machine lacks something the study needs."""

    exit_code = ExitCode.MISSING


class LedgerError(MissingError):
    """The ledger cannot be read or written; the bundles are as they were."""


class DamagedLedgerError(LedgerError):
    """The file of the ledger is no database, or not the ledger's: `assay ledger rebuild`."""


class StatisticsError(MissingError):
    """Another version of the statistics decided a bundle, and this one cannot recompute it."""


class FleetError(MissingError):
    """A host of a fleet is not there, or may not be used as it was asked for."""


class VoidError(AssayError):
    """Runs were void too often for a verdict."""

    exit_code = ExitCode.VOID


class RestoreError(AssayError):
    """A change made to the host could not be undone."""

    exit_code = ExitCode.NOT_RESTORED


class RunError(AssayError):
    """One run of a server failed: it is retried once and then recorded as failed."""


class LostError(RunError):
    """A host of a fleet does not answer any more: what it did is void."""
