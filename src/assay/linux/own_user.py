"""Whom a server runs as where Assay is root: a user that nobody else is, for as long as it runs.

Its number is one of those that systemd keeps for services that have users of the moment. It owns
the server's folder and has a right to nothing else, and no other process has it.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.core.errors import MissingError, RunError
from assay.linux.rights import lacking

NUMBERS = range(61184, 65520)
MAKER = "nobody"
"""Whom data are made by: programs that make them want a user with a name."""
TRIES = 100
RIGHTS = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_KILL", "CAP_SETGID", "CAP_SETUID")
"""What it takes to start, to feed and to end a server that is another user's."""


def own_user() -> int | None:
    """The number of such a user; None where we are not root: then it is ourselves. MissingError if
    we are root and may not become another."""
    if not _is_root():
        return None
    in_use = _in_use()
    for number in random.SystemRandom().sample(NUMBERS, TRIES):
        if number not in in_use and not _is_known(number):
            return number
    raise MissingError("no number is left for the user of a server", next_step="end some servers")


def maker() -> int | None:
    """The number of the user that makes data; None where it is ourselves. MissingError as above."""
    return pwd.getpwnam(MAKER).pw_uid if _is_root() else None


def _is_root() -> bool:
    absent = lacking(*RIGHTS) if os.geteuid() == 0 else []
    if absent:
        raise MissingError(
            f"a server runs as a user of its own, which takes {', '.join(absent)} of root",
            next_step="run as an ordinary user, or give the container these capabilities",
        )
    return os.geteuid() == 0


def group_of(user: int) -> int:
    """The user's own group: of a user without a name, that of the same number."""
    try:
        return pwd.getpwuid(user).pw_gid
    except KeyError:
        return user


def give(folder: Path, user: int | None) -> None:
    """Makes a folder and all in it a user's own."""
    if user is not None:
        owner = f"{user}:{group_of(user)}"
        command = ["chown", "-R", "--no-dereference", owner, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise RunError(f"{folder} cannot be given to user {user}: {done.stderr.strip()[-400:]}")


def write_own(file: Path, text: str, user: int | None) -> None:
    """Writes a new file that its owner alone may read, and that never belonged to another."""
    file.unlink(missing_ok=True)
    held = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(held, "w") as out:
        if user is not None:
            os.fchown(held, user, group_of(user))
        out.write(text)


def may_read(path: Path, user: int | None) -> bool:
    """Whether a user without any group may read a file, going by what everybody may."""
    if user is None:
        return True
    whole = path.resolve()
    if any(not folder.stat().st_mode & 0o001 for folder in whole.parents):
        return False
    return bool(whole.stat().st_mode & 0o004)


@contextlib.contextmanager
def opened(command: Sequence[str], user: int | None) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """A command whose program the user may run though a folder above is closed to it, as ours in
    root's cache are; and the descriptors that it needs."""
    program = Path(command[0])
    if not program.is_absolute() or may_read(program, user):
        yield list(command), ()
        return
    held = os.open(program, os.O_RDONLY)
    try:
        yield [f"/proc/self/fd/{held}", *command[1:]], (held,)
    finally:
        os.close(held)


def _is_known(number: int) -> bool:
    for known in (pwd.getpwuid, grp.getgrgid):
        with contextlib.suppress(KeyError):
            known(number)
            return True
    return False


def _in_use() -> set[int]:
    """Users that have a process now."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            found.add(os.stat(f"/proc/{pid}").st_uid)
    return found
