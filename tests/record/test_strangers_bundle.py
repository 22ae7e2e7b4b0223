"""A bundle that a stranger made reads and writes nothing outside itself, and costs little."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from assay.core.errors import AlteredError, BundleError
from assay.record import Bundle, differences, files
from assay.record.chain import require_free
from assay.record.profile import BYTES_MAX, RunProfile

KEYS = "ssh-ed25519 MINE me\nssh-ed25519 ALSO-MINE me"
READ = ["study.toml", "plan.json", "host.json", "runs.jsonl", "verdicts.json"]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file of the user's, outside of any bundle, whose last line has no end."""
    path = tmp_path / "authorized_keys"
    path.write_text(KEYS)
    return path


@pytest.mark.parametrize("name", [".report.html.new", "report.html"])
def test_a_report_is_written_through_no_link_of_a_bundle(
    finished: Bundle, mine: Path, name: str
) -> None:
    """What the link stands for stays as it was, and the page is there."""
    (finished.folder / name).symlink_to(mine)
    page = Bundle.open(finished.folder).write_report("<html>")
    assert mine.read_text() == KEYS
    assert page.read_text() == "<html>"
    assert not page.is_symlink()


@pytest.mark.parametrize("name", READ)
def test_a_file_of_a_bundle_that_is_a_link_is_refused(
    finished: Bundle, mine: Path, name: str
) -> None:
    """Nothing of what it stands for is read, told or changed."""
    (finished.folder / name).unlink()
    (finished.folder / name).symlink_to(mine)
    with pytest.raises(AlteredError, match="link") as caught:
        differences(Bundle.open(finished.folder))
    assert "ssh-ed25519" not in caught.value.message
    assert mine.read_text() == KEYS


def test_going_on_cuts_off_nothing_behind_a_link(finished: Bundle, mine: Path) -> None:
    """Though the last line of the file is torn."""
    (finished.folder / "runs.jsonl").unlink()
    (finished.folder / "runs.jsonl").symlink_to(mine)
    with pytest.raises(AlteredError, match="link"):
        Bundle.open(finished.folder).lock()
    assert mine.read_text() == KEYS


@pytest.mark.parametrize("text", [KEYS, "no run", '{"run": 0}\n{"cut": '])
def test_going_on_cuts_off_nothing_of_a_file_without_runs(finished: Bundle, text: str) -> None:
    """What is no run is said, and left as it is; the bundle is free again."""
    runs = finished.folder / "runs.jsonl"
    runs.write_text(text)
    for _ in range(2):
        with pytest.raises(AlteredError, match="run"):
            Bundle.open(finished.folder).lock()
    assert runs.read_text() == text


def test_going_on_cuts_off_a_torn_last_line_of_runs(finished: Bundle) -> None:
    """As before."""
    runs = finished.folder / "runs.jsonl"
    whole = runs.read_bytes()
    runs.write_bytes(whole + whole[:40])
    bundle = Bundle.open(finished.folder)
    bundle.lock()
    bundle.close()
    assert runs.read_bytes() == whole


@pytest.mark.parametrize("name", READ)
def test_a_pipe_or_a_device_in_a_bundle_is_not_waited_for(finished: Bundle, name: str) -> None:
    """Nor read without end."""
    path = finished.folder / name
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(AlteredError, match="no plain file"):
        differences(Bundle.open(finished.folder))
    path.unlink()
    path.mkdir()
    with pytest.raises(AlteredError, match="no file of a bundle"):
        differences(Bundle.open(finished.folder))


def test_logs_and_profiles_are_written_through_no_link(finished: Bundle, mine: Path) -> None:
    """Neither through a folder that is one, nor through a file in it."""
    bundle = Bundle.open(finished.folder)
    bundle.log(0).unlink(missing_ok=True)
    bundle.log(0).symlink_to(mine)
    with pytest.raises(AlteredError, match="no plain file"):
        bundle.log(0)
    logs = finished.folder / "logs"
    logs.rename(finished.folder / "others")
    logs.symlink_to(mine.parent)
    with pytest.raises(AlteredError, match="link"):
        bundle.log(1)
    (finished.folder / "profiles").symlink_to(mine.parent)
    with pytest.raises(AlteredError, match="link"):
        files.replace(finished.folder / "profiles" / "run-00000.json.gz", b"x")
    assert mine.read_text() == KEYS


def test_a_folder_of_another_user_is_neither_gone_on_with_nor_begun_in(
    finished: Bundle, tmp_path: Path
) -> None:
    """It is read; to go on, or to begin in it, it has to be one's own, and closed to others."""
    (tmp_path / "out").mkdir()
    for folder, attempt, advice in (
        (finished.folder, Bundle.open(finished.folder).lock, "--adopt"),
        (tmp_path / "out", lambda: require_free(tmp_path / "out"), "another --out"),
    ):
        folder.chmod(0o777)
        with pytest.raises(BundleError, match="open to everybody") as caught:
            attempt()
        assert advice in caught.value.next_step
        folder.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(folder, 65533, 65533)
            with pytest.raises(BundleError, match="another user"):
                attempt()
            os.chown(folder, 0, 0)
    assert differences(Bundle.open(finished.folder)) == []


def test_a_link_that_was_laid_out_before_a_study_is_no_place_for_it(tmp_path: Path) -> None:
    """Under the names that a pilot leaves."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "logs").symlink_to(tmp_path)
    with pytest.raises(BundleError, match="not empty"):
        require_free(out)


def test_a_profile_that_unpacks_to_more_than_one_has_is_not_unpacked() -> None:
    """Nor one that is cut off."""
    bomb = gzip.compress(bytes(BYTES_MAX + 1), 1)
    with pytest.raises(AlteredError, match="too large"):
        RunProfile.unpacked(bomb, "profiles/run-00000.json.gz")
    with pytest.raises(AlteredError, match="cut off"):
        RunProfile.unpacked(gzip.compress(b"{}")[:-4], "profiles/run-00000.json.gz")
    with pytest.raises(AlteredError, match="not a profile"):
        RunProfile.unpacked(b"nothing of the kind", "profiles/run-00000.json.gz")
