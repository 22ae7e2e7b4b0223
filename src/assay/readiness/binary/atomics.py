"""B01-B04, B13: how atomic operations are made, and what the code needs to run."""

from __future__ import annotations

from collections.abc import Iterator

from assay.readiness.binary.context import Context, Look, by_function, found_at, number, places
from assay.readiness.census import Site
from assay.readiness.finding import ReadinessFinding, Severity
from assay.readiness.machine import FEATURES
from assay.readiness.rules_binary import BY_ID

_MODES: dict[str, Severity] = {
    "outline": "I",
    "inline-dispatch": "I",
    "mixed": "I",
    "inline-unguarded": "S3",
    "ll-sc-only": "S2",
}


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
    yield BY_ID["B01"].at(image.shown, ", ".join(told), severity=_MODES[mode], key="mode")


def _exclusives(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    if image.facts.get("atomics") == "ll-sc-only":
        return  # B01 has said so, once for all
    for sites in by_function(image.of("llsc-outside-helper")):
        what = sorted({str(site.facts.get("operation", "?")) for site in sites})
        yield found_at(
            "B02",
            image,
            sites,
            f"{number(len(sites), 'pair')} outside helpers ({', '.join(what)}) at {places(sites)}",
        )


def _constructor(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    if image.is_linked and image.helpers and image.facts.get("constructor") is False:
        yield BY_ID["B03"].at(
            image.shown,
            f"{number(len(image.helpers), 'helper')}, and no constructor that reads AT_HWCAP",
            address=image.helpers[0].address,
            key="constructor",
        )


def _full_barriers(at: Context) -> Iterator[ReadinessFinding]:
    image = at.image
    named = [h for h in image.helpers if h.name.endswith("_sync") and h.calls]
    calls = image.count("helper_calls_sync") or sum(h.calls for h in named)
    if calls:
        most = sorted(named, key=lambda h: -h.calls)[:4]
        names = "; ".join(f"{h.name} {h.calls:,}" for h in most)
        yield BY_ID["B04"].at(
            image.shown,
            f"{calls:,} of {number(image.count('helper_calls'), 'call of helpers', 'calls')} "
            f"are to those with a full barrier" + (f": {names}" if names else ""),
            address=most[0].address if most else None,
            key="sync",
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
        yield BY_ID["B13"].at(
            image.shown,
            f"{name} without a check at {places(sites)}, {told}",
            severity=severity,
            function=sites[0].function,
            address=sites[0].address,
            listing=sites[0].listing,
            key=f"class {name}",
        )


LOOKS: dict[str, Look] = {
    "B01": _mode,
    "B02": _exclusives,
    "B03": _constructor,
    "B04": _full_barriers,
    "B13": _beyond_baseline,
}
