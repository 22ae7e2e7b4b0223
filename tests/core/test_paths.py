"""The folders of a user's files follow the environment, and have defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.paths import user_cache, user_state

FOLDERS = [
    (user_cache, "XDG_CACHE_HOME", ".cache/assay"),
    (user_state, "XDG_STATE_HOME", ".local/state/assay"),
]


@pytest.mark.parametrize(("folder", "variable", "default"), FOLDERS, ids=["cache", "state"])
def test_a_folder_is_where_its_variable_says_and_below_the_home_without_one(
    folder: Callable[[], Path], variable: str, default: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty variable is as none."""
    monkeypatch.setenv(variable, "/elsewhere")
    assert folder() == Path("/elsewhere/assay")
    monkeypatch.setenv("HOME", "/somebody")
    for without in (lambda: monkeypatch.setenv(variable, ""), lambda: monkeypatch.delenv(variable)):
        without()
        assert folder() == Path("/somebody") / default
