"""Generators that print text: wrk, sysbench, pgbench, redis-benchmark, YCSB and others.

docs/program.md says which output is real that the tests read.
"""

from __future__ import annotations

import csv
import re

from assay.targets.programs.printed_load import (
    UNITS_NS,
    Generator,
    PrintedLoad,
    duration_ns,
    no_summary,
    number,
    quantiles,
    required,
)

MS, US = UNITS_NS["ms"], UNITS_NS["us"]
_WRK_QUANTILE = re.compile(r"^\s+([\d.]+)%\s+([\d.]+(?:us|ms|s|m|h))\s*$", re.MULTILINE)


def _wrk(text: str) -> PrintedLoad:
    """wrk and wrk2; quantiles where it was run with --latency."""
    rate = required(r"^Requests/sec:\s+([\d.]+)", text, "wrk", "Requests/sec")
    done = required(r"^\s*(\d+) requests in ", text, "wrk", "requests")
    errors = number(r"^\s*Non-2xx or 3xx responses: (\d+)", text) or 0.0
    sockets = re.findall(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    failed = sum(map(int, sockets[-1])) if sockets else 0
    latencies = quantiles({p: duration_ns(t) for p, t in _WRK_QUANTILE.findall(text)})
    said = re.findall(r"^\s*Latency\s+(\S+)\s+\S+\s+(\S+)", text, re.MULTILINE)
    if said and duration_ns(said[0][0]):
        mean, most = map(duration_ns, said[0])
        latencies = {"latency_max": most, **latencies, "latency_mean": mean}
    # Requests that got no answer are not among those that it counts.
    return PrintedLoad(rate, int(done) + failed, int(errors) + failed, latencies)


def _sysbench(text: str) -> PrintedLoad:
    """Transactions of a database's tests, events of all others."""
    counted = re.findall(r"^\s*transactions:\s+(\d+)\s+\(([\d.]+) per sec", text, re.MULTILINE)
    if counted:
        done, rate = int(counted[-1][0]), float(counted[-1][1])
    else:
        pattern = r"^\s*(?:events per second:|events/s \(eps\):)\s+([\d.]+)"
        rate = required(pattern, text, "sysbench", "transactions or events per second")
        done = int(number(r"^\s*total number of events:\s+(\d+)", text) or 0)
    latencies = {
        "latency_mean": number(r"^\s*avg:\s+([\d.]+)", text),
        "latency_max": number(r"^\s*max:\s+([\d.]+)", text),
        **quantiles({p: float(v) for p, v in re.findall(r"(\d+)th percentile:\s+([\d.]+)", text)}),
    }
    # It prints two decimals of milliseconds: 0.00 is no latency.
    found = {name: ms * MS for name, ms in latencies.items() if ms}
    return PrintedLoad(rate, done or None, 0, found)


def _pgbench(text: str) -> PrintedLoad:
    """The rate without the time to connect, where both are printed."""
    without = number(r"^tps = ([\d.]+) \((?:without initial|excluding)", text)
    rate = without or required(r"^tps = ([\d.]+)", text, "pgbench", "tps")
    done = number(r"^number of transactions actually processed: (\d+)", text)
    failed = number(r"^number of failed transactions: (\d+)", text) or 0.0
    mean = number(r"^latency average = ([\d.]+) ms", text)
    latencies = {"latency_mean": mean * MS} if mean else {}
    operations = None if done is None else int(done + failed)
    return PrintedLoad(rate, operations, int(failed), latencies)


def _redis_benchmark(text: str) -> PrintedLoad:
    """As text, or with --csv; of one test: several would have to be weighed."""
    text = text.replace("\r", "\n")
    rows = [row for row in csv.reader(text.splitlines()) if len(row) > 1 and row[0] != "test"]
    table = [row for row in rows if _is_number(row[1])] if '"test","rps"' in text else []
    rates = re.findall(r"^\s*throughput summary: ([\d.]+) requests per second", text, re.MULTILINE)
    if len(table) > 1 or len(rates) > 1:
        raise no_summary("redis-benchmark", "summary of a single test (-t get)", text)
    if table:
        names = ("mean", "min", "p50", "p95", "p99", "max")
        values = dict(zip(names, table[0][2:], strict=False))
        return PrintedLoad(float(table[0][1]), None, 0, _of_redis(values))
    rate = required(
        r"throughput summary: ([\d.]+) requests per second",
        text,
        "redis-benchmark",
        "throughput summary",
    )
    done = number(r"^\s*(\d+) requests completed in", text)
    heading = re.search(r"latency summary \(msec\):\s*\n([^\n]+)\n([^\n]+)", text)
    values = dict(zip(heading[1].split(), heading[2].split(), strict=False)) if heading else {}
    values = {"mean": values.pop("avg", "0"), **values}
    return PrintedLoad(rate, None if done is None else int(done), 0, _of_redis(values))


def _of_redis(values: dict[str, str]) -> dict[str, float]:
    known = [name for name in ("mean", "p50", "p99", "max") if float(values.get(name, 0))]
    return {f"latency_{name}": float(values[name]) * MS for name in known}


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", text) is not None


def _memtier(text: str) -> PrintedLoad:
    """The row of totals, by the names of its columns, which differ between versions."""
    heading = re.search(r"^Type\s{2,}.*$", text, re.MULTILINE)
    totals = re.search(r"^Totals\s+.*$", text, re.MULTILINE)
    if heading is None or totals is None:
        raise no_summary("memtier_benchmark", "row of totals", text)
    names = re.split(r"\s{2,}", heading[0].strip())[1:]
    values = dict(zip(names, totals[0].split()[1:], strict=False))
    latencies = {
        metric: float(values[name]) * MS
        for metric, name in (
            ("latency_mean", "Avg. Latency"),
            ("latency_p50", "p50 Latency"),
            ("latency_p99", "p99 Latency"),
            ("latency_p999", "p99.9 Latency"),
        )
        if _is_number(values.get(name, ""))
    }
    return PrintedLoad(float(values["Ops/sec"]), None, 0, latencies)


def _ycsb(text: str) -> PrintedLoad:
    """Means of all kinds of operation; quantiles where there is one kind."""
    pattern = r"^\[OVERALL\], Throughput\(ops/sec\), ([\d.E+]+)"
    rate = required(pattern, text, "YCSB", "[OVERALL] throughput")
    by_kind: dict[str, dict[str, float]] = {}
    for kind, name, value in re.findall(r"^\[([\w-]+)\], ([^,]+), ([\d.E+]+)\s*$", text, re.M):
        by_kind.setdefault(kind, {})[name] = float(value)
    kinds = {
        k: v for k, v in by_kind.items() if v.get("Operations") and k != "CLEANUP" and "-" not in k
    }
    done = sum(v["Operations"] for v in kinds.values())
    failed = sum(
        value
        for v in kinds.values()
        for name, value in v.items()
        if name.startswith("Return=") and name not in ("Return=OK", "Return=BATCHED_OK")
    )
    means = [v["Operations"] * v.get("AverageLatency(us)", 0.0) for v in kinds.values()]
    found = {"latency_mean": US * sum(means) / done} if done and all(means) else {}
    if len(kinds) == 1:
        (only,) = kinds.values()
        percents = {
            m[1]: value * US
            for name, value in only.items()
            if (m := re.fullmatch(r"([\d.]+)(?:st|nd|rd|th)PercentileLatency\(us\)", name))
        }
        most = only.get("MaxLatency(us)")
        found |= quantiles(percents) | ({"latency_max": most * US} if most else {})
    return PrintedLoad(rate, int(done) or None, int(failed), found)


def _hammerdb(text: str) -> PrintedLoad:
    """New orders: NOPM is per minute. It prints neither how many there were nor latencies."""
    pattern = r"System achieved (\d+) NOPM"
    return PrintedLoad(required(pattern, text, "HammerDB", "NOPM") / 60)


_K6_TREND = re.compile(r"(avg|max|med|p\(([\d.]+)\))=(\S+)")


def _k6(text: str) -> PrintedLoad:
    """The summary at the end: HTTP requests, or iterations where there are none."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    counted = re.search(r"^\s*http_reqs\.*:\s+(\d+)\s+([\d.]+)/s", text, re.MULTILINE)
    trend, over = r"http_req_duration", counted
    if over is None:
        over = re.search(r"^\s*iterations\.*:\s+(\d+)\s+([\d.]+)/s", text, re.MULTILINE)
        trend = r"iteration_duration"
    if over is None:
        raise no_summary("k6", "http_reqs or iterations", text)
    share = number(r"^\s*http_req_failed\.*:\s+([\d.]+)%", text) if counted else None
    said = re.search(rf"^\s*{trend}\.*:\s+(.*)$", text, re.MULTILINE)
    found: dict[str, float] = {}
    for name, percent, value in _K6_TREND.findall(said[1] if said else ""):
        of = {"avg": "latency_mean", "med": "latency_p50", "max": "latency_max"}
        metric = of.get(name) or next(iter(quantiles({percent: 0.0})), None)
        if metric:
            found[metric] = duration_ns(value)
    done = int(over[1])
    return PrintedLoad(float(over[2]), done, round(done * (share or 0.0) / 100), found)


TEXT_GENERATORS = (
    Generator("sysbench", _sysbench),
    Generator("wrk", _wrk),
    Generator("wrk2", _wrk),
    Generator("k6", _k6),
    Generator("pgbench", _pgbench),
    Generator("memtier_benchmark", _memtier),
    Generator("redis-benchmark", _redis_benchmark),
    Generator("ycsb", _ycsb),
    Generator("hammerdb", _hammerdb),
)
