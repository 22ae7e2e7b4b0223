"""A program built in variations: each trap that was walked into is planted here, and sprung."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.builds import (
    PLAIN,
    Buildable,
    BuildError,
    BuiltProgram,
    Variation,
    differences,
    make,
    relinked,
)
from assay.builds.stranger import working_place
from assay.builds.tree import BuildTree
from assay.core.cache import cache
from assay.core.errors import InputError, MissingError
from build_kit import MAKEFILE, RECIPE, WORK, commit, git, patch, small, write
from server_kit import wait_for

AS_IT_IS = Variation()


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is known of before, what is made goes with the test, and any user may come there."""
    with tempfile.TemporaryDirectory(prefix="assay-test-") as made:
        Path(made).chmod(0o755)
        monkeypatch.setenv("XDG_CACHE_HOME", made)
        yield


def functions(made: BuiltProgram) -> list[str]:
    """The functions of the executable in the order in which they lie, but for the C library's."""
    listed = subprocess.run(["nm", "-n", made.path], capture_output=True, text=True, check=True)
    return [w for line in listed.stdout.splitlines() if (w := line.split()[-1]) in OWN]


OWN = ("main", "work", "spin", "idle")


def test_a_patched_header_rebuilds_what_includes_it_although_the_makefile_knows_no_headers(
    tmp_path: Path,
) -> None:
    """PostgreSQL without --enable-depend rebuilt nothing, and its binary was the same byte for
    byte."""
    program = small(tmp_path)
    base = make(program, AS_IT_IS)
    other = make(program, Variation(patches=(patch(tmp_path, "work.h", "STEP 3", "STEP 5"),)))
    assert differences(base, other).changed == ("work",)
    said = subprocess.run([other.path], capture_output=True, text=True)
    assert said.stdout.startswith("5 ")


def test_flags_reach_the_compiler_although_the_build_remembers_others(tmp_path: Path) -> None:
    """Redis keeps -O2 in src/.make-settings, and compiled everything anew with it."""
    program = small(tmp_path)
    base = make(program, AS_IT_IS)
    other = make(program, Variation(flags=("-O3",)))
    assert other.flags.split()[-1] == "-O3"
    assert "spin" in differences(base, other).changed
    assert "-O3" not in base.flags
    without = make(program, Variation(without=("-O1",)))
    assert "-O1" not in without.flags


def test_the_second_and_the_folder_of_a_build_make_no_difference(tmp_path: Path) -> None:
    """Redis compiles in when and where it was built, PostgreSQL its folder 1,560 times."""
    one, two = (tmp_path / name for name in ("one", "another"))
    made = []
    for folder in (one, two):
        folder.mkdir()
        made.append(make(small(folder), AS_IT_IS))
    assert made[0].folder != made[1].folder
    assert made[0].code == made[1].code
    assert not differences(*made)


def test_a_comment_changes_no_code_and_a_line_only_numbers(tmp_path: Path) -> None:
    """A line more above a function changes no byte of it, unless it says its number."""
    program = small(tmp_path)
    base = make(program, AS_IT_IS)
    comment = patch(tmp_path, "work.c", "int spin", "/* a word */\nint spin")
    assert make(program, Variation(patches=(comment,))).code == base.code
    number = patch(tmp_path, "work.c", "i * 7", "i * 9")
    found = differences(base, make(program, Variation(patches=(number,))))
    assert found.changed == ("spin",)
    assert (found.added, found.removed) == ((), ())


def test_functions_that_come_and_go_are_told_by_name(tmp_path: Path) -> None:
    """And one that is both, under one name, has changed."""
    program = small(tmp_path)
    base = make(program, AS_IT_IS)
    renamed = patch(tmp_path, "work.c", "int idle(int n)", "int busy(int n)")
    found = differences(base, make(program, Variation(patches=(renamed,))))
    assert (found.added, found.removed, found.changed) == (("busy",), ("idle",), ())
    assert found.functions == 4


def test_a_second_build_compiles_no_more_than_what_the_patch_touches(tmp_path: Path) -> None:
    """And back again: the tree is the same one."""
    program = small(tmp_path)
    base = make(program, AS_IT_IS)
    (tree,) = working_place(cache("builds")).glob("tree-*/tree")
    before = (tree / "main.o").stat().st_mtime_ns
    changed = Variation(patches=(patch(tmp_path, "work.c", "i * 7", "i * 9"),))
    assert make(program, changed).code != base.code
    again = make(replace(program), Variation(patches=(), link=("-Wl,-z,now",)))
    assert again.code == base.code
    assert again.mark != base.mark
    assert before <= (tree / "main.o").stat().st_mtime_ns


