"""A signed bundle says who vouches for it; no other does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from assay.core.errors import AlteredError, InputError, MissingError
from assay.record import Bundle
from assay.record.signature import SIGNED, require_key, require_signer, sign
from cli_kit import assay

pytestmark = pytest.mark.server


def made(folder: Path, name: str) -> Path:
    """A private key without a passphrase; its public key is beside it."""
    path = folder / name
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "a comment", "-f", str(path)]
    subprocess.run(words, check=True, timeout=60)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return made(tmp_path, "key")


def test_a_signed_bundle_is_verified_with_the_public_key(finished: Bundle, key: Path) -> None:
    """And one of another's is not."""
    sign(finished, key)
    public = key.with_suffix(".pub")
    done = assay("verify", finished.folder, "--signer", public)
    assert done.returncode == 0
    assert f"signed by a key of {public}" in " ".join(done.stdout.split())
    assert "no proof" not in done.stdout
    told = json.loads(assay("verify", finished.folder, "--signer", public, "--json").stdout)
    assert told["signed"] is True
    other = made(key.parent, "other").with_suffix(".pub")
    done = assay("verify", finished.folder, "--signer", other)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is not of this bundle by a key of" in " ".join(done.stderr.split())


def test_any_key_of_a_file_may_have_signed(finished: Bundle, key: Path) -> None:
    """Options and comments of its lines mean nothing."""
    sign(finished, key)
    keys = key.parent / "keys"
    other = made(key.parent, "other").with_suffix(".pub").read_text()
    keys.write_text(f"# ours\n\n{other}{key.with_suffix('.pub').read_text()}")
    require_signer(finished, keys)


@pytest.mark.parametrize("name", SIGNED)
def test_whatever_decides_a_bundle_is_signed(finished: Bundle, key: Path, name: str) -> None:
    """A forger who makes everything anew has no key."""
    sign(finished, key)
    path = finished.folder / name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(AlteredError, match="not of this bundle"):
        require_signer(finished, key.with_suffix(".pub"))


def test_a_signature_for_something_else_does_not_count(
    finished: Bundle, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same key, the same bytes, but for a commit."""
    monkeypatch.setattr("assay.record.signature.NAMESPACE", "git")
    sign(finished, key)
    require_signer(finished, key.with_suffix(".pub"))
    monkeypatch.undo()
    with pytest.raises(AlteredError, match="not of this bundle"):
        require_signer(finished, key.with_suffix(".pub"))


def test_a_bundle_without_a_signature_has_no_signer(finished: Bundle, key: Path) -> None:
    """Which is an answer, and exit 1."""
    with pytest.raises(AlteredError, match="has no signature"):
        require_signer(finished, key.with_suffix(".pub"))


def test_a_signature_that_is_a_link_is_not_followed(finished: Bundle, key: Path) -> None:
    """Nor read."""
    path = sign(finished, key)
    elsewhere = path.replace(key.parent / "elsewhere")
    path.symlink_to(elsewhere)
    with pytest.raises(AlteredError, match="link"):
        require_signer(finished, key.with_suffix(".pub"))


def test_a_key_that_cannot_sign_is_refused_before_a_study_starts(
    tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what is wrong with it."""
    require_key(key)
    done = assay("run", "quickstart", "--sign", tmp_path / "none", "--out", tmp_path / "bundle")
    assert done.returncode == 2
    assert "there is no such file" in " ".join(done.stderr.split())
    assert not (tmp_path / "bundle").exists()
    none = tmp_path / "garbage"
    none.write_text("no key")
    none.chmod(0o600)
    with pytest.raises(InputError, match="cannot sign"):
        require_key(none)
    with pytest.raises(InputError, match="no public key"):
        require_signer(Bundle(tmp_path), key)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingError, match="no ssh-keygen"):
        require_key(key)
