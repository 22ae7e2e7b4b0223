"""B14-B19: pages, barriers, padding, newer instructions, timers, hardening."""

from __future__ import annotations

from collections.abc import Iterator

from assay.readiness.binary.context import Context, Look, by_function, found_at, number, places
from assay.readiness.finding import ReadinessFinding, Severity
from assay.readiness.rules_binary import BY_ID

LARGEST_PAGE = 65536


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
        yield BY_ID["B14"].at(image.shown, told, severity=severity, key=f"pages {name}")


def _barriers(at: Context) -> Iterator[ReadinessFinding]:
    heavy = [s for s in at.image.of("barrier-in-loop") if _is_system(str(s.facts.get("what")))]
    for sites in by_function(heavy):
        what = sorted({str(s.facts.get("what")) for s in sites})
        yield found_at(
            "B15",
            at.image,
            sites,
            f"{', '.join(what)} in a loop at {places(sites)}",
        )


def _is_system(what: str) -> bool:
    return what.startswith("dsb") or what in ("dmb", "dmb sy")


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
    yield BY_ID["B16"].at(
        image.shown, f"aligned: {told}", severity="S3" if is_short else "I", key="padding"
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
        yield BY_ID["B17"].at(image.shown, "; ".join(told), key="newer")


def _timer(at: Context) -> Iterator[ReadinessFinding]:
    sites = at.image.of("timer")
    total = sum(int(s.facts.get("count", 1)) for s in sites)
    if total:
        most = sorted(sites, key=lambda s: -int(s.facts.get("count", 1)))[:3]
        named = ", ".join(f"{s.function or hex(s.address)} {s.facts.get('count', 1)}" for s in most)
        yield BY_ID["B18"].at(
            at.image.shown,
            f"{number(total, 'reading')} in {number(len(sites), 'function')}: {named}",
            function=most[0].function,
            address=most[0].address,
            key="timer",
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
        yield BY_ID["B19"].at(at.image.shown, f"marked as built with {named}", key="marks")


LOOKS: dict[str, Look] = {
    "B14": _pages,
    "B15": _barriers,
    "B16": _padding,
    "B17": _newer,
    "B18": _timer,
    "B19": _hardening,
}
