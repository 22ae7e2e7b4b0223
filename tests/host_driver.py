"""Applies a plan, or takes it back, and is killed after the given number of journal lines.

python kill_driver.py ROOT apply PLAN LINES
python kill_driver.py ROOT rollback ID LINES
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from assay.host.transaction import HostPlan, apply, roll_back, tree_at


def main() -> None:
    root, verb, what, lines = sys.argv[1:]
    left = int(lines)

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    tree = tree_at(root)
    if verb == "apply":
        apply(HostPlan.load(Path(what)), tree, after_append=count)
    else:
        roll_back(tree, what, after_append=count)


if __name__ == "__main__":
    main()
