"""Settings of an attached server: put in force, read back, and put back whatever happens.

What was in force before is written to a journal (`undo/journal.py`) in
`$XDG_STATE_HOME/assay/attached` (`~/.local/state`) before anything is changed, a file for each
server, and removed once it is back. It holds no password.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.core.address import parse_url
from assay.core.digest import digest
from assay.core.errors import AssayError, InputError, MissingError, RestoreError
from assay.linux import processes
from assay.targets.servers.framework.attachment import PATIENCE_S, Attachable, Attachment
from assay.undo.journal import Journal
from assay.undo.places import SHOWN, attached
from assay.undo.recovery import Abandoned


class SettingsRecord(BaseModel):
    """What a journal holds: enough to put the settings of one server back."""

    model_config = ConfigDict(frozen=True, strict=True)

    owner: str
    """The process that changed them, as `processes.identity` names it."""
    kind: str
    given: dict[str, Any]
    dynamic: dict[str, str | None]
    fixed: dict[str, str | None]


@dataclass
class Changed:
    """What was changed of one server, and what it takes to change it back."""

    kind: str
    given: Mapping[str, Any]
    """The settings of the target that say where it is and how it is restarted."""
    dynamic: dict[str, str | None] = field(default_factory=dict)
    fixed: dict[str, str | None] = field(default_factory=dict)
    is_written: bool = False
    """Whether the journal holds this, and not what another `assay` has changed."""

    @property
    def path(self) -> Path:
        """Its journal."""
        target = parse_url(self.given["attach"], {})
        return attached() / f"{digest(f'{target} {target.database}'.encode())[:32]}.journal"

    def write(self) -> None:
        """On the disk before anything is changed. InputError while another `assay` has changed
        the server, MissingError if the journal cannot be written, RestoreError while what an
        earlier run changed is not put back."""
        recorded = SettingsRecord(
            owner=processes.identity(os.getpid()),
            kind=self.kind,
            given=dict(self.given),
            dynamic=self.dynamic,
            fixed=self.fixed,
        )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            Journal.create(self.path, "changing", **recorded.model_dump())
        except FileExistsError:
            raise self._taken() from None
        except OSError as error:
            raise MissingError(
                f"{self.path.parent} cannot be made: {error.strerror}",
                next_step="let XDG_STATE_HOME name a folder that this user may write",
            ) from error
        self.is_written = True

    def _taken(self) -> AssayError:
        found, server = _recorded(self.path), self.given["attach"]
        if processes.is_alive(found.owner) and found.owner != processes.identity(os.getpid()):
            process = found.owner.partition(":")[0]
            return InputError(
                f"another assay (process {process}) has changed settings of {server}",
                next_step="wait until it has ended",
            )
        return RestoreError(
            f"settings of {server} from an earlier run are not put back; {self.path} has them",
            next_step="any `assay` command tries again; or put them back, and remove that file",
        )

    def forget(self) -> None:
        """All is back: the journal goes."""
        Journal(self.path).remove()
        self.is_written = False


def _recorded(path: Path) -> SettingsRecord:
    """What a journal says; RestoreError if it is none, is damaged, or may not be obeyed."""
    try:
        (event,) = Journal(path).events()
        return SettingsRecord.model_validate(event)
    except (ValueError, ValidationError) as error:
        raise RestoreError(
            f"{path} is no journal of an attached server",
            next_step="look at what it says, then remove it",
        ) from error


def abandoned(servers: Mapping[str, Attachable]) -> Iterator[Abandoned]:
    """What processes that are gone have changed, of servers by kind."""
    for path in sorted(attached().glob(SHOWN)):
        if not _is_in_use(path):
            yield Abandoned(f"settings of the server of {path}", partial(_recover, path, servers))


def _is_in_use(path: Path) -> bool:
    """Whether the process that wrote a journal still runs, or has just removed it."""
    try:
        return processes.is_alive(_recorded(path).owner)
    except RestoreError:
        return not path.exists()


def _recover(path: Path, servers: Mapping[str, Attachable]) -> bool:
    found = _recorded(path)
    attachment = Attachment.of(found.given)
    if attachment is None or found.kind not in servers:
        raise RestoreError(
            f"{path} is no journal of an attached server",
            next_step="look at what it says, then remove it",
        )
    changed = Changed(found.kind, found.given, found.dynamic, found.fixed)
    if changed.path != path:
        raise RestoreError(
            f"{path} is not where the journal of {attachment.target} lies",
            next_step="look at what it says, then remove it",
        )
    put_back(attachment, servers[found.kind], changed)
    return True


def put_in_force(
    attachment: Attachment,
    server: Attachable,
    changed: Changed,
    rendered: Mapping[str, str],
    is_same: Callable[[str], bool],
) -> None:
    """Sets what differs from `rendered`; `is_same` says whether a setting is as it should be.

    InputError where one needs a restart that the study does not allow.
    """
    differing = [name for name in rendered if not is_same(name)]
    if not differing:
        return
    fixed = server.fixed(attachment.ask, differing)
    _require_restart(attachment, server, fixed)
    before = server.before(attachment.ask, differing)
    changed.fixed = {n: before[n] for n in differing if n in fixed}
    changed.dynamic = {n: before[n] for n in differing if n not in fixed}
    changed.write()
    if fixed:
        _give(attachment, server, {n: rendered[n] for n in sorted(fixed)})
        attachment.run_restart()
    server.put(attachment.ask, {n: rendered[n] for n in changed.dynamic})
    _wait_for(lambda: all(is_same(n) for n in differing))


def _require_restart(attachment: Attachment, server: Attachable, fixed: set[str]) -> None:
    if not fixed:
        return
    names = ", ".join(sorted(fixed))
    if not attachment.restart:
        raise InputError(
            f"{names} can be set at the server's start only, and it runs already",
            next_step='add restart = ["systemctl", "restart", "NAME"] to [target]',
        )
    if server.needs_file and attachment.settings_file is None:
        raise InputError(
            f"{names} must be in a file that the server reads at its start",
            next_step='add settings_file = "/path", which its configuration includes, to [target]',
        )


def _give(attachment: Attachment, server: Attachable, values: Mapping[str, str]) -> None:
    """Settings of the next start."""
    if not server.needs_file:
        server.put(attachment.ask, values)
        return
    assert attachment.settings_file is not None, "it was required"
    attachment.settings_file.write_text(server.lines(values))


def _wait_for(is_so: Callable[[], bool]) -> None:
    """Some settings take a while; who reads back says what they are then."""
    end = time.monotonic() + PATIENCE_S / 6
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)


def put_back(attachment: Attachment, server: Attachable, changed: Changed) -> None:
    """All that was changed, and then the journal is gone. RestoreError if it cannot be done."""
    try:
        server.put(attachment.ask, changed.dynamic)
        if changed.fixed:
            if server.needs_file:
                if attachment.settings_file is not None:
                    attachment.settings_file.unlink(missing_ok=True)
            else:
                server.put(attachment.ask, changed.fixed)
            attachment.run_restart()
    except (AssayError, OSError) as error:
        raise RestoreError(
            f"settings of {attachment.target} could not be put back: {error}; "
            f"{changed.path} says what they were",
            next_step="any `assay` command tries again; or put them back, and remove that file",
        ) from error
    changed.forget()
