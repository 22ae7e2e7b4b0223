"""The command line with a fault at one of its fsyncs, by the environment.

`FAULT_AT=7` is the seventh fsync. `FAULT=kill` ends the process there as `kill -9` does;
`FAULT=full` fills the disk of the folder `FAULT_DISK` and goes on. At its end the process
writes how many it made into the file `FAULT_COUNT`.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from pathlib import Path

from fault_kit import fill
from loose import main

fsync = os.fsync
made = 0


def faulty(descriptor: int) -> None:
    global made
    made += 1
    if made == int(os.environ.get("FAULT_AT", "0")):
        if os.environ["FAULT"] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        fill(Path(os.environ["FAULT_DISK"]))
    fsync(descriptor)


os.fsync = faulty
if "FAULT_COUNT" in os.environ:
    atexit.register(lambda: Path(os.environ["FAULT_COUNT"]).write_text(str(made)))

if __name__ == "__main__":
    sys.exit(main())
