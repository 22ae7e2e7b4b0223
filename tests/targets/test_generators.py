"""What generators print: real output where tests/data/generators/README.md says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import RunError
from assay.targets.programs.generators import GENERATORS
from assay.targets.programs.printed_load import PrintedLoad
from assay.workloads.generator import PARSERS

DATA = Path(__file__).parents[1] / "data"


def printed(tool: str, file: str) -> PrintedLoad:
    """What a tool's reader finds in a file of output."""
    return GENERATORS[tool].read((DATA / file).read_text())


def test_every_tool_that_a_study_may_name_has_a_reader() -> None:
    """And none has one that no study may name."""
    assert set(PARSERS) == set(GENERATORS)


@pytest.mark.parametrize(
    ("tool", "file", "expected"),
    [
        (
            "wrk2",
            "wrk2.txt",
            PrintedLoad(
                2000.28,
                60018,
                12,
                {
                    "latency_mean": 6.46e6,
                    "latency_p50": 6.67e6,
                    "latency_p90": 9.14e6,
                    "latency_p99": 11.18e6,
                    "latency_p999": 11.78e6,
                    "latency_max": 12.34e6,
                },
            ),
        ),
        (
            "oha",
            "oha.json",
            PrintedLoad(
                12345.5,
                24693,
                5,
                {
                    "latency_mean": 0.8e6,
                    "latency_p50": 0.7e6,
                    "latency_p90": 1.1e6,
                    "latency_p99": 2.5e6,
                    "latency_p999": 6e6,
                    "latency_max": 12.3e6,
                },
            ),
        ),
        (
            "k6",
            "k6.txt",
            PrintedLoad(
                6.561089,
                200,
                8,
                {
                    "latency_mean": 140.36e6,
                    "latency_p50": 140.96e6,
                    "latency_p90": 146.88e6,
                    "latency_max": 62.5e9,
                },
            ),
        ),
        (
            "k6",
            "k6-0.47.txt",
            PrintedLoad(
                4.36938,
                180,
                0,
                {
                    "latency_mean": 523.4e3,
                    "latency_p50": 110.47e3,
                    "latency_p90": 203.54e3,
                    "latency_max": 1.14e9,
                },
            ),
        ),
        (
            "memtier_benchmark",
            "memtier.txt",
            PrintedLoad(
                99703.45,
                None,
                0,
                {
                    "latency_mean": 2.00294e6,
                    "latency_p50": 1.911e6,
                    "latency_p99": 4.767e6,
                    "latency_p999": 7.263e6,
                },
            ),
        ),
        # Two kinds: a mean can be had, quantiles cannot.
        (
            "ycsb",
            "ycsb.txt",
            PrintedLoad(98.91196834817013, 1000, 1, {"latency_mean": 298.2e3}),
        ),
        (
            "ycsb",
            "ycsb-one-kind.txt",
            PrintedLoad(
                120e3,
                1000,
                0,
                {
                    "latency_mean": 400.5e3,
                    "latency_p50": 380e3,
                    "latency_p99": 1329e3,
                    "latency_max": 56287e3,
                },
            ),
        ),
        ("hammerdb", "hammerdb.txt", PrintedLoad(200.0)),
    ],
    ids=lambda v: v if isinstance(v, str) and "." in v else "",
)
def test_documented_output_is_read(tool: str, file: str, expected: PrintedLoad) -> None:
    """Rates, operations, failures and latencies in ns, each of them."""
    found = printed(tool, f"generators/{file}")
    assert found.throughput == expected.throughput
    assert (found.operations, found.errors) == (expected.operations, expected.errors)
    assert dict(found.latencies) == pytest.approx(dict(expected.latencies))


@pytest.mark.parametrize(
    ("tool", "file", "latencies"),
    [
        ("wrk", "generators/wrk.txt", {"mean", "p50", "p90", "p99", "max"}),
        ("sysbench", "generators/sysbench-oltp.txt", {"mean", "p99", "max"}),
        ("sysbench", "imports/sysbench-1.txt", {"max"}),
        ("pgbench", "imports/pgbench-1.txt", {"mean"}),
        ("redis-benchmark", "generators/redis-benchmark.txt", {"mean", "p50", "p99", "max"}),
        ("redis-benchmark", "generators/redis-benchmark.csv", {"mean", "p50", "p99", "max"}),
        ("fio", "generators/fio.json", {"mean", "p50", "p90", "p99", "p999", "max"}),
    ],
)
def test_real_output_is_read(tool: str, file: str, latencies: set[str]) -> None:
    """Latencies that belong together: from a microsecond's part to a second, in their order."""
    found = printed(tool, file)
    assert found.throughput > 100
    assert found.errors == 0
    if not file.endswith(".csv"):
        assert found.operations is not None
        assert found.operations > 100
    assert {name.removeprefix("latency_") for name in found.latencies} == latencies
    assert all(10 < ns < 1e9 for ns in found.latencies.values())
    rising = [found.latencies.get(f"latency_{n}", 0.0) for n in ("p50", "p90", "p99", "max")]
    given = [ns for ns in rising if ns]
    assert given == sorted(given)


@pytest.mark.parametrize("tool", GENERATORS)
@pytest.mark.parametrize("text", ["", "{}", "connect: Connection refused\n", "{" * 50])
def test_what_is_no_summary_is_said_with_its_end(tool: str, text: str) -> None:
    """Of every tool, whatever came."""
    with pytest.raises(RunError, match="the generator printed no") as caught:
        GENERATORS[tool].read(text)
    assert repr(text.strip()[-50:]).strip("'") in caught.value.message
    assert caught.value.next_step


def test_requests_that_got_no_answer_are_failures_of_wrk() -> None:
    """It counts them beside its requests."""
    text = (DATA / "generators/wrk2.txt").read_text()
    sockets = "  Socket errors: connect 1, read 20, write 300, timeout 4000\n"
    found = GENERATORS["wrk"].read(text.replace("  Non-2xx", f"{sockets}  Non-2xx"))
    assert (found.operations, found.errors) == (60018 + 4321, 12 + 4321)


def test_several_tests_of_redis_benchmark_are_not_one_number() -> None:
    """Nobody knows how they should be weighed."""
    for ending in ("txt", "csv"):
        text = (DATA / f"generators/redis-benchmark.{ending}").read_text()
        with pytest.raises(RunError, match="single test"):
            GENERATORS["redis-benchmark"].read(text + text)


def test_failed_transactions_of_pgbench_count() -> None:
    """They are a part of the operations."""
    text = (DATA / "imports/pgbench-1.txt").read_text()
    found = GENERATORS["pgbench"].read(
        text.replace("failed transactions: 0", "failed transactions: 7")
    )
    assert (found.operations, found.errors) == (3863, 7)
