"""Who vouches for a bundle: a signature that ssh-keygen makes and checks, over what decides it."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path

from assay.core.errors import AlteredError, InputError, MissingError
from assay.record import files
from assay.record.bundle import Bundle

NAME = "signature"
"""The signature's file in the bundle."""
NAMESPACE = "assay-bundle"
"""What the key signs for: a signature made for something else does not count."""
SIGNED = ("study.toml", "plan.json", "host.json", "runs.jsonl", "verdicts.json")
SECONDS_MAX = 120
"""For ssh-keygen, which may ask for a passphrase."""
KINDS = ("ssh-", "ecdsa-", "sk-")
"""How the kinds of public keys begin."""


def require_key(key: Path) -> None:
    """InputError if the key cannot sign, MissingError without ssh-keygen; before a study starts."""
    _signature(key, b"")


def sign(bundle: Bundle, key: Path) -> Path:
    """Sign what the bundle holds now; where the signature is. Errors are those of `require_key`."""
    path = bundle.folder / NAME
    files.replace(path, _signature(key, _statement(bundle)))
    return path


def is_signed(bundle: Bundle) -> bool:
    """Whether there is a signature; by whom is another question."""
    return (bundle.folder / NAME).exists()


def require_signer(bundle: Bundle, public: Path) -> None:
    """AlteredError unless a key of the file `public` signed what the bundle holds now.

    `public` has a public key of OpenSSH on each line. InputError if it has none.
    """
    keys = _public_keys(public)
    if not is_signed(bundle):
        raise AlteredError(
            f"{bundle.folder} has no signature",
            next_step="`assay run --sign KEY` signs a bundle as it is made",
        )
    with tempfile.TemporaryDirectory(prefix="assay-signer-") as folder:
        allowed, signature = Path(folder) / "allowed", Path(folder) / NAME
        allowed.write_text("".join(f"assay {key}\n" for key in keys))
        signature.write_bytes(files.read(bundle.folder / NAME))
        words = ["verify", "-f", str(allowed), "-I", "assay", "-s", str(signature)]
        done = _ssh_keygen(words, _statement(bundle))
    if done.returncode:
        raise AlteredError(
            f"the signature of {bundle.folder} is not of this bundle by a key of {public}",
            next_step="ask who measured for the public key, and for the bundle as it was signed",
        )


def _statement(bundle: Bundle) -> bytes:
    """What is signed: the digests of the files that decide a bundle."""
    held = {name: files.read(bundle.folder / name) for name in SIGNED}
    lines = [f"sha256 {hashlib.sha256(data).hexdigest()} {name}" for name, data in held.items()]
    return "\n".join(lines).encode() + b"\n"


def _signature(key: Path, data: bytes) -> bytes:
    if not key.is_file():
        raise InputError(
            f"{key} is no private key: there is no such file",
            next_step="`ssh-keygen -t ed25519 -f KEY` makes one",
        )
    done = _ssh_keygen(["sign", "-f", str(key.absolute())], data)
    if done.returncode:
        why = " ".join(done.stderr.decode(errors="replace").split())
        raise InputError(
            f"{key} cannot sign: {why}", next_step="give a private key of OpenSSH that you may use"
        )
    return done.stdout


def _public_keys(public: Path) -> list[str]:
    """Kind and key of each line; comments and options stay out."""
    try:
        lines = public.read_text("utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"{public} is no file of public keys: {error}", next_step="give the file KEY.pub"
        ) from error
    fields = [line.split() for line in lines]
    keys = [" ".join(f[:2]) for f in fields if len(f) > 1 and f[0].startswith(KINDS)]
    if not keys:
        raise InputError(
            f"{public} has no public key of OpenSSH", next_step="give the file KEY.pub"
        )
    return keys


def _ssh_keygen(words: list[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    action, *options = words
    command = ["ssh-keygen", "-Y", action, "-n", NAMESPACE, *options]
    try:
        return subprocess.run(
            command, input=given, capture_output=True, timeout=SECONDS_MAX, check=False
        )
    except FileNotFoundError as error:
        raise MissingError(
            "there is no ssh-keygen, which signs bundles",
            next_step="install Debian's openssh-client",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"ssh-keygen did not end within {SECONDS_MAX} s",
            next_step="use a key without a passphrase, or one that ssh-agent holds",
        ) from error
