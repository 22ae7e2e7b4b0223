"""Addresses as people write them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core import password
from assay.core.errors import InputError
from assay.load import ServerAddress, parse_url
from assay.targets.native.embedded import environment
from assay.targets.servers.framework.attachment import run_command

NOTHING: dict[str, str] = {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "mysql://ann:s%40y@db.example:3307/shop",
            ServerAddress("mysql", "db.example", 3307, None, "ann", "s@y", "shop", "/shop"),
        ),
        (
            "mariadb://127.0.0.1/shop",
            ServerAddress("mysql", "127.0.0.1", 3306, None, "root", None, "shop", "/shop"),
        ),
        (
            "postgresql://ann@/shop?host=/run/pg",
            ServerAddress("postgresql", "", 5432, "/run/pg/.s.PGSQL.5432", "ann", None, "shop",
                   "/shop?host=/run/pg"),
        ),
        (
            "redis://:secret@[::1]:7000/3",
            ServerAddress("redis", "::1", 7000, None, "", "secret", "3", "/3"),
        ),
        (
            "http://host:8080/a/b?c=d",
            ServerAddress("http", "host", 8080, None, "", None, "", "/a/b?c=d"),
        ),
        (
            "postgresql://ann@host/shop?sslmode=require",
            ServerAddress("postgresql", "host", 5432, None, "ann", None,
                   "shop", "/shop?sslmode=require",
                   "require"),
        ),
        (
            "mysql://ann@host/shop?sslrootcert=/ca.pem",
            ServerAddress("mysql", "host", 3306, None, "ann", None,
                   "shop", "/shop?sslrootcert=/ca.pem",
                   "verify-full", "/ca.pem"),
        ),
        (
            "rediss://host/3?sslmode=verify-ca",
            ServerAddress("redis", "host", 6379, None, "", None, "3",
                   "/3?sslmode=verify-ca", "verify-ca"),
        ),
        (
            "https://host/a?sslmode=b",
            ServerAddress("http", "host", 443, None, "", None, "", "/a?sslmode=b", "verify-full"),
        ),
        (
            "https://host/a?b=c#sslmode=require&sslrootcert=/ca.pem",
            ServerAddress("http", "host", 443, None, "", None, "", "/a?b=c", "require", "/ca.pem"),
        ),
    ],
)  # fmt: skip
def test_each_part_of_a_url_is_found(text: str, expected: ServerAddress):
    """Names, ports, sockets, users, passwords, databases and paths."""
    assert parse_url(text, NOTHING) == expected


def test_a_password_may_come_from_the_environment_and_is_never_shown():
    """The URL's own goes first, and neither is in any text about the target."""
    environment = {"ASSAY_PASSWORD": "hidden"}
    assert parse_url("mysql://ann@host/shop", environment).password == "hidden"
    own = parse_url("mysql://ann:word@host/shop", environment)
    assert own.password == "word"
    assert "word" not in repr(own)
    assert "word" not in str(own)


def test_the_password_of_the_environment_is_inherited_by_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """By no server and no command of a user's, once it is known; it still opens every address."""
    monkeypatch.setattr(password, "_kept", {})
    monkeypatch.setenv(password.VARIABLE, "hidden")
    password.take()
    assert parse_url("mysql://ann@host/shop").password == "hidden"
    assert parse_url("redis://host").password == "hidden"
    assert password.VARIABLE not in environment({})
    assert password.VARIABLE not in os.environ
    run_command(("sh", "-c", f"env >{tmp_path}/env"), "reset")
    assert "hidden" not in (tmp_path / "env").read_text()


@pytest.mark.parametrize("command", [["list", "targets"], ["serve", "--help"]])
def test_every_command_takes_the_password_out_of_its_environment(command: list[str]):
    """Before it starts anything."""
    program = (
        "import os, sys; sys.argv = ['assay', *sys.argv[1:]]\n"
        "from assay.cli import main\n"
        "try: main()\n"
        "finally: sys.stderr.write(f'kept {os.environ.get(\"ASSAY_PASSWORD\")}')\n"
    )
    given = {**os.environ, "ASSAY_PASSWORD": "hidden"}
    done = subprocess.run(
        [sys.executable, "-c", program, *command], env=given, capture_output=True, text=True
    )
    assert done.stderr.endswith("kept None")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("oracle://ann:word@host/shop", "'oracle' is not one of"),
        ("mysql:///shop", "neither a host nor a socket"),
        ("mysql://host:port/shop", "ort"),
        ("mysql://host/shop?sokcet=/x", "'sokcet' is not known"),
        ("127.0.0.1:3306", "is not one of"),
        ("mysql://ann:word@host/?sslmode=on",
         "the sslmode 'on' is not one of disable, prefer, require, verify-ca, verify-full"),
        ("rediss://:word@host?sslmode=prefer", "'prefer' is not one of require, verify-ca"),
        ("https://host/#ca=/x", "'ca' is not known"),
        ("redis://host/?sslmode=require", "'sslmode' is not known"),
        ("mysql://ann:word#s@host/shop", "write %23 for #"),
        ("mysql://ann:word/s@host/shop", "write %23 for #"),
        ("mysql://ann:12/word@host/shop", "write %23 for #"),
        ("mysql://ann:12?word@host/shop", "write %23 for #"),
        ("mysql://ann:12#word@host/shop", "write %23 for #"),
        ("mysql://ann:word\u2100@host/shop", "write %23 for #"),
        ("http://ann:word#s@host/shop", "write %23 for #"),
    ],
)  # fmt: skip
def test_a_wrong_url_is_refused_with_the_reason_and_without_its_password(text: str, why: str):
    """What, where, what next."""
    with pytest.raises(InputError) as refused:
        parse_url(text, NOTHING)
    assert why in refused.value.message
    assert "word" not in refused.value.message
    assert "mysql://" in refused.value.next_step
