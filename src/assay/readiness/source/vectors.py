"""S02-S04: code of x86-64 that aarch64 cannot build, or has no counterpart of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from assay.readiness.finding import GRAVITON_GUIDE, ReadinessFinding, ReadinessRule
from assay.readiness.machine import Machine
from assay.readiness.source.context import at
from assay.readiness.source.directives import Branch, Conditional
from assay.readiness.source.project import File, Project, worlds_by_name
from assay.readiness.source.shapes import (
    ARM_HEADER,
    ARM_MACRO,
    ASM,
    INTRINSICS,
    PAUSE,
    X86_HEADER,
    X86_MACRO,
    closing,
    squeezed,
)
from assay.readiness.source.tristate import NO, YES

ALIKE = 3
"""Letters at the beginning that two files of one purpose share."""

_FAST = re.compile(r"crc|hash|checksum|memchr|memcmp|strn?cmp|popcount|search|find|scan|encod|"
                   r"decod|utf|base64|json|bloom|aes|sha\d", re.IGNORECASE)  # fmt: skip
_MNEMONIC = re.compile(
    r"\b(?:cpuid|rdtscp?|xgetbv|mfence|lfence|sfence|cmpxchg(?:8b|16b|[bwlq])?|xchg[bwlq]?|"
    r"xadd[bwlq]?|rep\s*;?\s*nop|movzbl|mov[bwlq]|inc[lq]|dec[lq]|add[lq]|sub[lq]|push[lq]|"
    r"pop[lq]|lea[lq]|bsr[lq]?|bsf[lq]?|crc32[bwlq]|pause|int\s*\$?3|bswapl?|mul[lq]|div[lq]|"
    r"emms|prefetcht\d|prefetchnta|popcnt[lq]?|lock\s*;)(?![\w.])"
    r"|%%?[re]?[abcd]x\b|%%?[re][sd]i\b|%%?r(?:8|9|1[0-5])\b"
)


S02 = ReadinessRule(
    "S02",
    "x86 vector code with no counterpart on aarch64",
    "S1",
    "it does not build, or the fast code is missing on aarch64",
    GRAVITON_GUIDE,
    "ydb-simd",
    "write a NEON branch, or include sse2neon or simde",
)


def _headers(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    """Headers of x86's vector extensions that aarch64 includes, or code that it goes without."""
    del machine
    for file in project.judged:
        bare = [
            i for i in file.seen.includes
            if X86_HEADER.match(i.name.rsplit("/", 1)[-1]) and not project.included(i.name, file)
        ]  # fmt: skip
        for include in bare:
            if include.arm == YES and include.x86 != NO and not _is_for_x86(file):
                yield at(S02, file, include.line, f"<{include.name}> is included on aarch64 too")
        hidden = next((i for i in bare if i.arm == NO and i.x86 != NO), None)
        if hidden is not None and not _has_counterpart(project, file):
            used = _uses(file)
            if used:
                yield at(
                    S02,
                    file,
                    hidden.line,
                    f"<{hidden.name}> is for x86-64 only, and the {used} intrinsics used in this "
                    "file have no counterpart for aarch64",
                    severity="S2",
                )


def _is_for_x86(file: File) -> bool:
    return worlds_by_name(file.name)[1] == NO


def _uses(file: File) -> int:
    """Intrinsics of vectors that only x86-64 compiles."""
    found = 0
    for match in INTRINSICS.finditer(file.text.code):
        line = file.text.line_of(match.start())
        if file.arm(line) == NO and file.x86(line) != NO and "_mm_pause" not in match[0]:
            found += 1
    return found


def _has_counterpart(project: Project, file: File) -> bool:
    """Whether the file, or one beside it that is called alike, has code for aarch64."""
    if any(ARM_HEADER.search(i.name) for i in file.seen.includes) or _names_arm(file):
        return True
    path = PurePosixPath(file.name)
    for other in project.sources:
        theirs = PurePosixPath(other.name)
        is_for_arm = theirs.parent == path.parent and worlds_by_name(theirs.name) == (NO, YES)
        if is_for_arm and path.stem.lower()[:ALIKE] == theirs.stem.lower()[:ALIKE]:
            return True
    return False


