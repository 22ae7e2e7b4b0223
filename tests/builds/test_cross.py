"""Builds for another processor: what flags make of atomics on aarch64, by census and under qemu.

The three levels of the shipped study `flags-armv8`, cross-compiled: no timing is meant by it.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from assay import native
from assay.builds import Buildable, BuiltProgram, Variation, differences, make
from assay.native import ImageCensus
from assay.study import locate, read
from build_kit import RECIPE, WORK, tarball

COMPILER = "aarch64-linux-gnu-gcc"
ATOMIC = WORK.replace(
    "int spin(int n) {",
    "static int held;\nint spin(int n) {\n    __atomic_fetch_add(&held, 1, __ATOMIC_ACQ_REL);",
)
LEVELS = read(*locate("flags-armv8")).factors["atomics"].levels

pytestmark = pytest.mark.skipif(
    shutil.which(COMPILER) is None, reason="sudo apt-get install gcc-aarch64-linux-gnu"
)


def built(folder: Path, level: str) -> BuiltProgram:
    """The small program with an atomic addition, at a level of the study."""
    own = LEVELS[level].application.variation
    assert own is not None
    program = Buildable(RECIPE, tarball(folder, work_c=ATOMIC))
    return make(program, own.merged(Variation(compiler=COMPILER)))


def surveyed(made: BuiltProgram) -> ImageCensus:
    (found,) = native.survey([made.path])
    assert isinstance(found, ImageCensus)
    assert found.arch == "aarch64"
    return found


def test_each_level_of_the_flags_makes_the_atomics_that_it_says(tmp_path: Path) -> None:
    """Helpers that choose when they run, the one instruction, or a loop of exclusives."""
    outline, lse, ll_sc = (surveyed(built(tmp_path, name)) for name in ("outline", "lse", "ll-sc"))
    assert [bool(found.helpers) for found in (outline, lse, ll_sc)] == [True, False, False]
    assert (lse.counts.get("lse", 0), lse.counts.get("ll_sc", 0)) == (1, 0)
    assert ll_sc.counts.get("lse", 0) == 0
    assert ll_sc.counts.get("ll_sc", 0) > 0
    base = built(tmp_path, "outline")
    for level in ("lse", "ll-sc"):
        assert "spin" in differences(base, built(tmp_path, level)).touched


def test_each_level_runs_under_emulation_with_the_same_result(tmp_path: Path) -> None:
    """On a processor with LSE; the first on one without it too."""
    emulator, root = shutil.which("qemu-aarch64"), Path("/usr/aarch64-linux-gnu")
    if emulator is None or not (root / "lib").is_dir():
        pytest.skip("sudo apt-get install qemu-user libc6-arm64-cross")

    def said(level: str, cpu: str) -> str:
        command = [emulator, "-cpu", cpu, "-L", str(root), str(built(tmp_path, level).path)]
        return subprocess.run(command, capture_output=True, text=True).stdout.split()[0]

    assert {said(level, "max") for level in LEVELS} == {"3"}
    assert said("outline", "cortex-a53") == said("ll-sc", "cortex-a53") == "3"
