"""What the commands of `assay fleet` share: their options, and how they join a fleet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from assay.core.errors import InputError
from assay.fleet import nodes
from assay.fleet.inventory import FleetHost, Inventory, read_inventory
from assay.fleet.keys import require_secure, security
from assay.fleet.ray_transport import RayHosts, connected

FILE = typer.Argument(..., help="The inventory: a TOML file with the hosts.")
OPTIONAL_FILE = typer.Argument(None, help="The inventory: a TOML file with the hosts.")
AS_OPTION = typer.Option(
    None, "--as", help="Which host of the inventory this machine is; by default its head."
)
ADDRESS_OPTION = typer.Option(
    None, help="A cluster of Ray that runs already, in place of the inventory.", metavar="HOST:PORT"
)


@contextmanager
def joined(file: Path, as_: str | None) -> Iterator[tuple[RayHosts, Inventory]]:
    """The hosts of an inventory."""
    inventory = read_inventory(file)
    own = which(inventory, as_).address
    secure = nodes.environment(security(inventory))
    with connected(inventory.address, secure, own) as hosts:
        yield hosts, inventory


@contextmanager
def joined_either(
    file: Path | None, address: str | None, as_: str | None
) -> Iterator[tuple[RayHosts, Inventory | None]]:
    """The hosts of an inventory, or of a cluster of somebody's."""
    if (file is None) == (address is None):
        raise InputError("name an inventory, or a cluster with --address, and not both")
    if file is not None:
        with joined(file, as_) as found:
            yield found
        return
    assert address is not None, "one of them is given"
    require_secure(address, os.environ)
    with connected(address, {}) as hosts:
        yield hosts, None


def which(inventory: Inventory, as_: str | None) -> FleetHost:
    """The host that this machine is."""
    return inventory.host(as_ or inventory.head)
