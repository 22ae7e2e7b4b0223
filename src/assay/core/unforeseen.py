"""What is said of an error that nobody translated: of whatever a damaged file can lead to."""

from __future__ import annotations

import traceback
from pathlib import Path


def unforeseen(error: Exception) -> tuple[str, str]:
    """What happened and where, and the next step."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(f.filename).name}:{f.lineno}" for f in frames if "assay" in f.filename]
    text = " ".join(str(error).split())[:200]
    return (
        f"a file is not as Assay writes it, or Assay is wrong: {type(error).__name__}: {text} "
        f"(at {', '.join(places[-2:])})",
        "use the file as it was written; if it is, report this line",
    )
