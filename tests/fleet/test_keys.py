"""Token and certificates: made, required, refused."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from assay.core.errors import FleetError, InputError
from assay.fleet.inventory import Inventory
from assay.fleet.keys import FILES, KEY, TOKEN, make_keys, require_secure, security
from fleet_kit import LOOPBACK, inventory, two

OPENSSL = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")


@pytest.fixture
def lab(tmp_path: Path) -> Inventory:
    return two(tmp_path)


@OPENSSL
def test_keys_are_made_once_and_only_their_owner_may_read_them(lab: Inventory) -> None:
    """A token, an authority whose key is gone, a certificate for the addresses of all hosts."""
    folder = make_keys(lab)
    assert sorted(file.name for file in folder.iterdir()) == sorted(FILES)
    for name in (TOKEN, KEY):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert len((folder / TOKEN).read_text()) == 64
    shown = subprocess.run(
        ["openssl", "x509", "-in", folder / "host.crt", "-noout", "-ext", "subjectAltName"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "198.18.0.1" in shown
    assert "198.18.0.2" in shown
    subprocess.run(
        ["openssl", "verify", "-CAfile", folder / "ca.crt", folder / "host.crt"],
        check=True,
        capture_output=True,
    )
    with pytest.raises(InputError, match="has keys already"):
        make_keys(lab)


@OPENSSL
def test_keys_become_variables_of_ray(lab: Inventory) -> None:
    """Token and TLS, both."""
    folder = make_keys(lab)
    found = security(lab)
    assert found["RAY_AUTH_MODE"] == "token"
    assert found["RAY_USE_TLS"] == "1"
    assert found["RAY_AUTH_TOKEN_PATH"] == str(folder / TOKEN)
    assert found["RAY_TLS_SERVER_KEY"] == str(folder / KEY)


def test_a_fleet_without_its_keys_does_not_begin(lab: Inventory) -> None:
    """The command that makes them is named."""
    with pytest.raises(FleetError, match="token cannot be read") as raised:
        security(lab)
    assert "assay fleet keys" in raised.value.next_step


@pytest.mark.parametrize("name", [TOKEN, KEY])
def test_a_secret_that_others_may_read_is_refused(lab: Inventory, name: str) -> None:
    """Whoever reads it runs programs as this user."""
    assert lab.keys is not None
    lab.keys.mkdir()
    for file in FILES:
        (lab.keys / file).write_text("x")
        (lab.keys / file).chmod(0o600)
    assert security(lab)
    (lab.keys / name).chmod(0o640)
    with pytest.raises(FleetError, match="others than its owner may use"):
        security(lab)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_secret_of_another_user_is_refused(lab: Inventory) -> None:
    """It may have been put there."""
    assert lab.keys is not None
    lab.keys.mkdir()
    for file in FILES:
        (lab.keys / file).write_text("x")
        (lab.keys / file).chmod(0o600)
    os.chown(lab.keys / TOKEN, 65533, 65533)
    with pytest.raises(FleetError, match="belongs to user 65533"):
        security(lab)


def test_a_fleet_on_loopback_draws_its_token_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other users of the machine reach it; it has no keys to make, and needs no TLS."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    lab = inventory(tmp_path, LOOPBACK)
    found = security(lab)
    token = Path(found["RAY_AUTH_TOKEN_PATH"])
    assert found.keys() == {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"}
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    first = token.read_text()
    assert len(first) == 64
    assert security(lab) == found
    assert token.read_text() == first
    with pytest.raises(InputError, match="names no folder of keys"):
        make_keys(lab)


SECURE = {"RAY_AUTH_MODE": "token", "RAY_USE_TLS": "1"}


@pytest.mark.parametrize("address", ["127.0.0.1:6379", "localhost:6379", "[::1]:6379"])
def test_a_cluster_on_loopback_may_be_used(address: str) -> None:
    """Whatever its variables."""
    require_secure(address, {})


@pytest.mark.parametrize("lacks", SECURE)
def test_a_cluster_that_others_reach_needs_token_and_tls(lacks: str) -> None:
    """Each of them alone is not enough."""
    require_secure("198.18.0.1:6379", SECURE)
    with pytest.raises(FleetError, match=f"without {lacks} "):
        require_secure("198.18.0.1:6379", {k: v for k, v in SECURE.items() if k != lacks})


@pytest.mark.parametrize("address", ["198.18.0.1", ":1", "x:", "ray://x", "a:b"])
def test_what_is_no_address_is_refused(address: str) -> None:
    """It says how one is written."""
    with pytest.raises(InputError, match="write HOST:PORT"):
        require_secure(address, SECURE)
