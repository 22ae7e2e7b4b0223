"""The target `program`: servers that Assay does not know, under its own load and generators'."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from assay.bench.guard import client_limits
from assay.core.errors import InputError, MissingError, RunError
from assay.linux.processes import marked
from assay.targets import TARGETS, Launch
from assay.targets.programs import output
from assay.targets.programs import started as started_module
from assay.workloads import WORKLOADS
from server_kit import left_in, own_folders, wait_for

__all__ = ["own_folders"]

PROGRAM = TARGETS["program"]
HTTP = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "{port}"]
ANSWER = """
import os, signal, socket, sys
signal.signal(signal.SIGTERM, signal.SIG_DFL)
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
while True:
    c = s.accept()[0]
    c.sendall(b"x")
    c.close()
"""
"""A server that says one letter to everybody."""
FAST = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(1)"
RATE = [sys.executable, "-c", f"{FAST}; print('rate: 1,234.5 op/s')", "{port}"]


def launch(*start: str, workload: str = "generator", window_s: float = 0.3, **given: Any) -> Launch:
    """A short run. Of `given`, what the workload takes is its parameter; all else, and `patience`,
    are settings."""
    takes = WORKLOADS[workload].parameters_for("program")
    parameters = {n: p.default for n, p in takes.items() if p.default is not None}
    settings = {n: p.default for n, p in PROGRAM.settings.items() if p.default is not None}
    settings |= {"start": list(start) or [sys.executable, "-c", ANSWER, "{port}"]}
    if workload == "generator":
        parameters |= {"command": RATE, "value": "rate: (.*) op/s", "unit": "op/s"}
    settings["patience"] = given.pop("patience", settings["patience"])
    for name, value in given.items():
        (parameters if name in takes else settings)[name] = value
    return Launch(settings, workload, parameters, seed=3, warmup_s=0.05, window_s=window_s)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of a run."""
    return tmp_path / "log"


def run(made: Launch, log: Path) -> tuple[Any, Any]:
    """What a run measured, and its evidence."""
    PROGRAM.check(made)
    server = PROGRAM.start(made, log)
    try:
        measured = server.measure(lambda done, spent: None)
        return measured, server.evidence()
    finally:
        server.stop()
        server.stop()


def running(words: str) -> bool:
    """Whether a process with such words is there."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return any(line.strip() == words for line in listed.stdout.splitlines())


# what is measured


def test_our_own_load_goes_to_a_server_that_we_do_not_know(log: Path, tmp_path: Path) -> None:
    """Python's file server, with the files of a template."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "index.html").write_text("hello\n")
    made = launch(
        *HTTP,
        *("--directory", "{dir}"),
        workload="http-get",
        template=str(tmp_path / "files"),
        url="http://127.0.0.1:{port}/index.html",
        connections=2,
    )
    measured, seen = run(made, log)
    assert measured.complete
    assert measured.errors == 0
    assert measured.metrics["throughput"] > 10
    assert measured.metrics["cpu_per_operation"] > 0
    assert measured.metrics["resident_bytes"] > 1e6
    assert measured.health.loader == "client"
    line = seen.read_back["command_line"]
    assert line[1:] == [
        "-m",
        "http.server",
        "--bind",
        "127.0.0.1",
        "{port}",
        "--directory",
        "{dir}",
    ]
    assert any("libc.so" in path for path in seen.read_back["libraries"])
    assert len(seen.executable.sha256) == 64


@pytest.mark.parametrize(
    ("start", "workload", "url"),
    [
        (
            ["memcached", "-u", "root", "-p", "{port}", "-l", "127.0.0.1"],
            "memcached-get",
            "memcached",
        ),
        (
            ["memcached", "-u", "root", "-s", "{dir}/s"],
            "memcached-set",
            "memcached:///?socket={dir}/s",
        ),
        (
            ["redis-server", "--port", "{port}", "--save", "", "--dir", "{dir}"],
            "redis-get",
            "redis",
        ),
    ],
)
def test_data_are_loaded_by_the_protocol_of_the_address(
    start: list[str], workload: str, url: str, log: Path
) -> None:
    """Over a port, and over a Unix socket in the folder."""
    address = url if ":" in url else f"{url}://127.0.0.1:{{port}}"
    measured, _ = run(launch(*start, workload=workload, url=address, keys=100), log)
    assert measured.metrics["load_seconds"] > 0
    assert measured.metrics["throughput"] > 100


