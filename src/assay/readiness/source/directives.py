"""One file as two worlds see it: for each line, whether it is compiled on x86-64 and on aarch64."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from assay.readiness.source.text import Text
from assay.readiness.source.tristate import (
    ABSENT,
    MAYBE,
    NO,
    YES,
    Macros,
    both,
    condition,
    either,
    is_defined,
    negated,
)

_DIRECTIVE = re.compile(
    r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif|define|undef|include|error)\b"
    r"((?:[^\n\\]|\\\n|\\.)*)",
    re.MULTILINE,
)
_DEFINED = re.compile(r"\s*([A-Za-z_]\w*)(\([^()]*\))?\s?(.*)", re.DOTALL)
_INCLUDED = re.compile(r"\s*[<\"]([^>\"\n]+)[>\"]")
MOST_OPEN = 200


@dataclass
class Directive:
    """One line of the preprocessor's; `text` is what follows its name, lines joined."""

    name: str
    text: str
    line: int
    last_line: int


@dataclass
class Branch:
    """One branch of an #if: the lines between its directive and the next, and when they count."""

    directive: Directive
    last_line: int
    x86: int
    arm: int
    group: Conditional

    @property
    def first_line(self) -> int:
        """The line after the directive."""
        return self.directive.last_line + 1


@dataclass
class Conditional:
    """An #if with all its branches."""

    branches: list[Branch] = field(default_factory=list)


@dataclass(frozen=True)
class Definition:
    """A #define: where, of what, and in which worlds."""

    name: str
    arguments: str | None
    body: str
    line: int
    x86: int
    arm: int


@dataclass(frozen=True)
class Include:
    """An #include: of what, and in which worlds."""

    name: str
    line: int
    x86: int
    arm: int


@dataclass
class Visibility:
    """What the directives of a file say."""

    x86: bytearray
    arm: bytearray
    groups: list[Conditional]
    definitions: list[Definition]
    includes: list[Include]
    errors: list[int]


@dataclass
class _Open:
    """An #if that is not over: its parents' worlds, and whether a branch was taken before."""

    group: Conditional
    outer: tuple[int, int]
    taken: list[int]
    here: tuple[int, int]


def directives(text: Text) -> list[Directive]:
    """The lines of the preprocessor's that matter."""
    found = []
    if "#" not in text.bare:
        return []
    for match in _DIRECTIVE.finditer(text.bare):
        first = text.line_of(match.start(1))
        words = match[2].replace("\\\n", "  ")
        found.append(Directive(match[1], words.strip(), first, first + match[2].count("\n")))
    return found


def guard_of(found: list[Directive]) -> int | None:
    """The line of a guard against including twice: #ifndef X, then #define X at once."""
    if len(found) < 2 or found[1].name != "define":
        return None
    first = found[0]
    if first.name == "ifndef":
        named = first.text
    elif first.name == "if":
        named = re.sub(r"!\s*defined\s*\(?\s*(\w+)\s*\)?", r"\1", first.text)
    else:
        return None
    return first.line if found[1].text.split("(")[0].split()[:1] == [named.strip()] else None


class _Walk:
    """The directives of one file, in order, in both worlds at once."""

    def __init__(self, lines: int, worlds: tuple[Macros, Macros], whole: tuple[int, int]) -> None:
        self._tables = worlds
        self._local: tuple[dict[str, object], dict[str, object]] = ({}, {})
        self._open: list[_Open] = []
        self._here = whole
        self._from = 1
        size = lines + 2
        self.seen = Visibility(bytearray(size), bytearray(size), [], [], [], [])

    def _fill(self, until: int) -> None:
        """The worlds of the lines before `until`."""
        count = until - self._from
        if count > 0:
            self.seen.x86[self._from : until] = bytes([self._here[0]]) * count
            self.seen.arm[self._from : until] = bytes([self._here[1]]) * count
            self._from = until

    def run(self, found: list[Directive], guard: int | None) -> Visibility:
        for directive in found:
            name = directive.name
            if name in ("if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"):
                self._fill(directive.line)
                self._conditional(directive, directive.line == guard)
            elif name == "define":
                self._define(directive)
            elif name == "undef":
                self._undefine(directive)
            elif name == "include":
                self._include(directive)
            else:
                self.seen.errors.append(directive.line)
        self._fill(len(self.seen.x86))
        for opened in self._open:
            opened.group.branches[-1].last_line = len(self.seen.x86) - 2
        return self.seen

    def _conditional(self, directive: Directive, is_guard: bool) -> None:
        if directive.name in ("if", "ifdef", "ifndef"):
            if len(self._open) < MOST_OPEN:
                values = (YES, YES) if is_guard else self._values(directive)
                group = Conditional()
                self.seen.groups.append(group)
                self._open.append(_Open(group, self._here, [NO, NO], self._here))
                self._branch(directive, values)
            return
        if not self._open:
            return
        opened = self._open[-1]
        opened.group.branches[-1].last_line = directive.line - 1
        if directive.name == "endif":
            self._open.pop()
            self._here = opened.outer
        else:
            values = (YES, YES) if directive.name == "else" else self._values(directive)
            self._branch(directive, values)

    def _branch(self, directive: Directive, values: tuple[int, int]) -> None:
        opened = self._open[-1]
        here = []
        for world in (0, 1):
            value = both(values[world], negated(opened.taken[world]))
            opened.taken[world] = either(opened.taken[world], values[world])
            here.append(both(opened.outer[world], value))
        self._here = (here[0], here[1])
        opened.group.branches.append(
            Branch(directive, directive.last_line, here[0], here[1], opened.group)
        )

    def _values(self, directive: Directive) -> tuple[int, int]:
        return self._value(directive, 0), self._value(directive, 1)

    def _value(self, directive: Directive, world: int) -> int:
        table = self._tables[world]
        macros = {**table, **self._local[world]} if self._local[world] else table
        if directive.name in ("if", "elif"):
            return condition(directive.text, macros)
        name = directive.text.split()[0] if directive.text else ""
        value = is_defined(name, macros)
        return negated(value) if directive.name in ("ifndef", "elifndef") else value

    def _define(self, directive: Directive) -> None:
        match = _DEFINED.match(directive.text)
        if match is None:
            return
        name, arguments, body = match[1], match[2], match[3].strip()
        self.seen.definitions.append(Definition(name, arguments, body, directive.line, *self._here))
        for world in (0, 1):
            here = self._here[world]
            if here == YES:
                self._local[world][name] = body
            elif here == MAYBE:
                known = self._local[world].get(name, self._tables[world].get(name, ABSENT))
                self._local[world][name] = body if known == body else None

    def _undefine(self, directive: Directive) -> None:
        name = directive.text.split()[0] if directive.text else ""
        for world in (0, 1):
            if self._here[world] == YES:
                self._local[world][name] = ABSENT
            elif self._here[world] == MAYBE:
                self._local[world][name] = None

    def _include(self, directive: Directive) -> None:
        match = _INCLUDED.match(directive.text)
        if match is not None:
            self.seen.includes.append(Include(match[1].strip(), directive.line, *self._here))


def look(
    found: list[Directive], lines: int, worlds: tuple[Macros, Macros], whole: tuple[int, int]
) -> Visibility:
    """What the directives say, where the file as a whole is compiled in worlds `whole`."""
    return _Walk(lines, worlds, whole).run(found, guard_of(found))
