"""Applies a plan, or takes it back, and is killed after the given number of journal lines.

python host_driver.py ROOT apply PLAN LINES
python host_driver.py ROOT trial PLAN LINES
python host_driver.py ROOT rollback ID LINES
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from assay.host.transaction import HostPlan, apply, lease, roll_back, tree_at


def main() -> None:
    root, verb, what, lines = sys.argv[1:]
    left = int(lines)

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    tree = tree_at(root)
    if verb == "trial":
        plan = HostPlan.load(Path(what))
        with lease.armed(tree, plan.id, 600):
            apply(plan, tree, lease_s=600, after_append=count)
    elif verb == "apply":
        apply(HostPlan.load(Path(what)), tree, after_append=count)
    else:
        roll_back(tree, what, after_append=count)


if __name__ == "__main__":
    main()
