"""What a named change becomes on machines of several sizes, each a folder that stands for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import MissingError
from assay.host import steering
from assay.host.transaction import tree_at
from assay.linux.cpus import as_list, as_mask, listed, shares
from assay.linux.tree import Tree

NET = "/sys/class/net/eth0"
HUGE = "/sys/kernel/mm/hugepages/hugepages-2048kB"


def machine(
    folder: Path, cpus: int, queues: int, serving: tuple[int, ...] = (), **files: str
) -> Tree:
    """A machine with so many CPUs and a card of so many queues, whose interrupts 30, 31, ... are
    served by these CPUs."""
    found = {
        "/sys/devices/system/cpu/online": f"0-{cpus - 1}\n",
        "/sys/devices/system/cpu/possible": f"0-{cpus - 1}\n",
        **{f"{NET}/queues/rx-{q}/{f}": "0\n" for q in range(queues) for f in QUEUE_FILES},
        **{f"{NET}/queues/tx-{q}/xps_cpus": "0\n" for q in range(queues)},
        **{f"{NET}/device/msi_irqs/{30 + n}": "msix\n" for n in range(len(serving))},
    }
    for number, cpu in enumerate(serving):
        found[f"/proc/irq/{30 + number}/effective_affinity"] = f"{as_mask([cpu])}\n"
    for path, text in {**found, **files}.items():
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tree_at(folder)


QUEUE_FILES = ("rps_cpus", "rps_flow_cnt")


def masks(tree: Tree, level: str, key: str = "rps") -> list[str]:
    """What a level writes into each queue's mask."""
    found = steering.values(key, level, tree, "eth0")
    return [value for path, value in found.items() if path.endswith(f"{key}_cpus")]


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0", [0]), ("0-2,5", [0, 1, 2, 5]), ("0xfe00", [9, 10, 11, 12, 13, 14, 15]), ("0x0", [])],
)
def test_cpus_are_read_as_lists_and_as_masks(text: str, cpus: list[int]) -> None:
    """And written back as the kernel writes them."""
    assert listed(text) == cpus
    assert listed(f"0x{as_mask(cpus)}") == cpus
    assert as_list(cpus) == ("none" if not cpus else as_list(listed(as_list(cpus))))


@pytest.mark.parametrize("text", ["", "fe", "1-", "a", "1,,2", "-1"])
def test_what_is_no_set_of_cpus_is_refused(text: str) -> None:
    """A mask without 0x is not guessed at."""
    with pytest.raises(ValueError, match="no list of CPUs"):
        listed(text)


def test_a_mask_has_a_comma_after_each_32_cpus() -> None:
    """As the slow way by strings of bits has it."""
    for cpus in ([0], [31], [32], [0, 33, 63], [64], list(range(100))):
        bits = "".join("1" if c in cpus else "0" for c in range(127, -1, -1))
        groups = [f"{int(bits[i : i + 32], 2):08x}" for i in range(0, 128, 32)]
        assert as_mask(cpus) == ",".join(groups).lstrip("0,")


def test_shares_are_neighbours_and_leave_nobody_out() -> None:
    """Whatever the numbers."""
    for cpus in range(1, 20):
        for parts in range(1, 8):
            dealt = shares(list(range(cpus)), parts)
            assert [c for part in dealt for c in part] == list(range(cpus))
            assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


def test_the_seeds_masks_come_out_on_its_machine(tmp_path: Path) -> None:
    """16 CPUs, two queues, interrupts on 0 and 8: fe and fe00, made or named."""
    tree = machine(tmp_path, 16, 2, (0, 8))
    assert masks(tree, "others") == masks(tree, "seed") == ["fe", "fe00"]
    assert masks(tree, "0xfe/0xfe00") == ["fe", "fe00"]
    assert masks(tree, "all") == ["ffff", "ffff"]
    assert masks(tree, "off") == ["0", "0"]
    assert masks(tree, "3-5") == ["38", "38"]


def test_a_device_without_interrupts_has_the_first_cpu_of_each_share_stand_for_them(
    tmp_path: Path,
) -> None:
    """So a virtual one gets the same masks."""
    assert masks(machine(tmp_path / "16", 16, 2), "others") == ["fe", "fe00"]
    assert masks(machine(tmp_path / "2", 2, 1), "others") == ["2"]
    assert masks(machine(tmp_path / "3", 4, 1, (3,)), "others") == ["7"]


@pytest.mark.parametrize("cpus", [2, 8, 15, 17, 64])
def test_the_seeds_masks_are_refused_on_any_other_machine(tmp_path: Path, cpus: int) -> None:
    """Also where the kernel would take them, with the reason."""
    tree = machine(tmp_path, cpus, 2)
    with pytest.raises(MissingError, match=r"CPUs 1-7 and 9-15: right where there are 16") as told:
        masks(tree, "seed")
    assert "others" in told.value.next_step