def test_sql_is_spoken_where_the_address_says_so(log: Path) -> None:
    """MariaDB as if nobody knew it, on a data directory that `reset` makes."""
    install = "mariadb-install-db --no-defaults --auth-root-authentication-method=normal"
    data = "--datadir={dir}/data --user=$(id -un)"
    start = f"exec mariadbd --no-defaults {data} --socket={{dir}}/s --skip-networking"
    made = launch(
        *("sh", "-c", f"PATH=$PATH:/usr/sbin; {start}"),
        reset=["sh", "-c", f"{install} {data} > /dev/null"],
        ready_log="ready for connections",
        workload="oltp-point-select",
        url="mysql://root@/test?socket={dir}/s",
        table_size=100,
    )
    measured, seen = run(made, log)
    assert measured.metrics["throughput"] > 10
    assert measured.errors == 0
    assert Path(seen.read_back["command_line"][0]).name == "mariadbd"


def test_a_generator_is_read_and_watched_as_our_own_load_is(log: Path) -> None:
    """redis-benchmark: its numbers, its busiest thread, the server's CPU time."""
    command = ["redis-benchmark", "-p", "{port}", "-t", "get", "-n", "40000", "-c", "4"]
    start = ["redis-server", "--port", "{port}", "--save", "", "--dir", "{dir}"]
    measured, seen = run(launch(*start, command=command, parser="redis-benchmark", value=None), log)
    assert measured.operations == 40_000
    assert measured.metrics["throughput"] > 100
    assert measured.metrics["latency_p99"] > measured.metrics["latency_p50"] > 1000
    assert measured.metrics["cpu_per_operation"] > 100
    assert measured.metrics["resident_bytes"] > 1e6
    assert measured.health.loader == "client"
    assert 0 < measured.health.busiest_thread <= 1
    assert seen.read_back["start"] == start


def test_any_number_that_is_printed_can_be_the_metric(log: Path) -> None:
    """By an expression, with values of the arm."""
    words = ["sh", "-c", "echo {name}: {seconds}0.5 tx {seed} {host}"]
    measured, _ = run(
        launch(command=words, value="load: (.*) tx 3 127", unit="tx", let=["name=load"]), log
    )
    assert measured.metrics["printed_higher.tx"] == 10.5
    assert "cpu_per_operation" not in measured.metrics
    assert measured.metrics["resident_bytes"] > 1e6


def test_a_generator_that_is_the_limit_voids_its_run(log: Path) -> None:
    """One thread that is always busy beside a CPU that idles."""
    spin = "import time\nwhile time.process_time() < 1.2: pass\nprint('rate: 1 op/s')"
    measured, _ = run(launch(command=[sys.executable, "-c", spin]), log)
    seen_s = measured.health.busiest_thread * measured.window_s
    assert seen_s > 0.5 * measured.counters["generator.cpu_s"] > 0.5
    limited = measured.health.model_copy(update={"server_idle": 0.4, "busiest_thread": 0.99})
    assert "the client was the limit" in client_limits(limited)[0]


def test_a_warm_up_is_a_run_of_the_generator_with_its_seconds(log: Path, tmp_path: Path) -> None:
    """Before the window, only where the command says how long it takes."""
    note = f"echo {{seconds}} >> {tmp_path}/notes; echo rate: 5 op/s"
    made = launch(command=["sh", "-c", note], window_s=1.5)
    run(made, log)
    assert (tmp_path / "notes").read_text().split() == ["1", "2"]


# how it lives


def test_each_start_finds_the_template_reset_and_prepared(log: Path, tmp_path: Path) -> None:
    """In their order; nothing of one run is there in the next."""
    (tmp_path / "template").mkdir()
    (tmp_path / "template" / "notes").write_text("template\n")

    def note(word: str) -> list[str]:
        return ["sh", "-c", f"echo {word} >> {{dir}}/notes"]

    words = ["sh", "-c", "cat {dir}/notes; cp {dir}/notes " + str(tmp_path) + "; echo rate: 1 op/s"]
    made = launch(
        template=str(tmp_path / "template"),
        reset=note("reset"),
        prepare=note("prepare"),
        command=words,
    )
    for _ in range(2):
        run(made, log)
        assert (tmp_path / "notes").read_text().split() == ["template", "reset", "prepare"]


