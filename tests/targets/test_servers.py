"""What is common to real servers: processes that end with their owner, data that are whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.cache import cache
from assay.core.errors import MissingError, RunError, StudyError
from assay.study import read
from assay.targets.servers.framework.adapter import Program
from assay.targets.servers.framework.data import copy, key
from assay.targets.servers.framework.process import Process
from assay.targets.servers.framework.target import ServerTarget
from assay.targets.servers.redis import Redis
from server_kit import launch, left_in, own_folders, redis, servers_in, wait_for

__all__ = ["own_folders"]


class Absent(Redis):
    """Redis of a machine that has none."""

    programs = (Program("redis-server-of-nobody", "redis-server"),)


STUDY = """
name = "study"
question = "?"
[target]
kind = "redis"
maxmemory = "80mb"
[workload]
kind = "redis-get"
[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"
[[factor]]
name = "threads"
change = "redis.io_threads"
[[factor]]
name = "own"
change = "setting"
setting = "{setting}"
off = 1
on = 2
[design]
kind = "one-at-a-time"
[decide]
smallest = "5%"
margin = "5%"
budget = "5min"
"""


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def script(folder: Path, text: str) -> list[str]:
    """A small program as a server."""
    path = folder / "server.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return [str(path)]


def test_a_server_and_its_children_end_with_whoever_started_them(own_folders: Path) -> None:
    """kill -9 of the owner: no process stays, and no folder."""
    folder = own_folders / "assay-x"
    folder.mkdir()
    owner = f"""
import sys
from collections.abc import Iterator
from pathlib import Path
from assay.targets.servers.framework.process import Process
folder = Path({str(folder)!r})
process = Process(["sh", "-c", "sleep 600 & echo $! > child; sleep 600"], folder, folder / "log")
print(process.pid, flush=True)
sys.stdin.read()
"""
    pipe = subprocess.PIPE
    started = subprocess.Popen([sys.executable, "-c", owner], stdin=pipe, stdout=pipe, text=True)
    pid = int(started.stdout.readline())
    child = folder / "child"
    assert wait_for(lambda: child.exists() and child.read_text().strip())
    pids = [pid, int(child.read_text())]
    assert not any(map(gone, pids))
    started.kill()
    started.communicate()
    assert wait_for(lambda: all(map(gone, pids)))
    assert wait_for(lambda: not folder.exists())


def test_a_study_that_is_killed_leaves_no_server_and_no_copy(own_folders: Path) -> None:
    """kill -9 of `assay` in the middle of a run."""
    study = own_folders / "study.toml"
    study.write_text(STUDY.format(setting="slowlog-max-len").replace("300ms", "60s"))
    command = [sys.executable, "-c", "from assay.cli import main; main()", "run", str(study)]
    log = (own_folders / "out").open("wb")
    assay = subprocess.Popen(
        [*command, "--out", str(own_folders / "bundle"), "--budget", "3h"], stdout=log, stderr=log
    )
    try:
        ready = wait_for(lambda: any(_is_redis(pid) for pid in servers_in(own_folders)))
        assert ready, (own_folders / "out").read_text()
    finally:
        assay.kill()
        assay.wait()
        log.close()
    assert wait_for(lambda: servers_in(own_folders) == [])
    assert wait_for(lambda: left_in(own_folders) == [])


def _is_redis(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        # Those that are only asked for their settings have no port.
        return b"--port\0" in words and b"--port\x000\0" not in words
    except OSError:
        return False


def test_a_server_that_ends_at_once_is_an_error_with_its_words(own_folders: Path) -> None:
    """It is not waited for."""
    process = Process(
        script(own_folders, "echo no such thing; exit 3"), own_folders, log(own_folders)
    )
    with pytest.raises(RunError, match=r"server\.sh did not start: .*code 3; no such thing"):
        process.wait_until(lambda: False, lambda said: "")
    process.stop()


def test_an_environment_that_is_not_there_yet_is_looked_at_again(
    own_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program has its name before it has its environment."""
    looks: list[Path] = []
    real = Path.read_text

    def read(path: Path, *words: str) -> str:
        if path.name == "environ":
            looks.append(path)
            if len(looks) <= 3:
                return ""
        return real(path, *words)

    monkeypatch.setattr(Path, "read_text", read)
    command, variables = ["sleep", "60"], {**os.environ, "ASSAY_SEEN": "1"}
    server = Process(command, own_folders, log(own_folders), env=variables)
    try:
        assert server.environ(["ASSAY_SEEN", "ASSAY_UNSEEN"]) == {"ASSAY_SEEN": "1"}
        assert len(looks) > 3
    finally:
        server.stop(at_once=True)


def test_a_server_whose_log_says_never_is_not_waited_for(own_folders: Path) -> None:
    """Though it runs on."""
    process = Process(script(own_folders, "echo FATAL; sleep 600"), own_folders, log(own_folders))
    with pytest.raises(RunError, match=r"did not start: FATAL"):
        process.wait_until(lambda: False, lambda said: "FATAL" if "FATAL" in said else "")
    assert process.stop()
    assert gone(process.pid)


def log(folder: Path) -> Path:
    """Where a server writes."""
    return folder / "log"


def test_a_study_of_a_server_that_is_not_here_can_be_read_and_checked() -> None:
    """Any plausible setting is accepted until somebody looks; an implausible one is not."""
    targets = {"redis": ServerTarget(Absent())}
    study = read("s", STUDY.format(setting="of-another-version"), Path("."), targets=targets)
    assert study.cases[0].settings["maxmemory"] == "80mb"
    with pytest.raises(StudyError, match="has no setting 'Of Nobody'"):
        read("s", STUDY.format(setting="Of Nobody"), Path("."), targets=targets)


def test_where_it_is_here_a_wrong_setting_is_a_mistake_in_the_study() -> None:
    """With the nearest name; what is not given is not set at all."""
    with pytest.raises(StudyError, match=r"no setting 'slowlog-max-le'.*'slowlog-max-len'"):
        read("s", STUDY.format(setting="slowlog-max-le"), Path("."))
    study = read("s", STUDY.format(setting="slowlog-max-len"), Path("."))
    assert study.cases[0].settings == {
        "maxmemory": "80mb", "connections": 16, "client_threads": 1,
    }  # fmt: skip


def full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `cp` that writes some and then finds no room."""
    fake = folder / "bin"
    fake.mkdir()
    (fake / "cp").write_text(
        '#!/bin/sh\nfor last; do :; done\necho x > "$last/half"\n'
        'echo "cp: error writing: No space left on device" >&2\nexit 1\n'
    )
    (fake / "cp").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")


def test_a_full_disk_stops_with_what_to_do_and_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While data are kept, and while they are copied for a run."""
    whole = tmp_path / "log"
    with monkeypatch.context() as patched:
        full_disk(tmp_path, patched)
        with pytest.raises(MissingError, match="No space left") as caught:
            redis().start(launch(), whole)
        assert "make room" in caught.value.next_step
    assert [p.name for p in cache("data").iterdir()] == [".turn"]
    redis().start(launch(), whole).stop()
    (tmp_path / "bin" / "cp").rename(tmp_path / "cp")
    (tmp_path / "bin").rmdir()
    with monkeypatch.context() as patched:
        full_disk(tmp_path, patched)
        with pytest.raises(MissingError, match="No space left"):
            redis().start(launch(), whole)
    assert len(list(cache("data").glob("[!.]*"))) == 1


def test_a_name_depends_on_every_part_and_on_their_order() -> None:
    """And is the same for the same parts."""
    parts = ("redis", "7", {"a": 1, "b": 2}, "ycsb")
    assert key(*parts) == key("redis", "7", {"b": 2, "a": 1}, "ycsb")
    assert len({key(*parts), key(*parts, 1), key("redis", "8", *parts[2:]), key(*parts[::-1])}) == 4


def test_a_copy_keeps_owners_rights_and_times(tmp_path: Path) -> None:
    """A server finds its data as it left them."""
    source, destination = tmp_path / "a", tmp_path / "b"
    source.mkdir(mode=0o700)
    destination.mkdir(mode=0o755)
    (source / "file").write_text("x")
    os.utime(source / "file", (1, 1))
    copy(source, destination)
    assert destination.stat().st_mode == source.stat().st_mode
    assert (destination / "file").stat().st_mtime == 1


def test_ctrl_c_does_not_reach_a_server() -> None:
    """Its owner ends it, after the load."""
    server = redis().start(launch(), Path(os.environ["TMPDIR"]) / "log")
    try:
        pid = server._started.process.pid
        assert os.getsid(pid) == pid
    finally:
        server.stop()


@pytest.fixture
def little_memory() -> Iterator[Path]:
    """The file that takes a process into a control group of 64 MiB."""
    v1 = Path("/sys/fs/cgroup/memory")
    name = f"assay-test-{os.getpid()}"
    group, limit = (
        (v1 / name, "memory.limit_in_bytes")
        if v1.is_dir()
        else (Path("/sys/fs/cgroup") / name, "memory.max")
    )
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group of memory can be made here: {error}")
    try:
        if not (group / limit).exists():
            pytest.skip("control groups here have no limit of memory")
        (group / limit).write_text(str(64 << 20))
        yield group / "cgroup.procs"
    finally:
        assert wait_for(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def test_a_server_for_which_memory_ran_out_is_said_to_have_lacked_it(
    little_memory: Path, tmp_path: Path
) -> None:
    """It is killed as a server is that somebody kills, and nobody else can say why."""
    into = ["sh", "-c", 'echo $$ >"$0"; exec "$@"', str(little_memory)]
    hungry = [sys.executable, "-c", "import time; time.sleep(1); b'x' * (256 << 20)"]
    process = Process(hungry, tmp_path, tmp_path / "log", before=into)
    try:
        with pytest.raises(RunError, match="killed by SIGKILL, as the kernel does when memory"):
            process.wait_until(lambda: False, lambda said: "")
    finally:
        process.stop()
