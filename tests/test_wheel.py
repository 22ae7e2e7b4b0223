"""The wheel: the command, the binary beside it, and the studies inside."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from assay.claims import shipped_claims
from assay.study import shipped

ROOT = Path(__file__).parent.parent


# Where nothing is built yet it builds the native half, which takes minutes.
@pytest.mark.timeout(900)
def test_a_wheel_holds_the_binary_the_studies_and_the_report(tmp_path: Path) -> None:
    """What `pip install` of it gives is what runs from a checkout."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, timeout=870)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert any(n.endswith(".data/scripts/assayer") for n in names)
    for study in shipped():
        assert f"assay/library/studies/{study}.toml" in names
    for claim in shipped_claims():
        assert f"assay/library/claims/{claim}.toml" in names
    assert "assay/library/prices/mariadb-arm.toml" in names
    assert "assay/report/html/vendor/plot.js" in names
    assert any(n.startswith("assay/report/html/templates/") for n in names)
    assert any(n.endswith("licenses/LICENSE") for n in names)
