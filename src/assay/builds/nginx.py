"""nginx with another instruction in the loops in which it waits for a lock.

Users of the loop are `ngx_rwlock_wlock` and `_rlock` (the `zone` of an upstream),
`ngx_shmtx_lock` (limit_req, caches, accept_mutex) and `ngx_spinlock` (thread pools).
They look at the lock after 1, 2, 4, ... 1024 repetitions of `ngx_cpu_pause()`, then give
up the CPU. nginx has `pause` there on x86-64 and nothing on Arm. "Nothing" is two
arms, because a compiler that optimises deletes an empty loop: `none` is nginx's own
empty macro, `none-kept` an empty `asm volatile` that keeps the loop.

All arms come from one object tree: the sources are configured and made once, then
only the three objects with the loops are made again and the program linked. No debug
information is made, so that its contents do not depend on the folder it was made in.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from assay import native
from assay.builds import source, tools
from assay.builds.recipe import Built, Recipe, load
from assay.builds.source import Source
from assay.core.cache import cache, keep
from assay.core.digest import canonical, digest, file_digest
from assay.core.errors import InputError, MissingError

PACKAGE = "nginx"
SOURCE_VARIABLE = "ASSAY_NGINX_SOURCE"
"""The path of a tarball, instead of the distribution's."""

FLAGS = "-pipe -O2"
CONFIGURE = (
    "--without-http_rewrite_module",
    "--without-http_gzip_module",
    "--with-http_stub_status_module",
)
"""Neither PCRE nor zlib is needed; neither has a part in the test."""

HEADER = Path("src/os/unix/ngx_atomic.h")
HINT = Path("src/os/unix/assay_hint.h")
LOCKS = ("ngx_rwlock", "ngx_shmtx", "ngx_spinlock")
RECIPE = 1
"""Grows when what this file makes changes."""

FUNCTIONS = ("ngx_rwlock_wlock", "ngx_rwlock_rlock", "ngx_shmtx_lock", "ngx_spinlock")
"""Functions with the loop."""

EMPTY = '__asm__ __volatile__ ("")'
WFET = (
    '__asm__ __volatile__ ("mrs x9, cntvct_el0\\n\\tadd x9, x9, #32\\n\\t.inst 0xd5031009" '
    '::: "x9", "memory")'
)
"""Wait for an event or 32 ticks of the counter; WFET of x9, which older assemblers do not know."""

HINTS = {
    "none": "",
    "none-kept": EMPTY,
    "nop": '__asm__ __volatile__ ("nop")',
    "pause": '__asm__ __volatile__ ("pause")',
    "double-pause": '__asm__ __volatile__ ("pause\\n\\tpause")',
    "yield": '__asm__ __volatile__ ("yield")',
    "isb": '__asm__ __volatile__ ("isb" ::: "memory")',
    "wfet": WFET,
}
"""What the loop repeats, in C."""

COUNTED = ("nop", "pause", "yield", "isb", "wfet")


def holds(arm: str) -> dict[str, int]:
    """How many of which instruction stand in each function's loop at this arm, by the census."""
    if arm in ("none", "none-kept"):
        return {}
    return {"pause": 2} if arm == "double-pause" else {arm: 1}


class _Nginx(Recipe):
    """The recipe."""

    name = "nginx"
    arms = tuple(HINTS)
    takes = "about a minute, once"

    def kept(self, arm: str) -> bool:
        return any(cache("builds").glob(f"nginx-{arm}-*/build.json"))

    def make(self, arm: str) -> Built:
        if arm not in HINTS:
            raise InputError(
                f"{arm!r} is not a build of nginx", next_step=f"builds: {', '.join(HINTS)}"
            )
        found = source.given_or(SOURCE_VARIABLE, lambda: source.distribution(PACKAGE))
        compiler = tools.compiler("cc", partial(_run, Path.cwd()))
        tree, made = _places(found.sha256, compiler, arm)
        about = Built(Path("nginx"), "", found.version, found.sha256, compiler, FLAGS)
        if not made.is_dir():
            keep(tree, lambda making: _make_tree(found, making))
            keep(made, lambda making: _make_arm(arm, tree, making, about))
        return load(made)


