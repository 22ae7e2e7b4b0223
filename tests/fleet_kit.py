"""A fleet for tests: inventories, agents of this process, facts that can be bent."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from assay.bench.machine_runs import MachineSeams
from assay.fleet.agent import Agent
from assay.fleet.inventory import Inventory, read_inventory
from assay.fleet.local import LocalHosts
from assay.fleet.transport import PresentHost
from fakes import FACTS, FakeTarget

LOOPBACK = """name = "lab"
head = "here"

[[host]]
name = "here"
address = "127.0.0.1"
"""

INVENTORY = """name = "lab"
head = "x86"
keys = "keys"
catalogue = "prices.toml"
lease = "12s"

[[host]]
name = "x86"
address = "198.18.0.1"
labels = { arch = "x86_64", type = "big" }

[[host]]
name = "arm"
address = "198.18.0.2"
roles = ["server"]
labels = { arch = "aarch64", type = "big" }
price = "big-arm"
"""

HERE: dict[str, Any] = {**FACTS, "clock": {"source": "tsc", "hz": 1}}


def agent(**facts: Any) -> Agent:
    """An agent of this process, whose host has other facts."""
    return Agent(facts=lambda: {**HERE, **facts}, sleep=lambda seconds: None)


def inventory(folder: Path, text: str) -> Inventory:
    """What stands in a text."""
    file = folder / "lab.toml"
    file.write_text(text)
    return read_inventory(file)


def two(folder: Path, more: str = "") -> Inventory:
    """Two hosts of one type."""
    text = INVENTORY.replace('catalogue = "prices.toml"\n', "").replace('price = "big-arm"\n', "")
    return inventory(folder, text.replace('arch = "aarch64"', 'arch = "x86_64"') + more)


def local(inventory: Inventory, **agents: Agent) -> LocalHosts:
    """The hosts of an inventory that have an agent."""
    return LocalHosts(
        (PresentHost(name, inventory.hosts[name].address, inventory.hosts[name].labels), found)
        for name, found in agents.items()
    )


def measuring(fake: FakeTarget, **facts: Any) -> Agent:
    """An agent that can make runs, of a fake target, on a host with other facts."""
    seams = MachineSeams(targets={"engine": fake}, clocks=fake.clock.clocks())
    known = {**FACTS, "arch": platform.machine(), **facts}
    return Agent(facts=lambda: known, sleep=lambda seconds: None, seams=seams)
