"""What is inspected: files, folders and packages, sorted into binaries and trees of sources."""

from assay.readiness.inputs.gather import gather
from assay.readiness.inputs.items import Binary, Inputs, Refused, SourceFile, SourceTree

__all__ = ["Binary", "Inputs", "Refused", "SourceFile", "SourceTree", "gather"]
