"""nginx built for real: each arm differs from the others in its loops, and in nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay import native
from assay.builds import RECIPES, nginx
from assay.builds.nginx import COUNTED, FUNCTIONS, HEADER, opened
from assay.changes import CATALOGUE, Evidence, RanFunction, lacking
from assay.core.errors import InputError, MissingError
from assay.host import host_facts

NGINX = RECIPES["nginx"]
PAUSE = CATALOGUE["nginx.pause"]
FACTS = host_facts()
ARMS = [a for a, level in PAUSE.levels.items() if not lacking(level.needs, FACTS)]


def evidence(program: Path) -> Evidence:
    """What a server shows of its lock functions."""
    found = native.census(program, symbols=FUNCTIONS).functions
    return Evidence(
        functions=tuple(RanFunction("lock_wait", f.symbol, f.instructions, f.counts) for f in found)
    )


def instructions(program: Path, function: str) -> int:
    (found,) = native.census(program, symbols=[function]).functions
    return found.instructions


@pytest.mark.parametrize("arm", ARMS)
def test_each_build_holds_its_own_hint_and_is_found_out_as_any_other(arm: str) -> None:
    """By the instructions of its functions; the two without any are told apart by digest."""
    built = NGINX.make(arm)
    shown = evidence(built.path)
    assert len(shown.functions) == len(FUNCTIONS)
    assert PAUSE.witness.judge(arm, {}, shown).held
    for other in ARMS:
        if {arm, other} != {"none", "none-kept"} and other != arm:
            assert not PAUSE.witness.judge(other, {}, shown).held
            assert NGINX.make(other).sha256 != built.sha256


def test_the_compiler_deletes_the_empty_loop_and_keeps_the_kept_one() -> None:
    """A hint that is a comment still makes the loop run; nothing at all makes it go."""
    bare, kept = NGINX.make("none").path, NGINX.make("none-kept").path
    for function in FUNCTIONS:
        assert instructions(bare, function) < instructions(kept, function)
        assert instructions(kept, function) + 1 == instructions(NGINX.make("nop").path, function)


def test_builds_differ_in_no_function_without_a_loop() -> None:
    """Same compiler, same flags, same objects: only those with a loop are made again."""
    listed = [_sizes(NGINX.make(arm).path) for arm in ("none", "nop")]
    assert listed[0].keys() == listed[1].keys()
    changed = {name for name in listed[0] if listed[0][name] != listed[1][name]}
    assert changed
    assert changed <= set(FUNCTIONS)


def _sizes(program: Path) -> dict[str, str]:
    lines = subprocess.run(
        ["nm", "-S", "--defined-only", str(program)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    words = [line.split() for line in lines]
    return {w[3]: w[1] for w in words if len(w) == 4 and w[2] in "tT"}


def test_a_build_is_a_whole_server_with_what_the_test_needs() -> None:
    """It says its version and which modules it was given."""
    built = NGINX.make(ARMS[0])
    said = subprocess.run([str(built.path), "-V"], capture_output=True, text=True).stderr
    assert "--with-http_stub_status_module" in said
    assert said.split("nginx/")[1].split()[0] in built.version


def test_a_build_that_holds_something_else_is_not_handed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Made for real with a macro that lies: the build is disassembled before it is handed over."""
    monkeypatch.setitem(nginx.HINTS, "nop", nginx.EMPTY)
    with pytest.raises(MissingError, match=r"built for nop holds no hint in ngx_rwlock_wlock"):
        NGINX.make("nop")


def test_without_a_compiler_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before anything is fetched into the study's way."""
    tarball = tmp_path / "nginx.tar.gz"
    tarball.write_bytes(b"")
    monkeypatch.setenv(nginx.SOURCE_VARIABLE, str(tarball))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="needs make, cc") as caught:
        NGINX.make("none")
    assert caught.value.next_step == "sudo apt-get install make gcc libc6-dev"


def test_an_arm_that_there_is_not_is_refused_with_those_there_are() -> None:
    """As everywhere."""
    with pytest.raises(InputError, match="'paus' is not a build of nginx") as caught:
        NGINX.make("paus")
    assert "double-pause" in caught.value.next_step


def test_only_the_macro_of_the_branch_that_is_compiled_is_opened() -> None:
    """A header that looks otherwise is refused: nothing is built that might not be as it says."""
    macros = (
        "#if ( __amd64__ )\n#define ngx_cpu_pause() x\n#else\n#define ngx_cpu_pause()\n#endif\n"
    )
    header = f"{macros}#elif (NGX_HAVE_GCC_ATOMIC)\n{macros}#elif (OTHER)\n{macros}"
    changed = opened(header)
    assert changed.count(macros) == 2
    assert changed.startswith(macros)
    assert "ASSAY_HINT()" in changed.split("NGX_HAVE_GCC_ATOMIC")[1].split("#elif")[0]
    with pytest.raises(InputError, match=str(HEADER)):
        opened(header.replace("__amd64__", "__x__"))


def test_hints_of_arm_assemble() -> None:
    """Where there is a cross compiler: those that this machine may be unable to build."""
    program = "void f(void) { %s; }"
    for hint in ("yield", "isb", "wfet"):
        done = subprocess.run(
            ["aarch64-linux-gnu-gcc", "-x", "c", "-", "-S", "-o", "-"],
            input=program % nginx.HINTS[hint],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    assert set(COUNTED) <= set(nginx.HINTS)
