"""nginx as a target: told by a file, seen in /proc, counted by the kernel, gone at the end."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from assay.bench.builds import with_builds
from assay.builds import RECIPES
from assay.builds.nginx import FUNCTIONS
from assay.changes import CATALOGUE, applied_values
from assay.core.errors import InputError
from assay.counters import Probes
from assay.load import Load, parse_url, run_load
from assay.study import Arm, read
from assay.targets import TARGETS
from assay.targets.servers import nginx
from assay.targets.servers.nginx import NGINX, SETTINGS, shown, slow_paths, stub_status
from assay.targets.servers.nginx_file import configuration, parsed
from assay.workloads import WORKLOADS
from nginx_driver import DEFAULTS, Running, running, with_defaults
from witness_kit import showing

PROXY = WORKLOADS["http-proxy"].settings


@pytest.fixture(scope="module")
def built() -> Path:
    """A build of our own."""
    return RECIPES["nginx"].make("none").path


@pytest.fixture(scope="module")
def packaged() -> Path:
    """The distribution's."""
    found = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    assert found, "scripts/install-test-tools installs nginx-light"
    return Path(found)


@pytest.fixture(params=["packaged", "built"])
def binary(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Both: what a user has, and what a study makes."""
    return request.getfixturevalue(request.param)


OTHERWISE: dict[str, Any] = {
    "worker_processes": 3,
    "worker_cpu_affinity": "auto",
    "upstreams": 5,
    "zone": "on",
    "balancer": "least_conn",
    "keepalive": 7,
    "keepalive_requests": 1234,
    "reuseport": "on",
    "accept_mutex": "on",
    "sendfile": "on",
    "tcp_nopush": "on",
    "open_file_cache": 9,
    "limit_req": "on",
    "file_bytes": 1000,
    "probes": "off",
}


@pytest.mark.parametrize("settings", [DEFAULTS, OTHERWISE], ids=["defaults", "otherwise"])
def test_the_file_says_what_the_settings_say(settings: dict[str, Any]) -> None:
    """Every setting that is in the file can be read from it again."""
    ports = list(range(9000, 9000 + settings["upstreams"]))
    found = parsed(configuration(8080, settings, ports, 1000))
    assert found == {k: settings[k] for k in found}
    assert set(settings) - set(found) == {"file_bytes", "probes"}


def test_the_two_sets_of_settings_above_differ_in_every_one() -> None:
    """So that no setting is left out of the tests by having its default."""
    assert OTHERWISE.keys() == SETTINGS.keys()
    assert all(OTHERWISE[k] != DEFAULTS.get(k) for k in SETTINGS)
    assert all(SETTINGS[k].read(v) == v for k, v in OTHERWISE.items())


@pytest.mark.parametrize("given", [{}, PROXY, OTHERWISE], ids=["file", "proxy", "otherwise"])
def test_a_running_server_reads_back_as_it_was_told(binary: Path, given: dict[str, Any]) -> None:
    """With the distribution's executable and with ours; the file arrives whole."""
    settings = with_defaults({**given, "probes": "off"})
    with running(binary, **settings) as server:
        found = NGINX.read_back(server, settings)
        assert server.get("/file") == "x" * settings["file_bytes"]
    assert {k: found.get(k) for k in settings} == settings


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("zone", "off"),
        ("limit_req", "on"),
        ("reuseport", "on"),
        ("worker_processes", 3),
        ("worker_cpu_affinity", "auto"),
    ],
)
def test_what_the_kernel_shows_contradicts_a_setting_that_is_not_in_force(
    built: Path, setting: str, told: Any
) -> None:
    """A server that was told otherwise is found out without its configuration being read."""
    if setting == "worker_cpu_affinity" and psutil.cpu_count() == 1:
        pytest.skip("one CPU: a worker is bound to it either way")
    settings = with_defaults({**PROXY, "zone": "on", "worker_processes": 2, "probes": "off"})
    with running(built, **settings) as server:
        NGINX.read_back(server, settings)
        seen = shown(server.pid, server.place.port, settings)
    assert seen[setting] == settings[setting] != told
    held = CATALOGUE["nginx.zone"].witness
    assert held.judge("on", {setting: settings[setting]}, showing(read_back=seen)).held
    assert not held.judge("on", {setting: told}, showing(read_back=seen)).held


