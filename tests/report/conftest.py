"""What the tests of the report share: sample bundles, and a real browser to look at them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from browser import Browser
from report_samples import Made


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Sample bundles by name."""
    return Made(tmp_path_factory.mktemp("reports"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """A browser; without one the tests fail and say how to get it."""
    program = shutil.which("chromium")
    assert program, "there is no chromium: run scripts/install-test-tools"
    return Browser(program, tmp_path_factory.mktemp("profile"))