def test_a_link_of_another_order_has_the_same_functions_elsewhere_and_says_which(
    tmp_path: Path,
) -> None:
    """The build id begins with what was built and ends with the order."""
    made = make(small(tmp_path), AS_IT_IS)
    assert made.build_id == made.mark[:32] + "00000000"
    orders = set()
    for seed in range(1, 9):
        path = relinked(made, seed)
        notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
        assert f"{made.mark[:32]}{seed:08x}" in notes
        assert subprocess.run([path]).returncode in (0, 1)
        orders.add(tuple(functions(replace(made, path=path))))
    assert len(orders) > 3
    assert relinked(made, PLAIN) == made.path


def test_a_program_that_was_changed_after_it_was_built_is_refused(tmp_path: Path) -> None:
    """Its digest is looked at each time."""
    program = small(tmp_path)
    made = make(program, AS_IT_IS)
    with made.path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match="was changed since it was built"):
        make(program, AS_IT_IS)


def test_a_source_that_does_not_compile_is_told_by_its_first_error(tmp_path: Path) -> None:
    """The whole log is kept, and the next build of the tree is sound."""
    program = small(tmp_path)
    broken = patch(tmp_path, "work.c", "n + 1;", "n + one;")
    with pytest.raises(BuildError, match=r"work\.c:8:\d+: error: .one. undeclared") as caught:
        make(program, Variation(patches=(broken,)))
    assert "make" in caught.value.log.read_text()
    assert str(caught.value.log) in caught.value.next_step
    assert not list(cache("builds").glob("small-*"))
    assert make(program, AS_IT_IS).code


def test_a_link_that_fails_is_a_failed_build(tmp_path: Path) -> None:
    """Debian's Redis with its bundled jemalloc."""
    broken = MAKEFILE.replace("$(FURTHER)", "-lnotthere")
    with pytest.raises(BuildError, match="cannot find -lnotthere"):
        make(small(tmp_path, Makefile=broken), AS_IT_IS)


def test_what_is_not_here_is_named_with_the_one_command(tmp_path: Path) -> None:
    """Programs and headers at once, before anything is unpacked or run."""
    program = small(tmp_path)
    recipe = replace(
        RECIPE,
        needs={"make": "make", "no-such-tool": "some-tools"},
        headers={"no/such.h": "some-dev", "stdio.h": "libc6-dev"},
    )
    with pytest.raises(MissingError, match=r"needs no-such-tool, no/such\.h") as caught:
        make(replace(program, recipe=recipe), AS_IT_IS)
    assert caught.value.next_step == "sudo apt-get install some-tools some-dev"
    with pytest.raises(MissingError, match="compiler gcc-1 is not here") as caught:
        make(program, Variation(compiler="gcc-1"))
    assert caught.value.next_step == "sudo apt-get install gcc-1"


def test_a_build_has_no_network_and_is_nobody(tmp_path: Path) -> None:
    """A stranger's Makefile sees no interface and none of our secrets, and is no root."""
    looks = "\t@(id -u; grep -c : /proc/net/dev; env | grep -c HUSH) >&2; true\n"
    makefile = MAKEFILE.replace("all: server\n", f"all: server\n{looks}")
    os.environ["HUSH_TOKEN"] = "HUSH"
    try:
        made = make(small(tmp_path, Makefile=makefile), AS_IT_IS)
    finally:
        del os.environ["HUSH_TOKEN"]
    user, interfaces, secrets = (made.folder / "log").read_text().split()[-3:]
    assert int(user) != 0
    assert int(secrets) == 0
    if made.without_network:
        assert int(interfaces) <= 1  # loopback, which is down


def test_a_patch_applies_exactly_or_not_at_all(tmp_path: Path) -> None:
    """No fuzz; nothing outside of the source is touched."""
    program = small(tmp_path)
    fitting = patch(tmp_path, "work.c", "i * 7", "i * 9")
    moved = tmp_path / "moved.patch"
    moved.write_text(fitting.read_text().replace("int sum = 0;", "int sum = 1;"))
    with pytest.raises(InputError, match=r"moved.patch does not apply .*work\.c"):
        make(program, Variation(patches=(moved,)))
    outside = tmp_path / "outside.patch"
    outside.write_text(fitting.read_text().replace("/work.c", "/../../work.c"))
    with pytest.raises(InputError, match="lies outside of the source"):
        make(program, Variation(patches=(outside,)))
    moved.write_text("words")
    with pytest.raises(InputError, match="holds no unified diff"):
        make(program, Variation(patches=(moved,)))


def test_commits_of_a_folder_of_gits_are_built_without_its_hooks_and_filters(
    tmp_path: Path,
) -> None:
    """Two with the same files are one build."""
    clone = tmp_path / "clone"
    clone.mkdir()
    git(clone, "init", "-q")
    first = commit(clone)
    second = commit(clone)
    third = commit(clone, work_c=WORK.replace("i * 7", "i * 9"))
    (clone / ".gitattributes").write_text("*.c filter=evil\n")
    git(clone, "add", ".gitattributes")
    git(clone, "config", "filter.evil.smudge", f"touch {tmp_path}/ran")
    git(clone, "config", "core.fsmonitor", f"touch {tmp_path}/ran")
    fourth = commit(clone)
    (tmp_path / "ran").unlink(missing_ok=True)
    program = Buildable(RECIPE, f"git:{clone}")
    made = [make(program, Variation(commit=c)) for c in (first, second, third, fourth)]
    assert made[0].mark == made[1].mark
    assert differences(made[0], made[2]).changed == ("spin",)
    assert made[3].code == made[0].code
    assert made[2].commit == third
    assert not (tmp_path / "ran").exists()
    with pytest.raises(InputError, match="no such revision"):
        make(program, Variation(commit="nowhere"))


