"""Huge pages a server needs: from its own figure, beside what there is, proved from smaps."""

from __future__ import annotations

import json
import mmap
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import host_kit
from assay.cli import app
from assay.core.errors import InputError, MissingError
from assay.host.rules import View
from assay.host.sizing import (
    MemoryFigure,
    Need,
    fits,
    in_use,
    mariadb_figure,
    missing,
    postgresql_figure,
)
from assay.host.transaction import tree_at
from assay.targets.servers.memory_figure import figure_at, figure_of

MIB, GIB = 1 << 20, 1 << 30
VARIABLES = {
    "innodb_buffer_pool_size": 130 * MIB,
    "innodb_buffer_pool_chunk_size": 64 * MIB,
    "innodb_log_buffer_size": 16 * MIB,
    "key_buffer_size": 1000,
    "aria_pagecache_buffer_size": 0,
}


def test_the_worked_example_of_sap_ase_comes_out_to_the_page() -> None:
    """1.75 TiB of max memory and a GiB for expansion: slides on huge pages."""
    need = Need((1792 * GIB), 2 * MIB, extra=GIB)
    assert need.pages == 918_016
    assert need.memlock_kb == 1_880_096_768
    assert Need((1792 * GIB), GIB, extra=GIB).pages == 1793


def test_a_mariadb_with_chunks_takes_whole_ones_and_each_mapping_whole_pages() -> None:
    """130 MiB are three chunks of 64; a cache of 1000 bytes is one page."""
    figure = mariadb_figure(VARIABLES)
    assert figure.mappings == {
        "buffer pool": 192 * MIB,
        "log buffer": 16 * MIB,
        "log buffer, second": 16 * MIB,
        "key buffer": 1000,
        "small ones": 16 * MIB,
    }
    assert figure.asked(2 * MIB) == (192 + 32 + 2 + 16) * MIB
    assert figure.asked(GIB) == 5 * GIB


@pytest.mark.parametrize(
    "further", [{"innodb_buffer_pool_size_max": 130 * MIB}, {"innodb_buffer_pool_chunk_size": 0}]
)
def test_a_mariadb_whose_pool_is_one_mapping_has_no_chunks(further: dict[str, int]) -> None:
    """Since MDEV-29445 the size of a chunk is a word without a meaning."""
    assert mariadb_figure(VARIABLES | further).mappings["buffer pool"] == 130 * MIB


@pytest.mark.parametrize("text", ["143MB", "143 MB", "143"])
def test_postgresql_says_it_in_megabytes(text: str) -> None:
    assert postgresql_figure(text).asked(2 * MIB) == 144 * MIB


def test_a_postgresql_too_old_to_say_it_is_told_so() -> None:
    with pytest.raises(MissingError, match="shared_memory_size is ''"):
        postgresql_figure("")


@pytest.mark.parametrize("wrong", [{"asked": -1}, {"asked": 1, "page_bytes": 0}])
def test_sizes_are_positive(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="positive"):
        Need(**{"page_bytes": 2 * MIB, **wrong})


def host(folder: Path, total_kb: int, available_kb: int) -> View:
    tree = host_kit.make(folder)
    tree.create(
        "/proc/meminfo",
        f"MemTotal: {total_kb} kB\nMemAvailable: {available_kb} kB\nHugepagesize: 2048 kB\n",
    )
    return View(tree)


def test_what_is_in_use_and_a_tenth_are_left_to_others(tmp_path: Path) -> None:
    """16 GiB of which 4 are in use: 10 fit, 11 do not."""
    view = host(tmp_path, 16 * MIB, 12 * MIB)
    (pool,) = view.pools
    assert fits(Need(10 * GIB, 2 * MIB), pool, view) is None
    why = fits(Need(11 * GIB, 2 * MIB), pool, view)
    assert "11.0 GiB are needed" in why
    assert missing(Need(10 * MIB, 2 * MIB), pool) == 1


SMAPS = """7f0000000000-7f0000800000 rw-s 00000000 00:0f 1 /anon_hugepage (deleted)
Size:               8192 kB
KernelPageSize:     2048 kB
Shared_Hugetlb:        0 kB
Private_Hugetlb:    6144 kB
7f0040000000-7f0080000000 rw-s 00000000 00:0f 1 /anon_hugepage (deleted)
KernelPageSize:  1048576 kB
Shared_Hugetlb:  1048576 kB
Private_Hugetlb:       0 kB
7f1000000000-7f1000001000 rw-p 00000000 00:00 0
KernelPageSize:        4 kB
Shared_Hugetlb:        0 kB
Private_Hugetlb:       0 kB
"""


def test_the_proof_of_use_tells_page_sizes_apart(tmp_path: Path) -> None:
    tree = host_kit.make(tmp_path)
    tree.create("/proc/12/smaps", SMAPS)
    assert in_use(View(tree, "", 12)) == {2 * MIB: 6 * MIB, GIB: GIB}
    with pytest.raises(MissingError, match="not shown to this user"):
        in_use(View(tree, "", 13))


def test_this_very_process_is_seen_as_it_is() -> None:
    """Small pages only: nothing of a pool."""
    with mmap.mmap(-1, MIB) as memory:
        memory[0] = 1
        assert in_use(View(tree_at(Path("/")), "", os.getpid())) == {}


def test_from_the_command_line_one_figure_is_needed(tmp_path: Path) -> None:
    host(tmp_path, 16 * MIB, 12 * MIB)
    base = ["host", "size", "--root", str(tmp_path)]
    assert CliRunner().invoke(app, base).exit_code == 2
    done = CliRunner().invoke(app, [*base, "--bytes", "20MiB", "--json"])
    told = json.loads(done.stdout)
    assert (told["pages"], told["have"], told["missing"]) == (10, 4, 6)
    assert told["mappings"] == {"asked for": 20 * MIB}


def test_who_takes_no_huge_pages_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="takes no huge pages"):
        figure_at("redis://127.0.0.1:1")
    with pytest.raises(InputError, match="no data directory"):
        figure_of(tmp_path)


def test_a_figure_is_the_sum_of_whole_pages() -> None:
    assert MemoryFigure("x", {"a": 1, "b": 2 * MIB + 1}).asked(2 * MIB) == 6 * MIB
