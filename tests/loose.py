"""The command line without the guard's rule on other processes, for tests on a busy machine.

`python tests/loose.py run ...` is `assay run ...`, except that other processes'
CPU time voids nothing: what these runs are for is behaviour, not numbers.
"""

from __future__ import annotations

import sys

from assay.bench import guard
from assay.cli import main

guard.FOREIGN_CPUS = float("inf")
guard.STOLEN_CPUS = float("inf")

if __name__ == "__main__":
    sys.exit(main())
