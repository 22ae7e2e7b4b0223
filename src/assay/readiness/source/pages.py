"""S14: pages of 4096 bytes, in code and in how jemalloc is built."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.readiness.finding import ReadinessFinding, ReadinessRule, Severity
from assay.readiness.machine import Machine
from assay.readiness.source.context import at
from assay.readiness.source.project import Project
from assay.readiness.source.shapes import squeezed
from assay.readiness.source.tristate import NO

_PAGE_NAME = re.compile(
    r"_*(?:OS_|SYS_|SYSTEM_|MEM_|VM_|KERNEL_|HW_|\w+_OS_)?PAGE_?(?:SIZE|SZ)", re.IGNORECASE
)
_PAGE_VALUE = re.compile(r"\(?\s*(?:4096[uUlL]*|0x1000[uUlL]*|1\s*<<\s*12|4\s*\*\s*1024)\s*\)?")
_PAGE_CALL = re.compile(
    r"\b(?:munmap|mprotect|madvise|mremap|msync|mincore)\s*\([^;{}]*?\b(?:4096|0x1000)\b[^;{}]*\)"
)
_PAGE_MASK = re.compile(r"~\s*\(?\s*(?:4095|0xfff|\(?\s*4096\s*-\s*1\s*\)?)\b", re.IGNORECASE)
_PAGES = re.compile(r"page|mmap|munmap|mprotect|madvise|mincore|msync", re.IGNORECASE)
_JEMALLOC = re.compile(
    r"jemalloc[^\n]*?(?:\\\n[^\n]*?)*\./configure\b(?:\\\n|[^\n])*", re.IGNORECASE
)

S14 = ReadinessRule(
    "S14",
    "pages of 4096 bytes written as a number",
    "S1",
    "kernels of aarch64 have pages of 4, 16 or 64 KiB; jemalloc aborts on pages larger than "
    "it was built for",
    "redis/redis#12586, #15185",
    "binary",
    "sysconf(_SC_PAGESIZE); --with-lg-page=16 for jemalloc",
)


def _fixed(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    severity, told = _severity(machine)
    yield from _pages(project, severity, told)
    yield from _jemalloc(project, severity, told)


def _severity(machine: Machine | None) -> tuple[Severity, str]:
    """How grave a page of 4096 bytes is on a host, or on none that was named."""
    if machine is None:
        return "S3", "; wrong on kernels with pages of 16 or 64 KiB"
    if machine.page_bytes == 4096:
        return "I", "; the host has pages of 4,096 too"
    return "S1", f"; the host has pages of {machine.page_bytes:,}"


def _pages(project: Project, severity: Severity, told: str) -> Iterator[ReadinessFinding]:
    for file in project.judged:
        for d in file.seen.definitions:
            named = _PAGE_NAME.fullmatch(d.name) and _PAGE_VALUE.fullmatch(d.body)
            if named and d.arm != NO and "HUGE" not in d.name.upper():
                shown = f"{d.name} is {squeezed(d.body)}{told}"
                yield at(S14, file, d.line, shown, severity=severity)
        if not any(word in file.text.bare for word in ("4096", "0x1000", "4095", "0xfff")):
            continue
        for pattern in (_PAGE_CALL, _PAGE_MASK):
            for match in file.matches(pattern):
                line = file.text.line_of(match.start())
                near = file.text.bare[file.text.start_of(max(1, line - 3)) : match.end() + 80]
                if not _PAGES.search(near):
                    continue
                shown = squeezed(file.text.line(line)) + told
                yield at(S14, file, line, shown, severity=severity,
                    function=file.function(match.start()),
                )  # fmt: skip


def _jemalloc(project: Project, severity: Severity, told: str) -> Iterator[ReadinessFinding]:
    for file in project.builds:
        if "jemalloc" not in file.text.bare or not file.is_judged:
            continue
        for match in _JEMALLOC.finditer(file.text.bare):
            if "--with-lg-page" not in match[0] and "configure.ac" not in match[0]:
                yield at(
                    S14,
                    file,
                    file.text.line_of(match.end() - 1),
                    f"jemalloc is built for the pages of the machine that builds it: no "
                    f"--with-lg-page{told}",
                    severity=severity,
                )


LOOKS = ((S14, _fixed),)
