"""Debian packages of both architectures, fetched by name and unpacked, kept in the user's cache.

apt works with a state and a cache of our own: the host's lists and settings are read, never
written, and no foreign architecture is added to the host.
"""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from pathlib import Path

from assay.core.cache import cache, keep


def package(name: str, arch: str) -> Path:
    """The folder with the contents of a package for `amd64` or `arm64`."""
    return keep(cache("packages") / f"{name}_{arch}", lambda folder: _fetch(name, arch, folder))


def program(name: str, arch: str, path: str) -> Path:
    """One file of a package; `path` may have a pattern."""
    found = [p for p in package(name, arch).glob(path) if p.is_file() and not p.is_symlink()]
    assert len(found) == 1, f"{name}:{arch} has {len(found)} files {path}"
    return found[0]


def _fetch(name: str, arch: str, folder: Path) -> None:
    apt = _apt()
    with tempfile.TemporaryDirectory(prefix="assay-deb-") as made:
        _run(["apt-get", "-qq", "download", f"{name}:{arch}"], Path(made), apt)
        (deb,) = Path(made).glob("*.deb")
        _run(["dpkg-deb", "-x", str(deb), str(folder)], folder, apt)


@functools.cache
def _apt() -> Path:
    """A configuration that writes only in the cache, its lists brought up to date."""
    place = cache("apt")
    for part in ("state/lists/partial", "cache/archives/partial"):
        (place / part).mkdir(parents=True, exist_ok=True)
    status = place / "status"
    status.touch()
    configuration = place / "apt.conf"
    configuration.write_text(
        f'Dir::State "{place}/state";\n'
        f'Dir::State::status "{status}";\n'
        f'Dir::Cache "{place}/cache";\n'
        'APT::Architectures {"amd64"; "arm64";};\n'
        'APT::Sandbox::User "";\n'
        'Acquire::Languages "none";\n'
        "#clear APT::Update::Pre-Invoke;\n"
        "#clear APT::Update::Post-Invoke;\n"
        "#clear APT::Update::Post-Invoke-Success;\n"
    )
    _run(["apt-get", "-qq", "update"], place, configuration)
    return configuration


def _run(command: list[str], folder: Path, apt: Path) -> None:
    env = {**os.environ, "APT_CONFIG": str(apt), "LC_ALL": "C"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr[-2000:]}"
