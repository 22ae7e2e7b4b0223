"""The one recovery: whatever a process changed and can no longer bring back itself.

Each kind of change (transactions of the host, settings of attached servers, commands of a study)
finds its own abandoned journals; this module goes through them. One that cannot be brought back
never keeps the others from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from assay.core.errors import AssayError, RestoreError


@dataclass(frozen=True)
class Abandoned:
    """A change without a living owner."""

    what: str
    """What it is, in a few words."""
    bring_back: Callable[[], bool]
    """Brings it back; False if another process did so meanwhile. AssayError if it cannot."""


Kind = Callable[[], Iterable[Abandoned]]
"""Finds what is abandoned of one kind of change, what is to be brought back first first."""


@dataclass(frozen=True)
class Recovered:
    """What was brought back, and what could not be."""

    done: list[str] = field(default_factory=list)
    failed: list[AssayError] = field(default_factory=list)

    def require_all(self) -> None:
        """RestoreError with everything that could not be brought back."""
        if self.failed:
            raise RestoreError(
                "; ".join(error.message for error in self.failed),
                next_step=self.failed[0].next_step,
            )


def recover(*kinds: Kind) -> Recovered:
    """Bring back all that is abandoned; every journal is tried, whatever becomes of the others."""
    found = Recovered()
    for kind in kinds:
        try:
            abandoned = list(kind())
        except AssayError as error:
            found.failed.append(error)
            continue
        for one in abandoned:
            try:
                if one.bring_back():
                    found.done.append(one.what)
            except AssayError as error:
                found.failed.append(error)
            except OSError as error:
                message = f"{one.what} could not be brought back: {error}"
                found.failed.append(RestoreError(message))
    return found
