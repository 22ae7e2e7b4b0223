"""A TOML file whose every value knows its line and column.

The values come from the standard library's parser; the positions come from
tree-sitter's, because no well-kept Python parser gives both. `where` answers
for any path of keys and list indices, or for the nearest enclosing one.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

import tree_sitter
import tree_sitter_toml

from assay.core.errors import FileError, Problem, StudyError

Path = tuple[str | int, ...]
Position = tuple[int, int]


@dataclass(frozen=True)
class Document:
    """A parsed file: its values, and where each stands (line and column from 1)."""

    name: str
    values: dict[str, Any]
    positions: dict[Path, Position]

    def where(self, path: Path) -> Position:
        """The position of a value, or of the nearest thing around it."""
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions.get(path, (1, 1))

    def problem(self, path: Path, message: str, next_step: str) -> Problem:
        """A mistake at a path, ready to be shown."""
        return Problem(*self.where(path), message, next_step)


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))


def parse(name: str, text: str, error_kind: type[FileError] = StudyError) -> Document:
    """The document in `text`; an error of the kind given, with the position, if it is not TOML."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise error_kind(name, [_not_toml(str(error), text)]) from error
    tree = _parser().parse(text.encode())
    positions: dict[Path, Position] = {(): (1, 1)}
    _Walker(positions).document(tree.root_node)
    return Document(name, values, positions)


def _not_toml(said: str, text: str) -> Problem:
    found = re.search(r"\(at line (\d+), column (\d+)\)", said)
    end = (text.count("\n") + 1, 1)
    line, column = (int(found[1]), int(found[2])) if found else end
    reason = said.split(" (at ")[0]
    return Problem(
        line, column, f"not TOML: {reason}", "mend the syntax; see toml.io for the rules"
    )


class _Walker:
    """Fills a table of positions from a syntax tree."""

    def __init__(self, positions: dict[Path, Position]) -> None:
        self.positions = positions
        self.lengths: dict[Path, int] = {}

    def document(self, root: tree_sitter.Node) -> None:
        for node in root.named_children:
            if node.type == "pair":
                self.pair((), node)
            elif node.type in ("table", "table_array_element"):
                self.table(node)

    def table(self, node: tree_sitter.Node) -> None:
        header, *rest = node.named_children
        path = self.resolve(_keys(header))
        if node.type == "table_array_element":
            index = self.lengths.get(path, 0)
            self.lengths[path] = index + 1
            self.note(path, header)
            path = (*path, index)
        self.note(path, header)
        for child in rest:
            if child.type == "pair":
                self.pair(path, child)

    def resolve(self, keys: list[str]) -> Path:
        """Keys of a header as a path: arrays of tables on the way mean their last element."""
        path: Path = ()
        for key in keys[:-1]:
            path = (*path, key)
            if path in self.lengths:
                path = (*path, self.lengths[path] - 1)
        return (*path, keys[-1])

    def pair(self, base: Path, node: tree_sitter.Node) -> None:
        key, value = node.named_children[0], node.named_children[-1]
        path = base
        for part in _keys(key):
            path = (*path, part)
            self.note(path, key)
        self.value(path, value)

    def value(self, path: Path, node: tree_sitter.Node) -> None:
        if node.type == "inline_table":
            for child in node.named_children:
                if child.type == "pair":
                    self.pair(path, child)
        elif node.type == "array":
            items = [c for c in node.named_children if c.type != "comment"]
            for index, child in enumerate(items):
                self.note((*path, index), child)
                self.value((*path, index), child)

    def note(self, path: Path, node: tree_sitter.Node) -> None:
        row, column = node.start_point
        self.positions.setdefault(path, (row + 1, column + 1))


def _keys(node: tree_sitter.Node) -> list[str]:
    """The keys of a header or a pair; tomllib reads the quoting."""
    written = node.text.decode() if node.text else ""
    nested: Any = tomllib.loads(f"{written} = 0")
    keys = []
    while isinstance(nested, dict):
        (key,) = nested
        keys.append(key)
        nested = nested[key]
    return keys
