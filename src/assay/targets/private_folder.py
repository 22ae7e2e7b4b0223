"""A folder of a server's own, which goes with it, and with whoever made it."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.cache import ROOM
from assay.core.errors import MissingError
from assay.linux.own_user import NUMBERS

_WATCH = """pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
    left=50
    while [ "$left" -gt 0 ] && [ -e "/proc/$pid/exe" ]; do sleep 0.1; left=$((left - 1)); done
    kill -s KILL -- "-$pid" 2>/dev/null || kill -s KILL "$pid" 2>/dev/null
fi
for place in $(grep -alsz -x -F -- "TMPDIR=$1" /proc/[0-9]*/environ); do
    place=${place#/proc/}
    kill -s KILL "${place%/environ}" 2>/dev/null
done
user=$(stat -c %u -- "$1" 2>/dev/null)
if [ "${user:-0}" -ge "$2" ] && [ "$user" -lt "$3" ]; then
    while read -r _ id _ _ _ _ _ owner _; do
        [ "$owner" = "$user" ] && ipcrm -m "$id"
    done </proc/sysvipc/shm
fi
left=50
while ! rm -rf -- "$1" 2>/dev/null && [ "$left" -gt 0 ]; do sleep 0.1; left=$((left - 1)); done
"""
"""A server that was signalled may have something to put away (PostgreSQL: shared memory), and gets
some seconds for it. A signal that comes before it listens to any ends it at once: then the shared
memory of a user that nobody else is goes with the folder. What has left the process group is known
by the folder for temporary files that it inherited. What was killed may still write for a moment,
so its folder is removed until it is gone."""


class FolderGuard:
    """A shell that outlives us: if we are gone it ends the process it guards, and its folder."""

    def __init__(self, folder: Path) -> None:
        self._shell = subprocess.Popen(
            ["sh", "-c", _WATCH, "sh", str(folder), str(NUMBERS.start), str(NUMBERS.stop)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def guard(self, pid: int | None) -> None:
        """The process from now on; None while there is none."""
        assert self._shell.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._shell.stdin.write(b"\n" if pid is None else f"{pid}\n".encode())
            self._shell.stdin.flush()

    def end(self) -> None:
        """Have it end what it guards and remove its folder now. It does so as well if we are
        interrupted meanwhile."""
        assert self._shell.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._shell.stdin.close()
        self._shell.wait()

    def dismiss(self) -> None:
        """There is nothing left to watch. Safe to call twice."""
        self._shell.kill()
        self._shell.wait()
        assert self._shell.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._shell.stdin.close()


@contextmanager
def own_folder(kind: str) -> Iterator[tuple[Path, FolderGuard]]:
    """A folder of the server's own, and who removes it: the watcher is there first, so that
    whatever interrupts us, and whenever, leaves no folder behind."""
    made = Path(tempfile.gettempdir(), f"assay-{kind}-{secrets.token_hex(8)}")
    watcher = FolderGuard(made)
    try:
        made.mkdir(mode=0o700)
    except OSError as error:
        watcher.dismiss()
        raise MissingError(f"no folder for {kind} can be made: {error}", next_step=ROOM) from error
    try:
        yield made, watcher
    finally:
        watcher.end()
