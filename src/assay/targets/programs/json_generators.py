"""Generators that are asked for JSON: oha and fio."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from assay.targets.programs.printed_load import (
    UNITS_NS,
    Generator,
    PrintedLoad,
    Reader,
    no_summary,
    quantiles,
)

S = UNITS_NS["s"]
CUT_SHORT = "aborted due to deadline"
"""What oha calls requests that were under way when its time was over."""


def _reader(tool: str, asked: str, read: Callable[[Any], PrintedLoad]) -> Reader:
    """A reader of JSON, which may stand after lines of text."""

    def printed(text: str) -> PrintedLoad:
        begin = text.find("{")
        try:
            data, _ = json.JSONDecoder().raw_decode(text[begin:] if begin >= 0 else "")
            return read(data)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise no_summary(tool, f"summary in JSON (run it with {asked})", text) from error

    return printed


def _oha(data: Any) -> PrintedLoad:
    summary = data["summary"]
    answers: dict[str, int] = data["statusCodeDistribution"]
    failed = {why: n for why, n in data["errorDistribution"].items() if why != CUT_SHORT}
    refused = sum(n for code, n in answers.items() if int(code) >= 400)
    percents = {
        name.removeprefix("p"): value * S
        for name, value in data["latencyPercentiles"].items()
        if value is not None
    }
    named = {"latency_mean": summary["average"], "latency_max": summary["slowest"]}
    latencies = {name: value * S for name, value in named.items() if value}
    lost = sum(failed.values())
    return PrintedLoad(
        float(summary["requestsPerSec"]),
        sum(answers.values()) + lost,
        refused + lost,
        quantiles(percents) | latencies,
    )


def _fio(data: Any) -> PrintedLoad:
    """All jobs and directions together; latencies where there is one of each."""
    parts = [job[way] for job in data["jobs"] for way in ("read", "write", "trim")]
    busy = [part for part in parts if part["total_ios"]]
    if not busy:
        raise ValueError("nothing was read or written")
    errors = sum(int(job.get("total_err", 0)) for job in data["jobs"])
    latencies: dict[str, float] = {}
    if len(busy) == 1:
        of = busy[0]["clat_ns"]
        latencies = quantiles(of.get("percentile", {}))
        latencies |= {"latency_mean": float(of["mean"]), "latency_max": float(of["max"])}
    done = sum(int(part["total_ios"]) for part in busy)
    return PrintedLoad(sum(float(part["iops"]) for part in busy), done, errors, latencies)


def _generator(name: str, asked: str, read: Callable[[Any], PrintedLoad]) -> Generator:
    return Generator(name, _reader(name, asked, read))


JSON_GENERATORS = (
    _generator("oha", "--output-format json", _oha),
    _generator("fio", "--output-format=json", _fio),
)
