"""The two loads of the `micro` target: a lock taken and released, a buffer checksummed."""

from __future__ import annotations

from assay._parameters import Parameter, by_name
from assay.workloads.base import Workload

LOCK = Workload(
    kind="lock",
    text="each thread takes and releases a lock; one operation is one pair",
    parameters=by_name(
        (
            Parameter(
                "locks",
                "choice",
                "one lock for all threads, or one each, side by side in a table",
                "one",
                ("one", "each"),
            ),
            Parameter(
                "hold", "count", "multiply-adds while the lock is held", 4, low=0, high=10**6
            ),
            Parameter("gap", "count", "multiply-adds between two pairs", 20, low=0, high=10**6),
        )
    ),
)

CRC32C = Workload(
    kind="crc32c",
    text="each thread checksums its own buffer; one operation is one whole buffer",
    parameters=by_name(
        (Parameter("buffer_bytes", "size", "size of the buffer", 16384, low=1, high=1 << 30),)
    ),
)
