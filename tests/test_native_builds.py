"""The native tests use what `make install` has compiled: dependencies with the same features."""

import subprocess
from pathlib import Path

MANIFEST = Path(__file__).parents[1] / "native" / "Cargo.toml"


def features(*words: str) -> dict[str, str]:
    """By package the features that it is compiled with, for the packages that are selected."""
    command = ["cargo", "tree", "--manifest-path", MANIFEST, "--locked", "--offline", *words]
    form = ["--prefix", "none", "--no-dedupe", "--format", "{p}|{f}"]
    done = subprocess.run([*command, *form], capture_output=True, text=True, check=True)
    lines = (line.removesuffix(" (*)").split("|") for line in done.stdout.splitlines() if line)
    return dict(lines)


def test_the_tests_compile_no_dependency_of_the_binary_again():
    """A feature that only a test needs is named in native/Cargo.toml for all."""
    installed = features("--package", "assayer", "--edges", "normal")
    tested = features("--workspace", "--edges", "normal,dev")
    assert len(installed) > 100
    different = {
        package: (of, tested[package]) for package, of in installed.items() if of != tested[package]
    }
    assert different == {}