def test_requests_go_through_the_upstreams_and_are_counted(built: Path) -> None:
    """Every answer is one that an upstream gave: they are all asked in turn."""
    settings = with_defaults({**PROXY, "zone": "on", "probes": "off"})
    with running(built, **settings) as server:
        before = NGINX.counters(server)
        for _ in range(16):
            assert len(server.get("/file")) == settings["file_bytes"]
        after = NGINX.counters(server)
        (upstream,) = server.beside
        assert len(_listening(upstream)) == settings["upstreams"]
    assert after["status.requests"] - before["status.requests"] == 17
    assert after["status.accepts"] == after["status.handled"]


def _listening(pid: int) -> list[int]:
    connections = psutil.Process(pid).net_connections("tcp")
    return [c.laddr.port for c in connections if c.status == psutil.CONN_LISTEN]


def test_a_proxy_without_its_upstreams_answers_with_an_error(built: Path) -> None:
    """So what answered in the test before was them."""
    settings = with_defaults({**PROXY, "probes": "off"})
    with running(built, **settings) as server:
        psutil.Process(server.beside[0]).kill()
        with pytest.raises(OSError, match="502"):
            server.get("/file")


def test_load_runs_through_the_proxy_without_an_error(built: Path) -> None:
    """Some hundred milliseconds of the study's own load."""
    settings = with_defaults({**PROXY, "zone": "on", "limit_req": "on", "probes": "off"})
    with running(built, **settings) as server:
        target = parse_url(NGINX.url(server.place))
        kind = NGINX.loads["http-proxy"]
        summary = run_load(Load(target, kind, connections=16, time_s=0.3, warmup_s=0.1))
    assert summary.operations > 100
    assert summary.errors == 0


@pytest.mark.parametrize("given", [{}, PROXY], ids=["file", "proxy"])
def test_nothing_is_left_running(binary: Path, given: dict[str, Any]) -> None:
    """Neither master, workers nor upstreams."""
    with running(binary, **given, probes="off") as server:
        NGINX.read_back(server, with_defaults({**given, "probes": "off"}))
        family = [psutil.Process(server.pid), *psutil.Process(server.pid).children()]
        family += [psutil.Process(pid) for pid in server.beside]
        assert len(family) >= 3
    _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive
    assert not server.place.folder.exists()


@pytest.mark.parametrize("arm", ["none", "nop"])
def test_a_run_shows_which_build_served_and_what_it_did(arm: str, tmp_path: Path) -> None:
    """As the bench sees it: read back, measured, its loops disassembled, and gone."""
    study = read("pause.toml", STUDY, tmp_path)
    study = with_builds(study)
    chosen = Arm(arm, {"pause": arm})
    launch = study.launch(study.cases[0], chosen, seed=1)
    target = TARGETS["nginx"]
    target.check(launch)
    server = target.start(launch, tmp_path / "log")
    try:
        assert server.read_back()["zone"] == "on"
        measured = server.measure(lambda done, spent: None)
        evidence = server.evidence()
    finally:
        server.stop()
    assert measured.operations > 100
    assert measured.errors == 0
    assert measured.counters["status.requests"] > 0
    factor = study.factors["pause"]
    held = {
        name: factor.change.witness.judge(name, applied_values(level, "pause"), evidence).held
        for name, level in factor.levels.items()
    }
    assert held == {"none": arm == "none", "none-kept": False, "nop": arm == "nop"}


STUDY = """
name = "pause"
question = "?"
[target]
kind = "nginx"
worker_processes = 4
zone = "on"
[workload]
kind = "http-proxy"
[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"
[[factor]]
name = "pause"
change = "nginx.pause"
levels = ["none", "none-kept", "nop"]
[design]
kind = "one-at-a-time"
[decide]
budget = "10min"
"""


def test_what_is_said_of_upstreams_needs_some() -> None:
    """A zone without upstreams would be a setting that does nothing."""
    assert NGINX.lacks(with_defaults({})) is None
    assert NGINX.lacks(with_defaults(PROXY)) is None
    with pytest.raises(InputError, match="zone means nothing without upstreams"):
        NGINX.lacks(with_defaults({"zone": "on"}))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that any user may enter, as the server's has to."""
    made = Path(tempfile.mkdtemp(prefix="nginx-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def test_a_driver_that_is_killed_leaves_nothing_running(built: Path, open_folder: Path) -> None:
    """The master is told by the kernel, and ends its workers; so are the upstreams."""
    program = (
        "import sys, time; from pathlib import Path; from nginx_driver import running\n"
        f"with running(Path({str(built)!r}), upstreams=2, probes='off') as server:\n"
        "    print(server.pid, *server.beside, flush=True); time.sleep(600)\n"
    )
    driver = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "TMPDIR": str(open_folder)},
    )
    assert driver.stdout is not None
    first = [psutil.Process(int(pid)) for pid in driver.stdout.readline().split()]
    while len(first[0].children()) < DEFAULTS["worker_processes"]:
        time.sleep(0.02)
    family = [*first, *first[0].children()]
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive


