"""Servers of the tests' own that Assay finds running: started, restarted and ended by a script."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.linux.own_user import give, own_user
from assay.load import ask
from assay.targets.servers.framework.data import copy
from assay.targets.servers.framework.process import as_user, free_port
from assay.targets.servers.mariadb import MARIADB
from assay.targets.servers.postgresql import POSTGRESQL
from assay.targets.servers.redis import REDIS
from sql_kit import make

KINDS = ("redis", "mariadb", "postgresql")
ADAPTERS = {"redis": REDIS, "mariadb": MARIADB, "postgresql": POSTGRESQL}
SCRIPT = """#!/bin/sh
# Ends the server if it runs, and starts it.
if [ -f pid ]; then
    kill -s {signal} "$(cat pid)"
    while [ -e "/proc/$(cat pid)/exe" ]; do sleep 0.05; done
fi
[ "$1" = end ] && exit 0
setsid {command} >>log 2>&1 </dev/null &
echo $! >pid
"""


@dataclass(frozen=True)
class Theirs:
    """A server that runs."""

    kind: str
    folder: Path
    url: str

    @property
    def restart(self) -> list[str]:
        """The command that a user would give."""
        return ["sh", "-c", f"cd {shlex.quote(str(self.folder))} && ./server"]

    @property
    def settings_file(self) -> Path:
        """A file that it reads at its start."""
        return self.folder / "include" / "assay.cnf"

    @property
    def pid(self) -> int:
        return int((self.folder / "pid").read_text())

    def value(self, name: str) -> str:
        """A setting as it reports it."""
        if self.kind == "redis":
            cells = [cell for row in ask(self.url, f"CONFIG GET {name}")[0] for cell in row]
            return cells[1] or ""
        if self.kind == "mariadb":
            return ask(self.url, f"SELECT @@GLOBAL.{name}")[0][0][0] or ""
        return ask(self.url, f"SHOW {name}")[0][0][0] or ""


def data_of(folder: Path) -> Mapping[str, Path]:
    """Empty data of the servers of SQL, made once."""
    for kind in KINDS[1:]:
        make(ADAPTERS[kind], folder / kind, folder / "log")
    return {kind: folder / kind for kind in KINDS[1:]}


@contextlib.contextmanager
def theirs(
    kind: str, folder: Path, data: Mapping[str, Path], options: tuple[str, ...] = ()
) -> Iterator[Theirs]:
    """A server that somebody runs in a folder."""
    port = free_port()
    folder.mkdir()
    user = own_user()
    for made in (folder, folder / "include", folder / "data"):
        made.mkdir(exist_ok=True)
    if kind != "redis":
        copy(data[kind], folder / "data")
    words = [*_command(kind, folder, port), *options]
    give(folder, user)
    command = shlex.join(as_user(words, user))
    end = "INT" if kind == "postgresql" else "TERM"
    (folder / "server").write_text(SCRIPT.format(signal=end, command=command))
    (folder / "server").chmod(0o755)
    url = {
        "redis": f"redis://127.0.0.1:{port}/3",
        "mariadb": f"mariadb://load@127.0.0.1:{port}",
        "postgresql": f"postgresql://assay@127.0.0.1:{port}/postgres",
    }[kind]
    server = Theirs(kind, folder, url)
    subprocess.run(server.restart, check=True)
    try:
        _wait(server)
        yield server
    finally:
        subprocess.run([*server.restart[:2], f"{server.restart[2]} end"], check=True)


def _command(kind: str, folder: Path, port: int) -> list[str]:
    binary = str(ADAPTERS[kind].programs[0].find())
    if kind == "redis":
        text = (
            f'port {port}\nbind 127.0.0.1\nsave ""\ndir {folder}/data\ninclude {folder}/include/*\n'
        )
        (folder / "redis.conf").write_text(text)
        return [binary, str(folder / "redis.conf")]
    if kind == "mariadb":
        text = f"[mariadbd]\ndatadir={folder}/data\nport={port}\nbind_address=127.0.0.1\n"
        text += f"socket={folder}/socket\npid_file={folder}/mariadbd.pid\ntmpdir={folder}\n"
        text += f"skip_name_resolve=ON\ninit_file={folder}/init.sql\n"
        (folder / "my.cnf").write_text(f"{text}!includedir {folder}/include/\n")
        who = "`load`@`127.0.0.1`"
        (folder / "init.sql").write_text(
            f"CREATE OR REPLACE USER {who};\nGRANT ALL ON *.* TO {who};\n"
        )
        return [binary, f"--defaults-file={folder}/my.cnf"]
    (folder / "data" / "pg_hba.conf").write_text("host all all 127.0.0.1/32 trust\n")
    return [binary, "-D", f"{folder}/data", "-k", str(folder), "-p", str(port), "-h", "127.0.0.1"]


def _wait(server: Theirs) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            ask(server.url, "PING" if server.kind == "redis" else "SELECT 1")
            return
        except Exception:
            if time.monotonic() > end or not os.path.exists(f"/proc/{server.pid}/exe"):
                raise RuntimeError((server.folder / "log").read_text()) from None
            time.sleep(0.05)
