"""The workload `script` as a request: files, which a user wrote, as names, weights and texts.

A file is a script, and each operation is one, drawn by weight ("read.sql@9"). Of HTTP each line of
a file is one, with a weight of its own before the path: `9 /item/{id}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import InputError, MissingError
from assay.workloads.script import FILES, PREPARE

_PATH = re.compile(r"(?:(\d+)\s+)?(/\S*)")


def script_request(parameters: Mapping[str, Any], protocol: str) -> dict[str, Any]:
    """The workload of a request; InputError or MissingError say what is wrong with a file."""
    if not parameters.get(FILES):
        raise InputError(
            "the workload script has no files",
            next_step='write files = ["read.sql@9", "write.sql"] in [workload]',
        )
    prepare = parameters.get(PREPARE)
    return {
        "scripts": [s for named in parameters[FILES] for s in _scripts(named, protocol)],
        "given": {"scale": parameters["scale"]},
        "prepare": "" if prepare is None else _text(Path(str(prepare))),
    }


def _scripts(named: str, protocol: str) -> Iterator[dict[str, Any]]:
    name, at, weight = named.rpartition("@")
    path = Path(name if at and weight.isdigit() else named)
    times = int(weight) if at and weight.isdigit() else 1
    text = _text(path)
    if protocol != "http":
        yield {"name": path.stem, "weight": times, "text": text}
        return
    variables = [line for line in text.splitlines() if line.lstrip().startswith("\\")]
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith(("#", "\\")):
            continue
        match = _PATH.fullmatch(line)
        if match is None:
            raise InputError(
                f"{path}, line {number}: {line!r} is no path",
                next_step="write /path, or a weight and a path: 9 /item/{id}",
            )
        own = times * int(match[1] or 1)
        yield {"name": match[2], "weight": own, "text": "\n".join([*variables, match[2]])}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise MissingError(
            f"the script {path} cannot be read: {error}", next_step="name a file that is there"
        ) from error
