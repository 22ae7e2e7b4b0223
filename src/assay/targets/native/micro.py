"""Single mechanisms without an engine around them: a lock, a checksum, an atomic addition, ..."""

from __future__ import annotations

from assay.core.parameters import Parameter, by_name
from assay.targets.native.embedded import EmbeddedTarget
from assay.targets.native.parts import HARNESS_SETTINGS, LOCK_SETTINGS

CRC32C_LEVELS = (
    "misdispatched",
    "bytewise",
    "slicing8",
    "hardware",
    "hardware-3way",
    "pclmul",
    "pmull",
    "vpclmul",
    "fusion",
)
"""From the slowest to the fastest, about. `misdispatched` chooses, and ends at bytewise code."""

TIMERS = ("clock-gettime", "instant", "rdtsc", "rdtscp", "cntvct", "isb-cntvct")
SIMD_LEVELS = ("scalar", "auto", "sse2", "avx2", "neon", "translated")

MICRO = EmbeddedTarget(
    kind="micro",
    text="one mechanism alone: a lock, a checksum, an atomic addition, a memory order, ...",
    settings=by_name(
        (
            *LOCK_SETTINGS,
            Parameter(
                "crc32c",
                "choice",
                "CRC32C implementation; auto is the best this CPU has for the buffer's size, "
                "misdispatched what a wrong dispatch takes",
                "auto",
                ("auto", *CRC32C_LEVELS),
            ),
            Parameter(
                "atomics",
                "choice",
                "instructions of an atomic read-modify-write: as compiled, or on aarch64 "
                "exclusives (LL/SC) or LSE",
                "std",
                ("std", "ll-sc", "lse"),
            ),
            Parameter(
                "order",
                "choice",
                "memory order of a store (relaxed, release), load (relaxed, acquire) or "
                "read-modify-write; seq-cst is sequentially consistent",
                "seq-cst",
                ("relaxed", "acq-rel", "seq-cst"),
            ),
            Parameter(
                "stride",
                "count",
                "bytes between the threads' counters",
                64,
                (8, 16, 32, 64, 128, 256),
            ),
            Parameter(
                "call",
                "choice",
                "how a small function is reached",
                "direct",
                ("inlined", "direct", "pointer", "dyn"),
            ),
            Parameter(
                "alignment",
                "choice",
                "where loads of eight bytes lie: on a multiple of eight, off it, across two "
                "cache lines, across two pages",
                "aligned",
                ("aligned", "within-line", "across-line", "across-page"),
            ),
            Parameter(
                "timer",
                "choice",
                "where the time is read: the kernel's clock, the standard library's, or the CPU's "
                "counter, free or ordered",
                "clock-gettime",
                TIMERS,
            ),
            Parameter(
                "hash",
                "choice",
                "XXH3 with vector code chosen at run time or when compiled; or the cipher ChaCha20",
                "xxh3-detected",
                ("xxh3-detected", "xxh3-compiled", "chacha20"),
            ),
            Parameter(
                "compression", "choice", "format of the buffer", "lz4", ("copy", "lz4", "zstd")
            ),
            Parameter("zstd_level", "count", "level of Zstandard", 3, low=1, high=19),
            Parameter(
                "simd",
                "choice",
                "vector code: none, the compiler's, by hand, or the SSE2 program translated to "
                "NEON",
                "auto",
                SIMD_LEVELS,
            ),
            *HARNESS_SETTINGS,
        )
    ),
    workloads=(
        "lock",
        "crc32c",
        "atomic",
        "order",
        "counters",
        "call",
        "chase",
        "unaligned",
        "timer",
        "hash",
        "compress",
        "simd",
    ),
    lock_classes=("lock",),
    load_s=lambda launch: 0.3,
)
