"""The census of whole files, as the native binary writes it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from assay.native import find_assayer


def messages(*paths: Path, sites: bool = True) -> list[dict[str, Any]]:
    """All messages about the files, the last one with the totals."""
    request = {"paths": [str(path) for path in paths], "sites": sites}
    done = subprocess.run(
        [str(find_assayer()), "census"], input=json.dumps(request), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def images(*paths: Path) -> list[dict[str, Any]]:
    """The images in the files; nothing may be refused."""
    *told, last = messages(*paths)
    assert last["data"]["refused"] == 0, told
    return [message["data"] for message in told]


def sites(image: dict[str, Any], kind: str, **facts: Any) -> list[dict[str, Any]]:
    """The sites of one kind whose facts are these."""
    of_kind = (site for site in image["sites"] if site["kind"] == kind)
    return [s for s in of_kind if all(s["facts"][key] == value for key, value in facts.items())]
