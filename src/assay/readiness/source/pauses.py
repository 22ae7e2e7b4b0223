"""S01, S16: spin hints that one architecture has and the other has not, or has weakly."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.readiness.finding import ReadinessFinding, ReadinessRule, Severity
from assay.readiness.machine import Machine
from assay.readiness.source.context import at
from assay.readiness.source.directives import Definition
from assay.readiness.source.project import File, Project
from assay.readiness.source.shapes import ARM_HINT, EMPTYISH, PAUSE, YIELD, squeezed
from assay.readiness.source.structure import Structure
from assay.readiness.source.tristate import NO

_SERVERS = {"ngx_": "nginx-pause", "ut_delay": "mariadb-spin", "MY_RELAX": "mariadb-spin"}
_WORDS = ("pause", "nop", "0xf3", "YieldProcessor")


def _pauses(file: File) -> bool:
    text = file.text.bare
    return any(word in text for word in _WORDS) and PAUSE.search(text) is not None


def _study(name: str) -> str:
    return next((study for prefix, study in _SERVERS.items() if name.startswith(prefix)), "")


S01 = ReadinessRule(
    "S01",
    "a pause on x86-64 that is nothing on aarch64",
    "S2",
    "the loop that calls it spins without a pause, and the compiler may delete the back-off",
    "nginx-devel, December 2023, ngx_cpu_pause() for aarch64; MDEV-24630 for a neutral result",
    "ydb-spinlock",
    'on aarch64: __asm__ volatile ("isb")',
)


def _dropped(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    del machine
    yield from _macros(project)
    yield from _functions(project)


def _macros(project: Project) -> Iterator[ReadinessFinding]:
    named: dict[str, list[tuple[File, Definition]]] = {}
    alone = [(f, d) for f in project.sources for d in _of_one_world(f)]
    for file in project.sources:
        if _pauses(file):
            named |= {d.name: [] for d in file.seen.definitions if PAUSE.search(d.body)}
    named |= {d.name: [] for _, d in alone if PAUSE.search(d.body)}
    for file in project.sources:
        for d in file.seen.definitions:
            if d.name in named:
                named[d.name].append((file, d))
    for file, d in alone:
        if d.name in named:
            named[d.name].append((file, d))
    for name, places in sorted(named.items()):
        for file, definition, elsewhere in _empty_on_arm(places):
            yield _finding(project, name, file, definition.line, elsewhere, definition.body)


def _of_one_world(file: File) -> Iterator[Definition]:
    """Functions that one world has and the other has not, as if they were macros."""
    if not _pauses(file):
        return
    for arm in (False, True):
        text = file.view(arm, in_strings=True)
        for span in Structure(file.view(arm)).functions:
            line = file.text.line_of(span.body)
            worlds = file.x86(line), file.arm(line)
            if worlds[not arm] == NO:
                body = text[span.body + 1 : span.end - 1]
                start = file.text.line_of(span.start)
                yield Definition(span.name, "()", body, start, *worlds)


def _is_nothing(body: str) -> bool:
    """Whether a body does nothing, or is a barrier."""
    return bool(EMPTYISH.fullmatch(body)) or all(map(EMPTYISH.fullmatch, body.split(";")))


def _empty_on_arm(
    places: list[tuple[File, Definition]],
) -> Iterator[tuple[File, Definition, str]]:
    """Definitions that aarch64 may get, and that hint nothing, where x86-64 gets a pause."""
    pauses = [p for p in places if PAUSE.search(p[1].body) and p[1].x86 != NO and p[1].arm == NO]
    if not pauses or any(ARM_HINT.search(d.body) and d.arm != NO for _, d in places):
        return
    elsewhere = f"{pauses[0][0].name}:{pauses[0][1].line}"
    empty = [(f, d) for f, d in places if d.arm != NO and _is_nothing(d.body)]
    # Those that x86-64 certainly does not get are the other side of its pause; the rest are the
    # same on both sides, unless nothing else is left for aarch64.
    sure = [p for p in empty if p[1].x86 == NO]
    for file, definition in sure or empty:
        if file.is_judged:
            yield file, definition, elsewhere


def _functions(project: Project) -> Iterator[ReadinessFinding]:
    for file in project.judged:
        if not _pauses(file):
            continue
        x86 = file.view(arm=False, in_strings=True)
        arm = file.view(arm=True, in_strings=True)
        for span in _both(file):
            if not PAUSE.search(x86, span[0], span[1]):
                continue
            if PAUSE.search(arm, span[0], span[1]) or ARM_HINT.search(arm, span[0], span[1]):
                continue
            yield from _emptied(project, file, span, x86, arm)


def _both(file: File) -> Iterator[tuple[int, int, str, int]]:
    """Functions that aarch64 has: start, end, name, body. Those of x86-64 alone are no drop."""
    for function in file.structure.functions:
        if file.arm_at(function.body) != NO:
            yield function.start, function.end, function.name, function.body


def _emptied(
    project: Project, file: File, span: tuple[int, int, str, int], x86: str, arm: str
) -> Iterator[ReadinessFinding]:
    """A function whose pause is gone on aarch64, and with it all that it did, or a loop's."""
    start, end, name, body = span
    rest = arm[body + 1 : end - 1].strip()
    pause = PAUSE.search(x86, start, end)
    assert pause is not None
    where = f"{file.name}:{file.text.line_of(pause.start())}"
    offset = body + 1 + len(arm[body + 1 : end - 1]) - len(arm[body + 1 : end - 1].lstrip())
    line = file.text.line_of(offset if rest else start)
    if _is_nothing(rest):
        yield _finding(project, name, file, line, where, rest)
        return
    if file.structure.loops_at(pause.start()) or _has_loop_around(x86, pause.start(), start):
        line = file.text.line_of(pause.start())
        yield at(
            S01,
            file,
            line,
            f"the loop in {name} pauses on x86-64 ({squeezed(pause[0])}) and not on aarch64",
            function=name,
            study=_study(name),
        )


