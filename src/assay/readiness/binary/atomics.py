"""B01-B04, B13: how atomic operations are made, and what the code needs to run."""

from __future__ import annotations

from collections.abc import Iterator

from assay.readiness.binary.context import Context, by_function, found_at, number, places
from assay.readiness.census import Site
from assay.readiness.finding import GRAVITON_GUIDE, ReadinessFinding, ReadinessRule, Severity
from assay.readiness.machine import FEATURES

_MODES: dict[str, Severity] = {
    "outline": "I",
    "inline-dispatch": "I",
    "mixed": "I",
    "inline-unguarded": "S3",
    "ll-sc-only": "S2",
}


B01 = ReadinessRule(
    "B01",
    "how atomic operations are made",
    "S2",
    "under contention one LSE instruction beats a loop of load and store exclusive by up to "
    "an order of magnitude; without a guard it stops an Armv8.0 processor",
    f"{GRAVITON_GUIDE}; qualcomm/GenieX#1181",
    "ydb-lse",
    "build with -moutline-atomics (GCC 10.1 and later do it themselves), or for Armv8.1",
)


def _mode(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    mode = image.facts.get("atomics", "none")
    if not image.is_arm or mode not in _MODES:
        return
    told = [
        mode,
        number(image.count("lse"), "LSE instruction"),
        f"{image.count('lse_in_helpers'):,} of them in {number(image.count('helpers'), 'helper')}",
        number(image.count("helper_calls"), "call of helpers", "calls of helpers"),
        f"{number(image.count('ll_sc'), 'exclusive')} in all",
    ]
    has_lse = at.machine is not None and at.machine.has("lse")
    wasted = mode == "ll-sc-only" and has_lse
    if wasted:
        told.append("and this host has LSE")
    yield B01.at(image.shown, ", ".join(told), severity=_MODES[mode], key="mode")


B02 = ReadinessRule(
    "B02",
    "load-exclusive and store-exclusive with no LSE twin",
    "S2",
    "a contended exclusive pair fails and is tried again, where one LSE instruction is done "
    "near the data",
    GRAVITON_GUIDE,
    "ydb-lse",
    "use the compiler's atomic builtins instead of own assembly",
)


def _exclusives(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    if image.facts.get("atomics") == "ll-sc-only":
        return  # B01 has said so, once for all
    for sites in by_function(image.of("llsc-outside-helper")):
        what = sorted({str(site.facts.get("operation", "?")) for site in sites})
        yield found_at(
            B02,
            image,
            sites,
            f"{number(len(sites), 'pair')} outside helpers ({', '.join(what)}) at {places(sites)}",
        )


B03 = ReadinessRule(
    "B03",
    "atomics helpers whose choice is never made",
    "S1",
    "the flag of the outline-atomics helpers stays 0 without its constructor: exclusives for ever",
    "cloudius-systems/osv#1129; rust-lang/rust#144705",
    "ydb-lse",
    "link the compiler's runtime with its constructor, and let it read the auxiliary vector",
)


def _constructor(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    if image.is_linked and image.helpers and image.facts.get("constructor") is False:
        yield B03.at(
            image.shown,
            f"{number(len(image.helpers), 'helper')}, and no constructor that reads AT_HWCAP",
            address=image.helpers[0].address,
            key="constructor",
        )


B04 = ReadinessRule(
    "B04",
    "helpers with a full barrier, of the legacy __sync builtins",
    "S3",
    "a full barrier is paid where acquire and release would do",
    "GCC manual, legacy __sync built-in functions",
    "ydb-memory-order",
    "use __atomic builtins with the order that is needed",
)


def _full_barriers(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    named = [h for h in image.helpers if h.name.endswith("_sync") and h.calls]
    calls = image.count("helper_calls_sync") or sum(h.calls for h in named)
    if calls:
        most = sorted(named, key=lambda h: -h.calls)[:4]
        names = "; ".join(f"{h.name} {h.calls:,}" for h in most)
        yield B04.at(
            image.shown,
            f"{calls:,} of {number(image.count('helper_calls'), 'call of helpers', 'calls')} "
            f"are to those with a full barrier" + (f": {names}" if names else ""),
            address=most[0].address if most else None,
            key="sync",
        )


B13 = ReadinessRule(
    "B13",
    "instructions beyond the baseline without a check",
    "S1",
    "the program stops with SIGILL where they are absent",
    "qualcomm/GenieX#1181",
    "binary",
    "dispatch when the program starts, or say what the build needs",
)


def _beyond_baseline(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    dispatched = {str(bit) for s in image.of("hwcap") for bit in s.facts.get("bits", ())}
    # What can never run (B10) cannot stop the program either.
    dispatched |= {str(c) for s in image.of("unreachable") for c in s.facts.get("classes", ())}
    classes: dict[str, list[Site]] = {}
    for site in image.of("unguarded"):
        classes.setdefault(str(site.facts.get("class", "?")), []).append(site)
    for name, sites in sorted(classes.items()):
        if dispatched & {name, *FEATURES.get(name, ())}:
            continue
        lacks = at.machine is not None and not at.machine.has(name)
        if name == "lse" and at.machine is None:
            continue  # B01 has said so
        severity: Severity = "S1" if lacks else "I" if at.machine is not None else "S3"
        told = "which this host has" if at.machine is not None else "on whatever host"
        told = "and this host lacks it" if lacks else told
        yield B13.at(
            image.shown,
            f"{name} without a check at {places(sites)}, {told}",
            severity=severity,
            function=sites[0].function,
            address=sites[0].address,
            listing=sites[0].listing,
            key=f"class {name}",
        )


LOOKS = (
    (B01, _mode),
    (B02, _exclusives),
    (B03, _constructor),
    (B04, _full_barriers),
    (B13, _beyond_baseline),
)
