"""The end of a trial: a timer of systemd's where it runs the machine, else a process that waits.

The process belongs to no terminal and no session. It may be killed; then the next
`assay` command does what it would have done.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from functools import partial

from assay.host.transaction.folder import Transaction
from assay.host.transaction.run import abandoned, status
from assay.host.transaction.writable import HostTree
from assay.linux.tree import Tree
from assay.undo.recovery import recover


def arm(tree: Tree, name: str, seconds: float) -> str:
    """See to it that the transaction is rolled back in time; how, in a few words."""
    command_line = "from assay.cli import main; main()"
    options = ["host", "wait", name, "--root", str(tree.root)]
    watch = [sys.executable, "-P", "-c", command_line, *options]
    if tree.is_host and _has_systemd():
        timer = ["systemd-run", f"--on-active={seconds:.0f}", "--timer-property=AccuracySec=1s"]
        unit = f"--unit=assay-{name}"
        done = subprocess.run([*timer, unit, "--", *watch], capture_output=True, text=True)
        if done.returncode == 0:
            return f"a timer of systemd's, assay-{name}.timer"
    nothing = subprocess.DEVNULL
    # It forks and ends, so that what waits has no parent here.
    command = ["setsid", "--fork", *watch]
    subprocess.run(command, check=True, cwd="/", stdin=nothing, stdout=nothing, stderr=nothing)
    return "a process of its own"


def _has_systemd() -> bool:
    comm = Tree().read("/proc/1/comm") or ""
    return comm.strip() == "systemd" and shutil.which("systemd-run") is not None


def wait(tree: HostTree, name: str) -> None:
    """Sleep until the trial is over or confirmed, by the wall clock; then roll back what is due."""
    while True:
        found = status(Transaction.open(tree, name))
        if found.state != "applied" or found.until is None:
            return
        left = found.until - time.time()
        if left <= 0:
            recover(partial(abandoned, tree)).require_all()
            return
        time.sleep(min(left, 1.0))
