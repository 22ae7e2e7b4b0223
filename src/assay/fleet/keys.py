"""Who may use a fleet: a token and certificates in one folder, and what is refused without them.

    token     32 random bytes in hexadecimal: Ray's token
    ca.crt    the authority, made for this fleet; its key is thrown away
    host.crt  one certificate for the addresses of all hosts
    host.key  its key

Whoever reaches Ray runs programs as the user who started it. So nothing begins off loopback
without all four, nor with a secret that others may read.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from assay.core.errors import FleetError, InputError
from assay.core.paths import user_state
from assay.fleet.inventory import Inventory

TOKEN, AUTHORITY, CERTIFICATE, KEY = "token", "ca.crt", "host.crt", "host.key"
FILES = (TOKEN, AUTHORITY, CERTIFICATE, KEY)
SECRET = (TOKEN, KEY)
DAYS = 365
PATIENCE_S = 60.0


def security(inventory: Inventory) -> dict[str, str]:
    """Ray's variables of token and certificates. A fleet on loopback without keys has a token too,
    which is drawn here: other users of the machine reach it.

    FleetError if the folder lacks a file, or others may read a secret in it.
    """
    if inventory.keys is None:
        if not inventory.is_loopback:  # reading the inventory has refused it already
            raise FleetError("a fleet that others can reach needs keys", next_step="docs/fleet.md")
        return _token(_own_token(inventory))
    folder = inventory.keys.resolve()
    for name in FILES:
        _require(folder / name, name in SECRET, inventory.path)
    return {
        **_token(folder / TOKEN),
        "RAY_USE_TLS": "1",
        "RAY_TLS_CA_CERT": str(folder / AUTHORITY),
        "RAY_TLS_SERVER_CERT": str(folder / CERTIFICATE),
        "RAY_TLS_SERVER_KEY": str(folder / KEY),
    }


def _token(file: Path) -> dict[str, str]:
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(file)}


def _own_token(inventory: Inventory) -> Path:
    """The token of a fleet that nobody else joins."""
    file = user_state() / "fleet" / f"{inventory.name}.token"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        _write_secret(file, secrets.token_hex(32))
    _require(file, True, inventory.path)
    return file


def _require(file: Path, is_secret: bool, inventory: str) -> None:
    try:
        found = file.stat()
    except OSError as error:
        raise FleetError(
            f"{file} cannot be read: {error.strerror}",
            next_step=f"`assay fleet keys {inventory}` on the head, then copy the folder here",
        ) from error
    if is_secret and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise FleetError(
            f"others than its owner may use {file}", next_step=f"chmod 600 {file}; draw new keys"
        )
    if is_secret and found.st_uid not in (os.geteuid(), 0):
        raise FleetError(f"{file} belongs to user {found.st_uid}", next_step="copy it as yourself")


def require_secure(address: str, environment: Mapping[str, str]) -> None:
    """FleetError if a cluster of somebody's at HOST:PORT could be used by whoever reaches it;
    InputError if that is no address."""
    host, colon, port = address.rpartition(":")
    try:
        is_loopback = host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        is_loopback = False
    if not (colon and host and port.isdigit()):
        raise InputError(
            f"--address {address}: write HOST:PORT", next_step="such as 192.0.2.1:6379"
        )
    lacking = [
        name
        for name, value in (("RAY_AUTH_MODE", "token"), ("RAY_USE_TLS", "1"))
        if environment.get(name) != value
    ]
    if lacking and not is_loopback:
        raise FleetError(
            f"{address} can be reached by others: without {' and '.join(lacking)} anybody "
            "who does may run programs there",
            next_step="start Ray with token and TLS, and set RAY_AUTH_MODE=token, RAY_USE_TLS=1 "
            "and their files here; docs/fleet.md",
        )


def make_keys(inventory: Inventory) -> Path:
    """Draw the token and make the certificates; the folder. InputError where there are some
    already or no folder is named; FleetError without openssl."""
    folder = inventory.keys
    if folder is None:
        raise InputError(
            f"{inventory.path} names no folder of keys", next_step='add keys = "keys" to it'
        )
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise InputError(
            f"{folder} has keys already: {', '.join(there)}",
            next_step="remove them if no host uses them any more",
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _certificates(folder, [host.address for host in inventory.hosts.values()], inventory.name)
    _write_secret(folder / TOKEN, secrets.token_hex(32))
    return folder


def _certificates(folder: Path, addresses: Sequence[str], name: str) -> None:
    names = ",".join(
        ["DNS:localhost", *(f"IP:{a}" for a in dict.fromkeys(["127.0.0.1", *addresses]))]
    )
    with tempfile.TemporaryDirectory(prefix="assay-keys-") as made:
        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        ca_key, asked, more = f"{made}/ca.key", f"{made}/host.csr", f"{made}/more"
        Path(more).write_text(
            f"subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\n"
            "basicConstraints=CA:FALSE\n"
        )
        days, authority = ["-days", str(DAYS)], str(folder / AUTHORITY)
        subject, issuer = (["-subj", f"/CN=assay {what} {name}"] for what in ("host", "fleet"))
        _openssl(["req", "-x509", *new, "-keyout", ca_key, "-out", authority, *days, *issuer])
        _openssl(["req", *new, "-keyout", f"{made}/host.key", "-out", asked, *subject])
        _openssl(
            [
                *("x509", "-req", "-in", asked, "-CA", authority, "-CAkey", ca_key, *days),
                *("-CAcreateserial", "-CAserial", f"{made}/serial", "-extfile", more),
                *("-out", str(folder / CERTIFICATE)),
            ]
        )
        _write_secret(folder / KEY, Path(f"{made}/host.key").read_text())


def _write_secret(file: Path, text: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w") as opened:
        opened.write(text)


def _openssl(words: Sequence[str]) -> None:
    program = shutil.which("openssl")
    if program is None:
        raise FleetError("openssl is not here", next_step="sudo apt-get install openssl")
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, timeout=PATIENCE_S, errors="replace"
    )
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2]
        raise FleetError(f"openssl {words[0]} failed: {said}", next_step="its version says more")