def test_a_port_in_use_is_fatal_and_said(built: Path) -> None:
    """The log's own line, and not that it will be tried again."""
    log = (
        "[emerg] 1#1: bind() to 127.0.0.1:1 failed (98: Address already in use)\n"
        "[emerg] 1#1: still could not bind()\n"
    )
    assert "Address already in use" in NGINX.is_fatal(log)
    assert NGINX.is_fatal("[warn] 1#1: something\n[emerg] 1#1: still could not bind()\n") == ""
    with pytest.raises(RuntimeError, match="unknown directive"):
        _broken(built)


def _broken(built: Path) -> None:
    with running(built, accept_mutex="on; nonsense on") as server:
        server.get("/file")


def test_stub_status_is_read_by_its_words() -> None:
    """And what is none is an error."""
    body = "Active connections: 2 \nserver accepts handled requests\n 5 4 9 \nReading: 0 \n"
    assert stub_status(body) == {
        "status.accepts": 5,
        "status.handled": 4,
        "status.requests": 9,
    }
    with pytest.raises(Exception, match="no stub_status"):
        stub_status("<html>")


def test_a_probe_stands_where_each_lock_function_begins_to_wait(built: Path) -> None:
    """There objdump shows the look at the number of CPUs."""
    found = slow_paths(built, FUNCTIONS)
    assert {"ngx_rwlock_wlock", "ngx_rwlock_rlock"} <= found.keys()
    listing = subprocess.run(
        ["objdump", "-dF", "--no-show-raw-insn", str(built)], capture_output=True, text=True
    ).stdout
    for function, offset in found.items():
        (start, within), body = _function(listing, function)
        looks = [line for line in body if "<ngx_ncpu" in line]
        assert [int(line.partition(":")[0], 16) - start + within for line in looks] == [offset]


def _function(listing: str, name: str) -> tuple[tuple[int, int], list[str]]:
    """Its address and place in the file, and its lines."""
    head = re.search(rf"(?m)^([0-9a-f]+) <{name}> \(File Offset: (0x[0-9a-f]+)\):\n", listing)
    assert head is not None
    lines = listing[head.end() :].partition("\n\n")[0].splitlines()
    return (int(head[1], 16), int(head[2], 16)), lines


def test_a_stripped_nginx_that_exports_its_functions_can_be_probed(packaged: Path) -> None:
    """The distribution's does, for its modules."""
    found = slow_paths(packaged, FUNCTIONS)
    assert {"ngx_rwlock_wlock", "ngx_rwlock_rlock"} <= found.keys()
    assert all(0 < offset < packaged.stat().st_size for offset in found.values())


def test_without_symbols_contention_is_not_counted_and_why_is_said(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counter is left out rather than 0."""
    monkeypatch.setattr(nginx, "WAITING", "absent")
    with running(built) as server:
        found = NGINX.read_back(server, with_defaults({}))
        counted = NGINX.counters(server)
    assert "no symbols" in found["counts_contention"]
    assert not any(name.startswith("contended") for name in counted)


def test_contention_is_counted_only_where_there_is_a_lock(binary: Path) -> None:
    """Many workers, one zone: some find it taken. Without the zone: none."""
    probes = Probes(binary, slow_paths(binary, FUNCTIONS))
    probes.close()
    if probes.refused:
        pytest.skip(probes.refused)

    def contended(zone: str) -> float:
        settings = with_defaults({**PROXY, "zone": zone, "worker_processes": 8})
        with running(binary, **settings) as server:
            found = NGINX.read_back(server, settings)
            assert found["counts_contention"] == "yes"
            before = _contended(server)
            load = Load(
                parse_url(NGINX.url(server.place)),
                "http-get",
                connections=32,
                time_s=0.5,
                warmup_s=0.0,
            )
            for _ in range(20):
                run_load(load)
                if zone == "off" or _contended(server) > before:
                    break
            return _contended(server) - before

    assert contended("on") > 0
    assert contended("off") == 0


def _contended(server: Running) -> float:
    counted = NGINX.counters(server)
    return sum(n for name, n in counted.items() if name.startswith("contended."))
