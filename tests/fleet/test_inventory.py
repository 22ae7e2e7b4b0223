"""Inventories: what they may say, and each mistake with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import InputError, InventoryError
from assay.fleet.inventory import LEASE_S, ROLES, read_inventory
from fleet_kit import INVENTORY, LOOPBACK


def written(folder: Path, text: str) -> Path:
    file = folder / "lab.toml"
    file.write_text(text)
    return file


def mistakes(folder: Path, text: str) -> list[str]:
    """Each as "line: message"."""
    with pytest.raises(InventoryError) as raised:
        read_inventory(written(folder, text))
    return [f"{p.line}: {p.message}" for p in raised.value.problems]


def test_an_inventory_names_hosts_with_labels_roles_and_prices(tmp_path: Path) -> None:
    """What is left out has its default; the row of the catalogue is found."""
    (tmp_path / "prices.toml").write_text(
        '[[price]]\nmachine = "big-arm"\nprice = 0.5\ncurrency = "USD"\nperiod = "hour"\n'
    )
    found = read_inventory(written(tmp_path, INVENTORY))
    assert (found.name, found.head, found.address) == ("lab", "x86", "198.18.0.1:6390")
    assert found.lease_s == 12.0
    assert found.keys == tmp_path / "keys"
    assert not found.is_loopback
    x86, arm = found.hosts.values()
    assert x86.roles == ROLES
    assert arm.roles == ("server",)
    assert arm.labels == {"arch": "aarch64", "type": "big"}
    assert arm.price is not None
    assert arm.price.per_hour == 0.5


def test_a_fleet_on_loopback_needs_no_keys(tmp_path: Path) -> None:
    """Nobody else reaches it."""
    found = read_inventory(written(tmp_path, LOOPBACK))
    assert found.is_loopback
    assert found.keys is None
    assert found.lease_s == LEASE_S


def test_a_fleet_that_others_can_reach_needs_keys(tmp_path: Path) -> None:
    """The inventory itself is refused."""
    (said,) = mistakes(tmp_path, LOOPBACK.replace("127.0.0.1", "198.18.0.1"))
    assert "'keys' is missing" in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('head = "here"', 'head = "her"', "2: head: there is no host 'her'; did you mean"),
        ('address = "127.0.0.1"', 'address = "there"', "6: 'there' is no address of a machine"),
        ('name = "here"', 'name = "Here!"', "5: 'Here!' is no name"),
        ('head = "here"', 'head = "here"\nport = 80', "3: port 80 cannot be the first of 40"),
        ('head = "here"', 'head = "here"\nlease = "1h"', "3: lease: 1h is not 2 s to 120 s"),
        ('head = "here"', 'head = "here"\nlease = "6"', "3: lease: '6' is not a duration"),
        ('head = "here"', 'head = "here"\nkey = "k"', "3: unknown key 'key' in the inventory"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Line, what is wrong, and the nearest name."""
    found = mistakes(tmp_path, LOOPBACK.replace(old, new, 1))
    assert any(text.startswith(said) for text in found), found


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('roles = ["serve"]', "unknown role 'serve'"),
        ('labels = { arch = "a b" }', "the label arch = 'a b' cannot be used"),
        ("labels = { arch = 1 }", "the label arch = 1 cannot be used"),
        ('price = "nothing-like-it"', "there is no price for 'nothing-like-it'"),
        ("weight = 3", "unknown key 'weight' in a host"),
    ],
)
def test_a_mistake_of_a_host_is_named(tmp_path: Path, more: str, said: str) -> None:
    """On the line of the key."""
    (found,) = mistakes(tmp_path, f"{LOOPBACK}{more}\n")
    assert found.startswith(f"7: {said}")


def test_two_hosts_have_two_names_and_two_addresses(tmp_path: Path) -> None:
    """Ports of a fleet are the same on every host."""
    second = LOOPBACK[LOOPBACK.index("[[host]]") :]
    found = mistakes(tmp_path, f"{LOOPBACK}\n{second}")
    assert [text.split(": ")[1] for text in found] == [
        "'here' stands here twice",
        "127.0.0.1 stands here twice",
    ]


def test_an_inventory_without_hosts_is_none(tmp_path: Path) -> None:
    """It says what to add."""
    (said,) = mistakes(tmp_path, 'name = "lab"\nhead = "x"\n')
    assert "no [[host]]" in said


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    """A file, a catalogue, a host."""
    with pytest.raises(InputError, match=r"none\.toml cannot be read"):
        read_inventory(tmp_path / "none.toml")
    (said,) = mistakes(tmp_path, LOOPBACK.replace("\n\n", '\ncatalogue = "none.toml"\n\n', 1))
    assert said.startswith("3: catalogue: ")
    with pytest.raises(InputError, match="no host 'her'") as raised:
        read_inventory(written(tmp_path, LOOPBACK)).host("her")
    assert raised.value.next_step == "its hosts are here"
