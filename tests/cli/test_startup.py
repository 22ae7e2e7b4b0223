"""What a command imports before it does anything: what it needs, and not what others need."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from assay.cli._commands import COMMANDS, real

ROOT = Path(__file__).parent.parent.parent
ASSAY = Path(sys.executable).with_name("assay")
LAZY = [
    path for path in (ROOT / "src" / "assay").rglob("__init__.py") if "lazily(" in path.read_text()
]


def loaded(*words: str) -> set[str]:
    """The modules that a process of the command imported."""
    command = [sys.executable, "-X", "importtime", str(ASSAY), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr[-2000:]
    lines = [x for x in done.stderr.splitlines() if x.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.server
def test_the_command_line_is_imported_without_scipy() -> None:
    """Nor any target, nor a command."""
    program = "import assay.cli, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    modules = done.stdout.split()
    assert "assay.cli" in modules
    assert not {"scipy", "numpy", "pydantic", "assay.targets", "assay.cli.run"} & set(modules)


@pytest.mark.server
def test_audit_does_not_load_what_measures() -> None:
    """It reads tables; neither a server, a study nor a bundle takes part."""
    modules = loaded("audit")
    assert "assay.claims" in modules
    assert not {"assay.bench", "assay.targets", "assay.record", "scipy.optimize"} & modules


@pytest.mark.server
@pytest.mark.parametrize("words", ["--help", "list", "list prices", "host check"])
def test_commands_that_need_no_statistics_do_not_load_them(words: str) -> None:
    """scipy alone takes longer than any of these."""
    modules = loaded(*words.split())
    assert "assay.cli" in modules
    assert "scipy" not in modules


@pytest.mark.server
def test_inspect_does_not_load_statistics_nor_targets(tmp_path: Path) -> None:
    """It reads files."""
    (tmp_path / "spin.c").write_text("void f(void) { __builtin_ia32_pause(); }\n")
    modules = loaded("inspect", str(tmp_path / "spin.c"))
    assert "assay.readiness" in modules
    assert not {"scipy", "assay.targets", "assay.record"} & modules


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name: str) -> None:
    """The sentence that is known before a command is imported is its own."""
    said = " ".join((real(name).help or "").split("\n\n")[0].split())
    assert said == COMMANDS[name]


@pytest.mark.server
def test_version_is_that_of_the_package() -> None:
    """On stdout, and nothing else is done."""
    done = subprocess.run(
        [str(ASSAY), "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (done.stdout, done.returncode) == (f"assay {project['version']}\n", 0)


@pytest.mark.parametrize("path", LAZY, ids=lambda p: p.parent.name)
def test_a_lazy_package_has_each_name_where_type_checkers_see_it(path: Path) -> None:
    """What is asked for is what stands under `TYPE_CHECKING`, and `dir` shows it."""
    inside = path.parent.relative_to(ROOT / "src").parts
    package = importlib.import_module(".".join(inside))
    (seen,) = (x for x in ast.parse(path.read_text()).body if isinstance(x, ast.If))
    names = {alias.name: x.module for x in seen.body for alias in x.names}
    assert sorted(names) == sorted(package.__all__)
    assert names.keys() <= set(dir(package))
    for name, module in names.items():
        assert getattr(package, name) is getattr(importlib.import_module(module), name)
        # Importing a module of that name would put it in the place of what is meant.
        assert not (path.parent / f"{name}.py").exists()
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = package.missing
