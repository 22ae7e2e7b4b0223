"""Compilers, and what stands before them while a program is built.

Every command of a build that compiles or links goes through a script of ours, found first in
PATH. It adds the flags that all builds have and those of the one build, takes some away, and writes
down what was really run. So it does not matter how a program's own build is told its flags, or
whether it remembers older ones.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.builds import tools
from assay.builds.variation import Variation
from assay.core.digest import file_digest
from assay.core.errors import MissingError

C_NAMES = ("cc", "gcc", "clang", "c99")
CXX_NAMES = ("c++", "g++", "clang++")
COMMANDS = "ASSAY_COMMANDS"
"""The folder that what was run is written into; nothing is written where it is unset."""

ALWAYS = ("-ffunction-sections", "-fdata-sections", "-g0")
"""In every build: each function and variable can be told apart, and moved, by itself."""

_END = "\x01"
"""The word after the last of a command."""

_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".C", ".s", ".S")


@dataclass(frozen=True)
class Compilers:
    """The compiler of C and that of C++, by path, and what they are."""

    c: Path
    cxx: Path | None
    said: str
    identity: str

    @property
    def is_clang(self) -> bool:
        """Whether it is LLVM's."""
        return "clang" in self.c.name


def compilers(name: str) -> Compilers:
    """The compilers that a name such as "gcc-12" or "clang" means; empty means the machine's own.

    MissingError with the one command if it is not here.
    """
    c = shutil.which(name or "cc")
    if c is None:
        package = name or tools.PACKAGES["cc"]
        raise MissingError(
            f"the compiler {name or 'cc'} is not here",
            next_step=f"sudo apt-get install {package}",
        )
    cxx = shutil.which(_cxx_of(name))
    path = Path(c).resolve()
    version = tools.compiler(c, _ask)
    identity = [file_digest(p.resolve()) for p in (path, Path(cxx) if cxx else path)]
    return Compilers(Path(c), Path(cxx) if cxx else None, version, "".join(identity))


def _cxx_of(name: str) -> str:
    if not name:
        return "c++"
    return name.replace("clang", "clang++").replace("gcc", "g++")


def _ask(*command: str) -> str:
    step = f"sudo apt-get install {tools.PACKAGES['cc']}"
    return tools.run(command, Path.cwd(), what="asking the compiler", next_step=step)


def write_scripts(place: Path, found: Compilers, variation: Variation, tree: Path) -> None:
    """Fills a folder with the scripts that stand before the compilers."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    extra = [*ALWAYS, f"-ffile-prefix-map={tree}=.", *variation.flags]
    for names, path in ((C_NAMES, found.c), (CXX_NAMES, found.cxx)):
        for name in names:
            if path is not None:
                _write(place / name, _script(path, extra, variation.without))
    if variation.optimises_links:
        for tool in ("ar", "nm", "ranlib"):
            own = shutil.which(f"llvm-{tool}" if found.is_clang else f"gcc-{tool}")
            if own is not None:
                _write(place / tool, f'#!/bin/sh\nexec {own} "$@"\n')


def _script(path: Path, extra: Sequence[str], without: Sequence[str]) -> str:
    gone = "|".join(shlex.quote(flag) for flag in without)
    dropped = (
        f'for a do shift; case $a in {gone}) ;; *) set -- "$@" "$a" ;; esac; done\n' if gone else ""
    )
    added = " ".join(shlex.quote(flag) for flag in extra)
    return (
        "#!/bin/sh\n"
        f"{dropped}"
        f'set -- "$@" {added}\n'
        f'[ -n "${COMMANDS}" ] && printf \'%s\\0\' "$PWD" "$@" "{_END}" >>"${COMMANDS}/$$"\n'
        f'exec {shlex.quote(str(path))} "$@"\n'
    )


def _write(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o755)


@dataclass(frozen=True)
class CompilerCall:
    """A command of a compiler as it was run: its folder and its words, without the first."""

    folder: str
    words: tuple[str, ...]

    @property
    def output(self) -> str:
        """The file that it was to make."""
        for word, following in zip(self.words, self.words[1:], strict=False):
            if word == "-o":
                return following
        return ""

    @property
    def source(self) -> str:
        """What it compiled; empty of a link."""
        if "-c" not in self.words:
            return ""
        return next((w for w in self.words if w.endswith(_SOURCES)), "")

    @property
    def flags(self) -> tuple[str, ...]:
        """What decides about the code: optimisation, machine, standard, and what is defined."""
        kinds = ("-O", "-m", "-f", "-std", "-pthread")
        return tuple(w for w in self.words if w.startswith(kinds) and "prefix-map" not in w)


def commands(folder: Path) -> Iterator[CompilerCall]:
    """What was run, in the order in which it was begun as far as files tell."""
    files = sorted(folder.iterdir(), key=lambda f: f.stat().st_mtime_ns)
    for file in files:
        record: list[str] = []
        for word in file.read_bytes().decode("utf-8", "surrogateescape").split("\0"):
            if word != _END:
                record.append(word)
            elif record:
                yield CompilerCall(record[0], tuple(record[1:]))
                record = []


def common_flags(ran: Sequence[CompilerCall]) -> str:
    """The flags that most files were compiled with, as they reached the compiler."""
    counted = Counter(call.flags for call in ran if call.source)
    return " ".join(counted.most_common(1)[0][0]) if counted else ""


def requires_headers(found: Compilers, headers: Sequence[str]) -> list[str]:
    """Those of the header files that the compiler does not find."""
    absent = []
    for header in headers:
        compiler = found.cxx if header.endswith("core.h") and found.cxx else found.c
        language = "c++" if compiler == found.cxx else "c"
        done = subprocess.run(
            [str(compiler), "-x", language, "-E", "-include", header, "-"],
            input=b"",
            capture_output=True,
            env=tools.environment(),
        )
        if done.returncode:
            absent.append(header)
    return absent
