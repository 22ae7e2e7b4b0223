"""Servers that already run: measured where they are, and left as they were found."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.core import password
from assay.core.errors import InputError, MissingError, RestoreError, RunError, StudyError
from assay.linux import processes
from assay.load import ask
from assay.study import read
from assay.targets import TARGETS, Launch
from assay.targets.servers.framework.attached_settings import Changed, abandoned
from assay.undo.journal import Journal
from assay.undo.places import attached as journals
from assay.workloads import WORKLOADS
from attach_kit import KINDS, Theirs, data_of, theirs

LOOSE = Path(__file__).parent.parent / "loose.py"
EVERY = pytest.mark.parametrize("kind", KINDS)
RUNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "redis": ("redis-set", {"keys": 100}),
    "mariadb": ("oltp-point-select", {"tables": 1, "table_size": 1000}),
    "postgresql": ("oltp-point-select", {"tables": 1, "table_size": 1000}),
}
DYNAMIC = {
    "redis": ("slowlog-max-len", 77, "128"),
    "mariadb": ("innodb_spin_wait_delay", 9, "4"),
    "postgresql": ("commit_delay", 7, "0"),
}
"""A setting that can be changed at run time, a value, and what it is before."""
FIXED = {
    "redis": ("io-threads", 2, "1"),
    "mariadb": ("innodb_log_buffer_size", "32M", str(16 << 20)),
    "postgresql": ("max_connections", 77, "100"),
}


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    """A folder that any user may enter."""
    made = Path(tempfile.mkdtemp(prefix="attach-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def data(base: Path) -> Mapping[str, Path]:
    (base / "made").mkdir()
    return data_of(base / "made")


@pytest.fixture(scope="module")
def servers(base: Path, data: Mapping[str, Path]) -> Iterator[Mapping[str, Theirs]]:
    """One of each kind, for all tests that leave them as they were."""
    with (
        theirs("redis", base / "redis", data) as redis,
        theirs("mariadb", base / "mariadb", data) as mariadb,
        theirs("postgresql", base / "postgresql", data) as postgresql,
    ):
        yield {"redis": redis, "mariadb": mariadb, "postgresql": postgresql}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Journals of the test's own, of which none is left."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("ASSAY_PASSWORD", raising=False)
    monkeypatch.setattr(password, "_kept", {})
    yield
    assert list(journals().glob("*")) == []


def launch(server: Theirs, **given: Any) -> Launch:
    """A short run on it; settings with underscores, but for Redis's."""
    workload, parameters = RUNS[server.kind]
    takes = WORKLOADS[workload].parameters_for(server.kind)
    whole = {n: p.default for n, p in takes.items()} | dict(parameters)
    settings = {"connections": 4, "client_threads": 1, "attach": server.url, **given}
    return Launch(settings, workload, whole, 3, 0.05, 0.3, interval_s=0.1)


@EVERY
def test_a_run_is_measured_where_the_server_is(
    kind: str, servers: Mapping[str, Theirs], tmp_path: Path
) -> None:
    """With its own settings, of which one is changed meanwhile; it runs on as it was."""
    theirs_, (name, value, before) = servers[kind], DYNAMIC[kind]
    made, target, pid = launch(theirs_, **{name: value}), TARGETS[kind], theirs_.pid
    target.check(made)
    server = target.start(made, tmp_path / "log")
    try:
        told = server.read_back()
        assert told[name] == value
        assert theirs_.value(name) != before
        measured = server.measure(lambda done, spent: None)
        evidence = server.evidence()
    finally:
        server.stop()
    assert theirs_.value(name) == before
    assert theirs_.pid == pid
    assert measured.operations > 0
    assert measured.errors == 0
    assert measured.metrics["cpu_per_operation"] > 0
    assert "not private" in told["attached"]
    assert told["data_reset"] == "never"
    assert evidence.executable.sha256
    assert evidence.status


