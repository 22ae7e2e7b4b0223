"""B14-B19: pages, barriers, padding, newer instructions, timers, hardening."""

from __future__ import annotations

from collections.abc import Iterator

from assay.readiness.binary.context import Context, by_function, found_at, number, places
from assay.readiness.finding import ReadinessFinding, ReadinessRule, Severity

LARGEST_PAGE = 65536


B14 = ReadinessRule(
    "B14",
    "sizes of pages that it can run with",
    "S1",
    "kernels with pages of 16 or 64 KiB refuse a file aligned to less, and jemalloc aborts on "
    "pages larger than it was built for",
    "redis/redis#12586, #15185; redis-rpm#59; bitnami/containers#26062",
    "binary",
    "link with -z max-page-size=65536; build jemalloc with --with-lg-page=16",
)


def _pages(at: Context) -> Iterator[ReadinessFinding]:
    image, machine = at.image, at.machine
    if not image.is_arm or not image.is_linked:
        return
    limits = []
    align = image.facts.get("min_load_align")
    if align:
        limits.append((int(align), f"segments are aligned to {int(align):,}", "align"))
    if (lg_page := image.facts.get("jemalloc_lg_page")) is not None:
        size = 1 << int(lg_page)
        limits.append((size, f"jemalloc is built for pages of {size:,}", "jemalloc"))
    elif image.facts.get("page_size_string"):
        limits.append((0, "jemalloc is inside, and for which pages cannot be seen", "jemalloc"))
    for size, told, name in limits:
        severity: Severity
        if machine is not None and size:
            short = machine.page_bytes > size
            severity = "S1" if short else "I"
            told += f", and the host has pages of {machine.page_bytes:,}"
        elif size >= LARGEST_PAGE:
            severity = "I"
        else:
            severity = "S3"
            told += ": it does not run on kernels with larger pages" if size else ""
        yield B14.at(image.shown, told, severity=severity, key=f"pages {name}")


B15 = ReadinessRule(
    "B15",
    "a barrier of the whole system in a loop",
    "S3",
    "dmb sy and dsb wait for devices too, which user space rarely shares memory with",
    "Arm Architecture Reference Manual, memory barriers",
    "ydb-memory-order",
    "dmb ish, or an acquire and a release",
)


def _barriers(at: Context) -> Iterator[ReadinessFinding]:
    heavy = [s for s in at.image.of("barrier-in-loop") if _is_system(str(s.facts.get("what")))]
    for sites in by_function(heavy):
        what = sorted({str(s.facts.get("what")) for s in sites})
        yield found_at(
            B15,
            at.image,
            sites,
            f"{', '.join(what)} in a loop at {places(sites)}",
        )


def _is_system(what: str) -> bool:
    return what.startswith("dsb") or what in ("dmb", "dmb sy")


B16 = ReadinessRule(
    "B16",
    "what data are aligned to",
    "S3",
    "variables of different threads on one line make each other wait",
    "GCC manual, --param destructive-interference-size; ClickHouse#97357 for the reverse",
    "ydb-cache-line",
    "measure before padding to more: structures grow",
)


def _padding(at: Context) -> Iterator[ReadinessFinding]:
    image, machine = at.image, at.machine
    aligned = {
        name: int(size) for name, size in (image.facts.get("section_align") or {}).items() if size
    }
    if not aligned or not image.is_linked:
        return
    told = ", ".join(f"{name} to {size}" for name, size in sorted(aligned.items()))
    line = machine.line_bytes if machine is not None else None
    is_short = line is not None and max(aligned.values()) < line
    if is_short:
        told += f", and the host's lines have {line} bytes"
    yield B16.at(image.shown, f"aligned: {told}", severity="S3" if is_short else "I", key="padding")


B17 = ReadinessRule(
    "B17",
    "newer hints and loads that it does not use",
    "I",
    "sb and wfet wait with less, ldapr orders less than ldar",
    "mysql-server#611; openjdk#27030; dotnet/runtime#130362",
    "ydb-spinlock",
    "try them as an experiment",
)


def _newer(at: Context) -> Iterator[ReadinessFinding]:
    image, machine = at.image, at.machine
    if not image.is_arm or not image.is_linked:
        return
    told = []
    hints = image.count("isb_in_loop")
    if hints and not image.count("sb", "wfet"):
        has = [name for name in ("sb", "wfet") if machine is not None and machine.has(name)]
        here = f" (this host has {' and '.join(has)})" if has else ""
        told.append(f"{number(hints, 'loop hint')} by isb, none by sb or wfet{here}")
    acquires = image.count("ldar")
    if acquires and not (image.facts.get("more") or {}).get("ldapr"):
        told.append(f"{number(acquires, 'load-acquire', 'loads-acquire')} by ldar, none by ldapr")
    if told:
        yield B17.at(image.shown, "; ".join(told), key="newer")


B18 = ReadinessRule(
    "B18",
    "readings of the processor's timer",
    "I",
    "a reading costs tens of cycles, and more when it is ordered by isb",
    "MDEV-23249",
    "mariadb-timer",
    "read it where it is needed",
)


def _timer(at: Context) -> Iterator[ReadinessFinding]:
    sites = at.image.of("timer")
    total = sum(int(s.facts.get("count", 1)) for s in sites)
    if total:
        most = sorted(sites, key=lambda s: -int(s.facts.get("count", 1)))[:3]
        named = ", ".join(f"{s.function or hex(s.address)} {s.facts.get('count', 1)}" for s in most)
        yield B18.at(
            at.image.shown,
            f"{number(total, 'reading')} in {number(len(sites), 'function')}: {named}",
            function=most[0].function,
            address=most[0].address,
            key="timer",
        )


B19 = ReadinessRule(
    "B19",
    "hardening that costs instructions",
    "I",
    "landing pads and signed return addresses are instructions of their own",
    "Arm, BTI and PAC",
    "binary",
    "nothing to do: to know when counts are compared",
)


def _hardening(at: Context) -> Iterator[ReadinessFinding]:
    marks = [name for name in ("bti", "pac") if at.image.facts.get(name)]
    if marks:
        counted = at.image.facts.get("more") or {}
        named = " and ".join(
            f"{mark.upper()} ({number(int(counted[mark]), 'instruction')})"
            if mark in counted
            else mark.upper()
            for mark in marks
        )
        yield B19.at(at.image.shown, f"marked as built with {named}", key="marks")


LOOKS = (
    (B14, _pages),
    (B15, _barriers),
    (B16, _padding),
    (B17, _newer),
    (B18, _timer),
    (B19, _hardening),
)