def test_readiness_is_a_port_a_line_or_a_command(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them is enough."""
    run(launch(ready_log="^listening$"), log)
    run(launch(ready_command=[sys.executable, "-c", FAST, "{port}"]), log)
    slow = ["sh", "-c", "test -e {dir}/asked || { touch {dir}/asked; sleep 9; }"]
    monkeypatch.setattr(started_module, "READY_S", 0.1)
    run(launch(ready_command=slow), log)
    run(launch(quiet=True), log)
    assert "listening" in log.read_text()


def test_it_is_ended_by_its_own_command(log: Path, tmp_path: Path) -> None:
    """Before it would get a signal."""
    stop = ["sh", "-c", f"echo {{port}} > {tmp_path}/stopped"]
    run(launch(stop=stop), log)
    assert (tmp_path / "stopped").read_text().strip().isdigit()


def test_its_witness_must_print_what_is_expected(log: Path) -> None:
    """Else the run fails with both; without an expectation it is recorded."""
    _, seen = run(
        launch(witness=["sh", "-c", "echo mode: {m}"], let=["m=fast"], expect="fast"), log
    )
    assert seen.read_back["witnessed"] == "mode: fast"
    with pytest.raises(RunError, match="the witness printed 'mode: slow', and no 'fast'"):
        run(launch(witness=["sh", "-c", "echo mode: slow"], expect="fast"), log)


def test_the_environment_of_an_arm_reaches_the_program(log: Path) -> None:
    """By the change `env`, and by its own settings."""
    made = launch(ready_log="on 1$", env=["B=1"], quiet=False)
    words = ["sh", "-c", 'echo $A $B; exec "$@"', "sh", sys.executable, "-c", ANSWER, "{port}"]
    settings = {**made.settings, "start": words}
    whole = Launch(settings, made.workload, made.parameters, 3, 0.0, 0.3, env={"A": "on"})
    _, seen = run(whole, log)
    assert seen.environ == {"A": "on"}


def test_another_executable_is_seen(log: Path, tmp_path: Path) -> None:
    """By its contents: a copy of the interpreter with a byte more."""
    other = tmp_path / "python"
    other.write_bytes(Path(os.path.realpath("/bin/sh")).read_bytes() + b"\0")
    other.chmod(0o755)
    made = launch("sh", "-c", "echo ready; sleep 1000", ready_log="ready")
    seen = [
        run(
            Launch(
                made.settings,
                made.workload,
                {**made.parameters, "command": ["echo", "rate: 1 op/s"]},
                3,
                0,
                0.1,
                binary=binary,
            ),
            log,
        )[1]
        for binary in (None, str(other))
    ]
    assert seen[0].executable.sha256 != seen[1].executable.sha256


# what goes wrong


@pytest.mark.parametrize(
    ("start", "given", "said"),
    [
        (
            ["sh", "-c", "echo no luck >&2; exit 3", "{port}"],
            {},
            "did not start: .*code 3; no luck",
        ),
        (["sleep", "77.1"], {"ready_log": "ready"}, "not ready after 0.5 s"),
        (["sleep", "77.2"], {"port": 17999}, "port} was 17999, and it listens nowhere"),
        (
            [sys.executable, "-c", ANSWER.replace("int(sys.argv[1])", "0"), "{port}"],
            {},
            r"and it listens on \d+",
        ),
        (["sh", "-c", "setsid sleep 77.3 & exit 0", "{port}"], {}, "left sleep running"),
        (["sh", "-c", "exec cat /dev/zero", "{port}"], {}, "wrote more than 1 MiB"),
    ],
)
def test_a_program_that_does_not_start_says_why(
    start: list[str],
    given: dict[str, Any],
    said: str,
    log: Path,
    own_folders: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And nothing of it is left."""
    monkeypatch.setattr(output, "MOST_BYTES", 1 << 20)
    patience = 20.0 if "cat" in start[-2] else 0.5
    with pytest.raises(RunError, match=said):
        run(launch(*start, patience=patience, **given), log)
    assert left_in(own_folders) == []
    assert not any(running(f"sleep 77.{n}") for n in (1, 2, 3))
    assert log.stat().st_size < 1 << 20


@pytest.mark.parametrize(
    ("script", "given", "said"),
    [
        ("echo no luck >&2; exit 3", {}, "the generator ended with code 3: no luck"),
        ("kill -SEGV $$", {}, "the generator was killed by signal 11"),
        ("setsid sleep 78.1 & exit 0", {}, "the generator ended and left sleep running"),
        ("sleep 78.2", {"patience": 0.2}, "the generator was still running after 0.2 s"),
        ("echo nothing", {}, "printed nothing that matches"),
        ("echo nothing", {"value": None, "parser": "wrk"}, "printed no Requests/sec, as wrk does"),
    ],
)
def test_a_generator_that_goes_wrong_says_how(
    script: str, given: dict[str, Any], said: str, log: Path
) -> None:
    """It is not taken for the program's fault, and nothing of it is left."""
    made = launch(
        command=["sh", "-c", script], **{n: v for n, v in given.items() if n != "patience"}
    )
    if "patience" in given:
        made = Launch(made.settings, "generator", {**made.parameters, **given}, 3, 0.0, 0.3)
    with pytest.raises(RunError, match=said):
        run(made, log)
    assert not running("sleep 78.1")
    assert not running("sleep 78.2")


def test_a_gigabyte_of_a_generators_output_is_read_and_not_kept(log: Path) -> None:
    """Of which the number is the last line."""
    script = "head -c 1000000000 /dev/zero; echo; echo rate: 5 op/s"
    measured, _ = run(launch(command=["sh", "-c", script]), log)
    assert measured.metrics["printed_higher.op/s"] == 5


def test_a_program_that_writes_too_much_in_a_run_is_ended_and_blamed(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the generator, which loses its server; of its output the two ends are kept."""
    monkeypatch.setattr(output, "MOST_BYTES", 1 << 20)
    start = ["sh", "-c", "echo begin; sleep 1; exec cat /dev/zero"]
    with pytest.raises(RunError, match="ended during the run: it was killed, for it wrote more"):
        run(launch(*start, ready_log="begin", command=["sh", "-c", "sleep 5; exit 1"]), log)
    text = log.read_bytes()
    assert text.startswith(b"begin")
    assert b"bytes are left out here" in text
    assert len(text) < 1 << 19


def test_children_that_a_program_leaves_are_killed_wherever_they_are(log: Path) -> None:
    """In a session of their own, as a daemon is; the run itself is sound."""
    start = ["sh", "-c", "setsid sleep 79.1 & sleep 79.2 & echo ready; sleep 79.3; exit 0"]
    run(launch(*start, ready_log="ready", command=["echo", "rate: 1 op/s"]), log)
    assert not any(running(f"sleep 79.{n}") for n in (1, 2, 3))
    assert "killed what was left: sleep" in log.read_text()


def test_a_program_that_dies_under_load_is_named_with_its_end(log: Path) -> None:
    """The generator only lost its connection."""
    server = PROGRAM.start(
        launch(command=["sh", "-c", "sleep 1; echo connection lost >&2; exit 1"]), log
    )
    try:
        threading.Timer(0.5, lambda: os.kill(server.pid or 0, signal.SIGKILL)).start()
        with pytest.raises(RunError, match=r"program ended during the run: .*SIGKILL"):
            server.measure(lambda done, spent: None)
    finally:
        server.stop()


def test_a_run_that_is_stopped_is_no_run(log: Path) -> None:
    """As Ctrl-C does it."""
    made = launch(command=["sleep", "80.1"])
    server = PROGRAM.start(made, log)
    try:
        threading.Timer(0.5, end_generators).start()
        assert not server.measure(lambda done, spent: None).complete
    finally:
        server.stop()
    assert not running("sleep 80.1")


def end_generators() -> None:
    """SIGTERM to every `assayer job` that this process started."""
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            if b"assayer\0job" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(int(pid), signal.SIGTERM)


KILLED = """
import sys
from pathlib import Path
from assay.targets import TARGETS, Launch
from assay.targets.programs.settings import SETTINGS
settings = {n: p.default for n, p in SETTINGS.items() if p.default is not None}
start = ["sh", "-c", "setsid sleep 81.1 & echo ready; sleep 81.2"]
settings |= {"start": start, "ready_log": "ready"}
parameters = {"command": ["sleep", "81.3"], "value": "x", "patience": 600.0}
made = Launch(settings, "generator", parameters, 1, 0.0, 1.0)
server = TARGETS["program"].start(made, Path(sys.argv[1]))
print("started", flush=True)
server.measure(lambda done, spent: None)
"""


def test_nothing_is_left_when_assay_itself_is_killed(log: Path, own_folders: Path) -> None:
    """kill -9: the program, what left its group, the generator, and the folder."""
    with subprocess.Popen([sys.executable, "-c", KILLED, str(log)], stdout=subprocess.PIPE) as ours:
        assert ours.stdout is not None
        ours.stdout.readline()
        assert wait_for(lambda: running("sleep 81.3"))
        assert running("sleep 81.1")
        ours.kill()
    assert wait_for(lambda: not any(running(f"sleep 81.{n}") for n in (1, 2, 3)))
    assert wait_for(lambda: left_in(own_folders) == [])


def test_a_taken_port_is_tried_again(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times in all, unless the study says which port."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = [taken.getsockname()[1]]
        real = started_module.free_port
        monkeypatch.setattr(started_module, "free_port", lambda: ports.pop(0) if ports else real())
        run(launch(), log)
        assert not ports
        with pytest.raises(RunError, match=r"(?i)did not start: .*in use"):
            run(launch(port=taken.getsockname()[1]), log)


# what is said before anything starts


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"start": None}, "no command that starts it"),
        ({"start": ["no-such-server", "{port}"]}, "no-such-server is no program on the PATH"),
        ({"start": ["sleep", "9"]}, "nothing says when the program is ready"),
        ({"quiet": True, "ready_log": "ready"}, "output that quiet throws away"),
        ({"reset": ["no-such-reset"]}, "no-such-reset is no program"),
        ({"template": "/no/such/folder"}, "the template /no/such/folder is no folder"),
        ({"ready_log": "("}, "ready_log: '\\(' is no regular expression"),
        ({"expect": "("}, "expect: '\\(' is no regular expression"),
        ({"let": ["x"]}, "'x' is no NAME=value"),
        ({"command": None}, "the workload generator has no command"),
        ({"command": ["no-such-tool"]}, "no-such-tool is no program"),
        ({"value": None}, "nothing says where the generator prints its number"),
        ({"value": "("}, "is no regular expression"),
        ({"workload": "http-get"}, "the workload http-get needs an address"),
        ({"workload": "http-get", "url": "gopher://x:{port}"}, "'gopher' is not one of"),
        ({"workload": "oltp-point-select", "url": "redis://127.0.0.1:{port}"}, "(?i)redis|sql"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(given: dict[str, Any], said: str) -> None:
    """With what to do about it."""
    made = launch(**given)
    with pytest.raises((InputError, MissingError), match=said) as caught:
        PROGRAM.check(made)
    assert caught.value.next_step


def test_all_that_a_run_starts_carries_its_mark(log: Path, tmp_path: Path) -> None:
    """The generator too, so that whatever it leaves is found."""
    made = launch(command=["sh", "-c", "env > " + str(tmp_path / "env") + "; echo rate: 1 op/s"])
    run(made, log)
    (entry,) = [
        line for line in (tmp_path / "env").read_text().splitlines() if line.startswith("TMPDIR=")
    ]
    assert "assay-program-" in entry
    assert marked(entry) == []


STUDY = """
name = "words"
question = "Does it?"

[target]
kind = "program"
start = {start}

[workload]
kind = "generator"
command = {command}
value = "rate: (.*) op/s"
unit = "op/s"

[measure]
primary = "printed_higher.op/s"
warmup = "0s"
window = "50ms"

[[factor]]
name = "mode"
change = "setting"
levels = {{ old = {{ let = ["mode=0"] }}, new = {{ let = ["mode=3"] }} }}

[design]
kind = "one-at-a-time"

[decide]
smallest = "20%"
margin = "20%"
budget = "2min"
"""


def test_an_arm_whose_generator_fails_is_named_with_its_run(tmp_path: Path) -> None:
    """As soon as it has failed. With this seed it is the first."""
    script = 'test {mode} = 0 || { echo no luck >&2; exit {mode}; }; echo "rate: 10{seed}" op/s'
    start = [sys.executable, "-c", ANSWER, "{port}"]
    text = STUDY.format(start=json.dumps(start), command=json.dumps(["sh", "-c", script]))
    (tmp_path / "study.toml").write_text(text)
    words = [sys.executable, "-c", "from assay.cli import main; main()", "run", "study.toml"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [*words, "--out", "bundle", "--seed", "3131771234"],
        cwd=tmp_path,
        env=env,
        stderr=subprocess.PIPE,
        text=True,
    ) as ours:
        assert ours.stderr is not None
        said = next(line for line in ours.stderr if "failed:" in line)
        ours.send_signal(signal.SIGINT)
        ours.stderr.read()
    assert "arm mode, block 0) failed: " in said
    assert "the generator ended with code 3: no luck" in said
    lines = (tmp_path / "bundle" / "runs.jsonl").read_text().splitlines()
    assert {r["arm"] for r in map(json.loads, lines) if r["status"] == "failed"} == {"mode"}
