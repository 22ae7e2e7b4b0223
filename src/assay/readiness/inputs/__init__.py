"""What is inspected: files, folders and packages, sorted into binaries and trees of sources."""

from assay.readiness.inputs.gather import gather
from assay.readiness.inputs.items import Binary, Inputs, RefusedInput, SourceFile, SourceTree

__all__ = ["Binary", "Inputs", "RefusedInput", "SourceFile", "SourceTree", "gather"]