def _names_arm(file: File) -> bool:
    return any(
        ARM_MACRO.search(d.text)
        for d in file.directives
        if d.name in ("if", "ifdef", "elif", "elifdef")
    )


def _text_of(file: File, branch: Branch) -> str:
    start = file.text.start_of(branch.first_line)
    return file.text.bare[start : file.text.start_of(branch.last_line + 1)]


S03 = ReadinessRule(
    "S03",
    "a fast branch for x86-64 only, and a generic one for the rest",
    "S2",
    "aarch64 takes the branch that was written to be correct everywhere",
    "YDB performance optimizations for ARM (Maksim Kita)",
    "ydb-crc",
    "add a branch for aarch64",
)


def _generic(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    """An #if with a fast branch that is x86-64's, and an #else that is all that aarch64 gets."""
    del machine
    for file in project.judged:
        for group in file.seen.groups:
            pair = _fast_and_rest(group)
            if pair is None:
                continue
            fast, rest = pair
            code, other = _text_of(file, fast), _text_of(file, rest)
            is_fast = INTRINSICS.search(code) or ASM.search(code)
            plain = re.sub(r"(?m)^[ \t]*#.*$", "", other).strip()
            if not is_fast or PAUSE.search(code) or not plain or plain.startswith("#error"):
                continue
            if not re.search(r"\b(?:for|while)\b|\[[^\]]*(?:&|>>)", plain):
                continue
            name = file.function(file.text.start_of(rest.first_line)) or _named(plain)
            if not _FAST.search(f"{name} {file.name} {plain[:400]}"):
                continue
            yield at(
                S03,
                file,
                rest.directive.line,
                f"{name or 'this code'}: x86-64 takes {squeezed(is_fast[0])[:40]} at line "
                f"{fast.first_line}, aarch64 the generic branch",
                function=name,
            )


def _named(text: str) -> str:
    found = re.search(r"\b([a-z_]\w*)\s*\([^;{}]*\)\s*\{", text, re.IGNORECASE)
    return found[1] if found else ""


def _fast_and_rest(group: Conditional) -> tuple[Branch, Branch] | None:
    """The first branch that x86-64 gets and aarch64 not, and the #else that aarch64 gets."""
    rest = group.branches[-1]
    if rest.directive.name != "else" or rest.arm == NO:
        return None
    if any(ARM_MACRO.search(b.directive.text) for b in group.branches[:-1]):
        return None
    for branch in group.branches[:-1]:
        if branch.x86 != NO and branch.arm == NO and X86_MACRO.search(branch.directive.text):
            return branch, rest
    return None


S04 = ReadinessRule(
    "S04",
    "x86 assembly that is not guarded",
    "S1",
    "it does not build on aarch64",
    GRAVITON_GUIDE,
    "binary",
    "guard it by __x86_64__ and give aarch64 its own",
)


def _assembly(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    """Assembly of x86 in lines that aarch64 compiles."""
    del machine
    for file in project.judged:
        if "asm" not in file.text.bare or _is_for_x86(file):
            continue
        for match in ASM.finditer(file.text.code):
            line = file.text.line_of(match.start())
            # Under a condition that only a build knows it is guarded, by whatever that is.
            if file.arm(line) != YES or file.x86(line) == NO:
                continue
            end = closing(file.text.code, match.end() - 1)
            mnemonic = _MNEMONIC.search(" ".join(_strings(file.text.bare[match.end() : end])))
            if mnemonic is not None:
                yield at(
                    S04,
                    file,
                    line,
                    f"assembly of x86 ({squeezed(mnemonic[0])}) that aarch64 compiles",
                    function=file.function(match.start()),
                )


def _strings(text: str) -> list[str]:
    return re.findall(r'"((?:[^"\\]|\\.)*)"', text)


LOOKS = (
    (S02, _headers),
    (S03, _generic),
    (S04, _assembly),
)
