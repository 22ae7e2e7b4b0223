"""B05-B09: loops that wait, and what they do meanwhile."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.readiness.binary.context import Context, by_function, found_at, number, places
from assay.readiness.census import HINTS, Site
from assay.readiness.finding import ReadinessFinding, ReadinessRule, Severity

_WAITS = {
    "helper": "a helper of atomics",
    "lse": "an LSE instruction",
    "llsc": "exclusives",
    "ldar": "a load-acquire",
    "load": "a load",
    "xchg": "xchg",
    "lock": "a locked instruction",
    "count": "a counter",
}
_SERVERS = {"nginx": "nginx-pause", "mariadb": "mariadb-spin", "mysqld": "mariadb-spin"}
"""Servers of which a study ships that changes the hint in their own loops."""


_STEP = re.compile(r"\b(?:add|sub)s?\s+(\w+), \1, #|\b(?:inc|dec)\b|\b(?:add|sub)\s+\w+, ?0?x?1\b")


def study_of(shown: str, otherwise: str) -> str:
    """The study of the server that a file is of, or the general one."""
    return next((s for name, s in _SERVERS.items() if name in shown.lower()), otherwise)


def _steps(site: Site) -> bool:
    """Whether a loop has a register that grows or falls by a constant in each round."""
    return any(_STEP.search(line) for line in site.listing)


B05 = ReadinessRule(
    "B05",
    "a loop that waits for memory and has no spin hint",
    "S2",
    "waiters that poll at full speed take the line from the owner, and a back-off without a "
    "pause does not back off",
    "facebook/rocksdb#10118; gperftools#1290; facebook/folly#1904; mysql-server#611",
    "ydb-spinlock",
    "isb (or sb) on aarch64, pause on x86-64, in the loop; measure it: a hint may also do "
    "nothing (MDEV-24630)",
)


def _no_hint(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    bare = [s for s in image.of("spin-loop") if s.facts.get("hint", "none") in ("none", None)]
    for sites in by_function(bare):
        kinds = {str(s.facts.get("by")) for s in sites}
        by = sorted(_WAITS.get(kind, kind) for kind in kinds)
        # A loop that only loads may also search, and one that counts too mostly does.
        severity: Severity = "S2"
        if kinds <= {"load", "count"}:
            severity = "I" if all(map(_steps, sites)) else "S3"
        yield found_at(
            B05,
            image,
            sites,
            f"{number(len(sites), 'loop')} on {' and '.join(by)} with no hint, at {places(sites)}",
            severity=severity,
            study=study_of(image.shown, "ydb-spinlock"),
        )


B06 = ReadinessRule(
    "B06",
    "a delay loop that only counts",
    "S2",
    "it lasts as long as the core is fast: a faster core waits less",
    "MariaDB include/my_cpu.h; MDEV-24630",
    "mariadb-spin",
    "a hint in the loop, or a delay by the processor's counter",
)


def _bare_delay(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    for near in (True, False):
        delays = [s for s in image.of("delay-loop") if bool(s.facts.get("near_atomic")) is near]
        for sites in by_function(delays):
            counts = sorted({int(s.facts["constant"]) for s in sites if s.facts.get("constant")})
            told = f" down from {', '.join(map(str, counts))}" if counts else ""
            where = "together with an atomic operation" if near else "with no atomic operation near"
            yield found_at(
                B06,
                image,
                sites,
                f"{number(len(sites), 'loop')} counting{told}, {where}, at {places(sites)}",
                severity="S2" if near else "I",
                study=study_of(image.shown, "mariadb-spin"),
            )


B07 = ReadinessRule(
    "B07",
    "yield as the only hint of a spin loop",
    "S3",
    "yield is a NOP on cores without simultaneous multithreading",
    "golang/go#69232; illumos#192; rust-lang/rust#84725",
    "ydb-spinlock",
    "isb, or sb where the processor has it",
)


def _weak_hint(at: Context) -> Iterator[ReadinessFinding]:
    weak = [s for s in at.image.of("spin-loop") if s.facts.get("hint") == "yield"]
    for sites in by_function(weak):
        yield found_at(
            B07,
            at.image,
            sites,
            f"{number(len(sites), 'loop')} with yield only, at {places(sites)}",
        )


B08 = ReadinessRule(
    "B08",
    "a pause on x86-64 that is nothing on aarch64",
    "S2",
    "the same function hints on one architecture only, so a macro is empty on the other",
    "nginx-devel, December 2023, ngx_cpu_pause() for aarch64",
    "nginx-pause",
    "give the macro a body on aarch64",
)


def _dropped(at: Context) -> Iterator[ReadinessFinding]:
    image, twin = at.image, at.twin
    if twin is None or not image.is_arm or twin.arch != "x86_64":
        return
    study = study_of(image.shown, "ydb-spinlock")
    pauses, hints = twin.count("pause"), image.count(*HINTS)
    if pauses and not hints:
        yield B08.at(
            image.shown,
            f"no spin hint at all, where {twin.shown} has {number(pauses, 'pause')}",
            key="none at all",
            study=study,
        )
    for name, theirs in sorted(twin.exports_hints.items()):
        paused = theirs.get("pause", 0)
        ours = image.exports_hints.get(name)
        if not paused or (ours is not None and ours.get("hints", 0)):
            continue
        if ours is None and name not in image.exports:
            continue  # without its name here there is nothing to compare with
        yield B08.at(
            image.shown,
            f"{name} pauses {number(paused, 'time')} on x86-64 and has no hint here",
            function=name,
            key=name,
            study=study,
        )


B09 = ReadinessRule(
    "B09",
    "a hint in a function that a loop calls",
    "I",
    "the loop hints, by way of a call",
    "PostgreSQL, perform_spin_delay()",
    "ydb-spinlock",
    "nothing to do",
)


def _by_way_of_a_call(at: Context) -> Iterator[ReadinessFinding]:
    for sites in by_function(at.image.of("hint-outside-loop")):
        what = sorted({str(s.facts.get("hint", "?")) for s in sites})
        yield found_at(
            B09,
            at.image,
            sites,
            f"{', '.join(what)} outside a loop at {places(sites)}",
        )


LOOKS = (
    (B05, _no_hint),
    (B06, _bare_delay),
    (B07, _weak_hint),
    (B08, _dropped),
    (B09, _by_way_of_a_call),
)