@EVERY
def test_a_setting_of_the_start_takes_a_restart_and_is_taken_back_by_another(
    kind: str, servers: Mapping[str, Theirs], tmp_path: Path
) -> None:
    """Which the study must allow; the file is there as long as the setting is."""
    theirs_, (name, value, before) = servers[kind], FIXED[kind]
    with pytest.raises(InputError, match=f"{name} can be set at the server's start only"):
        TARGETS[kind].start(launch(theirs_, **{name: value}), tmp_path / "log")
    restart = {"restart": theirs_.restart}
    if kind != "postgresql":
        with pytest.raises(InputError, match="must be in a file"):
            TARGETS[kind].start(launch(theirs_, **{name: value}, **restart), tmp_path / "log")
        restart["settings_file"] = str(theirs_.settings_file)
    pid = theirs_.pid
    server = TARGETS[kind].start(launch(theirs_, **{name: value}, **restart), tmp_path / "log")
    try:
        assert server.read_back()[name] == value
        assert theirs_.pid != pid
        assert theirs_.settings_file.exists() == (kind != "postgresql")
        measured = server.measure(lambda done, spent: None)
    finally:
        server.stop()
    assert measured.metrics["cpu_per_operation"] > 0
    assert theirs_.value(name) == before
    assert not theirs_.settings_file.exists()


@EVERY
def test_its_data_set_is_loaded_once_and_stays(
    kind: str, servers: Mapping[str, Theirs], tmp_path: Path
) -> None:
    """In a database of its own; what a run writes the next one finds."""
    made, log = launch(servers[kind]), tmp_path / "log"
    write = {"redis": "SET mine 1", "mariadb": "CREATE TABLE mine (a INT)"}
    look = {"redis": "EXISTS mine", "mariadb": "SELECT COUNT(*) FROM mine"}
    for turn in range(2):
        server = TARGETS[kind].start(made, log)
        try:
            if turn == 0:
                server._started.ask(write.get(kind, write["mariadb"]))
            else:
                found = server._started.ask(look.get(kind, look["mariadb"]))
                assert found == [[["1" if kind == "redis" else "0"]]]
                clean = {"redis": "DEL mine"}.get(kind, "DROP TABLE mine")
                server._started.ask(clean)
        finally:
            server.stop()


@pytest.mark.parametrize("kind", KINDS[1:])
def test_data_that_were_not_loaded_to_their_end_are_loaded_again(
    kind: str, servers: Mapping[str, Theirs], tmp_path: Path
) -> None:
    """The mark is what counts."""
    made, log = launch(servers[kind]), tmp_path / "log"
    server = TARGETS[kind].start(made, log)
    server._started.ask("DROP TABLE assay_whole", "DELETE FROM sbtest1")
    server.stop()
    server = TARGETS[kind].start(made, log)
    try:
        assert server._started.ask("SELECT COUNT(*) FROM sbtest1") == [[["1000"]]]
    finally:
        server.stop()


def test_a_database_with_other_data_is_not_touched(
    servers: Mapping[str, Theirs], tmp_path: Path
) -> None:
    """Of Redis, where databases have only numbers."""
    other = replace(servers["redis"], url=servers["redis"].url[:-1] + "5")
    ask(other.url, "SET theirs 1")
    with pytest.raises(InputError, match=r"database 5 of redis at .* holds other data"):
        TARGETS["redis"].start(launch(other), tmp_path / "log")
    assert ask(other.url, "KEYS *") == [[["theirs"]]]


def test_the_users_own_reset_is_run_before_each_run(
    servers: Mapping[str, Theirs], tmp_path: Path
) -> None:
    """And the bundle says so; one that fails fails the run with its words."""
    mark = tmp_path / "mark"
    given = {"reset": ["sh", "-c", f"echo once >>{mark}"]}
    for _ in range(2):
        server = TARGETS["redis"].start(launch(servers["redis"], **given), tmp_path / "log")
        assert server.read_back()["data_reset"] == "by sh"
        server.stop()
    assert mark.read_text() == "once\nonce\n"
    given = {"reset": ["sh", "-c", "echo no snapshot; exit 3"]}
    with pytest.raises(RunError, match=r"reset command sh ended with code 3: no snapshot"):
        TARGETS["redis"].start(launch(servers["redis"], **given), tmp_path / "log")


STUDY = """
name = "s"
question = "?"
[target]
kind = "{kind}"
attach = "{url}"
{more}
[workload]
kind = "redis-set"
keys = 100
[measure]
primary = "throughput"
warmup = "50ms"
window = "200ms"
[[factor]]
name = "log"
change = "setting"
setting = "slowlog-max-len"
off = 128
on = 129
[design]
kind = "one-at-a-time"
[decide]
smallest = "50%"
margin = "50%"
budget = "1h"
"""
SECRET = "not-for-everybody"


