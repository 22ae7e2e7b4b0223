"""What the host is: the facts in every bundle, and what cannot be done here."""

from __future__ import annotations

import platform
from typing import Any

from assay import native


def host_facts() -> dict[str, Any]:
    """The native facts, plus the Python that decides, as they go into `host.json`."""
    return {**native.facts().model_dump(), "python": platform.python_version()}


def limits(facts: dict[str, Any]) -> list[str]:
    """What this machine cannot do or count, one sentence each, shown before a study starts."""
    can = facts["can"]
    sentences = [
        f"{name}: {can[name]['why']}" for name in ("pmu", "numa", "thp") if not can[name]["ok"]
    ]
    if can["htm"]["state"] != "usable":
        sentences.append(f"htm: {can['htm']['why']}")
    if facts["cpus"] < 4:
        sentences.append(f"cpus: {facts['cpus']}; nothing is claimed about more")
    return sentences