@pytest.mark.parametrize(
    ("cpus", "queues", "level", "why"),
    [
        (2, 2, "others", "none is left"),
        (2, 1, "0xfe", r"names CPU 2-7; this machine has 0-1"),
        (2, 1, "2", "names CPU 2;"),
        (4, 3, "0/1", "is for 2 queues; eth0 has 3"),
    ],
)
def test_masks_for_other_cpus_or_queues_are_refused(
    tmp_path: Path, cpus: int, queues: int, level: str, why: str
) -> None:
    """Before the kernel is asked."""
    with pytest.raises(MissingError, match=why):
        masks(machine(tmp_path, cpus, queues), level)


def test_following_flows_needs_three_files_and_other_levels_clear_two(tmp_path: Path) -> None:
    """A table that a former level has left would be used on."""
    tree = machine(tmp_path, 4, 2)
    flow = steering.values("rps", "flow", tree, "eth0")
    assert flow[steering.FLOW_TABLE] == "32768"
    assert flow[f"{NET}/queues/rx-1/rps_flow_cnt"] == "16384"
    assert flow[f"{NET}/queues/rx-1/rps_cpus"] == "f"
    off = steering.values("rps", "off", tree, "eth0")
    assert off[f"{NET}/queues/rx-0/rps_flow_cnt"] == "0"


def test_queues_to_send_by_are_shared_out(tmp_path: Path) -> None:
    """One queue leaves nothing to choose."""
    tree = machine(tmp_path / "a", 16, 2)
    assert masks(tree, "own", "xps") == ["ff", "ff00"]
    assert masks(tree, "off", "xps") == ["0", "0"]
    with pytest.raises(MissingError, match="one queue to send by"):
        masks(machine(tmp_path / "b", 16, 1), "own", "xps")


def test_interrupts_are_spread_over_the_cpus_that_are_here(tmp_path: Path) -> None:
    """Those of a card; one that has none is told apart from one that is not here."""
    tree = machine(tmp_path / "a", 2, 1, (0, 0, 1))
    spread = steering.values("irq", "spread", tree, "eth0")
    assert list(spread.items()) == [
        ("/proc/irq/30/smp_affinity", "1"),
        ("/proc/irq/31/smp_affinity", "2"),
        ("/proc/irq/32/smp_affinity", "1"),
    ]
    assert set(steering.values("irq", "first", tree, "eth0").values()) == {"1"}
    assert set(steering.values("irq", "0-1", tree, "eth0").values()) == {"3"}
    with pytest.raises(MissingError, match="has no interrupts"):
        steering.values("irq", "spread", machine(tmp_path / "b", 2, 1), "eth0")


def test_a_governor_is_set_for_every_cpu_or_said_to_be_absent(tmp_path: Path) -> None:
    """Most virtual machines have none."""
    with pytest.raises(MissingError, match="no CPU has a governor here"):
        steering.values("governor", "performance", machine(tmp_path / "a", 2, 1), "")
    folder = "/sys/devices/system/cpu/cpu{}/cpufreq"
    files = {f"{folder.format(n)}/scaling_governor": "powersave\n" for n in range(2)}
    files[f"{folder.format(0)}/scaling_available_governors"] = "performance powersave\n"
    tree = machine(tmp_path / "b", 2, 1, **files)
    found = steering.values("governor", "performance", tree, "")
    assert len(found) == 2
    assert set(found.values()) == {"performance"}
    with pytest.raises(MissingError, match="no governor ondemand is here, but performance"):
        steering.values("governor", "ondemand", tree, "")


def test_a_pool_grows_by_what_is_missing_and_no_further_than_memory_goes(tmp_path: Path) -> None:
    """Pages that others have are left to them."""
    pool = {"nr": 10, "free": 8, "resv": 3, "surplus": 0, "nr_overcommit": 0}
    files = {f"{HUGE}/{name}_hugepages": f"{n}\n" for name, n in pool.items()}
    files["/proc/meminfo"] = "MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n"
    tree = machine(tmp_path, 2, 1, **files)
    assert steering.pool(2 << 20, 20 << 20, tree) == {f"{HUGE}/nr_hugepages": "15"}
    assert steering.pool(2 << 20, 4 << 20, tree) == {f"{HUGE}/nr_hugepages": "10"}
    with pytest.raises(MissingError, match="the pool cannot grow"):
        steering.pool(2 << 20, 7 << 30, tree)
    with pytest.raises(MissingError, match="no huge pages of 1024 MiB, but 2 MiB"):
        steering.pool(1 << 30, 1, tree)


@pytest.mark.parametrize(
    ("level", "server", "client"),
    [
        ("none", [0, 1, 2, 3], [0, 1, 2, 3]),
        ("split", [0, 1], [2, 3]),
        ("same", [0], [0]),
        ("0-2/3", [0, 1, 2], [3]),
        ("1", [1], [0, 1, 2, 3]),
    ],
)
def test_server_and_client_get_their_cpus(level: str, server: list[int], client: list[int]) -> None:
    """Halves, one, lists; without a second list the client keeps all."""
    assert steering.cpus_of(level, [0, 1, 2, 3]) == (server, client)


def test_one_cpu_is_not_split_and_none_that_is_not_here_is_given() -> None:
    """Said before anything starts."""
    with pytest.raises(MissingError, match="cannot be split"):
        steering.cpus_of("split", [0])
    with pytest.raises(MissingError, match="pin = 5 names CPU 5"):
        steering.cpus_of("5/0", [0, 1])
