"""S07, S08, S12, S13, S15: sizes, signs and features written as if all machines agreed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.readiness.finding import GRAVITON_GUIDE, ReadinessFinding, ReadinessRule, Severity
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
_SIGILL = re.compile(r"\b(?:signal|sigaction|pqsignal|sigaddset)\s*\([^;]*?\bSIGILL\b")
_JUMPS = re.compile(r"\b(?:sig)?longjmp\b")


S07 = ReadinessRule(
    "S07",
    "an alignment of 64 written as a number",
    "I",
    "64 bytes are a line on Neoverse and on x86-64, which fetches two; not everywhere",
    "GCC manual, --param destructive-interference-size; ClickHouse#97357 for the reverse",
    "ydb-cache-line",
    "name it once, and measure before changing it",
)


def _alignments(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    line = machine.line_bytes if machine else None
    severity: Severity = "S3" if line not in (None, 64) else "I"
    told = f"; the host's lines have {line} bytes" if severity == "S3" else ""
    for file in project.judged:
        aligns = "align" in file.text.bare or "_Align" in file.text.bare
        for match in file.matches(_ALIGNED) if aligns else ():
            number = file.text.line_of(match.start())
            shown = squeezed(file.text.line(number)) + told
            yield at(S07, file, number, shown, severity=severity)
        for d in file.seen.definitions:
            if _LINE_NAME.search(d.name) and d.arm != NO and d.body.strip("() uUlL") == "64":
                yield at(S07, file, d.line, f"{d.name} is 64{told}", severity=severity)


S08 = ReadinessRule(
    "S08",
    "hardware_destructive_interference_size in a layout",
    "S3",
    "it is 256 on generic aarch64 and follows -mcpu: layouts of two builds differ",
    "facebook/folly#2376; ClickHouse#97357",
    "ydb-cache-line",
    "a constant of the project's own",
)


def _interference(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    del machine
    for file in project.judged:
        if "hardware_destructive" in file.text.bare:
            for match in file.matches(_DESTRUCTIVE):
                line = file.text.line_of(match.start())
                if "__cpp_lib" not in file.text.line(line):
                    yield at(S08, file, line, function=file.function(match.start()))


S12 = ReadinessRule(
    "S12",
    "the size of a cache line from sysconf, used unchecked",
    "S3",
    "it is 0 on many kernels of aarch64",
    "glibc, sysconf on aarch64",
    "ydb-cache-line",
    "fall back to 64 when it is not positive",
)


def _line_size(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    del machine
    for file in project.judged:
        if "_SC_LEVEL1_DCACHE_LINESIZE" not in file.text.bare:
            continue
        for match in file.matches(_SYSCONF):
            line = file.text.line_of(match.start())
            end = file.text.start_of(line + 5)
            if not _CHECKED.search(file.text.code, match.end(), end):
                yield at(S12, file, line, function=file.function(match.start()))


S13 = ReadinessRule(
    "S13",
    "a char that must be negative",
    "S3",
    "char has no sign on aarch64: EOF is never equal to it",
    GRAVITON_GUIDE,
    "binary",
    "int",
)


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
                yield at(S13, file, file.text.line_of(match.start()), function=span.name)


S15 = ReadinessRule(
    "S15",
    "features found by catching SIGILL",
    "S3",
    "a SIGILL is not guaranteed for an instruction that is absent",
    "Linux, arch/arm64/elf_hwcaps.rst",
    "ydb-crc",
    "getauxval()",
)


def _probing(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    """A handler that jumps back: it does not report a crash, it tries an instruction."""
    del machine
    for file in project.judged:
        if "SIGILL" in file.text.bare and _JUMPS.search(file.text.code):
            for match in file.matches(_SIGILL):
                if _is_default(match[0]):
                    continue
                line = file.text.line_of(match.start())
                yield at(S15, file, line, function=file.function(match.start()))
                break  # once a file: the others arm, try and disarm the same handler


def _is_default(call: str) -> bool:
    return "SIG_DFL" in call or "SIG_IGN" in call


LOOKS = (
    (S07, _alignments),
    (S08, _interference),
    (S12, _line_size),
    (S13, _signs),
    (S15, _probing),
)