NGINX = _Nginx()


def _run(folder: Path, *command: str) -> str:
    step = "it needs a C compiler: sudo apt-get install gcc libc6-dev make"
    return tools.run(command, folder, what="building nginx", next_step=step)


def _places(source_sha256: str, compiler: str, arm: str) -> tuple[Path, Path]:
    """Where the object tree and the arm are kept: under the digest of all that goes into them."""
    inputs = [RECIPE, source_sha256, compiler, FLAGS, *CONFIGURE]
    folder, whole = cache("builds"), canonical([*inputs, HINTS[arm]])
    return (
        folder / f"nginx-tree-{digest(canonical(inputs))[:20]}",
        folder / f"nginx-{arm}-{digest(whole)[:20]}",
    )


def _make(folder: Path) -> None:
    jobs = f"-j{len(os.sched_getaffinity(0))}"
    _run(folder, "make", "-f", "objs/Makefile", jobs, f"CFLAGS={FLAGS}", "binary")


def _make_tree(found: Source, making: Path) -> None:
    """Sources with the macro opened to us, configured and made: every object but for the arm."""
    unpacked = source.unpack(found, making)
    header = unpacked / HEADER
    header.write_text(opened(header.read_text()))
    (unpacked / HINT).write_text(_hint("none"))
    _run(unpacked, "sh", "./configure", *CONFIGURE)
    _make(unpacked)
    unpacked.rename(making / "tree")


def _hint(arm: str) -> str:
    return f"#define ASSAY_HINT() {HINTS[arm]}\n"


def opened(header: str) -> str:
    """`ngx_atomic.h` with the macro of the branch for GCC's built-ins taken from a file of ours."""
    branch, macro = "#elif (NGX_HAVE_GCC_ATOMIC)", r"#define[ \t]+ngx_cpu_pause\(\)[^\n]*\n"
    begin = header.find(branch)
    choice = re.compile(rf"#if \([^\n]*__amd64__[^\n]*\n{macro}#else\n{macro}#endif\n")
    found = choice.search(header, begin)
    if begin < 0 or found is None or "#elif" in header[begin + len(branch) : found.start()]:
        raise InputError(
            f"{HEADER} does not define ngx_cpu_pause() as it used to",
            next_step="give the sources of another version of nginx",
        )
    ours = f'#include "{HINT.name}"\n#define ngx_cpu_pause() ASSAY_HINT()\n'
    return header[: found.start()] + ours + header[found.end() :]


def _make_arm(arm: str, tree: Path, making: Path, about: Built) -> None:
    """The three lock objects made again in a copy of the tree, linked, and looked at."""
    copy = making / "tree"
    shutil.copytree(tree / "tree", copy)
    (copy / HINT).write_text(_hint(arm))
    for lock in LOCKS:
        (copy / "objs/src/core" / f"{lock}.o").unlink()
    (copy / "objs/nginx").unlink()
    _make(copy)
    program = making / "nginx"
    (copy / "objs/nginx").rename(program)
    shutil.rmtree(copy)
    _look(program, arm)
    built = replace(about, sha256=file_digest(program))
    (making / "build.json").write_text(json.dumps(asdict(built), default=str, indent=1))


def _look(program: Path, arm: str) -> None:
    """Disassembled: each loop holds the arm's instruction, so often, and none of the others."""
    found = native.census(program, symbols=list(FUNCTIONS))
    wanted = holds(arm)
    for function in found.functions:
        seen = {i: n for i in COUNTED if (n := function.counts.get(i, 0))}
        if seen != wanted:
            raise MissingError(
                f"nginx built for {arm} holds {seen or 'no hint'} in {function.symbol}, "
                f"not {wanted or 'none'}: this compiler makes other code of the loop",
                next_step="use another compiler, or leave the level out",
            )
    if found.missing:
        raise MissingError(
            f"nginx built for {arm} lacks {', '.join(found.missing)}",
            next_step="give the sources of another version of nginx",
        )
