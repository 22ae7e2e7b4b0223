"""Studies whose arms are builds: what is wrong with one is said before any run.

Each trap that was walked into with a real server is planted in a small program.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.bench.variations import in_order, with_variations
from assay.builds import Buildable, BuildError, Variation, make
from assay.builds.stranger import working_place
from assay.core.cache import cache
from assay.core.errors import InputError, MissingError
from assay.study import Study, read
from build_kit import MAKEFILE, RECIPE, WORK, patch, small, tarball
from fault_kit import fill

STUDY = """
name = "small"
question = "?"
[target]
kind = "redis"
[workload]
kind = "redis-get"
[build]
source = "{source}"
make = ["make", "{{options}}"]
product = "server"
layout = "plain"
forget = [".settings"]
[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"
[[factor]]
name = "it"
{factor}
[design]
kind = "one-at-a-time"
[decide]
budget = "10min"
"""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is known of before, and any user may come there."""
    with tempfile.TemporaryDirectory(prefix="assay-test-") as made:
        Path(made).chmod(0o755)
        monkeypatch.setenv("XDG_CACHE_HOME", made)
        yield


def study_of(folder: Path, factor: str, **changed: str) -> Study:
    """A study with one factor, of the small program with some files changed."""
    return read(
        "small.toml", STUDY.format(source=tarball(folder, **changed), factor=factor), folder
    )


def patched(folder: Path, old: str, new: str, further: str = "") -> str:
    """The factor of a patch to `work.c`."""
    return f'change = "patch"\non = "{patch(folder, "work.c", old, new).name}"\n{further}'


def test_a_patch_that_changes_no_code_is_an_error_before_any_run(tmp_path: Path) -> None:
    """A verdict would have been on noise."""
    study = study_of(tmp_path, patched(tmp_path, "int spin", "/* a word */\nint spin"))
    with pytest.raises(InputError, match=r"\(patch .* changed no code of this program") as caught:
        with_variations(study)
    assert "nothing but noise" in caught.value.next_step


def test_flags_that_are_the_programs_own_are_an_error_too(tmp_path: Path) -> None:
    """As where a build keeps the flags of an earlier one."""
    with pytest.raises(InputError, match=r"arm it \(-O1\) changed no code"):
        with_variations(study_of(tmp_path, 'change = "flags"\non = "-O1"'))
    study = with_variations(study_of(tmp_path, 'change = "flags"\non = "-O3"'))
    assert len(study.built) == 2


def test_functions_beyond_those_of_the_patch_are_named(tmp_path: Path) -> None:
    """And those that it should have changed, and did not."""
    said = 'touches = ["idle", "work"]'
    study = study_of(tmp_path, patched(tmp_path, "n * STEP", "n * STEP + 9", said))
    with pytest.raises(InputError, match="it does not touch idle") as caught:
        with_variations(study)
    assert "inlined" in caught.value.next_step
    header = patch(tmp_path, "work.h", "STEP 3", "STEP 5").name
    factor = f'change = "patch"\non = "{header}"\ntouches = ["work"]'
    both = study_of(tmp_path, factor, work_c=WORK.replace("i * 7", "i * STEP"))
    with pytest.raises(InputError, match="it touches spin as well"):
        with_variations(both)


def test_a_level_that_does_not_compile_is_named_by_its_arm_with_the_first_error(
    tmp_path: Path,
) -> None:
    """The log stays."""
    study = study_of(tmp_path, patched(tmp_path, "n + 1;", "n + one;"))
    with pytest.raises(BuildError, match=r"work\.c:8:\d+: error: .one. undeclared") as caught:
        with_variations(study)
    assert caught.value.message.startswith("arm it: ")
    assert "undeclared" in caught.value.log.read_text()


def test_all_arms_keep_their_own_order_where_one_is_put_together_at_the_link(
    tmp_path: Path,
) -> None:
    """Else the others alone would draw orders, linked by another linker."""
    both = []
    for flags in ("-O2", "-O2 -flto"):
        text = STUDY.format(source=tarball(tmp_path), factor=f'change = "flags"\non = "{flags}"')
        study = with_variations(
            read("small.toml", text.replace('layout = "plain"\n', ""), tmp_path)
        )
        both.append(in_order(study, (1, 1)).executables == study.executables)
    assert both == [False, True]


def test_a_build_that_goes_around_the_compilers_is_no_build(tmp_path: Path) -> None:
    """By an absolute path: no flag reaches it, and nothing is known of what it compiled."""
    around = MAKEFILE.replace("$(CC)", "/usr/bin/cc")
    with pytest.raises(BuildError, match="no command of a compiler made server"):
        make(small(tmp_path, Makefile=around), Variation())


def test_settings_that_came_with_a_source_are_not_those_of_the_build(tmp_path: Path) -> None:
    """Redis keeps the flags of an earlier make in src/.make-settings: only their removal helps."""
    source = tarball(tmp_path)
    (tmp_path / "small-1.0" / ".settings").write_text("OPT = -O0 -DKEPT\n")
    archive = source.removeprefix("tarball:")
    subprocess.run(["tar", "-C", str(tmp_path), "-czf", archive, "small-1.0"], check=True)
    made = make(Buildable(RECIPE, source), Variation())
    assert "-O1" in made.flags
    assert "KEPT" not in (made.folder / "log").read_text()


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache on a disk of its own, of three MiB."""
    tmp_path.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="assay-disk-") as made:
        disk = Path(made)
        words = ["mount", "-t", "tmpfs", "-o", "size=3m,mode=755", "assay", str(disk)]
        if subprocess.run(words, capture_output=True).returncode:
            pytest.skip("only root may mount a small disk")
        monkeypatch.setenv("XDG_CACHE_HOME", str(disk))
        try:
            yield disk
        finally:
            subprocess.run(["umount", str(disk)], check=True)


def test_a_build_that_fills_the_disk_leaves_nothing_half_and_goes_on_when_there_is_room(
    small_disk: Path, tmp_path: Path
) -> None:
    """It is said to be the disk, and not a fault of the program."""
    much = MAKEFILE.replace(
        "work.o: work.c .settings\n",
        "work.o: work.c .settings\n\thead -c 6000000 /dev/zero > much\n",
    )
    program = small(tmp_path, Makefile=much)
    with pytest.raises(MissingError, match="No space left on device") as caught:
        make(program, Variation())
    assert not isinstance(caught.value, BuildError)
    assert "XDG_CACHE_HOME" in caught.value.next_step
    assert not list(cache("builds").glob("small-*"))
    assert not list(cache("builds").glob(".partial*"))
    words = ["mount", "-o", "remount,size=64m", str(small_disk)]
    subprocess.run(words, check=True)
    made = make(program, Variation())
    assert subprocess.run([made.path], capture_output=True).stdout.startswith(b"3 ")


def test_a_full_disk_is_named_where_a_source_is_unpacked(small_disk: Path, tmp_path: Path) -> None:
    """Before anything is compiled."""
    program = small(tmp_path)
    fill(small_disk)
    with pytest.raises(MissingError, match="No space left on device"):
        make(program, Variation())
    (small_disk / "filler").unlink()
    assert make(program, Variation()).code
    assert working_place(cache("builds")).is_relative_to(small_disk)
