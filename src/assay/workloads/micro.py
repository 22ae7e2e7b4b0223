"""The loads of the `micro` target: each is one mechanism, again and again."""

from __future__ import annotations

from dataclasses import replace

from assay.core.parameters import Parameter, by_name
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

_WORDS = Parameter(
    "words", "choice", "one word for all threads, or one each, far apart", "one", ("one", "each")
)

ATOMIC = Workload(
    kind="atomic",
    text="each thread adds to a word, by addition or compare-and-swap, or takes an exchange lock",
    parameters=by_name(
        (
            Parameter(
                "operation",
                "choice",
                "atomic addition, a compare-and-swap loop, or a lock taken by exchange",
                "add",
                ("add", "cas", "lock"),
            ),
            _WORDS,
        )
    ),
)

ORDER = Workload(
    kind="order",
    text="each thread stores to, loads from or adds to a word under a memory order",
    parameters=by_name(
        (
            Parameter(
                "access",
                "choice",
                "store, load, or read-modify-write",
                "store",
                ("store", "load", "rmw"),
            ),
            replace(_WORDS, default="each"),
        )
    ),
)

COUNTERS = Workload(
    kind="counters",
    text="each thread adds to its own counter; the setting stride says how far apart they are",
    parameters=by_name(()),
)

CALL = Workload(
    kind="call",
    text="each thread calls a small function; one operation is one call",
    parameters=by_name(()),
)

CHASE = Workload(
    kind="chase",
    text="each thread follows addresses through memory, in an order without a pattern: what a load "
    "costs that waits for the one before it, its page walk included; one operation is one load",
    parameters=by_name(
        (
            Parameter(
                "bytes",
                "size",
                "the memory gone through, which all threads share; 256 MiB are 65,536 base pages, "
                "many more than a second TLB holds",
                256 << 20,
                low=1 << 10,
                high=1 << 37,
            ),
            Parameter(
                "stride",
                "count",
                "bytes from a place to the next: 64 has one in each line, 4096 one in each base "
                "page, so that the lines fit a cache and the pages no TLB",
                64,
                low=64,
                high=1 << 30,
            ),
        )
    ),
)

UNALIGNED = Workload(
    kind="unaligned",
    text="each thread loads eight bytes, in turn from four pages; one operation is one load",
    parameters=by_name(()),
)

TIMER = Workload(
    kind="timer",
    text="each thread reads the time; one operation is one reading",
    parameters=by_name(()),
)

_BUFFER = Parameter("buffer_bytes", "size", "size of the buffer", 16384, low=1, high=1 << 30)

HASH = Workload(
    kind="hash",
    text="each thread hashes or enciphers its own buffer; one operation is one whole buffer",
    parameters=by_name((_BUFFER,)),
)

COMPRESS = Workload(
    kind="compress",
    text="each thread compresses or decompresses its own buffer, made up from the seed",
    parameters=by_name(
        (
            replace(_BUFFER, default=65536),
            Parameter("direction", "choice", "which way", "compress", ("compress", "decompress")),
            Parameter(
                "repeated_percent",
                "count",
                "share of the buffer that repeats earlier parts of it",
                60,
                low=0,
                high=100,
            ),
        )
    ),
)

SIMD = Workload(
    kind="simd",
    text="each thread goes over its own column; one operation is one whole column",
    parameters=by_name(
        (
            Parameter(
                "work",
                "choice",
                "sum of 32-bit numbers, or count of bytes that reach a threshold",
                "sum",
                ("sum", "filter"),
            ),
            _BUFFER,
        )
    ),
)
