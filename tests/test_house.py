"""The house rules that a test can hold: import order, sizes, and what must not be written down."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "assay"
ORDER = (
    "core",
    "reasons",
    "native",
    "linux",
    "undo",
    "builds",
    "host",
    "counters",
    "stats",
    "imports",
    "plan",
    "verdict",
    "record",
    "changes",
    "workloads",
    "targets",
    "study",
    "bench",
    "bisection",
    "explain",
    "price",
    "claims",
    "readiness",
    "diagnosis",
    "report",
    "ledger",
    "compare",
    "export",
    "load",
    "fleet",
    "api",
    "ui",
    "__init__",
    "cli",
)
"""docs/house.md: each may import those before it. The ground floor stands first."""

INNER_ORDER = {"report": {"words": (), "terminal": ("words",), "html": ("words",)}}
"""By package, by part of it: the other parts that it may import. A package's own `__init__` may
import every part."""

FUNCTION_LINES = 70
FILE_LINES = 600


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def place(path: Path) -> int:
    """Where in the order a module stands."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return ORDER.index(first)


def imported(path: Path) -> set[str]:
    """The top folders or modules of Assay that a module imports."""
    found = set()
    for node in ast.walk(parsed(path)):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "assay":
                names = [f"assay.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        found |= {n.split(".")[1] for n in names if n.startswith("assay.")}
    return found


def test_a_folder_imports_only_from_those_above_it() -> None:
    """The flow goes one way."""
    for path in modules():
        for name in imported(path):
            assert ORDER.index(name) <= place(path), f"{path.relative_to(ROOT)} imports {name}"


def parts_imported(path: Path, package: str) -> set[str]:
    """The parts of one package of Assay that a module imports."""
    found = set()
    for node in ast.walk(parsed(path)):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        split = [n.split(".") for n in names]
        found |= {n[2] for n in split if n[:2] == ["assay", package] and len(n) > 2}
    return found


@pytest.mark.parametrize(
    ("package", "part"), [(p, part) for p, parts in INNER_ORDER.items() for part in parts]
)
def test_a_part_of_a_package_imports_only_the_parts_it_may(package: str, part: str) -> None:
    """Words are made once; what prints them and what makes pages of them know nothing of each
    other."""
    folder = PACKAGE / package
    known = {p.name for p in folder.iterdir() if (p / "__init__.py").exists()}
    assert known == INNER_ORDER[package].keys()
    assert {p.name for p in folder.glob("*.py")} == {"__init__.py"}
    for path in sorted((folder / part).rglob("*.py")):
        others = parts_imported(path, package) - {part}
        assert others <= set(INNER_ORDER[package][part]), f"{path.relative_to(ROOT)}: {others}"


def test_the_check_of_parts_would_see_a_wrong_import(tmp_path: Path) -> None:
    """However it is written, through the package's own names too."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from assay.report import html, Line\nimport assay.report.terminal.best\n")
    assert parts_imported(wrong, "report") == {"html", "Line", "terminal"}


def test_the_import_check_would_see_a_wrong_import(tmp_path: Path) -> None:
    """A check that cannot fail checks nothing."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from assay.bench import run\nimport assay.cli.run\n")
    assert imported(wrong) == {"bench", "cli"}
    assert ORDER.index("bench") > ORDER.index("verdict")


def test_files_open_with_what_they_are_and_stay_small() -> None:
    """Every module has a docstring, no file and no function grows past the limit."""
    for path in modules():
        assert ast.get_docstring(parsed(path)), f"{path.name} does not say what it is"
        assert path.read_text().count("\n") <= FILE_LINES, path.name
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef):
                lines = (node.end_lineno or 0) - node.lineno
                where = f"{path.name}:{node.lineno} {node.name}"
                assert lines <= FUNCTION_LINES, f"{where}: {lines} lines"


def test_no_class_name_stands_for_two_things() -> None:
    """Public or private, in any module: what is found by its name is found at once."""
    places: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                where = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                places.setdefault(node.name, []).append(where)
    assert len(places) > 300
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_only_the_command_line_prints_or_exits() -> None:
    """stdout and the exit code belong to `cli`."""
    for path in modules():
        if path.parent.name == "cli":
            continue
        for node in ast.walk(parsed(path)):
            called = node.func if isinstance(node, ast.Call) else None
            plain = getattr(called, "id", "")
            dotted = ast.unparse(called) if isinstance(called, ast.Attribute) else ""
            assert plain not in ("print", "exit"), f"{path.name}:{node.lineno}"
            assert dotted not in ("sys.exit", "os._exit"), f"{path.name}:{node.lineno}"


def test_nothing_that_is_committed_names_a_machine_or_a_registry() -> None:
    """Paths of one machine and hosts of registries stay out of the repository."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    secret = re.compile(
        r"/(?:work|home|root)/\w|\b(?:pypi|registry|static|index)\.[\w-]+\.(?:org|io)"
    )
    for name in listed:
        path = ROOT / name
        if path.is_symlink() or not path.is_file() or "vendor" in path.parts:
            continue
        if path.suffix in (".lock", ".png"):
            continue
        found = secret.search(path.read_text("utf-8", "replace"))
        assert not found or path == Path(__file__), f"{name}: {found and found[0]}"
