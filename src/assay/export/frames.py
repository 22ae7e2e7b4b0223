"""A bundle as frames of pandas or polars, for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from assay.core.errors import MissingError
from assay.export.tables import TABLES, table_of
from assay.record import Bundle

Library = Literal["pandas", "polars"]


@dataclass(frozen=True)
class BundleFrames:
    """A bundle and its tables as frames (docs/export.md has their columns)."""

    bundle: Bundle
    runs: Any
    intervals: Any
    verdicts: Any
    curves: Any


def bundle_frames(bundle: Bundle, library: Library = "pandas") -> BundleFrames:
    """The frames of a bundle. MissingError where the library is not installed; otherwise as
    `table_of`."""
    try:
        made = import_module(library).DataFrame
    except ModuleNotFoundError as error:
        raise MissingError(
            f"frames need the package {library}", next_step="pip install 'assay[export]'"
        ) from error
    return BundleFrames(bundle, **{name: made(table_of(bundle, name)) for name in TABLES})
