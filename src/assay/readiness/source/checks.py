"""S09: checks at build time, and conditions, that cannot become true on aarch64."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.readiness.finding import ReadinessFinding, ReadinessRule
from assay.readiness.machine import Machine
from assay.readiness.source.context import at
from assay.readiness.source.directives import Branch
from assay.readiness.source.project import File, Project
from assay.readiness.source.shapes import ARM_HEADER, INTRINSICS
from assay.readiness.source.tristate import MAYBE, NO
from assay.readiness.source.worlds import AARCH64

HEADERS = ("sys/auxv.h", "asm/hwcap.h", "linux/auxvec.h", "arm_acle.h", "arm_neon.h")
"""Headers without which a program cannot know or use what an aarch64 processor has."""

SYMBOLS = {
    "getauxval": ("sys/auxv.h",),
    "elf_aux_info": ("sys/auxv.h",),
    "HWCAP_CRC32": ("asm/hwcap.h", "sys/auxv.h"),
    "HWCAP_ATOMICS": ("asm/hwcap.h", "sys/auxv.h"),
    "HWCAP_PMULL": ("asm/hwcap.h", "sys/auxv.h"),
    "sched_getcpu": ("sched.h",),
    "sched_setaffinity": ("sched.h",),
    "malloc_usable_size": ("malloc.h", "malloc_np.h"),
    "pthread_setaffinity_np": ("pthread.h", "pthread_np.h"),
    "fallocate": ("fcntl.h",),
    "sync_file_range": ("fcntl.h",),
    "accept4": ("sys/socket.h",),
    "epoll_create1": ("sys/epoll.h",),
    "madvise": ("sys/mman.h",),
}
"""Where glibc declares what checks ask for by name; others of the listed are other systems'."""

_SYMBOL_CHECK = re.compile(
    r"\bcheck_(?:c|cxx)?_?symbol_exists\s*\(\s*\"?(\w+)\"?\s+\"?([^\s\")]+)\"?\s+(\w+)\s*\)", re.I
)
_HEADER_CHECK = re.compile(
    r"\bcheck_include_files?(?:_cxx)?\s*\(\s*\"?([^\s\";)]+\.h)\"?\s+(\w+)|"
    r"\bAC_CHECK_HEADERS?(?:_ONCE)?\s*\(\s*\[?\s*([^\],)]+)",
    re.IGNORECASE,
)
_OWN_GATE = re.compile(r"^(?:HAVE|HAS|USE|WITH|ENABLE)_|_(?:PRESENT|AVAILABLE|SUPPORT(?:ED)?)$")
_ARM_CODE = re.compile(
    r"__crc32c?[bhwd]\s*\(|\bv(?:ld|st|add|mull|eor|shl|shr|dup|ceq|get|set)\w*_[usp]\d+\s*\(|"
    r"getauxval|\bisb\b|\bpmull|HWCAP_"
)


def near(name: str) -> str:
    """The header that a name was meant to be: at most one slip away, and not it."""
    for header in HEADERS:
        meant = header if "/" in name else header.rsplit("/", 1)[-1]
        if name != header and _slips(name, meant) <= 1:
            return header
    return ""


def _slips(a: str, b: str) -> int:
    """0, 1 for one letter put in, left out, changed or two neighbours exchanged, else 2."""
    if a == b:
        return 0
    if abs(len(a) - len(b)) > 1:
        return 2
    at = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    rest_a, rest_b = a[at:], b[at:]
    exchanged = rest_a[:2] == rest_b[1::-1] and rest_a[2:] == rest_b[2:] and len(rest_b) > 1
    changed = rest_a[1:] == rest_b[1:]
    return 1 if exchanged or changed or rest_a[1:] == rest_b or rest_a == rest_b[1:] else 2


S09 = ReadinessRule(
    "S09",
    "a check that cannot succeed on aarch64",
    "S1",
    "the fast code is never compiled in, and nothing says so",
    "facebook/rocksdb CMakeLists.txt of 7.8.3, auvx.h; facebook/rocksdb#13432",
    "ydb-crc-rocksdb",
    "mend the name of the header, or define the macro",
)


def _impossible(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    del machine
    for file in project.builds:
        if file.is_judged:
            yield from _symbols(project, file)
            yield from _unknown_headers(project, file)
    for file in project.judged:
        yield from _never_defined(project, file)


def _is_own(project: Project, header: str) -> bool:
    return any(f.name == header or f.name.endswith("/" + header) for f in project.sources)


def _symbols(project: Project, file: File) -> Iterator[ReadinessFinding]:
    for match in _SYMBOL_CHECK.finditer(file.text.bare):
        symbol, headers, variable = match[1], match[2].split(";"), match[3]
        right = SYMBOLS.get(symbol)
        if right and not set(headers) & set(right) and not _is_own(project, headers[0]):
            yield at(
                S09,
                file,
                file.text.line_of(match.start()),
                f"{variable} is never set: {symbol} is declared in {right[0]}, and the check asks "
                f"{match[2]}",
                function=variable,
            )


def _unknown_headers(project: Project, file: File) -> Iterator[ReadinessFinding]:
    for match in _HEADER_CHECK.finditer(file.text.bare):
        for header in (match[1] or match[3] or "").replace("\\\n", " ").split():
            meant = near(header) if header.endswith(".h") else ""
            if meant and not _is_own(project, header):
                yield at(
                    S09,
                    file,
                    file.text.line_of(match.start()),
                    f"{header} is checked for, which looks like {meant}",
                    severity="S2",
                    function=header,
                )


def _never_defined(project: Project, file: File) -> Iterator[ReadinessFinding]:
    """Code for aarch64 behind a macro of this project's that nothing defines."""
    for group in file.seen.groups:
        for branch in group.branches:
            name = _gate(branch)
            if not name or branch.arm != MAYBE or name in AARCH64:
                continue
            if name in project.defined or name in project.build_words:
                continue
            start = file.text.start_of(branch.first_line)
            code = file.text.bare[start : file.text.start_of(branch.last_line + 1)]
            is_arm = _ARM_CODE.search(code) or any(
                ARM_HEADER.search(i.name)
                for i in file.seen.includes
                if branch.first_line <= i.line <= branch.last_line
            )
            if is_arm and not INTRINSICS.search(code) and project.builds:
                yield at(
                    S09,
                    file,
                    branch.directive.line,
                    f"{name} guards code for aarch64, and nothing in this tree defines it",
                    severity="S2",
                    function=name,
                )


def _gate(branch: Branch) -> str:
    """The one macro that a branch asks for, if it asks for one of its project's."""
    text = branch.directive.text
    if branch.directive.name in ("ifdef", "elifdef"):
        name = text.split()[0] if text else ""
    else:
        match = re.fullmatch(r"\(?\s*(?:defined\s*\(?\s*)?(\w+)\s*\)?\s*\)?", text)
        name = match[1] if match and branch.directive.name in ("if", "elif") else ""
    return name if _OWN_GATE.search(name) and branch.arm != NO else ""


LOOKS = ((S09, _impossible),)
