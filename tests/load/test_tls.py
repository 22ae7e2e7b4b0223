"""Load over TLS: each server as it asks for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import servers

from assay.core.errors import MissingError
from assay.load import Load, parse_url, prepare, run_load

ASSAY = Path(sys.executable).parent / "assay"


def load(url: str, workload: str) -> Load:
    """A short load."""
    return Load(parse_url(url), workload, connections=4, time_s=1.5, warmup_s=0.1)


@pytest.mark.parametrize(
    ("name", "workload"),
    [
        ("mariadb", "oltp-point-select"),
        ("postgresql", "oltp-point-select"),
        ("redis", "redis-set"),
        ("nginx", "http-get"),
    ],
)
def test_a_load_over_tls_works_and_says_so(name: str, workload: str):
    """An authority that is not known, or no TLS, is an error that says what helps."""
    with getattr(servers, name)(tls=True) as server:
        asked = load(server.url, workload)
        if workload.startswith("oltp"):
            prepare(asked)
        summary = run_load(asked)
        assert summary.operations > 0
        assert summary.errors == 0
        assert summary.tls is not None
        # nginx of Debian 12 has TLS 1.2 where nothing else is configured.
        assert summary.tls.startswith(("TLSv1.3 TLS_", "TLSv1.2 TLS_"))
        plain, _, _ = server.url.replace("#", "?").partition("?")
        if plain.startswith(("mysql", "postgresql")):
            with pytest.raises(MissingError) as refused:
                run_load(load(plain, workload))
            assert "sslmode=require" in refused.value.next_step
            plain += "?sslmode=verify-full"
        with pytest.raises(MissingError, match=r"127\.0\.0\.1 is not trusted") as refused:
            run_load(load(plain, workload))
        assert "sslrootcert=FILE" in refused.value.next_step


def test_the_command_line_tells_that_tls_was_spoken():
    """For people, and as JSON, where it is null without."""
    command = [str(ASSAY), "load", "redis-get", "--time", "300ms", "--warmup", "100ms", "--to"]
    with servers.redis(tls=True) as server:
        told = subprocess.run([*command, server.url], capture_output=True, text=True)
        assert " over TLSv1.3 TLS_" in told.stdout, told.stderr
    with servers.redis() as server:
        told = subprocess.run([*command, server.url, "--json"], capture_output=True, text=True)
        assert json.loads(told.stdout)["tls"] is None
