"""Running the commands of somebody else's build: as an ordinary user, and without a network.

Where Assay is root, the user is one that nobody else is; else it is ours. The network is a
namespace without interfaces, where the machine allows one to be made; whether it did is told. All
that a command starts holds the lock that it is given: until the last of them has ended, nobody
else works in the same folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from assay.builds import tools
from assay.core.cache import no_room
from assay.core.errors import MissingError
from assay.linux.own_user import group_of

LOOK_S = 0.2
MOST_PROCESSES = 500
"""Of a build at once: one that starts itself again and again must not take the machine."""
SECRET = ("TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL", "PROXY")
"""Parts of names of variables that no build is shown."""
NO_SPACE = "No space left on device"


class BuildError(MissingError):
    """A source that does not build: `line` is the first error that was said, `log` all of it."""

    def __init__(self, message: str, log: Path, line: str) -> None:
        super().__init__(
            message, next_step=f"mend the source, or leave the level out; the log is {log}"
        )
        self.log, self.line = log, line


@cache
def closed_network() -> tuple[str, ...]:
    """The words that give a command a network without interfaces, and a world of processes that
    ends with it; empty where neither can be had."""
    if shutil.which("unshare") is None:
        return ()
    whose = () if os.geteuid() == 0 else ("--user", "--map-current-user")
    alone = ("--pid", "--fork", "--kill-child", "--mount-proc")
    for kinds in (("--net", *alone), ("--net",)):
        words = ("unshare", *whose, *kinds, "--")
        if subprocess.run([*words, "true"], capture_output=True).returncode == 0:
            return words
    return ()


def run_stranger(
    command: Sequence[str],
    folder: Path,
    log: Path,
    *,
    user: int | None,
    env: Mapping[str, str],
    lock: int,
    what: str,
    watch: Callable[[], None] = lambda: None,
) -> None:
    """Runs a command to its end, its output appended to `log`; BuildError if it fails, MissingError
    if the program or room for what it writes is not there. `watch` is called now and then, and at
    the end."""
    if "/" not in command[0]:
        tools.require(command[0], what=what, path=env.get("PATH"))
    elif not (folder / command[0]).is_file():
        line = f"the source has no {command[0]}"
        raise BuildError(f"{what} failed: {line}", log, line)
    offset = log.stat().st_size if log.exists() else 0
    with log.open("ab") as out:
        process = subprocess.Popen(
            [*_ended_with_us(), *closed_network(), *_tied(user), "nice", "-n", "10", *command],
            cwd=folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            pass_fds=(lock,),
        )
        try:
            while process.poll() is None:
                watch()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(LOOK_S)
            watch()
        finally:
            _end(process)
    if process.returncode:
        with log.open("rb") as said:
            said.seek(offset)
            text = said.read().decode("utf-8", "replace")
        if NO_SPACE in text:
            raise no_room(folder, NO_SPACE)
        raise failed(what, command, text, log)


def failed(what: str, command: Sequence[str], text: str, log: Path) -> BuildError:
    """The error of a command that failed, with the first error that it told."""
    line = tools.first_error(text)
    return BuildError(f"{what} failed at {' '.join(command)[:80]}: {line}", log, line)


def environment(folder: Path, path: str) -> dict[str, str]:
    """What a stranger's command sees: no secret of ours, a home of its own, and a fixed date."""
    ours = tools.environment()
    kept = {k: v for k, v in ours.items() if not any(part in k.upper() for part in SECRET)}
    fixed = {"SOURCE_DATE_EPOCH": "1000000000", "CCACHE_DISABLE": "1", "HOME": str(folder)}
    return {**kept, **fixed, "TMPDIR": str(folder), "PATH": path}


def _ended_with_us() -> list[str]:
    """What is killed when we are."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise MissingError("setpriv is not here", next_step="sudo apt-get install util-linux")
    return [setpriv, "--pdeathsig", "KILL", "--"]


def _tied(user: int | None) -> list[str]:
    """What makes it another user, who has no more than so many processes, and ends it with us."""
    whose = [] if user is None else [f"--reuid={user}", f"--regid={group_of(user)}"]
    alone = [] if user is None else ["--clear-groups"]
    few = [] if user is None else ["prlimit", f"--nproc={MOST_PROCESSES}", "--"]
    return ["setpriv", *whose, *alone, "--no-new-privs", "--pdeathsig", "KILL", "--", *few]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends it and all that is in its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_all(user: int | None) -> None:
    """Ends what a user that nobody else is has left running."""
    if user is None:
        return
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if os.stat(f"/proc/{pid}").st_uid == user:
                os.kill(int(pid), signal.SIGKILL)


def is_open(folder: Path) -> bool:
    """Whether any user may come to a folder, going by those above it."""
    above = folder.resolve() if folder.exists() else folder.absolute()
    return all(p.stat().st_mode & 0o001 for p in above.parents if p.exists())


def working_place(kept: Path) -> Path:
    """Where strangers work and servers are run from: beside what is kept or, where other users may
    not come there (root's own cache), a folder of ours in $TMPDIR that they may pass through.

    MissingError if somebody else has put something there.
    """
    place = kept
    if os.geteuid() == 0 and not is_open(kept):
        place = Path(tempfile.gettempdir()) / f"assay-builds-{os.geteuid()}"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise no_room(place, str(error)) from error
    about = place.lstat()
    if place.is_symlink() or about.st_uid != os.geteuid():
        raise MissingError(f"{place} is somebody else's", next_step=f"remove {place}")
    place.chmod(0o711 if place != kept else 0o755)
    return place


def settle_clock(path: Path) -> None:
    """Waits until a file written now would be newer than `path`, whatever the disk's clock."""
    while path.exists() and time.time_ns() <= path.stat().st_mtime_ns:
        time.sleep(0.01)
