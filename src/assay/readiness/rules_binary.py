"""B01-B19: what each rule of binaries says of itself. What they look for is in `binary/`."""

from __future__ import annotations

from assay.readiness.finding import ReadinessRule

_GUIDE = "AWS Graviton getting started, c-c++.md"

RULES = (
    ReadinessRule(
        "B01",
        "how atomic operations are made",
        "S2",
        "under contention one LSE instruction beats a loop of load and store exclusive by up to "
        "an order of magnitude; without a guard it stops an Armv8.0 processor",
        f"{_GUIDE}; qualcomm/GenieX#1181",
        "ydb-lse",
        "build with -moutline-atomics (GCC 10.1 and later do it themselves), or for Armv8.1",
    ),
    ReadinessRule(
        "B02",
        "load-exclusive and store-exclusive with no LSE twin",
        "S2",
        "a contended exclusive pair fails and is tried again, where one LSE instruction is done "
        "near the data",
        _GUIDE,
        "ydb-lse",
        "use the compiler's atomic builtins instead of own assembly",
    ),
    ReadinessRule(
        "B03",
        "atomics helpers whose choice is never made",
        "S1",
        "the flag of the outline-atomics helpers stays 0 without its constructor: exclusives "
        "for ever",
        "cloudius-systems/osv#1129; rust-lang/rust#144705",
        "ydb-lse",
        "link the compiler's runtime with its constructor, and let it read the auxiliary vector",
    ),
    ReadinessRule(
        "B04",
        "helpers with a full barrier, of the legacy __sync builtins",
        "S3",
        "a full barrier is paid where acquire and release would do",
        "GCC manual, legacy __sync built-in functions",
        "ydb-memory-order",
        "use __atomic builtins with the order that is needed",
    ),
    ReadinessRule(
        "B05",
        "a loop that waits for memory and has no spin hint",
        "S2",
        "waiters that poll at full speed take the line from the owner, and a back-off without a "
        "pause does not back off",
        "facebook/rocksdb#10118; gperftools#1290; facebook/folly#1904; mysql-server#611",
        "ydb-spinlock",
        "isb (or sb) on aarch64, pause on x86-64, in the loop; measure it: a hint may also do "
        "nothing (MDEV-24630)",
    ),
    ReadinessRule(
        "B06",
        "a delay loop that only counts",
        "S2",
        "it lasts as long as the core is fast: a faster core waits less",
        "MariaDB include/my_cpu.h; MDEV-24630",
        "mariadb-spin",
        "a hint in the loop, or a delay by the processor's counter",
    ),
    ReadinessRule(
        "B07",
        "yield as the only hint of a spin loop",
        "S3",
        "yield is a NOP on cores without simultaneous multithreading",
        "golang/go#69232; illumos#192; rust-lang/rust#84725",
        "ydb-spinlock",
        "isb, or sb where the processor has it",
    ),
    ReadinessRule(
        "B08",
        "a pause on x86-64 that is nothing on aarch64",
        "S2",
        "the same function hints on one architecture only, so a macro is empty on the other",
        "nginx-devel, December 2023, ngx_cpu_pause() for aarch64",
        "nginx-pause",
        "give the macro a body on aarch64",
    ),
    ReadinessRule(
        "B09",
        "a hint in a function that a loop calls",
        "I",
        "the loop hints, by way of a call",
        "PostgreSQL, perform_spin_delay()",
        "ydb-spinlock",
        "nothing to do",
    ),
    ReadinessRule(
        "B10",
        "accelerated code that nothing can reach",
        "S1",
        "the fast code is in the file and the slow code runs",
        "facebook/rocksdb#13432, #13435, #10913",
        "ydb-crc-rocksdb",
        "mend the check at build time that turned the check at run time into a constant",
    ),
    ReadinessRule(
        "B11",
        "an accelerated class that is absent",
        "S2",
        "what has an instruction is computed by tables or loops",
        "YDB performance optimizations for ARM (Maksim Kita)",
        "ydb-crc",
        "build with the extension (+crc, -msse4.2), or dispatch when the program starts",
    ),
    ReadinessRule(
        "B12",
        "what is chosen when the program runs",
        "S3",
        "a SIGILL is not guaranteed for an instruction that is absent; the auxiliary vector says "
        "what is there",
        "Linux, arch/arm64/elf_hwcaps.rst",
        "ydb-crc",
        "ask getauxval()",
    ),
    ReadinessRule(
        "B13",
        "instructions beyond the baseline without a check",
        "S1",
        "the program stops with SIGILL where they are absent",
        "qualcomm/GenieX#1181",
        "binary",
        "dispatch when the program starts, or say what the build needs",
    ),
    ReadinessRule(
        "B14",
        "sizes of pages that it can run with",
        "S1",
        "kernels with pages of 16 or 64 KiB refuse a file aligned to less, and jemalloc aborts on "
        "pages larger than it was built for",
        "redis/redis#12586, #15185; redis-rpm#59; bitnami/containers#26062",
        "binary",
        "link with -z max-page-size=65536; build jemalloc with --with-lg-page=16",
    ),
    ReadinessRule(
        "B15",
        "a barrier of the whole system in a loop",
        "S3",
        "dmb sy and dsb wait for devices too, which user space rarely shares memory with",
        "Arm Architecture Reference Manual, memory barriers",
        "ydb-memory-order",
        "dmb ish, or an acquire and a release",
    ),
    ReadinessRule(
        "B16",
        "what data are aligned to",
        "S3",
        "variables of different threads on one line make each other wait",
        "GCC manual, --param destructive-interference-size; ClickHouse#97357 for the reverse",
        "ydb-cache-line",
        "measure before padding to more: structures grow",
    ),
    ReadinessRule(
        "B17",
        "newer hints and loads that it does not use",
        "I",
        "sb and wfet wait with less, ldapr orders less than ldar",
        "mysql-server#611; openjdk#27030; dotnet/runtime#130362",
        "ydb-spinlock",
        "try them as an experiment",
    ),
    ReadinessRule(
        "B18",
        "readings of the processor's timer",
        "I",
        "a reading costs tens of cycles, and more when it is ordered by isb",
        "MDEV-23249",
        "mariadb-timer",
        "read it where it is needed",
    ),
    ReadinessRule(
        "B19",
        "hardening that costs instructions",
        "I",
        "landing pads and signed return addresses are instructions of their own",
        "Arm, BTI and PAC",
        "binary",
        "nothing to do: to know when counts are compared",
    ),
)

BY_ID = {rule.id: rule for rule in RULES}
