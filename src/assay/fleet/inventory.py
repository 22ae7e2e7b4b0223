"""The inventory: which hosts there are, where, what for, and what each costs.

A TOML file of [[host]] tables. Whatever it names is looked up while it is read: the row of the
catalogue, the folder of keys.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path

from assay.core.document import Document, parse
from assay.core.errors import AssayError, InputError, InventoryError, Problem
from assay.core.fields import Fields
from assay.core.parameters import nearest
from assay.core.units import parse_duration
from assay.price import Price
from assay.price.catalogue import prices

ROLES = ("server", "load", "upstream")
PORT = 6390
"""Ray's own is 6379, which is also that of Redis."""
PORTS = 40
"""How many ports from the first on a fleet uses, on every host."""
LEASE_S = 6.0
LEASES_S = (2.0, 120.0)
"""Shorter, a busy network ends agents; longer, a lost host is measured on for minutes."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class FleetHost:
    """One host. `price` is its row of the catalogue."""

    name: str
    address: str
    roles: tuple[str, ...] = ROLES
    labels: dict[str, str] = field(default_factory=dict)
    price: Price | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this machine reaches it."""
        return ipaddress.ip_address(self.address).is_loopback


@dataclass(frozen=True)
class Inventory:
    """All hosts by name. `keys` is the folder of token and certificates, if there is one; times in
    seconds."""

    name: str
    head: str
    hosts: dict[str, FleetHost]
    keys: Path | None = None
    port: int = PORT
    lease_s: float = LEASE_S
    path: str = ""
    """The file as it was named: for the commands that are suggested."""

    @property
    def address(self) -> str:
        """Where the head is found, HOST:PORT."""
        return f"{self.hosts[self.head].address}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether all of it is this machine."""
        return all(host.is_loopback for host in self.hosts.values())

    def host(self, name: str) -> FleetHost:
        """The host of a name; InputError names the nearest."""
        if name in self.hosts:
            return self.hosts[name]
        raise InputError(
            f"{self.path} has no host {name!r}{nearest(name, self.hosts)}",
            next_step=f"its hosts are {', '.join(self.hosts)}",
        )


def read_inventory(path: Path) -> Inventory:
    """The inventory in a file. InputError if it cannot be read; InventoryError holds every mistake
    found in it."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read: {error}", next_step="docs/fleet.md shows an inventory"
        ) from error
    document = parse(str(path), text, InventoryError)
    problems: list[Problem] = []
    made = _inventory(document, problems, path)
    if problems:
        raise InventoryError(str(path), problems)
    return made


def _inventory(document: Document, problems: list[Problem], path: Path) -> Inventory:
    top = Fields(document, (), "the inventory", problems)
    name, head, keys = top.text("name"), top.text("head"), top.text("keys", None)
    if name and not _NAME.fullmatch(name):
        top.wrong(("name",), f"{name!r} is no name", "small letters, digits and -, at most 40")
    known = _prices(top, path.parent)
    port, lease_s = _port(top), _lease(top)
    hosts: dict[str, FleetHost] = {}
    addresses: set[str] = set()
    for index in range(top.tables("host")):
        fields = Fields(document, ("host", index), "a host", problems)
        host = _host(fields, known)
        if host.name in hosts:
            fields.wrong(("name",), f"{host.name!r} stands here twice", "give each its own name")
        if host.address in addresses:
            fields.wrong(("address",), f"{host.address} stands here twice", "one host, one address")
        hosts[host.name] = host
        addresses.add(host.address)
    top.unknown()
    if not hosts and "host" not in document.values:
        top.wrong((), "no [[host]] in the inventory", "add one for each machine")
    if hosts and head and head not in hosts:
        hint = nearest(head, hosts)
        top.wrong(("head",), f"head: there is no host {head!r}{hint}", f"one of {', '.join(hosts)}")
    folder = None if keys is None else path.parent / Path(keys).expanduser()
    made = Inventory(name, head, hosts, folder, port, lease_s, str(path))
    if not problems and keys is None and not made.is_loopback:
        top.wrong((), "'keys' is missing in the inventory, whose hosts others can reach", KEYS)
    return made


KEYS = 'add keys = "keys", a folder for the token and the certificates'


def _host(fields: Fields, known: dict[str, Price]) -> FleetHost:
    name, address = fields.text("name"), fields.text("address")
    if name and not _NAME.fullmatch(name):
        fields.wrong(("name",), f"{name!r} is no name", "small letters, digits and -, at most 40")
    try:
        address = str(ipaddress.ip_address(address))
    except ValueError:
        if address:
            said = f"{address!r} is no address of a machine"
            fields.wrong(("address",), said, "its address in numbers: names may change under way")
        address = "127.0.0.1"
    roles = fields.texts("roles", list(ROLES))
    for role in roles:
        if role not in ROLES:
            hint = nearest(role, ROLES)
            fields.wrong(("roles",), f"unknown role {role!r}{hint}", f"use {', '.join(ROLES)}")
    labels, price = _labels(fields), fields.text("price", None)
    if price is not None and price not in known:
        said = f"there is no price for {price!r}{nearest(price, known)}"
        fields.wrong(("price",), said, 'name a row, or add catalogue = "FILE" with it')
    fields.unknown()
    row = None if price is None else known.get(price)
    return FleetHost(name, address, tuple(dict.fromkeys(roles)), labels, row)


def _labels(fields: Fields) -> dict[str, str]:
    found = {}
    for key, value in fields.table("labels").items():
        if not (isinstance(value, str) and _LABEL.fullmatch(value) and _LABEL.fullmatch(key)):
            said = f"the label {key} = {value!r} cannot be used"
            fields.wrong(("labels", key), said, "letters, digits, '.', '_' and '-', as a text")
        else:
            found[key] = value
    return found


_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
"""What Ray takes as a label's key or value."""


def _prices(top: Fields, base: Path) -> dict[str, Price]:
    named = top.text("catalogue", None)
    try:
        return prices([] if named is None else [base / named])
    except AssayError as error:
        top.wrong(("catalogue",), f"catalogue: {error.message}", error.next_step)
        return {}


def _port(top: Fields) -> int:
    port = top.count("port", PORT)
    if not 1024 <= port <= 65535 - PORTS:
        top.wrong(("port",), f"port {port} cannot be the first of {PORTS}", "1024 to 65495")
        return PORT
    return port


def _lease(top: Fields) -> float:
    text = top.text("lease", None)
    if text is None:
        return LEASE_S
    least, most = LEASES_S
    try:
        lease_s = parse_duration(text)
    except ValueError as error:
        top.wrong(("lease",), f"lease: {error}", 'for example lease = "6s"')
        return LEASE_S
    if not least <= lease_s <= most:
        top.wrong(("lease",), f"lease: {text} is not {least:g} s to {most:g} s", 'such as "6s"')
        return LEASE_S
    return lease_s
