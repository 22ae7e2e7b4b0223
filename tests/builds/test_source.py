"""Sources: fetched without touching the host, checked, and unpacked where they belong."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from assay.builds import source
from assay.builds.source import Source, distribution, given, unpack
from assay.core.errors import InputError, MissingError


def tarball(path: Path, *members: tuple[str, bytes | str]) -> Source:
    """A tarball of files; a member whose contents are text is a symbolic link to it."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            if isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return given(path)


def stamps(*folders: str) -> dict[str, tuple[int, int]]:
    """When every file below was changed last, and how large it is."""
    found = {}
    for folder in folders:
        for path in Path(folder).rglob("*"):
            stat = path.lstat()
            found[str(path)] = (stat.st_mtime_ns, stat.st_size)
    return found


def test_the_distributions_source_comes_without_a_trace_on_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """apt's configuration, lists and cache are as they were; the tarball is the index's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    host = ("/etc/apt", "/var/lib/apt", "/var/cache/apt")
    before = stamps(*host)
    found = distribution("nginx")
    assert stamps(*host) == before
    assert found.path.name.startswith("nginx_")
    assert found.version.startswith("nginx 1.")
    found.path.write_bytes(b"other")
    with pytest.raises(InputError, match="SHA-256 is another"):
        distribution("nginx")


def test_a_tarball_that_is_not_in_the_index_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever apt fetched must have the digest that the index gives for its name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def fake(command: list[str], folder: Path, **further: object) -> str:
        if "source" in command:
            (folder / "nginx_1.0.orig.tar.gz").write_bytes(b"something else")
        return f"Package: nginx\nVersion: 1.0-1\n {'0' * 64} 14 nginx_1.0.orig.tar.gz\n"

    monkeypatch.setattr(source.tools, "run", fake)
    with pytest.raises(MissingError, match="not in the index with its SHA-256"):
        distribution("nginx")
    assert not (tmp_path / "assay" / "sources" / "nginx").exists()


def test_lists_of_both_forms_become_lists_of_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One-line entries and stanzas; options stay; disabled files are left out."""
    host = tmp_path / "apt"
    (host / "sources.list.d").mkdir(parents=True)
    (host / "sources.list").write_text("deb [arch=amd64] http://a b c\n# deb http://x y z\n")
    (host / "sources.list.d" / "d.sources").write_text("Types: deb\nURIs: http://a\n")
    (host / "sources.list.d" / "e.list.disabled").write_text("deb http://e f g\n")
    monkeypatch.setattr(source, "HOST_APT", host)
    (tmp_path / "ours").mkdir()
    source._own_lists(tmp_path / "ours")
    written = {p.name: p.read_text() for p in (tmp_path / "ours").iterdir()}
    assert written == {
        "sources.list": "deb-src [arch=amd64] http://a b c\n# deb http://x y z\n",
        "d.sources": "Types: deb-src\nURIs: http://a\n",
    }


def test_a_tarball_unpacks_into_its_one_folder(tmp_path: Path) -> None:
    """Files as they were."""
    found = tarball(tmp_path / "t.tar.gz", ("a-1/x", b"x"), ("a-1/b/y", b"y"))
    top = unpack(found, tmp_path / "out")
    assert top == tmp_path / "out" / "a-1"
    assert (top / "b" / "y").read_bytes() == b"y"


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([("a/x", b"x"), ("../out", b"y")], "lies outside"),
        ([("/etc/x", b"x")], "lies outside"),
        ([("a/x", "/etc/passwd")], "neither file nor folder"),
        ([("a/x", b"x"), ("b/x", b"x")], "2 folders"),
        ([], "0 folders"),
    ],
)
def test_a_tarball_that_reaches_outside_is_refused(
    tmp_path: Path, members: list[tuple[str, bytes | str]], why: str
) -> None:
    """Nothing is written outside the folder."""
    found = tarball(tmp_path / "t.tar.gz", *members)
    with pytest.raises(InputError, match=why):
        unpack(found, tmp_path / "in" / "there")
    assert not (tmp_path / "in" / "out").exists()


def test_a_tarball_that_claims_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what its headers say, before it is written."""
    monkeypatch.setattr(source, "MOST_BYTES", 10)
    found = tarball(tmp_path / "t.tar.gz", ("a/x", b"x" * 11))
    with pytest.raises(InputError, match="too large"):
        unpack(found, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_no_tarball_is_an_error_of_input(tmp_path: Path) -> None:
    """As is a file that is not there."""
    (tmp_path / "x").write_bytes(os.urandom(64))
    with pytest.raises(InputError, match="is not unpacked"):
        unpack(given(tmp_path / "x"), tmp_path / "out")
    with pytest.raises(InputError, match="not a file"):
        given(tmp_path / "y")


def test_times_are_those_of_the_tarball(tmp_path: Path) -> None:
    """memcached's configure looked older than what it is made of, and make asked for aclocal."""
    path = tmp_path / "made.tar"
    with tarfile.open(path, "w") as archive:
        for name, mtime in (("it/configure", 2_000_000), ("it/configure.ac", 1_000_000)):
            entry = tarfile.TarInfo(name)
            entry.mtime = mtime
            archive.addfile(entry)
    folder = unpack(given(path), tmp_path / "there")
    assert (folder / "configure").stat().st_mtime == 2_000_000
    assert (folder / "configure.ac").stat().st_mtime == 1_000_000
