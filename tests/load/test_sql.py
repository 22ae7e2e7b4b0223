"""SQL workloads on MariaDB and PostgreSQL: data, load, and what must hold afterwards."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import servers

from assay.core.errors import InputError, MissingError, RunError
from assay.load import Load, check, clean, parse_url, prepare, run_load
from load_samples import run_enough

ASSAY = Path(sys.executable).parent / "assay"


def load(server: servers.Server, workload: str, connections: int = 4, **options: object) -> Load:
    """A short load."""
    return Load(
        parse_url(server.url), workload, options, connections, time_s=0.7, warmup_s=0.1
    )  # fmt: skip


@pytest.mark.parametrize(
    "test", ["point-select", "read-only", "read-write", "update-index", "update-non-index"]
)
def test_each_oltp_test_runs_on_what_was_prepared(sql: servers.Server, test: str):
    """No errors, and no row too many or too few."""
    # Uniform: a hot spot makes deadlocks, and PostgreSQL looks for those after a second.
    asked = load(sql, f"oltp-{test}", tables=2, table_size=1000, distribution="uniform")
    assert prepare(asked).rows == 2000
    summary = run_enough(asked, 20)
    assert summary.errors == 0
    assert check(asked) == []
    clean(asked)
    with pytest.raises((RunError, InputError, MissingError)):
        run_load(asked)


def test_ycsb_reads_what_it_wrote(sql: servers.Server):
    """Values are checked on every read; E scans, F is timed as one."""
    for mix, kinds in (
        ("a", {"read", "update"}),
        ("e", {"scan", "insert"}),
        ("f", {"read", "rmw"}),
    ):
        asked = load(sql, "ycsb", mix=mix, records=1000, operations=100_000)
        assert prepare(asked).rows == 1000
        summary = run_enough(asked, 20)
        assert summary.errors == 0
        assert summary.by_kind.keys() == kinds
        assert check(asked) == []


def test_keys_that_exist_are_counted_as_such(sql: servers.Server):
    """The second run inserts the keys of the first again; the reads of both succeed."""
    asked = load(sql, "ycsb", mix="d", records=1000, operations=100_000)
    prepare(asked)
    run_enough(asked, 200)
    summary = run_enough(asked, 200)
    (refused,) = summary.errors_by_code
    code = "1062" if sql.url.startswith("mysql") else "23505"
    assert (refused["kind"], refused["code"]) == ("duplicate key", code)
    assert "uplicate" in refused["message"]
    assert 0 < refused["count"] == summary.errors <= summary.by_kind["insert"]["operations"]


def test_tpcc_keeps_its_conditions_also_when_the_client_is_killed(sql: servers.Server):
    """A transaction is whole or not there; deadlocks are tried again and counted."""
    asked = load(sql, "tpcc", connections=6, scale="small", warehouses=1)
    prepare(asked)
    summary = run_enough(asked, 20)
    assert summary.errors == 0
    assert {"new_order", "payment"} <= summary.by_kind.keys()
    assert check(asked) == []
    _killed_midway(asked, sql)
    assert _faults_at_rest(asked) == []


def test_the_trade_desk_keeps_its_invariants_also_when_the_client_is_killed(sql: servers.Server):
    """Users come again with the same seed and use no key twice; a refusal is no error."""
    desk = {"accounts": 20, "instruments": 4, "catalogue_share": 0.2}
    asked = load(sql, "trade-desk", connections=6, **desk)
    assert prepare(asked).rows == 4 + 20 * 5
    for _ in range(2):
        summary = run_load(asked)
        assert summary.operations > 20
        assert summary.errors == 0
        assert {"place_order", "trade", "create_temporary"} <= summary.by_kind.keys()
        assert check(asked) == []
    _killed_midway(asked, sql)
    assert _faults_at_rest(asked) == []
    _run_sql(sql, "UPDATE desk_quote SET q_volume = q_volume + 1 WHERE q_instrument = 0")
    faults = check(asked)
    assert [fault.partition("`")[2].partition("`")[0] for fault in faults] == ["volume"]
    clean(asked)
    with pytest.raises((RunError, InputError, MissingError)):
        run_load(asked)


def test_the_verb_prepares_runs_and_checks_the_trade_desk(sql: servers.Server):
    """From the command line, with think times and the data taken away at the end."""
    command = [
        ASSAY, "load", "trade-desk", "--to", sql.url, "--prepare", "--clean", "--connections", "4",
        "--time", "1s", "--warmup", "0s", "--set", "accounts=30", "--set", "instruments=3",
        "--set", "request_think_ms=20", "--set", "trade_think_ms=40",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    assert "loaded 123 rows" in told
    assert "the invariants hold" in told
    assert "place_order" in told
    with pytest.raises(InputError, match="users"):
        run_load(load(sql, "trade-desk", users=800))


def test_a_corrupted_row_makes_the_right_condition_fail_by_number(sql: servers.Server):
    """W_YTD is compared with the districts (1) and with the history (8)."""
    asked = load(sql, "tpcc", scale="small", warehouses=1)
    prepare(asked)
    _run_sql(sql, "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1")
    faults = check(asked)
    assert [fault.partition(",")[0].split()[-1] for fault in faults] == ["1", "8"]


def test_what_a_user_gets_wrong_is_told(sql: servers.Server):
    """A wrong password, a wrong database, a workload for others, options out of range."""
    target = parse_url(sql.url)
    wrong = [
        (replace(target, user="nobody-here", password="secret-word"), MissingError),
        (replace(target, database="nowhere"), MissingError),
    ]
    for changed, kind in wrong:
        with pytest.raises(kind) as refused:
            run_load(replace(load(sql, "oltp-point-select"), target=changed))
        assert "secret-word" not in str(refused.value)
    with pytest.raises(InputError, match="cannot be asked"):
        run_load(load(sql, "redis-get"))
    with pytest.raises(InputError, match="there is uniform"):
        run_load(load(sql, "oltp-point-select", distribution="normal"))


def _killed_midway(asked: Load, server: servers.Server) -> None:
    """The same load once more, killed while transactions are under way."""
    options = [word for name, it in asked.options.items() for word in ("--set", f"{name}={it}")]
    process = subprocess.Popen(
        [ASSAY, "load", asked.workload, "--to", server.url, "--time", "60s",
         "--connections", str(asked.connections), *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    # It tells of its first second.
    assert "op/s" in process.stdout.readline()
    process.kill()
    process.communicate()


def _faults_at_rest(asked: Load) -> list[str]:
    """What is wrong once the server has seen that its client is gone, and rolled back."""
    for _ in range(20):
        if not (faults := check(asked)):
            break
        time.sleep(0.5)
    return faults


def _run_sql(server: servers.Server, text: str) -> None:
    port = str(server.port)
    command = (
        [servers.find("mariadb"), "-h", "127.0.0.1", "-P", port, "-u", "load", "load", "-e", text]
        if server.url.startswith("mysql")
        else [servers.find("psql"), "-h", "127.0.0.1", "-p", port, "-U", "load", "-c", text, "load"]
    )
    subprocess.run(command, check=True, capture_output=True)
