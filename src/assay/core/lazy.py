"""Names of a package that are imported when they are first asked for (PEP 562).

Importing any module imports the packages above it first. Where a package's names cost far more
than one of its modules (scipy, every target's declaration), the package says here where each
stands, and again under `TYPE_CHECKING` for people and type checkers; tests/test_house.py holds
the two against each other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazily(package: str, **modules: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package.

    By module of the package the names it has, separated by spaces. AttributeError for others.
    """
    places = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{places[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return get, lambda: sorted({*vars(sys.modules[package]), *places})
