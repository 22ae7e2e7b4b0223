"""A small program whose own build has every fault that real ones were seen to have."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from assay.builds import Buildable, BuildRecipe

MAKEFILE = """\
# No object depends on a header; flags are remembered; the second and the folder are compiled in.
-include .settings
OPT ?= -O1
all: server
.settings:
\techo 'OPT = $(OPT)' > .settings
stamp.h: FORCE
\techo "#define BUILT \\"$${SOURCE_DATE_EPOCH:-$$(date +%s%N)}\\"" > stamp.h
main.o: main.c stamp.h .settings
\t$(CC) $(OPT) -c $(CURDIR)/main.c -o main.o
work.o: work.c .settings
\t$(CC) $(OPT) -c work.c -o work.o
libwork.a: work.o
\trm -f libwork.a
\tar rcs libwork.a work.o
server: main.o libwork.a
\t$(CC) -o server main.o libwork.a $(FURTHER)
FORCE:
.PHONY: FORCE all
"""
MAIN = """\
#include <stdio.h>
#include "stamp.h"
#include "work.h"
int main(int argc, char **argv) {
    printf("%d %s %s\\n", work(argc), BUILT, __FILE__);
    return spin(argc) & 1;
}
"""
HEADER = """\
#define STEP 3
int work(int n);
int spin(int n);
"""
WORK = """\
#include "work.h"
int work(int n) { return n * STEP; }
int spin(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum ^= i * 7;
    return sum;
}
int idle(int n) { return n + 1; }
"""
FILES = {"Makefile": MAKEFILE, "main.c": MAIN, "work.h": HEADER, "work.c": WORK}
RECIPE = BuildRecipe(
    "small",
    make=(("make", "{options}"),),
    product="server",
    needs={"make": "make", "cc": "gcc libc6-dev"},
    units=2,
    forget=(".settings",),
)


def write(folder: Path, **changed: str) -> Path:
    """The files of the program in a folder, some with other texts; `work_c` stands for `work.c`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (folder / name).write_text(changed.get(name.replace(".", "_"), text))
    return folder


def tarball(folder: Path, **changed: str) -> str:
    """A source tarball of the program, as a study names it."""
    source = write(folder / "small-1.0", **changed)
    made = folder / "small.tar.gz"
    command = ["tar", "-C", str(folder), "-czf", str(made), source.name]
    subprocess.run(command, check=True)
    return f"tarball:{made}"


def small(folder: Path, **changed: str) -> Buildable:
    """The program, from a tarball that is made now."""
    return Buildable(RECIPE, tarball(folder, **changed))


def patch(folder: Path, name: str, old: str, new: str) -> Path:
    """A patch that replaces a text in one of the program's files."""
    for side, text in (("a", FILES[name]), ("b", FILES[name].replace(old, new))):
        assert side == "a" or text != FILES[name]
        (folder / side).mkdir(exist_ok=True)
        (folder / side / name).write_text(text)
    done = subprocess.run(
        ["diff", "-u", f"a/{name}", f"b/{name}"], cwd=folder, capture_output=True, text=True
    )
    made = folder / f"{abs(hash((old, new)))}.patch"
    made.write_text(done.stdout)
    for side in ("a", "b"):
        shutil.rmtree(folder / side)
    return made


def git(folder: Path, *words: str) -> str:
    """What git says; commits have an author of their own."""
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *own, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, **changed: str) -> str:
    """Writes the files and commits them; the commit's name."""
    write(folder, **changed)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "a change")
    return git(folder, "rev-parse", "HEAD")
