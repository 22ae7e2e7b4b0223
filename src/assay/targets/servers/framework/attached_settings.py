"""Settings of an attached server: put in force, read back, and put back whatever happens.

What was in force before is written to `$XDG_STATE_HOME/assay/attached` (`~/.local/state`)
before anything is changed, a file for each server, and removed once it is back. It
holds no password.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.core.address import parse_url
from assay.core.digest import digest
from assay.core.errors import AssayError, InputError, RestoreError, RunError
from assay.targets.servers.framework.attachment import PATIENCE_S, Attachable, Attachment
from assay.undo.places import attached

IsSame = Callable[[str], bool]


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
        target = parse_url(self.given["attach"], {})
        return attached() / f"{digest(f'{target} {target.database}'.encode())[:32]}.json"

    def write(self) -> None:
        """On the disk before anything is changed. InputError while another `assay` has it."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        owner = _owner(self.path)
        if owner is not None and owner != os.getpid():
            raise InputError(
                f"another assay (process {owner}) has changed settings of {self.given['attach']}",
                next_step="wait until it has ended",
            )
        text = json.dumps(
            {
                "owner": os.getpid(),
                "owner_began": _began(os.getpid()),
                "kind": self.kind,
                "given": dict(self.given),
                "dynamic": self.dynamic,
                "fixed": self.fixed,
            }
        )
        partial = self.path.with_suffix(f".{os.getpid()}")
        with partial.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(self.path)
        self.is_written = True


def _owner(path: Path) -> int | None:
    """The living process that a journal belongs to."""
    try:
        kept = json.loads(path.read_text())
        owner, began = int(kept["owner"]), kept["owner_began"]
    except (OSError, ValueError, KeyError):
        return None
    return owner if _began(owner) == began else None


def _began(pid: int) -> str:
    """When a process was started, in ticks since boot: another one may have its number now."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def abandoned() -> list[Changed]:
    """What processes have changed that are gone."""
    found = []
    for path in sorted(attached().glob("*.json")):
        if _owner(path) is None:
            kept = json.loads(path.read_text())
            found.append(Changed(kept["kind"], kept["given"], kept["dynamic"], kept["fixed"]))
    return found


def put_in_force(
    attachment: Attachment,
    server: Attachable,
    changed: Changed,
    told: Mapping[str, str],
    is_same: Callable[[str], bool],
) -> None:
    """Sets what differs from `told`; `is_same` says whether a setting is as it should be.

    InputError where one needs a restart that the study does not allow.
    """
    differing = [name for name in told if not is_same(name)]
    if not differing:
        return
    fixed = server.fixed(attachment.ask, differing)
    _require_restart(attachment, server, fixed)
    before = server.before(attachment.ask, differing)
    changed.fixed = {n: before[n] for n in differing if n in fixed}
    changed.dynamic = {n: before[n] for n in differing if n not in fixed}
    changed.write()
    if fixed:
        _give(attachment, server, {n: told[n] for n in sorted(fixed)})
        attachment.run_restart()
    server.put(attachment.ask, {n: told[n] for n in changed.dynamic})
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
    changed.path.unlink(missing_ok=True)
    changed.is_written = False


def restore_abandoned(servers: Mapping[str, Attachable]) -> list[str]:
    """Puts back what processes that were killed have left; says of which servers. RestoreError."""
    done = []
    for changed in abandoned():
        attachment = Attachment.of(changed.given)
        if attachment is None or changed.kind not in servers:
            raise RunError(f"{changed.path} is no journal of an attached server")
        put_back(attachment, servers[changed.kind], changed)
        done.append(f"settings of {attachment.target} were put back")
    return done
