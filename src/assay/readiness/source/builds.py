"""S10, S11: what build files decide for x86-64 only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from assay.readiness.finding import ReadinessFinding, ReadinessRule
from assay.readiness.machine import Machine
from assay.readiness.source.context import at
from assay.readiness.source.project import File, Project
from assay.readiness.source.shapes import squeezed

_X86_FLAG = re.compile(
    r"(?<![\w-])-m(?:sse4(?:\.[12a])?|ssse3|sse3|avx\w*|pclmul|popcnt|bmi2?|fma|aes)\b"
)
_ARM_FLAG = re.compile(
    r"\+(?:crc|crypto|aes|lse|simd)|-march=armv[89]|-mcpu=(?!power)", re.IGNORECASE
)
_NO_OUTLINE = re.compile(r"(?<!\w)-mno-outline-atomics\b")
_BEYOND = re.compile(r"(?<![\w-])-m(?:arch=armv(?:8\.[1-9]|9)[\w.+-]*|cpu=neoverse[\w.+-]*)")
_CHOSEN = re.compile(r"check|has_|set_source_files|option|arm|aarch64|neoverse", re.IGNORECASE)
"""Before a flag: that it is tried first, or is one file's, or what a user asks for by name."""
_X86_ARCH = re.compile(r"x86_64|amd64|i\[?[3-6]|i\?86|x86\b", re.IGNORECASE)
_ARM_ARCH = re.compile(r"aarch64|arm64|\barm\b|armv8", re.IGNORECASE)
_CMAKE_TEST = re.compile(
    r"\b(?:if|elseif)\s*\(([^\n]*\b(?:CMAKE_(?:HOST_)?SYSTEM_PROCESSOR|ARCH\w*)\b[^\n]*)\)", re.I
)
_SHELL_CASE = re.compile(
    r"\bcase\s+[^\n]*\b(?:host_cpu|target_cpu|build_cpu|host|machine|arch|uname|NGX_MACHINE|ARCH)\b[^\n]*\bin\b"
    r"(.*?)\besac\b",
    re.DOTALL | re.IGNORECASE,
)
_REFUSES = re.compile(r"FATAL_ERROR|AC_MSG_ERROR|\$\(error|exit\s+1|unsupported", re.IGNORECASE)


S10 = ReadinessRule(
    "S10",
    "build flags for x86 only, or against aarch64's atomics",
    "S2",
    "x86-64 is built for newer processors than aarch64 is, or without a way back",
    "cms-sw/cmsdist#7582; facebookincubator/velox#17727",
    "ydb-lse",
    "-march=armv8-a+crc next to -msse4.2; leave outline atomics on",
)


def _flags(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    del machine
    has_arm = any(_ARM_FLAG.search(f.text.bare) for f in project.builds)
    for file in project.builds:
        if not file.is_judged:
            continue
        found = list(_X86_FLAG.finditer(file.text.bare))
        if found and not has_arm:
            flags = ", ".join(dict.fromkeys(m[0] for m in found))
            line = file.text.line_of(found[0].start())
            yield at(
                S10,
                file,
                line,
                f"{squeezed(flags)}, and nothing in the build's files asks for an extension of "
                "aarch64",
                study="ydb-crc",
            )
        for match in islice(_NO_OUTLINE.finditer(file.text.bare), 1):
            line = file.text.line_of(match.start())
            yield at(
                S10,
                file,
                line,
                "-mno-outline-atomics: exclusives on every processor, unless all have LSE",
            )
        for match in _BEYOND.finditer(file.text.bare):
            line = file.text.line_of(match.start())
            start = file.text.start_of(line)
            is_chosen = _CHOSEN.search(file.text.bare, start, match.start())
            # What is indented stands under a condition, whatever it asks.
            is_inside = file.text.bare[start : start + 1].isspace()
            if not is_chosen and not is_inside:
                yield at(
                    S10,
                    file,
                    line,
                    f"{match[0]}: the program stops on older processors, and nothing chooses "
                    "when it starts",
                )


S11 = ReadinessRule(
    "S11",
    "a list of architectures without aarch64",
    "S1",
    "aarch64 is refused, or treated as unknown",
    "aws/porting-advisor-for-graviton#31",
    "binary",
    "add aarch64 and arm64",
)


def _architectures(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    """Tests of the processor that name x86-64 and, in the whole file, never aarch64."""
    del machine
    for file in project.builds:
        text = file.text.bare
        if not file.is_judged or _ARM_ARCH.search(text) or not _X86_ARCH.search(text):
            continue
        tests = [(m, m[1], _until_end(text, m.end())) for m in _CMAKE_TEST.finditer(text)]
        tests += [(m, m[1], m[1]) for m in _SHELL_CASE.finditer(text)]
        for match, named, after in tests:
            if _X86_ARCH.search(named):
                yield from _unnamed(file, match.start(), match[0].split("\n")[0], after)


def _until_end(text: str, start: int) -> str:
    return re.split(r"\bendif\s*\(", text[start : start + 2000], maxsplit=1, flags=re.IGNORECASE)[0]


def _unnamed(file: File, offset: int, test: str, after: str) -> Iterator[ReadinessFinding]:
    """A test that refuses what it does not name, or gives flags to what it does."""
    otherwise = re.split(r"(?i:\belse\s*\()|\*\s*\)", after, maxsplit=1)
    refuses = len(otherwise) > 1 and bool(_REFUSES.search(otherwise[1][:300]))
    if refuses or _X86_FLAG.search(otherwise[0]):
        does = "others are refused" if refuses else "others get no flags"
        yield at(
            S11,
            file,
            file.text.line_of(offset),
            f"{squeezed(test)}: aarch64 is not named in this file, and {does}",
            severity="S1" if refuses else "S3",
        )


LOOKS = (
    (S10, _flags),
    (S11, _architectures),
)