def test_a_password_in_a_study_is_refused_and_not_repeated() -> None:
    """It says where to put it."""
    text = STUDY.format(kind="redis", url=f"redis://:{SECRET}@127.0.0.1:1/3", more="")
    with pytest.raises(StudyError, match="ASSAY_PASSWORD or a password_file") as caught:
        read("s", text, Path("."))
    assert SECRET not in caught.value.message


def test_what_cannot_be_attached_to_or_changed_is_refused(servers: Mapping[str, Theirs]) -> None:
    """nginx, another protocol, the executable and the environment."""
    made = launch(servers["redis"])
    for changed, why in (
        (replace(made, binary="/bin/sh"), "executable of a server that already runs"),
        (replace(made, env={"A": "b"}), "environment of a server that already runs"),
    ):
        with pytest.raises(InputError, match=why):
            TARGETS["redis"].check(changed)
    wrong = {**made.settings, "attach": servers["mariadb"].url}
    with pytest.raises(InputError, match="a server of mysql, not of redis"):
        TARGETS["redis"].check(replace(made, settings=wrong))
    assert "attach" not in TARGETS["nginx"].settings


def test_a_server_that_is_not_there_is_missed() -> None:
    """Before anything is started."""
    nowhere = Theirs("redis", Path("/"), "redis://127.0.0.1:1/3")
    with pytest.raises(MissingError, match=r"127\.0\.0\.1:1"):
        TARGETS["redis"].check(launch(nowhere))


def test_of_an_attached_server_nothing_is_set_that_is_not_given(
    servers: Mapping[str, Theirs],
) -> None:
    """Not even what Assay gives its own."""
    text = STUDY.format(kind="mariadb", url=servers["mariadb"].url, more="")
    text = text.replace('"redis-set"\nkeys = 100', '"oltp-point-select"')
    text = text.replace("slowlog-max-len", "max_connect_errors")
    (case,) = read("s", text, Path(".")).cases
    assert case.settings.keys() == {"attach", "connections", "client_threads"}


