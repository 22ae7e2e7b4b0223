"""Results of other tools: what their runs were, in which blocks and in which order."""

from __future__ import annotations

from assay.imports.read import FORMATS, Imported, read_results, recognised
from assay.imports.result import Entry, Layout

__all__ = ["FORMATS", "Entry", "Imported", "Layout", "read_results", "recognised"]
