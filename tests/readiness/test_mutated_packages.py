"""Packages and programs that were damaged at random: `inspect` reads them or says why it cannot.

Every damage is drawn from its number, so that a failure names what to repeat.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import time
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.cli import app
from mutation_kit import GROWTH_KIB, UNFORESEEN, cut, of_bytes, of_numbers, peak_kib
from readiness_kit import ar_bytes, cpio_bytes, deb_bytes, rpm_bytes, tar_bytes

pytestmark = pytest.mark.server  # for its time alone

CASES = int(os.environ.get("ASSAY_MUTANTS", "240"))
"""By default what the suite has time for."""

SECONDS = 10.0
"""What one may take."""

SOURCE = b"""#include <stdatomic.h>
void wait(_Atomic int *flag) { while (!atomic_load(flag)) __asm__ volatile("pause"); }
"""


@pytest.fixture(scope="module")
def kinds() -> dict[str, bytes]:
    """A program of this machine, a library of it, and a source, in everything that is read."""
    program = Path("/bin/true").read_bytes()
    files = {"./bin/true": program, "./lib/libx.a": ar_bytes({"x.o/": program}), "./a.c": SOURCE}
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.removeprefix("./"), data)
    return {
        "true": program,
        "libx.a": files["./lib/libx.a"],
        "a.c": SOURCE * 20,
        "x.deb": deb_bytes(files, "xz"),
        "x-plain.deb": deb_bytes(files, "tar"),
        "x.whl": wheel.getvalue(),
        "x.tar": tar_bytes(files),
        "x.tar.gz": tar_bytes(files, "w:gz"),
        "x.tar.bz2": tar_bytes(files, "w:bz2"),
        "x.rpm": rpm_bytes(gzip.compress(cpio_bytes(files))),
        "x-bz2.rpm": rpm_bytes(bz2.compress(cpio_bytes(files))),
        "x-xz.rpm": rpm_bytes(lzma.compress(cpio_bytes(files))),
        "x-plain.rpm": rpm_bytes(cpio_bytes(files)),
    }


@pytest.mark.parametrize("part", range(8))
def test_a_damaged_package_is_read_or_refused_in_a_sentence(
    part: int, kinds: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bounded time and memory; nothing is left of it, and nothing written outside."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    before = peak_kib()
    for number in range(part, CASES, 8):
        drawn = random.Random(number)
        name = drawn.choice(sorted(kinds))
        way = drawn.choice((of_bytes, of_numbers, of_numbers, cut))
        (tmp_path / name).write_bytes(way(kinds[name], drawn))
        words = ["inspect", name, *drawn.choice(((), ("--json",)))]
        begun = time.monotonic()
        result = CliRunner().invoke(app, words)
        took = time.monotonic() - begun
        told = f"case {number}, {name}: {way.__name__}: {result.output[-600:]}"
        assert result.exception is None or isinstance(result.exception, SystemExit), told
        assert UNFORESEEN not in result.output, told
        assert "\x1b" not in result.output, told
        assert took < SECONDS, f"{took:.1f} s, {told}"
        (tmp_path / name).unlink()
        outside = {p.name for p in tmp_path.iterdir()} - {"scratch", "cache"}
        assert not outside, told
        assert list(scratch.iterdir()) == [], told
    assert peak_kib() - before < GROWTH_KIB


def test_what_is_damaged_is_whole(
    kinds: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every case would be refused for the same reason."""
    monkeypatch.chdir(tmp_path)
    for name, data in kinds.items():
        (tmp_path / name).write_bytes(data)
        result = CliRunner().invoke(app, ["inspect", name, "--no-facts"])
        assert result.exit_code in (0, 1), result.output
        assert "could not be read" not in result.output, result.output
