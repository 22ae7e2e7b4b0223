"""The end of a trial: a timer of systemd's where it runs the machine, else a process that waits.

It stands before anything is applied. The process belongs to no terminal and no session. It may be
killed; then the next `assay` command does what it would have done.
"""

from __future__ import annotations

import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO

from assay.core.errors import MissingError
from assay.host.transaction.folder import Transaction, names
from assay.host.transaction.run import abandoned, status
from assay.host.transaction.writable import HostTree
from assay.linux.tree import Tree
from assay.undo.recovery import recover

STANDS = "stands"
"""What the process says once it can do its work; then it reads until whoever applies has ended."""
STAND_S = 60.0
"""How long that may take, on a machine that is busy."""


@contextmanager
def armed(tree: Tree, name: str, seconds: float) -> Iterator[str]:
    """See to it that the transaction which the block applies is rolled back in time; how, in a few
    words. A block that is killed is seen to as well. MissingError if nothing would see to it."""
    command_line = "from assay.cli import main; main()"
    options = ["host", "wait", name, "--root", str(tree.root)]
    watch = [sys.executable, "-I", "-c", command_line, *options]
    if tree.is_host and _has_systemd():
        timer = ["systemd-run", f"--on-active={seconds:.0f}", "--timer-property=AccuracySec=1s"]
        unit = f"--unit=assay-{name}"
        done = subprocess.run([*timer, unit, "--", *watch], capture_output=True, text=True)
        if done.returncode == 0:
            yield f"a timer of systemd's, assay-{name}.timer"
            return
    # It forks, so that what waits has no parent here.
    command, pipe = ["setsid", "--fork", *watch], subprocess.PIPE
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, cwd="/", stdin=pipe, stdout=pipe, stderr=said) as process,
    ):
        if not _stands(process.stdout):
            said.seek(0)
            why = said.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise MissingError(
                f"what is to end the trial did not start, so nothing was changed: {why[:200]}",
                next_step="apply the plan without --try, and roll it back by hand",
            )
        yield "a process of its own"


def _stands(stdout: IO[bytes] | None) -> bool:
    if stdout is None or not select.select([stdout], [], [], STAND_S)[0]:
        return False
    return stdout.readline() == f"{STANDS}\n".encode()


def _has_systemd() -> bool:
    comm = Tree().read("/proc/1/comm") or ""
    return comm.strip() == "systemd" and shutil.which("systemd-run") is not None


def wait(tree: HostTree, name: str) -> None:
    """Sleep until the trial is over or confirmed, by the wall clock; then roll back what is due."""
    sys.stdout.write(f"{STANDS}\n")
    sys.stdout.flush()
    sys.stdin.read()
    while (left := _left_s(tree, name)) > 0:
        time.sleep(min(left, 1.0))
    recover(partial(abandoned, tree)).require_all()


def _left_s(tree: HostTree, name: str) -> float:
    """Nothing where there is nothing to wait for."""
    if name not in names(tree):
        return 0
    found = status(Transaction.open(tree, name))
    if found.state != "applied" or found.until is None:
        return 0
    return found.until - time.time()
