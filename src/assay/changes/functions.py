"""What the functions of the embedded targets must be called and hold, by level of each change."""

from __future__ import annotations

from assay.changes.witness import Expected

PRODUCTS = ("pclmul", "pmull")
"""Carry-less multiplication, as the census writes it on x86-64 and on Arm."""

CRC32C = {
    "misdispatched": Expected("assay_crc32c_bytewise", lacks=("crc32", *PRODUCTS)),
    "bytewise": Expected("assay_crc32c_bytewise", lacks=("crc32", *PRODUCTS)),
    "slicing8": Expected("assay_crc32c_slicing8", lacks=("crc32", *PRODUCTS)),
    "hardware": Expected("assay_crc32c_hardware", has=("crc32",), lacks=PRODUCTS),
    "hardware-3way": Expected("assay_crc32c_hardware_3way", has=("crc32",)),
    "pclmul": Expected("assay_crc32c_pclmul", has=("pclmul",)),
    "pmull": Expected("assay_crc32c_pmull", has=("pmull",)),
    "vpclmul": Expected("assay_crc32c_vpclmul", has=("pclmul",)),
    "fusion": Expected("assay_crc32c_fusion", has=("crc32", "pclmul")),
}
"""A dispatch that went wrong is witnessed as what it ran: the bytewise code."""

LSE = ("lse_ldop", "lse_cas", "lse_swp")
ATOMICS = {
    "std": Expected("_std", lacks=("llsc", *LSE)),
    "ll-sc": Expected("_llsc", has=("llsc",), lacks=LSE),
    "lse": Expected("_lse", any_of=LSE, lacks=("llsc",)),
}
"""As compiled there is neither: x86-64 has no such instructions, aarch64 calls a helper."""

STRONG_STORE = ("xchg_mem", "mfence", "ldar_stlr")
ORDERS = {
    "relaxed": (
        Expected("assay_order_store_relaxed", lacks=STRONG_STORE),
        Expected("assay_order_load_relaxed", lacks=("mfence", "ldar_stlr")),
        Expected("assay_order_rmw_relaxed"),
    ),
    "acq-rel": (
        Expected("assay_order_store_release", lacks=("xchg_mem", "mfence")),
        Expected("assay_order_load_acquire", lacks=("xchg_mem", "mfence")),
        Expected("assay_order_rmw_acq_rel"),
    ),
    "seq-cst": (
        Expected("assay_order_store_seq_cst", any_of=STRONG_STORE),
        Expected("assay_order_load_seq_cst"),
        Expected("assay_order_rmw_seq_cst"),
    ),
}
"""One function for each kind of access. Only the store differs in its instructions on x86-64."""

STRIDES = (8, 16, 32, 64, 128, 256)

CALLS = {
    "inlined": Expected("assay_call_inlined", lacks=("call_direct", "call_indirect")),
    "direct": Expected("assay_call_direct", has=("call_direct",), lacks=("call_indirect",)),
    "pointer": Expected("assay_call_pointer", has=("call_indirect",), lacks=("call_direct",)),
    "dyn": Expected("assay_call_dyn", has=("call_indirect",), lacks=("call_direct",)),
}

ALIGNMENTS = {"aligned": 2048, "within-line": 2049, "across-line": 2108, "across-page": 4092}
"""The offset in a page of 4 KiB at which the loads must be seen to lie."""

COUNTERS = ("rdtsc", "rdtscp", "cntvct")
TIMERS = {
    "clock-gettime": Expected("assay_timer_clock_gettime", lacks=COUNTERS),
    "instant": Expected("assay_timer_instant", lacks=COUNTERS),
    "rdtsc": Expected("assay_timer_rdtsc", has=("rdtsc",), lacks=("rdtscp",)),
    "rdtscp": Expected("assay_timer_rdtscp", has=("rdtscp",), lacks=("rdtsc",)),
    "cntvct": Expected("assay_timer_cntvct", has=("cntvct",), lacks=("isb",)),
    "isb-cntvct": Expected("assay_timer_isb_cntvct", has=("cntvct", "isb")),
}

HASHES = {
    "xxh3-detected": Expected("assay_hash_xxh3_detected"),
    "xxh3-compiled": Expected("assay_hash_xxh3_compiled"),
    "chacha20": Expected("assay_hash_chacha20"),
}
"""By name only: the vector code is behind a call inside the crates."""

CODECS = {
    k: (Expected(f"assay_compress_{k}"), Expected(f"assay_decompress_{k}"))
    for k in ("copy", "lz4", "zstd")
}

WIDE = ("vector_256", "vector_512")
VECTORS = ("vector_128", *WIDE)
SIMD = {
    "scalar": Expected("_scalar", lacks=VECTORS),
    "auto": Expected("_auto", has=("vector_128",), lacks=WIDE),
    "sse2": Expected("_sse2", has=("vector_128",), lacks=WIDE),
    "avx2": Expected("_avx2", has=("vector_256",)),
    "neon": Expected("_neon", has=("vector_128",)),
    "translated": Expected("_translated", has=("vector_128",)),
}
"""`auto` is compiled for the architecture's baseline: 128 bits."""

PLANS = {
    "row": Expected("assay_plan_row"),
    "bytecode": Expected("assay_plan_bytecode"),
    "vectorised": Expected("assay_plan_vectorised"),
    "cranelift-scalar": Expected("assay_plan_cranelift_scalar", lacks=("vector_128",)),
    "cranelift-simd": Expected("assay_plan_cranelift_simd", has=("vector_128",)),
}
"""What Cranelift made is in no file: its census is of the code in memory."""

CACHES = {
    "one-lock": Expected("::one_lock::"),
    "partitioned": Expected("::partitioned::"),
    "hyper-clock": Expected("::hyper_clock::", lacks=("xchg_mem",), where_counted=("lock_prefix",)),
    "optimistic": Expected("::optimistic::", lacks=("lock_prefix", "xchg_mem")),
}
"""Look-up functions of the data caches."""

INDEXES = {
    "latched": Expected("::latched::"),
    "optimistic": Expected("::optimistic::", lacks=("lock_prefix", "xchg_mem")),
    "hash": Expected("::hash::", lacks=("lock_prefix", "xchg_mem")),
}
"""Look-ups: a latched tree takes a latch in each node, the others write nothing."""

CONTROLS = {
    "no-wait": Expected("::two_phase::NoWaitPolicy"),
    "wait-die": Expected("::two_phase::WaitDiePolicy"),
    "optimistic": Expected("::cc::optimistic::"),
    "multi-version": Expected("::cc::multi_version::"),
}
"""A function that only this kind of concurrency control calls."""

LOGS = {
    "none": {"log.records": False, "log.syncs": False},
    "asynchronous": {"log.records": True},
    "private-group": {"log.records": True, "log.syncs": True},
    "group": {"log.records": True, "log.syncs": True},
    "per-commit": {"log.records": True, "log.syncs": True},
}