def test_a_password_stays_where_it_is(
    base: Path, data: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the environment or a file: not in a bundle, a log or a journal."""
    with theirs("redis", base / "secret", data, ()) as server:
        ask(server.url, f"CONFIG SET requirepass {SECRET}")
        file = tmp_path / "password"
        file.write_text(f"{SECRET}\n")
        (tmp_path / "s.toml").write_text(
            STUDY.format(kind="redis", url=server.url, more=f'password_file = "{file}"')
        )
        with pytest.raises(MissingError):
            TARGETS["redis"].check(launch(server))
        bundle = tmp_path / "bundle"
        process = assay("run", tmp_path / "s.toml", "--out", bundle)
        until_runs(process, bundle, 3)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 130
        for path in (p for p in bundle.rglob("*") if p.is_file()):
            assert SECRET.encode() not in path.read_bytes(), path
        (case,) = json.loads((bundle / "plan.json").read_text())["cases"]
        assert case["attached"] == server.url
        assert "not private" in (bundle / "report.html").read_text()
        monkeypatch.setenv("ASSAY_PASSWORD", SECRET)
        TARGETS["redis"].check(launch(server))
        ask(server.url, "CONFIG SET requirepass ''")


def assay(*words: str | Path) -> subprocess.Popen[bytes]:
    """The command, where other work on the machine voids nothing."""
    return subprocess.Popen(
        [sys.executable, str(LOOSE), *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def until_runs(process: subprocess.Popen[bytes], bundle: Path, number: int) -> None:
    runs = bundle / "runs.jsonl"
    while not runs.exists() or runs.read_bytes().count(b"\n") < number:
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.02)


@EVERY
def test_settings_are_put_back_by_the_next_command_after_kill_9(
    kind: str, servers: Mapping[str, Theirs], tmp_path: Path
) -> None:
    """Whatever that command is; while its owner lives a journal is nobody else's."""
    theirs_, (name, value, before) = servers[kind], DYNAMIC[kind]
    owner = owner_of(theirs_, {name: value}, tmp_path)
    pipe = subprocess.PIPE
    started = subprocess.Popen([sys.executable, "-c", owner], stdin=pipe, stdout=pipe, text=True)
    assert started.stdout.readline() == "changed\n"
    assert theirs_.value(name) != before
    with pytest.raises(InputError, match=r"another assay .* has changed settings"):
        TARGETS[kind].start(launch(theirs_, **{name: value + 1}), tmp_path / "log")
    done = assay("list", "studies")
    done.communicate(timeout=60)
    assert theirs_.value(name) != before
    started.kill()
    started.communicate()
    done = assay("list", "studies")
    _, story = done.communicate(timeout=60)
    assert done.returncode == 0
    assert "brought back: settings of" in story.decode()
    assert theirs_.value(name) == before


@EVERY
def test_settings_of_the_start_are_put_back_after_kill_9_too(
    kind: str, servers: Mapping[str, Theirs], tmp_path: Path
) -> None:
    """By the study's own restart command, without the file."""
    theirs_, (name, value, before) = servers[kind], FIXED[kind]
    given = {"restart": theirs_.restart, name: value}
    if kind != "postgresql":
        given["settings_file"] = str(theirs_.settings_file)
    started = subprocess.Popen(
        [sys.executable, "-c", owner_of(theirs_, given, tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout.readline() == "changed\n"
    assert theirs_.value(name) != before
    started.kill()
    started.communicate()
    done = assay("list", "studies")
    _, story = done.communicate(timeout=120)
    assert "brought back: settings of" in story.decode()
    assert theirs_.value(name) == before
    assert not theirs_.settings_file.exists()


def owner_of(server: Theirs, given: Mapping[str, Any], folder: Path) -> str:
    """A program that puts settings of a server in force, says so, and waits."""
    made = f"launch(Theirs({server.kind!r}, Path('/'), {server.url!r}), **{given!r})"
    return f"""
import sys
from pathlib import Path
sys.path[:0] = {[str(LOOSE.parent), str(LOOSE.parent / "targets")]!r}
from test_attach import TARGETS, Theirs, launch
server = TARGETS[{server.kind!r}].start({made}, Path({str(folder / "log")!r}))
print("changed", flush=True)
sys.stdin.read()
"""


def test_a_journal_of_another_process_with_the_same_number_is_nobodys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numbers come again."""
    changed = Changed("redis", {"attach": "redis://127.0.0.1:1/3"}, {"maxmemory": "0"})
    changed.write()
    assert list(abandoned({})) == []
    changed.forget()
    with monkeypatch.context() as patch:
        patch.setattr(processes, "identity", lambda pid: f"{pid}:1")
        changed.write()
    (found,) = abandoned({})
    assert str(changed.path) in found.what
    changed.path.unlink()


@pytest.mark.parametrize("text", ['{"broken', "", '{"owner": "1:1"}'])
def test_a_file_that_is_no_journal_is_said_and_passed_over(text: str) -> None:
    """Every command goes on; the file is not obeyed, and stays."""
    journals().mkdir(parents=True)
    file = journals() / "0.journal"
    file.write_text(text)
    done = assay("list", "studies")
    _, story = done.communicate(timeout=60)
    assert done.returncode == 0
    assert str(file) in story.decode()
    file.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_root_obeys_no_journal_of_another_user(tmp_path: Path) -> None:
    """Its restart command is not run, and its settings file is not removed."""
    ran, precious = tmp_path / "ran", tmp_path / "precious"
    precious.touch()
    given = {
        "attach": "postgresql://127.0.0.1:1/x",
        "restart": ["touch", str(ran)],
        "settings_file": str(precious),
    }
    changed = Changed("postgresql", given, fixed={"shared_buffers": "1"})
    changed.write()
    os.chown(changed.path, 65534, 65534)
    done = assay("list", "studies")
    _, story = done.communicate(timeout=60)
    assert "belongs to user 65534" in story.decode()
    assert precious.exists()
    assert not ran.exists()
    changed.path.unlink()


def test_settings_that_cannot_be_put_back_are_said_and_kept(
    base: Path, data: Mapping[str, Path], tmp_path: Path
) -> None:
    """The server is gone at the end of the run: the next command tries again."""
    with theirs("redis", base / "going", data) as theirs_:
        server = TARGETS["redis"].start(
            launch(theirs_, **{"slowlog-max-len": 77}), tmp_path / "log"
        )
        os.kill(theirs_.pid, signal.SIGKILL)
        with pytest.raises(RestoreError, match="could not be put back") as caught:
            server.stop()
        (kept,) = journals().iterdir()
        assert str(kept) in caught.value.message
        (event,) = Journal(kept).events()
        assert event["dynamic"] == {"slowlog-max-len": "128"}
        kept.unlink()
        (theirs_.folder / "pid").unlink()
        subprocess.run(theirs_.restart, check=True)
