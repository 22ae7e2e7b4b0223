"""The wheel: the command, the binary next to it, and every file of the package."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


# Where nothing is built yet it builds the native half, which takes minutes.
@pytest.mark.timeout(900)
def test_a_wheel_holds_the_binary_and_every_file_of_the_package(tmp_path: Path) -> None:
    """What `pip install` of it gives is what runs from a checkout."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, timeout=870)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert any(n.endswith(".data/scripts/assayer") for n in names)
    listed = subprocess.run(
        ["git", "ls-files", "src/assay"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    sources = {path.removeprefix("src/") for path in listed.stdout.split()}
    assert len(sources) > 100
    assert sorted(sources - set(names)) == []
    assert any(n.endswith("licenses/LICENSE") for n in names)
