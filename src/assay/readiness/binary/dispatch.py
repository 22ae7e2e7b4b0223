"""B10-B12: accelerated code: there, reachable, and chosen how."""

from __future__ import annotations

from collections.abc import Iterator

from assay.readiness.binary.context import Context, by_function, found_at, number, places
from assay.readiness.census import Image
from assay.readiness.finding import ReadinessFinding, ReadinessRule

CLASSES = (
    ("checksums", ("crc32", "pclmul"), ("crc32", "pmull_q"), "ydb-crc"),
    ("AES", ("aes",), ("aes",), "ydb-simd"),
    ("SHA", ("sha",), ("sha",), "ydb-simd"),
)
"""A class, its counts on x86-64, its counts on aarch64, and the study that would measure it."""


B10 = ReadinessRule(
    "B10",
    "accelerated code that nothing can reach",
    "S1",
    "the fast code is in the file and the slow code runs",
    "facebook/rocksdb#13432, #13435, #10913",
    "ydb-crc-rocksdb",
    "mend the check at build time that turned the check at run time into a constant",
)


def _unreachable(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    for sites in by_function(image.of("unreachable")):
        classes = sorted({str(c) for s in sites for c in s.facts.get("classes", ())})
        why = str(sites[0].facts.get("why", ""))
        crc = any("crc" in c or "pmull" in c for c in classes)
        yield found_at(
            B10,
            image,
            sites,
            f"{' and '.join(classes) or 'accelerated code'} at {places(sites)} cannot run: {why}",
            study="ydb-crc-rocksdb" if "rocksdb" in image.shown else "ydb-crc" if crc else "",
        )


def _is_unreachable(image: Image, keys: tuple[str, ...]) -> bool:
    """Whether sites of a class are known to be unreachable; then the counts deceive."""
    return any(
        set(keys) & {str(c) for c in site.facts.get("classes", ())}
        for site in image.of("unreachable")
    )


B11 = ReadinessRule(
    "B11",
    "an accelerated class that is absent",
    "S2",
    "what has an instruction is computed by tables or loops",
    "YDB performance optimizations for ARM (Maksim Kita)",
    "ydb-crc",
    "build with the extension (+crc, -msse4.2), or dispatch when the program starts",
)


def _absent(at: Context) -> Iterator[ReadinessFinding]:
    image, twin = at.image, at.twin
    if image.is_linked:
        yield from _tables_only(image)
    if twin is None or not image.is_arm or twin.arch != "x86_64":
        return
    for name, theirs, ours, study in CLASSES:
        there, here = twin.count(*theirs), image.count(*ours)
        if there and not here:
            yield B11.at(
                image.shown,
                f"{name}: {number(there, 'instruction')} on x86-64, none here",
                key=f"class {name}",
                study=study,
            )
    if "crc32c" in twin.tables and not twin.count("crc32"):
        yield B11.at(
            image.shown,
            f"its twin {twin.shown} computes CRC32C by tables, with no hardware CRC at all",
            severity="I",
            key="twin crc32c",
        )


def _tables_only(image: Image) -> Iterator[ReadinessFinding]:
    """A table of CRC32C, and not one instruction that would replace it."""
    if "crc32c" not in image.tables:
        return
    if not image.count("crc32"):
        seen = f"{image.count('pclmul', 'pmull_q'):,} carry-less multiplications"
        yield B11.at(
            image.shown,
            f"CRC32C by tables, with no hardware CRC at all: 0 crc32 instructions, {seen}",
            key="crc32c by tables",
            study="ydb-crc-rocksdb" if "rocksdb" in image.shown else "ydb-crc",
        )
    elif _is_unreachable(image, ("crc32", "pmull")):
        return  # B10 has said so


B12 = ReadinessRule(
    "B12",
    "what is chosen when the program runs",
    "S3",
    "a SIGILL is not guaranteed for an instruction that is absent; the auxiliary vector says "
    "what is there",
    "Linux, arch/arm64/elf_hwcaps.rst",
    "ydb-crc",
    "ask getauxval()",
)


def _chosen(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    bits: dict[str, None] = {}
    asked = image.of("hwcap")
    for site in asked:
        bits.update(dict.fromkeys(str(bit) for bit in site.facts.get("bits", ())))
    told = []
    if asked:
        names = ", ".join(bits) or "no bit recognised"
        told.append(f"{number(len(asked), 'check')} of the auxiliary vector ({names})")
    if found := image.of("ifunc"):
        told.append(number(len(found), "indirect function"))
    if found := image.of("id-register"):
        told.append(number(len(found), "read of an ID register", "reads of ID registers"))
    if told:
        first = (asked or image.of("ifunc") or image.of("id-register"))[0]
        yield B12.at(
            image.shown,
            "; ".join(told),
            severity="I",
            function=first.function,
            address=first.address,
            listing=first.listing,
            key="inventory",
        )
    for sites in by_function(image.of("sigill-probe")):
        yield found_at(
            B12,
            image,
            sites,
            f"an instruction is tried under a handler of SIGILL, at {places(sites)}",
        )


LOOKS = (
    (B10, _unreachable),
    (B11, _absent),
    (B12, _chosen),
)
