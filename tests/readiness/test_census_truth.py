"""The census of Debian's servers, both architectures, against binutils' listing of the same files.

No number is written here: packages change, and the truth is computed from what was fetched.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from packages import program

from census_kit import images, sites
from objdump_kit import Truth, truth

ARCHES = {"arm64": "aarch64", "amd64": "x86_64"}
LIBRARY = "usr/lib/*/"
SMALL = {
    "nginx": ("nginx", "usr/sbin/nginx"),
    "redis": ("redis-tools", "usr/bin/redis-check-rdb"),
    "jemalloc": ("libjemalloc2", f"{LIBRARY}libjemalloc.so.2"),
    "memcached": ("memcached", "usr/bin/memcached"),
}
LARGE = {
    "librocksdb": ("librocksdb7.8", f"{LIBRARY}librocksdb.so.7.*"),
    "mariadbd": ("mariadb-server-core", "usr/sbin/mariadbd"),
    "postgres": ("postgresql-15", "usr/lib/postgresql/15/bin/postgres"),
    "haproxy": ("haproxy", "usr/sbin/haproxy"),
}
TRAPS = {
    "libcrypto": ("libssl3", f"{LIBRARY}libcrypto.so.3"),
    "libc": ("libc6", "lib/*/libc.so.6"),
    "ripgrep": ("ripgrep", "usr/bin/rg"),
    "etcd": ("etcd-server", "usr/bin/etcd"),
}
LIBGCC = "usr/lib/gcc-cross/aarch64-linux-gnu/*/libgcc.a"


def both(name: str, arch: str) -> tuple[dict[str, Any], Truth]:
    """The census and the truth of a server."""
    package, path = (SMALL | LARGE | TRAPS)[name]
    file = program(package, arch, path)
    (image,) = images(file)
    return image, truth(file, ARCHES[arch])


def hold(name: str, arch: str) -> None:
    """Every counter, and every helper with its calls."""
    image, expected = both(name, arch)
    assert image["arch"] == ARCHES[arch]
    assert image["counts"] == expected.counts
    assert {h["address"]: h["calls"] for h in image["helpers"]} == expected.helpers
    if arch == "arm64":
        found = {site["address"] for site in sites(image, "delay-loop")}
        assert found == expected.delays
        assert image["coverage"]["covered"] > 0.9


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", SMALL)
def test_every_counter_is_what_the_listing_gives(name: str, arch: str) -> None:
    """Of the small servers, in every run."""
    hold(name, arch)


@pytest.mark.large
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", LARGE)
def test_every_counter_of_a_large_server_is_what_the_listing_gives(name: str, arch: str) -> None:
    """`make test-readiness` runs these too: a minute of objdump."""
    hold(name, arch)


@pytest.mark.large
@pytest.mark.parametrize("name", TRAPS)
def test_traps_stay_quiet(name: str) -> None:
    """Data in code, Go's tables, empty counting loops: seen, and not taken for something else.

    objdump decodes constants too, with should-be-one fields of any value: it never counts less.
    """
    image, expected = both(name, "arm64")
    unverified = image["unverified"]
    for key in (
        "ll_sc",
        "lse",
        "ldar",
        "stlr",
        "crc32",
        "aes",
        "sha",
        "yield",
        "isb",
        "wfe",
        "dmb",
    ):
        assert image["counts"][key] + unverified.get(key, 0) <= expected.counts[key], key
    assert {h["address"] for h in image["helpers"]} == set(expected.helpers)
    assert not sites(image, "unreachable")
    assert not sites(image, "unguarded")
    assert not sites(image, "delay-loop", near_atomic=True)
    assert bool(unverified) == (name == "libcrypto")
    assert (image["language"], image["facts"]["atomics"]) == {
        "etcd": ("go", "inline-dispatch"),
        "ripgrep": ("rust", "outline"),
    }.get(name, (image["language"], "outline"))


def test_each_helper_of_libgcc_is_named_from_its_body() -> None:
    """The inferred name of every one equals its symbol, and none is missed."""
    (library,) = Path("/").glob(LIBGCC)
    listed = subprocess.run(
        ["aarch64-linux-gnu-nm", "-A", "--defined-only", str(library)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    symbols = {line.split()[-1] for line in listed.stdout.splitlines()}
    expected = {s for s in symbols if s.startswith("__aarch64_") and s[10:12] in ("ca", "ld", "sw")}
    members = images(library)
    found = [helper["name"] for member in members for helper in member["helpers"]]
    assert sorted(found) == sorted(expected)
    assert expected


def test_functions_of_nginx_that_pause_on_x86_spin_without_a_hint_on_arm() -> None:
    """Which ones do is taken from the listing of the amd64 build."""
    arm, _ = both("nginx", "arm64")
    _, x86 = both("nginx", "amd64")
    assert x86.functions
    bare = {site["function"] for site in sites(arm, "spin-loop", hint="none")}
    assert set(x86.functions) <= bare
    for name in x86.functions:
        assert arm["exports_hints"][name] == {"pause": 0, "hints": 0}


def test_jemalloc_says_for_which_page_size_it_was_built() -> None:
    """Debian builds it for 64 KiB on arm64; the number is in the code that compares."""
    image, _ = both("jemalloc", "arm64")
    assert image["facts"]["page_size_string"]
    assert image["facts"]["jemalloc_lg_page"] == 16


def test_the_helpers_flag_is_set_by_a_constructor() -> None:
    """Without it they would do LL/SC for ever."""
    image, _ = both("nginx", "arm64")
    assert image["facts"]["constructor"] is True
    assert image["facts"]["atomics"] == "outline"
    assert sites(image, "hwcap", argument=16, bits=["atomics"])


@pytest.mark.large
def test_the_crc_of_rocksdb_cannot_run_on_arm_and_is_absent_on_x86() -> None:
    """A check that always says no leads to it on arm64; the amd64 build has no hardware CRC."""
    arm, _ = both("librocksdb", "arm64")
    x86, _ = both("librocksdb", "amd64")
    unreachable = sites(arm, "unreachable")
    assert unreachable
    assert all("constant-false guard" in site["facts"]["why"] for site in unreachable)
    assert sum("crc32" in site["facts"]["classes"] for site in unreachable) >= 1
    assert arm["counts"]["crc32"] > 0
    assert x86["counts"]["crc32"] == x86["counts"]["pclmul"] == 0


@pytest.mark.large
def test_innodb_waits_with_empty_loops_near_atomics() -> None:
    """The delay loops of the listing are found by `hold`; most have an atomic operation near."""
    image, expected = both("mariadbd", "arm64")
    near = sites(image, "delay-loop", near_atomic=True)
    assert len(near) > len(expected.delays) / 2
    assert {site["facts"]["constant"] for site in near} >= {200}
