"""What a process inherits from Ray that no measured server may have, taken back and looked at.

Workers of Ray run at nice 5 or more, are the first that the kernel kills for memory, have
`OMP_NUM_THREADS` set, `RAY_` variables (with the token), and signals blocked or ignored. A server
that is started below one would inherit all of it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from assay.linux.processes import read

OOM_SCORE = Path("/proc/self/oom_score_adj")
_OF_RAY = ("RAY_",)
MARK = "ASSAY_FLEET"
"""In the environment of what `assay fleet up` starts: which host of which fleet it is."""
_OTHERS = frozenset(
    {MARK, "OMP_NUM_THREADS", "PYTHONBREAKPOINT", "SPT_NOENV", "CUDA_VISIBLE_DEVICES"}
)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without Ray's part of it."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(_OF_RAY) and name not in _OTHERS
    }


def clean() -> None:
    """Take back what was inherited, as far as this user may: `leftovers` says what is left."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    with suppress(OSError):
        OOM_SCORE.write_text("0")
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in _SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def leftovers() -> list[str]:
    """What a server would inherit from Ray all the same, one phrase each."""
    found = []
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    if nice:
        found.append(f"nice {nice}")
    score = read(OOM_SCORE).strip()
    if score not in ("", "0"):
        found.append(f"score {score} for the killer of memory")
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    if blocked:
        found.append(
            f"blocked signals {', '.join(sorted(signal.Signals(s).name for s in blocked))}"
        )
    ours = sorted(os.environ.keys() - clean_environment(os.environ).keys())
    if ours:
        found.append(f"in the environment {', '.join(ours)}")
    return found
