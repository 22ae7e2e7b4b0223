"""Sources that come as a crate of Rust: fetched by cargo, by name, and checked by a known digest.

A throw-away project that depends on the one version is all that cargo is given. Whatever
cargo fetches has the digest that the recipe names, or is refused; it is checked each time
the crate is used. Nothing of it is compiled by cargo.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from dataclasses import asdict
from pathlib import Path

from assay.builds import tools
from assay.builds.source import ABOUT, Source, fetched
from assay.core.cache import cache, keep
from assay.core.digest import file_digest
from assay.core.errors import MissingError

STEP = "check the network and cargo's configuration, or give the crate's file"


def crate(name: str, version: str, sha256: str) -> Source:
    """The file of a crate, fetched once.

    MissingError if there is no cargo or it cannot fetch; InputError if what is kept was altered.
    """
    place = cache("sources") / f"{name}-{version}"
    folder = keep(place, lambda making: _fetch(name, version, sha256, making))
    return fetched(folder)


def _fetch(name: str, version: str, sha256: str, folder: Path) -> None:
    project = folder / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "lib.rs").touch()
    (project / "Cargo.toml").write_text(
        '[package]\nname = "fetched"\nversion = "0.0.0"\nedition = "2021"\n\n'
        f'[dependencies]\n{name} = {{ version = "={version}", default-features = false }}\n\n'
        "[workspace]\n"
    )
    what = f"fetching the crate {name}"
    tools.run(("cargo", "fetch", "--quiet"), project, what=what, next_step=STEP)
    lock = tomllib.loads((project / "Cargo.lock").read_text())
    entry = next(p for p in lock["package"] if p["name"] == name)
    file = f"{name}-{entry['version']}.crate"
    found = sorted(_home().glob(f"registry/cache/*/{file}"))
    fitting = [p for p in found if file_digest(p) == sha256]
    if not fitting:
        raise MissingError(f"{what}: cargo has no {file} with the SHA-256 {sha256}", next_step=STEP)
    shutil.rmtree(project)
    shutil.copyfile(fitting[0], folder / file)
    about = Source(Path(file), sha256, f"crate {name} {entry['version']}")
    (folder / ABOUT).write_text(json.dumps(asdict(about), default=str, indent=1))


def _home() -> Path:
    """Where cargo keeps what it has fetched."""
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
