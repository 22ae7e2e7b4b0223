"""Binaries that are compiled here, through the real census."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.readiness import Inspection, inspect
from assay.readiness.ask import exported_functions

COMPILERS = {"x86_64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc"}
LOCK = """
void take(int *lock) {{
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {{ {hint} }}
}}
void give(int *lock) {{ __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }}
static int hidden(int x) {{ return x * 3; }}
int shown(int x) {{ return hidden(x); }}
"""
HINTS = {"x86_64": "pause", "aarch64": "isb"}


def compiled(folder: Path, arch: str, hint: str = "") -> Path:
    """A shared library with a lock in it."""
    compiler = shutil.which(COMPILERS[arch])
    if compiler is None:
        pytest.skip(f"{COMPILERS[arch]} is not here")
    source, path = folder / "lock.c", folder / f"lock_{arch}{'_hint' if hint else ''}.so"
    source.write_text(LOCK.format(hint=f'__asm__ volatile ("{hint}");' if hint else ""))
    command = [compiler, "-O2", "-shared", "-fPIC", "-nostdlib", str(source), "-o", str(path)]
    command += ["-mno-outline-atomics", "-march=armv8.1-a"] if arch == "aarch64" else []
    subprocess.run(command, check=True)
    return path


def rules(found: Inspection) -> set[tuple[str, str]]:
    """Rules and functions of what counts."""
    return {(f.rule, f.function) for f in found.findings if f.severity == "S2"}


@pytest.mark.parametrize("arch", sorted(COMPILERS))
def test_a_lock_without_a_hint_is_found_and_one_with_a_hint_is_not(
    arch: str, tmp_path: Path
) -> None:
    """Compiled from one source that differs in the hint alone."""
    assert ("B05", "take") in rules(inspect([compiled(tmp_path, arch)]))
    assert ("B05", "take") not in rules(inspect([compiled(tmp_path, arch, HINTS[arch])]))


def test_a_pause_that_one_architecture_has_alone_is_found_by_its_function(tmp_path: Path) -> None:
    """The amd64 build beside the arm64 build of the same source."""
    arm, x86 = compiled(tmp_path, "aarch64"), compiled(tmp_path, "x86_64", "pause")
    assert ("B08", "take") in rules(inspect([arm], [x86]))
    with_hint = compiled(tmp_path, "aarch64", "isb")
    assert not {r for r in rules(inspect([with_hint], [x86])) if r[0] == "B08"}


@pytest.mark.parametrize("arch", sorted(COMPILERS))
def test_exported_functions_are_those_that_nm_lists(arch: str, tmp_path: Path) -> None:
    """Not the hidden one."""
    path = compiled(tmp_path, arch)
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True, check=True
    ).stdout
    truth = {line.split()[2] for line in listed.splitlines() if line.split()[1] in "TWi"}
    assert exported_functions([path]) == {str(path): truth}
    assert truth == {"take", "give", "shown"}


def test_a_broken_file_exports_nothing(tmp_path: Path) -> None:
    """At any length before its table of sections, which stands at its end."""
    whole = compiled(tmp_path, "x86_64").read_bytes()
    paths = [tmp_path / f"cut{cut}" for cut in range(0, len(whole), 97)]
    for cut, path in zip(range(0, len(whole), 97), paths, strict=True):
        path.write_bytes(whole[:cut])
    assert not any(exported_functions(paths).values())
