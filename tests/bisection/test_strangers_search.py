"""The bundle of a search that a stranger made or that was damaged: refused before any change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from search_kit import lab, slower_from

from assay.bisection import SearchBundle, found_differences
from assay.core.errors import AlteredError, BundleError


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> SearchBundle:
    """The bundle of a search that named a level."""
    bundle, _ = lab(tmp_path_factory.mktemp("search") / "b", slower_from(9)).searched()
    return bundle


@pytest.fixture
def finished(searched: SearchBundle, tmp_path: Path) -> SearchBundle:
    """A copy of it."""
    folder = tmp_path / "b"
    shutil.copytree(searched.folder, folder)
    return SearchBundle.open(folder)


@pytest.mark.parametrize(
    "end", [b"ssh-ed25519 MINE", b"no line\n", b'{"run": 0}\n', b"\x00\xff\n{"]
)
def test_going_on_cuts_off_nothing_that_is_no_part_of_a_search(
    finished: SearchBundle, end: bytes
) -> None:
    """It is refused as it was found, and free again."""
    lines = finished.folder / "runs.jsonl"
    kept = lines.read_bytes() + end
    lines.write_bytes(kept)
    for _ in range(2):
        with pytest.raises(AlteredError, match="search"):
            SearchBundle.open(finished.folder).lock()
    assert lines.read_bytes() == kept


def test_going_on_cuts_off_a_torn_last_line(finished: SearchBundle) -> None:
    """Of what a killed search was writing."""
    lines = finished.folder / "runs.jsonl"
    whole = lines.read_bytes()
    lines.write_bytes(whole + whole[:40])
    finished.lock()
    finished.close()
    assert lines.read_bytes() == whole


def test_a_search_of_another_user_is_not_gone_on_with(finished: SearchBundle) -> None:
    """Nor one that is open to everybody; it is read, and nothing of it is cut off."""
    lines = finished.folder / "runs.jsonl"
    torn = lines.read_bytes() + b'{"kind"'
    lines.write_bytes(torn)
    finished.folder.chmod(0o777)
    with pytest.raises(BundleError, match="open to everybody") as caught:
        finished.lock()
    assert "a folder of your own" in caught.value.next_step
    finished.folder.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(finished.folder, 65533, 65533)
        with pytest.raises(BundleError, match="another user"):
            finished.lock()
    assert lines.read_bytes() == torn
    assert found_differences(finished) == []


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_number_that_is_none_is_refused_and_its_line_named(
    finished: SearchBundle, number: str
) -> None:
    """Python's JSON would read it, and every comparison with it be false."""
    path = finished.folder / "runs.jsonl"
    lines = path.read_text().splitlines()
    at, line = next((n, x) for n, x in enumerate(lines) if '"took_s":' in x)
    head, _, tail = line.partition('"took_s":')
    end = min(tail.index(mark) for mark in ",}" if mark in tail)
    lines[at] = f'{head}"took_s":{number}{tail[end:]}'
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(AlteredError, match=f"line {at + 1} of"):
        found_differences(finished)
    (finished.folder / "host.json").write_text('{"load": NaN}')
    with pytest.raises(AlteredError, match="NaN is no number"):
        _ = finished.host


def test_two_processes_cannot_go_on_with_one_search(finished: SearchBundle) -> None:
    """The second is refused."""
    finished.lock()
    with pytest.raises(BundleError, match="being run by another process"):
        SearchBundle.open(finished.folder).lock()
    finished.close()
