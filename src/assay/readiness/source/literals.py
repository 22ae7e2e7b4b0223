"""S07, S08, S12-S15: sizes, signs and features that are written down as if all machines agreed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.readiness.finding import ReadinessFinding, Severity
from assay.readiness.machine import Machine
from assay.readiness.source.context import at
from assay.readiness.source.project import Project
from assay.readiness.source.shapes import squeezed
from assay.readiness.source.tristate import NO

_ALIGNED = re.compile(
    r"\balignas\s*\(\s*64\s*\)|\b_Alignas\s*\(\s*64\s*\)|\baligned\s*\(\s*64\s*\)|"
    r"\b__aligned__\s*\(\s*64\s*\)"
)
_LINE_NAME = re.compile(r"CACHE_?LINE(?:_?SIZE|_?BYTES|_?LEN)?$|CACHELINE|CACHE_LINE", re.I)
_DESTRUCTIVE = re.compile(r"\bstd\s*::\s*hardware_destructive_interference_size\b")
_SYSCONF = re.compile(r"\bsysconf\s*\(\s*_SC_LEVEL1_DCACHE_LINESIZE\s*\)")
_CHECKED = re.compile(r"[<>]=?\s*0|[!=]=\s*(?:0|-1)|\?|\bmax\b|\bMAX\b|!\s*\w")
_READ_CHAR = re.compile(r"\b(\w+)\s*=\s*(?:getchar|getc|fgetc|getopt(?:_long)?)\s*\(")
_COMPARED = re.compile(r"[!=]=\s*(?:EOF|-\s*1)\b|[<>]=?\s*(?:0|-\s*1)\b")
_PAGE_NAME = re.compile(
    r"_*(?:OS_|SYS_|SYSTEM_|MEM_|VM_|KERNEL_|HW_|\w+_OS_)?PAGE_?(?:SIZE|SZ)", re.IGNORECASE
)
_PAGE_VALUE = re.compile(r"\(?\s*(?:4096[uUlL]*|0x1000[uUlL]*|1\s*<<\s*12|4\s*\*\s*1024)\s*\)?")
_PAGE_CALL = re.compile(
    r"\b(?:munmap|mprotect|madvise|mremap|msync|mincore)\s*\([^;{}]*?\b(?:4096|0x1000)\b[^;{}]*\)"
)
_PAGE_MASK = re.compile(r"~\s*\(?\s*(?:4095|0xfff|\(?\s*4096\s*-\s*1\s*\)?)\b", re.IGNORECASE)
_PAGES = re.compile(r"page|mmap|munmap|mprotect|madvise|mincore|msync", re.IGNORECASE)
_SIGILL = re.compile(r"\b(?:signal|sigaction|pqsignal|sigaddset)\s*\([^;]*?\bSIGILL\b")
_JUMPS = re.compile(r"\b(?:sig)?longjmp\b")


def _alignments(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    line = machine.line_bytes if machine else None
    severity: Severity = "S3" if line not in (None, 64) else "I"
    told = f"; the host's lines have {line} bytes" if severity == "S3" else ""
    for file in project.judged:
        aligns = "align" in file.text.bare or "_Align" in file.text.bare
        for match in file.matches(_ALIGNED) if aligns else ():
            number = file.text.line_of(match.start())
            shown = squeezed(file.text.line(number)) + told
            yield at("S07", file, number, shown, severity=severity)
        for d in file.seen.definitions:
            if _LINE_NAME.search(d.name) and d.arm != NO and d.body.strip("() uUlL") == "64":
                yield at("S07", file, d.line, f"{d.name} is 64{told}", severity=severity)


def _interference(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    del machine
    for file in project.judged:
        if "hardware_destructive" in file.text.bare:
            for match in file.matches(_DESTRUCTIVE):
                line = file.text.line_of(match.start())
                if "__cpp_lib" not in file.text.line(line):
                    yield at("S08", file, line, function=file.function(match.start()))


def _line_size(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    del machine
    for file in project.judged:
        if "_SC_LEVEL1_DCACHE_LINESIZE" not in file.text.bare:
            continue
        for match in file.matches(_SYSCONF):
            line = file.text.line_of(match.start())
            end = file.text.start_of(line + 5)
            if not _CHECKED.search(file.text.code, match.end(), end):
                yield at("S12", file, line, function=file.function(match.start()))


def _signs(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    """char c; ... (c = getc(f)) != EOF, where c is a char in the same function."""
    del machine
    for file in project.judged:
        if "getc" not in file.text.bare and "getopt" not in file.text.bare:
            continue
        for match in file.matches(_READ_CHAR):
            span = file.structure.function_at(match.start())
            if span is None:
                continue
            before = file.text.code[span.start : match.start()]
            kinds = re.findall(
                rf"\b((?:un)?signed\s+|u?int\w*\s+|long\s+)?(char|int\w*|unsigned|long|auto|uint\w*)"
                rf"\s+(?:[\w\s,=*]*,\s*)?{re.escape(match[1])}\s*[;,=)]",
                before,
            )
            compared = file.text.code[match.end() : match.end() + 120]
            if kinds and kinds[-1] == ("", "char") and _COMPARED.search(compared):
                yield at("S13", file, file.text.line_of(match.start()), function=span.name)


def _pages(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    severity, told = page_severity(machine)
    for file in project.judged:
        for d in file.seen.definitions:
            named = _PAGE_NAME.fullmatch(d.name) and _PAGE_VALUE.fullmatch(d.body)
            if named and d.arm != NO and "HUGE" not in d.name.upper():
                shown = f"{d.name} is {squeezed(d.body)}{told}"
                yield at("S14", file, d.line, shown, severity=severity)
        if not any(word in file.text.bare for word in ("4096", "0x1000", "4095", "0xfff")):
            continue
        for pattern in (_PAGE_CALL, _PAGE_MASK):
            for match in file.matches(pattern):
                line = file.text.line_of(match.start())
                near = file.text.bare[file.text.start_of(max(1, line - 3)) : match.end() + 80]
                if not _PAGES.search(near):
                    continue
                shown = squeezed(file.text.line(line)) + told
                yield at(
                    "S14", file, line, shown, severity=severity,
                    function=file.function(match.start()),
                )  # fmt: skip


def page_severity(machine: Machine | None) -> tuple[Severity, str]:
    """How grave a page of 4096 bytes is on a host, or on none that was named."""
    if machine is None:
        return "S3", "; wrong on kernels with pages of 16 or 64 KiB"
    if machine.page_bytes == 4096:
        return "I", "; the host has pages of 4,096 too"
    return "S1", f"; the host has pages of {machine.page_bytes:,}"


def _probing(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    """A handler that jumps back: it does not report a crash, it tries an instruction."""
    del machine
    for file in project.judged:
        if "SIGILL" in file.text.bare and _JUMPS.search(file.text.code):
            for match in file.matches(_SIGILL):
                if _is_default(match[0]):
                    continue
                line = file.text.line_of(match.start())
                yield at("S15", file, line, function=file.function(match.start()))
                break  # once a file: the others arm, try and disarm the same handler


def _is_default(call: str) -> bool:
    return "SIG_DFL" in call or "SIG_IGN" in call


LOOKS = {
    "S07": _alignments,
    "S08": _interference,
    "S12": _line_size,
    "S13": _signs,
    "S14": _pages,
    "S15": _probing,
}