def _has_loop_around(text: str, offset: int, start: int) -> bool:
    """Whether a loop opens before an offset and is not closed: for code that aarch64 lacks."""
    opened = [m.start() for m in re.finditer(r"\b(?:for|while|do)\b", text[start:offset])]
    if not opened:
        return False
    part = text[start + opened[-1] : offset]
    return part.count("{") > part.count("}")


def _finding(
    project: Project, name: str, file: File, line: int, elsewhere: str, body: str
) -> ReadinessFinding:
    calls = called_in_loops(project, name)
    what = f"is {squeezed(body)}" if body.strip() else "is empty"
    severity: Severity = "S2" if calls else "S3"
    told = "no call in a loop was found"
    if calls:
        shown = ", ".join(calls[:4]) + (f" and {len(calls) - 4} more" if len(calls) > 4 else "")
        told = f"called in loops at {shown}"
    return at(
        S01,
        file,
        line,
        f"{name} {what} on aarch64, a pause on x86-64 ({elsewhere}); {told}",
        severity=severity,
        function=name,
        study=_study(name),
    )


def called_in_loops(project: Project, name: str, depth: int = 2) -> list[str]:
    """Where a name is called in a loop, itself or by way of at most `depth` callers."""
    found: list[str] = []
    callers: set[str] = set()
    pattern = re.compile(rf"\b{re.escape(name)}\s*\(")
    for file in project.sources:
        if name not in file.text.bare:
            continue
        for d in file.seen.definitions:
            if d.name != name and pattern.search(d.body):
                callers.add(d.name)
        for match in pattern.finditer(file.view()):
            span = file.structure.function_at(match.start())
            if span is None or span.body > match.start():
                continue  # its own definition, or a declaration
            if file.structure.loops_at(match.start()):
                found.append(f"{file.name}:{file.text.line_of(match.start())}")
            elif span.name != name:
                callers.add(span.name)
    if not found and depth > 1:
        for caller in sorted(callers)[:20]:
            found += called_in_loops(project, caller, depth - 1)
    return found


_RUST_YIELD = re.compile(r"asm!\s*\(\s*\"\s*yield\s*\"|\b__yield\s*\(\s*\)")
_RUST_EMPTY = re.compile(
    r"\bwhile\b[^{};]*\.(?:load|swap|compare_exchange\w*|compare_and_swap|test_and_set)\s*\("
    r"[^{};]*\{\s*\}"
)
_GO_EMPTY = re.compile(r"\bfor\b[^{};]*\batomic\.\w+\([^{};]*\{\s*\}")


S16 = ReadinessRule(
    "S16",
    "a spin with no hint, or with yield",
    "S3",
    "yield is a NOP on cores without simultaneous multithreading",
    "rust-lang/rust#84725; golang/go#69232",
    "ydb-spinlock",
    "core::hint::spin_loop(), which is isb; isb in assembly",
)


def _weak(project: Project, machine: Machine | None) -> Iterator[ReadinessFinding]:
    del machine
    for file in project.judged:
        if "yield" not in file.text.bare:
            continue
        for match in file.matches(YIELD, in_strings=True):
            line = file.text.line_of(match.end() - 1)
            if file.arm(line) != NO:
                yield at(S16, file, line, function=file.function(match.start()))
    for file in project.files:
        if file.language not in ("rust", "go") or not file.is_judged:
            continue
        text = file.text
        looks = [_GO_EMPTY] if file.language == "go" else [_RUST_EMPTY]
        if file.language == "rust":
            for match in _RUST_YIELD.finditer(text.bare):
                yield at(S16, file, text.line_of(match.start()))
        for pattern in looks:
            for match in pattern.finditer(text.code):
                line = text.line_of(match.start())
                shown = squeezed(text.raw[match.start() : match.end()])
                yield at(S16, file, line, f"spins with an empty body: {shown}")


LOOKS = (
    (S01, _dropped),
    (S16, _weak),
)
