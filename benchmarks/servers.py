"""Private servers on loopback, for benchmarks and tests: own port, own folder, ended by pid.

Nothing here is tuned: both sides of a comparison meet the same server. Servers that refuse to
run as root run as `nobody`.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 60
PACKAGES = {
    "mariadbd": "mariadb-server-core", "mariadb": "mariadb-client-core",
    "mariadb-install-db": "mariadb-server-core",
    "initdb": "postgresql", "postgres": "postgresql", "pgbench": "postgresql",
    "pg_isready": "postgresql", "psql": "postgresql", "redis-server": "redis-server",
    "nginx": "nginx-light", "openssl": "openssl",
    "redis-benchmark": "redis-tools", "redis-cli": "redis-tools",
    "sysbench": "sysbench", "wrk": "wrk",
}  # fmt: skip
"""Debian packages of programs."""


@dataclass(frozen=True)
class Server:
    """A running server; `url` is for `assay load`."""

    pid: int
    port: int
    folder: Path
    url: str


def find(program: str) -> str:
    """Where a program is; an error names the package that has it."""
    folders = [os.environ.get("PATH", ""), "/usr/sbin", "/usr/lib/postgresql/*/bin"]
    paths = [*folders[:2], *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")))]
    found = shutil.which(program, path=":".join(paths))
    if found is None:
        raise FileNotFoundError(f"{program} is not here; next: apt-get install {PACKAGES[program]}")
    return found


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def owner() -> str | None:
    """Whom a server runs as: `nobody` for root, otherwise ourselves."""
    return "nobody" if os.geteuid() == 0 else None


@contextlib.contextmanager
def _folder(name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=f"assay-{name}-") as made:
        folder = Path(made)
        if (user := owner()) is not None:
            entry = pwd.getpwnam(user)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
        yield folder


@contextlib.contextmanager
def _running(command: list[str], folder: Path, port: int, url: str) -> Iterator[Server]:
    log = (folder / "server.log").open("wb")
    user = owner()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=user,
        group=None if user is None else pwd.getpwnam(user).pw_gid, cwd=folder,
        env=_environment(folder),
    )  # fmt: skip
    try:
        _wait(process, port, folder)
        yield Server(process.pid, port, folder, url)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def _environment(folder: Path) -> dict[str, str]:
    # Servers that share a folder for temporary tables take them from each other.
    return {**os.environ, "TMPDIR": str(folder)}


def _wait(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    log = (folder / "server.log").read_text(errors="replace")[-2000:]
    raise RuntimeError(f"{process.args[0]} did not come up:\n{log}")


def _made(command: list[str], folder: Path) -> None:
    user = owner()
    group = None if user is None else pwd.getpwnam(user).pw_gid
    done = subprocess.run(
        command, user=user, group=group, cwd=folder, capture_output=True, text=True,
        env=_environment(folder),
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def certificates(folder: Path) -> tuple[Path, Path, Path]:
    """Files of a new authority, and of a certificate for 127.0.0.1 and its key."""
    authority, certificate, key = (folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
    new = [find("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
           "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]  # fmt: skip
    _made([*new, "-keyout", "ca.key", "-out", str(authority), "-subj", "/CN=authority"], folder)
    _made([*new, "-keyout", str(key), "-out", str(certificate), "-subj", "/CN=server",
           "-CA", str(authority), "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1",
           "-addext", "basicConstraints=critical,CA:FALSE"], folder)  # fmt: skip
    return authority, certificate, key


@contextlib.contextmanager
def redis(tls: bool = False) -> Iterator[Server]:
    """Redis without persistence; over TLS alone, if asked for."""
    port = free_port()
    with _folder("redis") as folder:
        options, url = ["--port", str(port)], f"redis://127.0.0.1:{port}"
        if tls:
            authority, certificate, key = certificates(folder)
            options = ["--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no",
                       "--tls-cert-file", str(certificate), "--tls-key-file", str(key)]  # fmt: skip
            url = f"rediss://127.0.0.1:{port}?sslrootcert={authority}"
        command = [find("redis-server"), *options, "--bind", "127.0.0.1", "--save", "",
                   "--appendonly", "no", "--dir", str(folder)]  # fmt: skip
        with _running(command, folder, port, url) as server:
            yield server


NGINX = """
daemon off; master_process off; pid nginx.pid; error_log stderr warn;
events {{ worker_connections 20000; }}
http {{
  access_log off; keepalive_requests 100000000; default_type application/octet-stream;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi; open_file_cache max=10;
  server {{ listen 127.0.0.1:{port} {options} reuseport; root .; {files} }}
}}
"""


@contextlib.contextmanager
def nginx(file_bytes: int = 512, tls: bool = False) -> Iterator[Server]:
    """nginx with one file of a size; over TLS, if asked for."""
    port = free_port()
    with _folder("nginx") as folder:
        (folder / "file").write_bytes(b"x" * file_bytes)
        options, files, url = "", "", f"http://127.0.0.1:{port}/file"
        if tls:
            authority, certificate, key = certificates(folder)
            options, files = "ssl", f"ssl_certificate {certificate}; ssl_certificate_key {key};"
            url = f"https://127.0.0.1:{port}/file#sslrootcert={authority}"
        text = NGINX.format(port=port, options=options, files=files)
        (folder / "nginx.conf").write_text(text)
        command = [find("nginx"), "-p", str(folder), "-c", "nginx.conf", "-e", "stderr"]
        with _running(command, folder, port, url) as server:
            yield server


@contextlib.contextmanager
def mariadb(buffer_pool: str = "256M", tls: bool = False) -> Iterator[Server]:
    """MariaDB with a user `load` who has no password and may do everything with `load`; over TLS
    alone, if asked for."""
    port = free_port()
    with _folder("mariadb") as folder:
        data = folder / "data"
        _made([find("mariadb-install-db"), "--no-defaults", f"--datadir={data}",
               "--auth-root-authentication-method=normal", "--skip-test-db"], folder)  # fmt: skip
        init = folder / "init.sql"
        init.write_text(
            "CREATE DATABASE IF NOT EXISTS `load`;\nCREATE USER IF NOT EXISTS `load`@`%`;\n"
            "GRANT ALL ON `load`.* TO `load`@`%`;\nGRANT PROCESS ON *.* TO `load`@`%`;\n"
        )
        command = [find("mariadbd"), "--no-defaults", f"--datadir={data}", f"--port={port}",
                   "--bind-address=127.0.0.1", f"--socket={folder}/socket", f"--init-file={init}",
                   f"--innodb-buffer-pool-size={buffer_pool}", "--max-connections=2000",
                   "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0"]  # fmt: skip
        url = f"mysql://load@127.0.0.1:{port}/load"
        if tls:
            authority, certificate, key = certificates(folder)
            command += [f"--ssl-cert={certificate}", f"--ssl-key={key}",
                        "--require-secure-transport=ON"]  # fmt: skip
            url += f"?sslrootcert={authority}"
        with _running(command, folder, port, url) as server:
            _wait_for_user(server)
            yield server


def _wait_for_user(server: Server) -> None:
    """The init file is run before connections are taken, so an answer is enough."""
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as connection:
        connection.recv(1)


@contextlib.contextmanager
def postgresql(tls: bool = False) -> Iterator[Server]:
    """PostgreSQL with a user `load` who is trusted and owns a database `load`; over TLS alone, if
    asked for."""
    port = free_port()
    with _folder("postgresql") as folder:
        data = folder / "data"
        _made([find("initdb"), "-D", str(data), "-U", "load", "-A", "trust", "--no-sync"], folder)
        command = [find("postgres"), "-D", str(data), "-p", str(port), "-k", str(folder),
                   "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=2000",
                   "-c", "synchronous_commit=off", "-c", "shared_buffers=256MB"]  # fmt: skip
        url = f"postgresql://load@127.0.0.1:{port}/load"
        if tls:
            authority, certificate, key = certificates(folder)
            command += ["-c", "ssl=on", "-c", f"ssl_cert_file={certificate}",
                        "-c", f"ssl_key_file={key}"]  # fmt: skip
            lines = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n"
            (data / "pg_hba.conf").write_text(lines)
            url += f"?sslrootcert={authority}"
        with _running(command, folder, port, url) as server:
            _ready(server)
            _made([find("psql"), "-h", str(folder), "-p", str(port), "-U", "load", "-d", "postgres",
                   "-c", "CREATE DATABASE load"], folder)  # fmt: skip
            yield server


def _ready(server: Server) -> None:
    command = [find("pg_isready"), "-h", "127.0.0.1", "-p", str(server.port), "-q"]
    end = time.monotonic() + PATIENCE_S
    while subprocess.run(command).returncode:
        if time.monotonic() > end:
            raise RuntimeError("PostgreSQL did not come up")
        time.sleep(0.05)
