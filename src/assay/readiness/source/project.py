"""A source tree as two worlds see it: files, which headers are reached, which macros exist.

A header counts in a world if something that counts there includes it. A macro that the tree
defines for the other world only, and that no build file mentions, is absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import PurePosixPath

from assay.readiness.inputs.items import SourceFile, SourceTree
from assay.readiness.inputs.kinds import language
from assay.readiness.source.directives import Branch, Directive, Visibility, directives, look
from assay.readiness.source.structure import Structure
from assay.readiness.source.text import Text, blank
from assay.readiness.source.tristate import ABSENT, MAYBE, NO, YES
from assay.readiness.source.worlds import AARCH64, X86_64

_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".tcc", ".ic")
LEFT_OUT = frozenset(
    ("test", "tests", "unittest", "unit_tests", "testing", "example", "examples", "doc", "docs",
     "man", "fuzz")
)  # fmt: skip
"""Folders whose sources are read for their macros, and not judged."""

_X86_NAMES = frozenset(
    ("x86", "x64", "amd64", "i386", "i686", "ia32", "sse", "sse2", "sse41", "sse42", "ssse3",
     "avx", "avx2", "avx512", "pclmul", "pclmulqdq", "x8664")
)  # fmt: skip
_ARM_NAMES = frozenset(("arm", "arm64", "aarch64", "neon", "armv8", "sve", "asimd"))
_OTHER_NAMES = frozenset(
    ("ppc", "ppc64", "powerpc", "s390", "s390x", "sparc", "sparc64", "mips", "riscv", "riscv64",
     "loongarch", "loongarch64", "hppa", "ia64", "alpha", "altivec", "vsx", "win", "win32",
     "win64", "windows", "darwin", "macos", "macosx", "apple", "freebsd", "openbsd", "netbsd",
     "solaris", "sunpro", "aix", "msvc", "vms", "wasm")
)  # fmt: skip
_WORD = re.compile(r"[A-Za-z_]\w*")
MOST_ROUNDS = 4


def worlds_by_name(name: str) -> tuple[int, int]:
    """In which worlds a file is built that nothing includes: told by its name."""
    words = set(re.split(r"[/_.\-]", name.lower().replace("x86_64", "x86")))
    x86, arm = words & _X86_NAMES, words & _ARM_NAMES
    if words & _OTHER_NAMES and not x86 and not arm:
        return NO, NO
    return (NO if arm and not x86 else YES), (NO if x86 and not arm else YES)


class File:
    """One source file. Worlds are known once its project is settled."""

    def __init__(self, name: str, raw: str) -> None:
        self.name = name
        self.language = language(name)
        self.text = Text(raw, self.language)
        self.directives: list[Directive] = directives(self.text) if self.language == "c" else []
        self.whole = (YES, YES)
        self.seen = Visibility(bytearray(0), bytearray(0), [], [], [], [])

    @property
    def is_header(self) -> bool:
        """Whether others include it."""
        return self.name.lower().endswith(_HEADERS)

    @cached_property
    def is_judged(self) -> bool:
        """Whether findings in it count: not in folders of tests, examples and documents."""
        return not LEFT_OUT & set(PurePosixPath(self.name).parts[:-1])

    @cached_property
    def conditional_words(self) -> frozenset[str]:
        """Every name in its conditions."""
        words: set[str] = set()
        for d in self.directives:
            if d.name not in ("define", "undef", "include", "error", "else", "endif"):
                words.update(_WORD.findall(d.text))
        return frozenset(words)

    def arm(self, line: int) -> int:
        """Whether a line is compiled on aarch64."""
        return self.seen.arm[line] if line < len(self.seen.arm) else self.whole[1]

    def x86(self, line: int) -> int:
        """Whether a line is compiled on x86-64."""
        return self.seen.x86[line] if line < len(self.seen.x86) else self.whole[0]

    def arm_at(self, offset: int) -> int:
        """The same of an offset."""
        return self.arm(self.text.line_of(offset))

    def matches(
        self, pattern: re.Pattern[str], in_strings: bool = False
    ) -> Iterator[re.Match[str]]:
        """Where a pattern is found in what may be compiled on aarch64."""
        for match in pattern.finditer(self.text.bare if in_strings else self.text.code):
            if self.arm_at(match.start()) != NO:
                yield match

    def view(self, arm: bool = True, in_strings: bool = False) -> str:
        """The text that one world may compile; what is not of it, and directives, are blank."""
        kept = bytearray(self.seen.arm if arm else self.seen.x86)
        source = self.text.bare if in_strings else self.text.code
        lines = source.split("\n")
        for group in self.seen.groups:
            self._one_of(group.branches, kept, lines)
        for d in self.directives:
            kept[d.line : d.last_line + 1] = bytes(d.last_line + 1 - d.line)
        return "\n".join(
            line if kept[number] != NO else blank(line)
            for number, line in enumerate(lines, start=1)
        )

    @staticmethod
    def _one_of(branches: list[Branch], kept: bytearray, lines: list[str]) -> None:
        """Of branches that are all possible, later ones that open other brackets are left out."""
        for branch in branches[1:]:
            first, last = branch.first_line, branch.last_line
            if any(kept[first : last + 1]) and kept[first] == MAYBE:
                part = "\n".join(lines[first - 1 : last])
                if part.count("{") != part.count("}"):
                    kept[first : last + 1] = bytes(last + 1 - first)

    @cached_property
    def structure(self) -> Structure:
        """Functions and loops as aarch64 has them."""
        return Structure(self.view())

    def function(self, offset: int) -> str:
        """The name of the function that an offset lies in."""
        span = self.structure.function_at(offset)
        return span.name if span else ""


class Project:
    """A tree, settled."""

    def __init__(self, files: Iterable[File]) -> None:
        self.files = list(files)
        self.sources = [f for f in self.files if f.language == "c"]
        self.builds = [f for f in self.files if f.language == "build"]
        self._by_base: dict[str, list[File]] = {}
        for file in self.sources:
            self._by_base.setdefault(PurePosixPath(file.name).name, []).append(file)
        self._settle()

    @property
    def judged(self) -> Iterator[File]:
        """Sources in C and C++ of which findings count."""
        return (f for f in self.sources if f.is_judged and f.whole != (NO, NO))

    @cached_property
    def build_words(self) -> frozenset[str]:
        """Every name in files of the build: what they may define."""
        words: set[str] = set()
        for file in self.builds:
            words.update(_WORD.findall(file.text.raw.replace("-D", "-D ")))
        return frozenset(words)

    @cached_property
    def defined(self) -> frozenset[str]:
        """Every macro that a source defines, wherever."""
        return frozenset(d.name for f in self.sources for d in f.seen.definitions)

    def _settle(self) -> None:
        for file in self.sources:
            file.whole = (YES, YES) if file.is_header else worlds_by_name(file.name)
        tables = (X86_64, AARCH64)
        stale = set(self.sources)
        for _ in range(MOST_ROUNDS):
            for file in stale:
                file.seen = look(file.directives, file.text.lines, tables, file.whole)
            moved = self._reach()
            extra = self._one_sided()
            news = {n for world in (0, 1) for n in extra[world] if n not in tables[world]}
            stale = moved | {f for f in self.sources if news & f.conditional_words}
            if not stale:
                return
            tables = ({**X86_64, **extra[0]}, {**AARCH64, **extra[1]})
        for file in stale:
            file.seen = look(file.directives, file.text.lines, tables, file.whole)

    def included(self, name: str, by: File) -> list[File]:
        """The files that an #include may mean."""
        plain = re.sub(r"^(?:\.\.?/)+", "", name)
        candidates = self._by_base.get(plain.rsplit("/", 1)[-1])
        if not candidates:
            return []
        beside = str(PurePosixPath(by.name).parent / plain)
        exact = [f for f in candidates if f.name == beside]
        return exact or [f for f in candidates if f.name == plain or f.name.endswith("/" + plain)]

    def _reach(self) -> set[File]:
        """Spread the worlds from files that are built to what they include; who moved."""
        included_by: dict[File, list[tuple[File, int, int]]] = {}
        for file in self.sources:
            for include in file.seen.includes:
                # Relative to the file as a whole: that is what spreads.
                for found in self.included(include.name, file):
                    if found is not file:
                        included_by.setdefault(found, []).append((file, include.x86, include.arm))
        moved = set()
        for file in self.sources:
            whole = file.whole
            if file in included_by and file.is_header:
                reached = [(x, a) for _, x, a in included_by[file]]
                whole = (_most(x for x, _ in reached), _most(a for _, a in reached))
            elif file.is_header:
                whole = worlds_by_name(file.name)
            if whole != file.whole:
                file.whole = whole
                moved.add(file)
        return moved

    def _one_sided(self) -> tuple[dict[str, object], dict[str, object]]:
        """Macros that only the other world defines."""
        places: dict[str, list[tuple[int, int]]] = {}
        for file in self.sources:
            for d in file.seen.definitions:
                places.setdefault(d.name, []).append((d.x86, d.arm))
        absent: tuple[dict[str, object], dict[str, object]] = ({}, {})
        for name, where in places.items():
            if name in self.build_words or name in X86_64:
                continue
            for mine, other in ((0, 1), (1, 0)):
                if all(w[mine] == NO for w in where) and any(w[other] != NO for w in where):
                    absent[mine][name] = ABSENT
        return absent


def _most(values: Iterable[int]) -> int:
    """The most that is said: yes, then perhaps, then no."""
    found = list(values)
    return YES if YES in found else MAYBE if MAYBE in found else NO


def read(tree: SourceTree) -> Project:
    """The files of a tree. What cannot be decoded is read as Latin-1."""
    return Project(File(source.name, _text(source)) for source in tree.files)


def _text(source: SourceFile) -> str:
    raw = source.path.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
