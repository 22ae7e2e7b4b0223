"""nginx with another instruction in the loops in which it waits for a lock.

Users of the loop are `ngx_rwlock_wlock` and `_rlock` (the `zone` of an upstream),
`ngx_shmtx_lock` (limit_req, caches, accept_mutex) and `ngx_spinlock` (thread pools).
They look at the lock after 1, 2, 4, ... 1024 repetitions of `ngx_cpu_pause()`, then give
up the CPU. nginx has `pause` there on x86-64 and nothing on Arm. "Nothing" is two
arms, because a compiler that optimises deletes an empty loop: `none` is nginx's own
empty macro, `none-kept` an empty `asm volatile` that keeps the loop.

Each arm is nginx's own recipe with two files of its source replaced: the header with the macro,
which is opened to us, and a file of ours that says what the macro is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from assay import native
from assay.builds.arms import VariedRecipe
from assay.builds.program import Buildable, program
from assay.builds.recipe_file import BuildRecipe
from assay.builds.variation import Variation
from assay.core.cache import cache
from assay.core.errors import InputError, MissingError

SOURCE_VARIABLE = "ASSAY_NGINX_SOURCE"
"""The path of a tarball, instead of the distribution's (`Buildable`)."""

HEADER = Path("src/os/unix/ngx_atomic.h")
HINT = Path("src/os/unix/assay_hint.h")
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


class _Nginx(VariedRecipe):
    """The recipe."""

    name, called = "nginx", "nginx"
    arms = tuple(HINTS)
    takes = "about a minute, once"

    def is_fetched(self) -> bool:
        return SOURCE_VARIABLE in os.environ or (cache("sources") / self.needs().package).is_dir()

    def needs(self) -> BuildRecipe:
        return self.program().recipe

    def program(self) -> Buildable:
        return program("nginx")

    def variation(self, program: Buildable, arm: str) -> Variation:
        header = (program.unpacked().folder / HEADER).read_text()
        hint = f"#define ASSAY_HINT() {HINTS[arm]}\n"
        return Variation(files=((str(HEADER), opened(header)), (str(HINT), hint)))

    def look(self, made: Path, arm: str) -> None:
        """Disassembled: each loop holds the arm's instruction, so often, and none of the others."""
        found = native.census(made, symbols=list(FUNCTIONS))
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


NGINX = _Nginx()


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