KILLED = """
import sys
from assay.builds import Buildable, Variation, make
from build_kit import RECIPE
make(Buildable(RECIPE, sys.argv[1]), Variation())
"""


def test_a_build_that_was_killed_leaves_nothing_half_and_goes_on(tmp_path: Path) -> None:
    """Killed while the second file is compiled, whose object was begun."""
    slow = MAKEFILE.replace(
        "\t$(CC) $(OPT) -c work.c -o work.o", "\techo half > work.o; touch begun; sleep 60"
    )
    program = small(tmp_path, Makefile=slow)
    path = os.pathsep.join(p for p in sys.path if p)
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, program.source], env={**os.environ, "PYTHONPATH": path}
    )
    place = working_place(cache("builds"))
    wait_for(lambda: any(place.glob("tree-*/tree/begun")))
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not list(cache("builds").glob("small-*"))
    (tree,) = place.glob("tree-*/tree")
    assert (tree / "work.o").read_text() == "half\n"
    # The same tree, with a Makefile that does not wait any more.
    mended = tmp_path / "mend.patch"
    write(tmp_path / "a", Makefile=slow)
    write(tmp_path / "b")
    mended.write_text(
        subprocess.run(
            ["diff", "-u", "a/Makefile", "b/Makefile"], cwd=tmp_path, capture_output=True, text=True
        ).stdout
    )
    begun = time.monotonic()
    made = make(program, Variation(patches=(mended,)))
    assert time.monotonic() - begun < 50
    assert subprocess.run([made.path], capture_output=True).stdout.startswith(b"3 ")


def test_a_build_that_goes_on_does_not_compile_anew_what_depends_on_a_patched_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nearly all of PostgreSQL includes its spinlock: each try began from the start."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    program = small(tmp_path)
    make(program, AS_IT_IS)
    patched = Variation(patches=(patch(tmp_path, "work.h", "STEP 3", "STEP 5"),))
    with monkeypatch.context() as once:
        once.setattr(BuildTree, "_make", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make(program, patched)
    removed: list[set[str]] = []
    monkeypatch.setattr(BuildTree, "_forget", lambda _, stale: removed.append(stale))
    made = make(program, patched)
    assert removed == []
    assert subprocess.run([made.path], capture_output=True).stdout.startswith(b"5 ")


def test_a_build_that_was_cut_off_and_cannot_go_on_begins_anew(tmp_path: Path) -> None:
    """Redis does not make its bundled libraries again once they were begun."""
    once = MAKEFILE.replace("server: main.o libwork.a", "server: main.o .begun").replace(
        "libwork.a: work.o\n", ".begun: work.o\n\ttouch .begun\n"
    )
    program = small(tmp_path, Makefile=once)
    make(program, AS_IT_IS)
    (tree,) = working_place(cache("builds")).glob("tree-*/tree")
    (tree / "libwork.a").unlink()
    state = tree.parent / "state.json"
    state.write_text(state.read_text().replace('"busy": false', '"busy": true'))
    changed = Variation(patches=(patch(tmp_path, "main.c", "& 1", "& 3"),))
    assert make(program, changed).code
    (tree / "libwork.a").unlink()
    with pytest.raises(BuildError, match=r"libwork\.a"):
        make(program, Variation(patches=(patch(tmp_path, "main.c", "& 1", "& 7"),)))


def test_what_was_not_used_for_longest_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is a variable of the environment."""
    program = small(tmp_path)
    first = make(program, AS_IT_IS)
    os.utime(first.folder, (1, 1))
    monkeypatch.setenv("ASSAY_BUILD_CACHE", "1KiB")
    other = make(program, Variation(flags=("-O2",)))
    assert not first.folder.exists()
    assert other.path.exists()
    monkeypatch.setenv("ASSAY_BUILD_CACHE", "much")
    with pytest.raises(InputError, match="ASSAY_BUILD_CACHE=much"):
        make(program, Variation(flags=("-O3",)))


def test_objects_without_machine_code_are_compared_after_the_link(tmp_path: Path) -> None:
    """With -flto the objects are no code yet; the program's own functions are compared."""
    program = small(tmp_path)
    flags = ("-O2", "-flto", "-fno-inline")
    base = make(program, Variation(flags=flags))
    number = patch(tmp_path, "work.c", "i * 7", "i * 9")
    found = differences(base, make(program, Variation(flags=flags, patches=(number,))))
    assert found.changed == ("spin",)
