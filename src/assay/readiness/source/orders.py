"""S05, S06: what is used as an atomic and is none, or is a stronger one than is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.readiness.finding import ReadinessFinding, ReadinessRule
from assay.readiness.machine import Machine
from assay.readiness.source.context import at
from assay.readiness.source.project import File, Project
from assay.readiness.source.shapes import BARRIER, squeezed
from assay.readiness.source.tristate import MAYBE, NO

_TYPEDEF = re.compile(
    r"\btypedef\s+(?:volatile\s[\w\s]{1,200}?|[\w\s]{1,200}?\bvolatile\s[\w\s]{0,200}?)"
    r"\b(\w{1,100})\s{0,20};"
)
_TAKEN = re.compile(
    r"\b(?:\w*(?:cmp_set|cmpxchg|compare_exchange\w*|compare_and_swap\w*|test_and_set|testset|"
    r"trylock|tas|_cas|cas_\w*|xchg\w*)|TAS|CAS)\s*\(\s*&?\s*\(?\s*([\w>.\-]+)",
    re.IGNORECASE,
)
_STORE = re.compile(
    r"(?:(?<=[;{}\n)])|^)\s*(\*\s*\(?\s*(\w+)\s*\)?|[\w.\->\[\]]*?(\w+))\s*=\s*"
    r"(0|1|NULL|false|\w*UNLOCK\w*|\w*FREE\w*)\s*(?:;|$)",
    re.MULTILINE,
)
_SYNC = re.compile(r"\b__sync_(?!synchronize|lock_)\w+(?=\s*\()")


def _volatile_types(project: Project) -> set[str]:
    found = set()
    for file in project.sources:
        if "volatile" in file.text.bare:
            found |= {m[1] for m in _TYPEDEF.finditer(file.text.code)}
    return found


S05 = ReadinessRule(
    "S05",
    "a plain store to a volatile that others take by compare-and-swap",
    "S2",
    "volatile orders nothing on aarch64: what the lock protects may be seen after the unlock",
    "Arm Architecture Reference Manual, memory model; Linux, volatile-considered-harmful.rst",
    "ydb-memory-order",
    "__atomic_store_n(..., __ATOMIC_RELEASE)",
)


def _plain_stores(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    """A lock that is taken by compare-and-swap, and given back by an assignment."""
    del machine
    types = _volatile_types(project)
    kinds = "|".join(re.escape(t) for t in sorted(types)) or r"(?!)"
    declared = re.compile(
        rf"\b(?:(?:{kinds})\s{{0,20}}\*?\s{{0,20}}|volatile\s[\w\s]{{1,100}}?\*?\s{{0,5}})"
        r"\b(\w{1,100})\s{0,20}(?=[;,)=\[])"
    )
    for file in project.judged:
        if "volatile" not in file.text.bare and not any(t in file.text.bare for t in types):
            continue
        code = file.text.code
        names = {m[1] for m in declared.finditer(code)}
        taken = {re.split(r"->|\.", m[1])[-1] for m in _TAKEN.finditer(code)}
        yield from _unlock_macros(file, taken)
        names &= taken
        if names:
            yield from _stores(file, names)


def _unlock_macros(file: File, taken: set[str]) -> Iterator[ReadinessFinding]:
    """#define unlock(lock) *(lock) = 0, beside a trylock that is a compare-and-swap."""
    for d in file.seen.definitions:
        if d.arguments is None or d.arm == NO or BARRIER.search(d.body.replace(d.name, "")):
            continue
        match = re.fullmatch(r"\(?\s*\*\s*\(?\s*(\w+)\s*\)?\s*=\s*(0|1|NULL)\s*\)?;?", d.body)
        if match and match[1] in re.findall(r"\w+", d.arguments) and match[1] in taken:
            yield at(
                S05,
                file,
                d.line,
                f"{d.name} gives {match[1]} back by a plain store: {squeezed(d.body)}",
                function=d.name,
            )


def _stores(file: File, names: set[str]) -> Iterator[ReadinessFinding]:
    code = file.text.code
    for match in file.matches(_STORE):
        name = match[2] or match[3]
        if name not in names or not re.match(r"\s*[*\w]", match[0]):
            continue
        if match[3] and "->" not in match[1] and "." not in match[1]:
            continue  # a local variable of that name
        span = file.structure.function_at(match.end() - 1)
        if span is None:
            continue
        before = code[max(span.body, match.start() - 400) : match.start()]
        after = code[match.end() : min(span.end, match.end() + 120)]
        if (
            BARRIER.search(before[-250:])
            or BARRIER.search(after)
            or re.search(
                r"init|create|alloc|reset|memset|memzero", span.name + before, re.IGNORECASE
            )
        ):
            continue
        line = file.text.line_of(match.end() - 1)
        yield at(
            S05,
            file,
            line,
            f"{span.name} writes {squeezed(match[0])} with no order, and others take {name} by "
            "compare-and-swap",
            function=span.name,
        )


S06 = ReadinessRule(
    "S06",
    "legacy __sync builtins",
    "S3",
    "each is a full barrier",
    "GCC manual, legacy __sync built-in functions",
    "ydb-memory-order",
    "use __atomic builtins with the order that is needed",
)


def _legacy(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    """Once for each file: the builtins that it uses."""
    del machine
    for file in project.judged:
        if "__sync_" not in file.text.bare or _is_second_choice(project, file):
            continue
        found = list(file.matches(_SYNC))
        if found:
            names = ", ".join(sorted({m[0] for m in found})[:4])
            lines = ", ".join(str(file.text.line_of(m.start())) for m in found[:6])
            yield at(
                S06,
                file,
                file.text.line_of(found[0].start()),
                f"{len(found)} in this file ({names}), lines {lines}",
                function=file.function(found[0].start()),
            )


def _is_second_choice(project: Project, file: File) -> bool:
    """Whether a header is only included where a build did not choose another before."""
    if not file.is_header or file.whole[1] != MAYBE:
        return False
    base = file.name.rsplit("/", 1)[-1]
    places = [
        (other, include.line)
        for other in project.sources
        for include in other.seen.includes
        if include.name.endswith(base) and file in project.included(include.name, other)
    ]
    return bool(places) and all(_follows(other, line) for other, line in places)


def _follows(file: File, line: int) -> bool:
    branches = [b for g in file.seen.groups for b in g.branches]
    around = [b for b in branches if b.first_line <= line <= b.last_line]
    return bool(around) and max(around, key=lambda b: b.first_line).directive.name in (
        "elif",
        "else",
    )


LOOKS = (
    (S05, _plain_stores),
    (S06, _legacy),
)
