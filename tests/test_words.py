"""Text that people read uses the terms of the field: each retired word names its replacement.

Read are the documents, messages and help texts of both halves, the report's templates, and the
questions of shipped studies. Code in documents is left out, and so are names: strings without a
space.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "assay"
RETIRED = {
    r"told": "given, rendered, reported; of arms: no detectable difference",
    r"whoever": "a noun",
    r"sentinels?": "A/A control",
    r"fragile": "not robust",
    r"doubts?|doubtful": "warning; of claims: contradicted",
    r"beside": "against, next to, besides",
    r"steady|steadiness|unsteady": "stationary, stationarity",
    r"stability": "slow runs",
    r"confirming": "confirmed, confirmation",
    r"spell\w*|spelt": "setting values, names",
    r"looks? at a (?:held )?(?:lock|latch)": "polls",
    r"stubs?": "fixture, or what it serves",
    r"ghosts?|insists?": "what it is",
    r"lets? go|handed on|hands on": "drops, releases; the shortlist",
    r"nothing came of|in so many words": "it plainly",
    r"keeps? quiet|speaks? up": "reports nothing, warns",
    r"gets? in each other's way": "interfere",
    r"(?:decks?|slides?|machines?) (?:says?|wants?)": "the source states, the machine needs",
    r"who (?:looks|writes|pays)": "passive, or a noun",
}
"""House words by what to write in their place."""


Texts = Callable[[], Iterator[tuple[Path, str]]]


def documents() -> Iterator[tuple[Path, str]]:
    """Each page without its code."""
    for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = re.sub(r"```.*?```|^    .*$", "", page.read_text(), flags=re.S | re.M)
        yield page, re.sub(r"`[^`]*`", "", text)


def messages() -> Iterator[tuple[Path, str]]:
    """The strings of each module that have a space; help texts, but no other docstring."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        shown = "\n".join(_strings(tree, helps=path.parent.name == "cli"))
        yield path, shown


def _strings(tree: ast.Module, *, helps: bool) -> Iterator[str]:
    notes = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        command = helps and isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        for line in node.body:
            if not command and isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant):
                notes.add(line.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lazily":
            notes |= {word.value for word in node.keywords}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in notes:
            text = node.value
            if " " in text.strip():
                yield text


def templates() -> Iterator[tuple[Path, str]]:
    """Pages without their tags, scripts by their strings that have a space."""
    for path in _pages("*.html"):
        yield path, re.sub(r"\{[{%#].*?[}%#]\}|<[^>]*>", " ", path.read_text(), flags=re.S)
    for path in _pages("*.js"):
        code = re.sub(r"/\*.*?\*/|//.*", "", path.read_text(), flags=re.S)
        yield path, "\n".join(re.findall(r"[\"`']([^\"`'\n]* [^\"`'\n]*)[\"`']", code))


def _pages(pattern: str) -> list[Path]:
    """Files that pages are made of, those of libraries left out."""
    folders = (PACKAGE / "report" / "html" / "templates", PACKAGE / "ui")
    return sorted(path for folder in folders for path in folder.rglob(pattern))


def studies() -> Iterator[tuple[Path, str]]:
    """What a shipped study asks, and where the question comes from."""
    for path in sorted((PACKAGE / "library" / "studies").glob("*.toml")):
        values = tomllib.loads(path.read_text())
        yield path, f"{values['question']}\n{values.get('source', '')}"


def native() -> Iterator[tuple[Path, str]]:
    """The strings of the native half that have a space, without comments, tests and fields."""
    for path in sorted((ROOT / "native" / "crates").glob("*/src/**/*.rs")):
        code = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M).split("#[cfg(test)]")[0]
        strings = re.findall(r'"((?:[^"\\]|\\.)*)"', code, re.S)
        shown = "\n".join(text for text in strings if " " in text.strip())
        yield path, re.sub(r"\{[^}]*\}", " ", shown)


def retired(text: str) -> list[str]:
    """Each retired word in a text, with what to write in its place."""
    found = []
    for words, instead in RETIRED.items():
        for match in re.finditer(rf"\b(?:{words})\b", text, re.I):
            near = " ".join(text[max(0, match.start() - 40) : match.end() + 30].split())
            found.append(f"{match[0]!r} in ...{near}...: write {instead}")
    return found


@pytest.mark.parametrize("texts", [documents, messages, templates, studies, native])
def test_text_that_people_read_uses_the_terms_of_the_field(texts: Texts) -> None:
    """A retired word is refused with the term that replaces it."""
    found = [
        f"{path.relative_to(ROOT)}: {word}" for path, text in texts() for word in retired(text)
    ]
    assert not found, "\n".join(found)


def test_a_retired_word_would_be_seen() -> None:
    """In a message, in an f-string, in a help text; a name is none."""
    code = (
        '"""Beside."""\ndef command():\n    """Told apart."""\n    x = f"a {1} real doubt"\n'
        '    y = "fragile"\n    z = "not steady"\n'
    )
    shown = "\n".join(_strings(ast.parse(code), helps=True))
    assert len(retired(shown)) == 3
    assert len(retired("\n".join(_strings(ast.parse(code), helps=False)))) == 2
