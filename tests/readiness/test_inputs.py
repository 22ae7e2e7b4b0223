"""What is inspected: every kind of package, and everything odd that a path may be."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import socket
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.readiness.inputs import Inputs, gather, streams
from assay.readiness.inputs.kinds import kind_of, language
from readiness_kit import ar_bytes, cpio_bytes, deb_bytes, rpm_bytes, tar_bytes

ELF = b"\x7fELF\x02\x01\x01" + bytes(57)
FILES = {
    "./usr/bin/server": ELF,
    "./usr/lib/libx.a": ar_bytes({"x.o/": ELF}),
    "./usr/share/doc/README": b"words\n",
}


def gathered(tmp_path: Path, *paths: Path) -> Inputs:
    """What is made of paths, with a folder for what is unpacked."""
    scratch = tmp_path / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    return gather(paths, scratch)


def packages() -> dict[str, bytes]:
    """The same files in every package that is understood."""
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in FILES.items():
            archive.writestr(name.removeprefix("./"), data)
    return {
        "x.deb": deb_bytes(FILES),
        "x-gz.deb": deb_bytes(FILES, "gz"),
        "x-tar.deb": deb_bytes(FILES, "tar"),
        "x.whl": wheel.getvalue(),
        "x.tar": tar_bytes(FILES),
        "x.tar.gz": tar_bytes(FILES, "w:gz"),
        "x.tgz": tar_bytes(FILES, "w:gz"),
        "x.tar.bz2": tar_bytes(FILES, "w:bz2"),
        "x.tar.xz": tar_bytes(FILES, "w:xz"),
        "x.rpm": rpm_bytes(gzip.compress(cpio_bytes(FILES))),
        "x-xz.rpm": rpm_bytes(lzma.compress(cpio_bytes(FILES))),
        "x-bz2.rpm": rpm_bytes(bz2.compress(cpio_bytes(FILES))),
        "x-lzma.rpm": rpm_bytes(lzma.compress(cpio_bytes(FILES), lzma.FORMAT_ALONE)),
        "x-plain.rpm": rpm_bytes(cpio_bytes(FILES)),
    }


@pytest.mark.parametrize("name", sorted(packages()))
def test_binaries_come_out_of_every_package(name: str, tmp_path: Path) -> None:
    """The program and the static library, whole, under their names; the words stay inside."""
    path = tmp_path / name
    path.write_bytes(packages()[name])
    found = gathered(tmp_path, path)
    assert sorted(b.name for b in found.binaries) == ["usr/bin/server", "usr/lib/libx.a"]
    assert found.refused == []
    kept = {b.name: b.path.read_bytes() for b in found.binaries}
    assert kept["usr/bin/server"] == ELF
    assert found.binaries[0].shown.startswith(f"{path}:")


@pytest.mark.parametrize("name", ["x.tar.zst", "x-zst.deb", "x-zst.rpm"])
def test_zstandard_is_unpacked_by_its_program(name: str, tmp_path: Path) -> None:
    """Python 3.11 has none."""
    if shutil.which("zstd") is None:
        pytest.skip("the program zstd is not here")

    def packed(data: bytes) -> bytes:
        return subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout

    plain = tar_bytes(FILES)
    made = {
        "x.tar.zst": packed(plain),
        "x-zst.deb": ar_bytes({"debian-binary": b"2.0\n", "data.tar.zst": packed(plain)}),
        "x-zst.rpm": rpm_bytes(packed(cpio_bytes(FILES))),
    }
    path = tmp_path / name
    path.write_bytes(made[name])
    found = gathered(tmp_path, path)
    assert sorted(b.name for b in found.binaries) == ["usr/bin/server", "usr/lib/libx.a"]


def test_without_the_program_zstandard_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what to install."""
    monkeypatch.setattr(streams.shutil, "which", lambda name: None)
    path = tmp_path / "x.deb"
    path.write_bytes(
        ar_bytes({"debian-binary": b"2.0\n", "data.tar.zst": b"\x28\xb5\x2f\xfd" + bytes(600)})
    )
    found = gathered(tmp_path, path)
    assert "zstd" in found.refused[0].why


def test_no_path_of_a_package_is_used(tmp_path: Path) -> None:
    """Names that climb, that begin at the root, and links: only contents are taken."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name in ("../../escaped", "/absolute", "in/../../../out"):
            member = tarfile.TarInfo(name)
            member.size = len(ELF)
            archive.addfile(member, io.BytesIO(ELF))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        through = tarfile.TarInfo("link/through")
        through.size = len(ELF)
        archive.addfile(through, io.BytesIO(ELF))
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    path = inner / "x.tar"
    path.write_bytes(held.getvalue())
    before = {p for p in tmp_path.rglob("*") if "scratch" not in p.parts}
    found = gathered(tmp_path, path)
    assert len(found.binaries) == 4
    assert all(b.path.parent == tmp_path / "scratch" for b in found.binaries)
    assert {p for p in tmp_path.rglob("*") if "scratch" not in p.parts} == before


def test_a_name_cannot_steer_a_terminal(tmp_path: Path) -> None:
    """Control characters are written out."""
    path = tmp_path / "x.tar"
    path.write_bytes(tar_bytes({"a\x1b[2Jb": ELF}))
    assert gathered(tmp_path, path).binaries[0].name == "a\\x1b[2Jb"


@pytest.mark.parametrize("name", ["x.tar.gz", "x.deb", "x.whl", "x-plain.rpm"])
def test_what_unpacks_to_too_much_is_stopped(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bomb: 32 MiB of zeros after what is small; what came before it is kept."""
    monkeypatch.setattr(streams, "MOST_BYTES", 4 << 20)
    monkeypatch.setattr(streams.Budget, "__init__", _budget(4 << 20, 1000))
    files = {"first": ELF, "bomb": ELF + bytes(32 << 20)}
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for inner, data in files.items():
            archive.writestr(inner, data)
    made = {
        "x.tar.gz": lambda: tar_bytes(files, "w:gz"),
        "x.deb": lambda: deb_bytes(files, "gz"),
        "x.whl": held.getvalue,
        "x-plain.rpm": lambda: rpm_bytes(cpio_bytes(files)),
    }
    path = tmp_path / name
    path.write_bytes(made[name]())
    found = gathered(tmp_path, path)
    assert "more than 4 MiB" in found.refused[0].why
    assert [b.name for b in found.binaries] == ["first"]
    assert sum(p.stat().st_size for p in (tmp_path / "scratch").iterdir()) < 5 << 20


def _budget(size: int, members: int):
    def start(self, bytes_left: int = size, members_left: int = members) -> None:
        self.bytes_left, self.members_left = bytes_left, members_left

    return start


def test_too_many_members_are_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty ones too."""
    monkeypatch.setattr(streams.Budget, "__init__", _budget(1 << 20, 10))
    path = tmp_path / "x.tar"
    path.write_bytes(tar_bytes({f"m{at}": b"" for at in range(30)}))
    assert "members" in gathered(tmp_path, path).refused[0].why


def test_packages_in_packages_are_opened_and_not_for_ever(tmp_path: Path) -> None:
    """A .deb in a tar is; a .deb in a .deb in a tar is said not to be."""
    inner = deb_bytes(FILES)
    path = tmp_path / "x.tar"
    path.write_bytes(tar_bytes({"one.deb": inner, "deep.deb": deb_bytes({"two.deb": inner})}))
    found = gathered(tmp_path, path)
    assert len(found.binaries) == 2
    assert "2 deep" in found.refused[0].why


@pytest.mark.parametrize("name", sorted(packages()))
def test_a_package_that_is_cut_short_or_damaged_is_said_to_be(name: str, tmp_path: Path) -> None:
    """At many lengths, and with bytes changed: never an exception. The end of a plain tar archive
    is zeros, which may be missing."""
    whole = packages()[name]
    path = tmp_path / name
    told = 0
    for cut in range(8, len(whole), max(1, len(whole) // 25)):
        path.write_bytes(whole[:cut])
        told += bool(gathered(tmp_path, path).refused)
        damaged = bytearray(whole)
        damaged[cut : cut + 3] = b"\xff\x00\xff"
        path.write_bytes(damaged)
        gathered(tmp_path, path)
    assert told >= 5


def test_a_folder_is_walked_without_following_links(tmp_path: Path) -> None:
    """A loop of links, a link out, a link to itself: the walk ends, and finds each file once."""
    top = tmp_path / "tree"
    (top / "sub").mkdir(parents=True)
    (top / "server").write_bytes(ELF)
    os.link(top / "server", top / "same")
    (top / "sub" / "up").symlink_to(top)
    (top / "out").symlink_to("/usr")
    (top / "self").symlink_to("self")
    (top / "alias.so").symlink_to("server")
    os.mkfifo(top / "pipe")
    found = gathered(tmp_path, top)
    assert len(found.binaries) == 1
    assert found.refused == []


def test_a_folder_gives_its_sources_as_one_tree(tmp_path: Path) -> None:
    """By name; what is under version control's own folder is not looked at."""
    for name in ("src/a.c", "CMakeLists.txt", "auto/cc/gcc", ".git/b.c", "notes.txt", "go/x.go"):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("int x;\n")
    found = gathered(tmp_path, tmp_path / "tree")
    assert [f.name for f in found.trees[0].files] == [
        "CMakeLists.txt",
        "auto/cc/gcc",
        "go/x.go",
        "src/a.c",
    ]


def odd_paths(folder: Path) -> dict[str, tuple[Path, str]]:
    """Everything that is no file to inspect, and a word of what is said of it."""
    made = {name: folder / name for name in ("empty", "text", "fifo", "sparse", "thin.a", "loop")}
    made["empty"].write_bytes(b"")
    made["text"].write_text("hello\n")
    os.mkfifo(made["fifo"])
    with made["sparse"].open("wb") as file:
        file.truncate(4 << 30)
    made["thin.a"].write_bytes(b"!<thin>\n")
    made["loop"].symlink_to("loop")
    made["packed"] = folder / "packed.gz"
    made["packed"].write_bytes(b"\x1f\x8b\x08" + bytes(20))
    said = {
        "empty": "empty",
        "text": "neither",
        "fifo": "FIFO",
        "sparse": "neither",
        "thin.a": "thin",
        "loop": "symbolic links",
        "packed": "compressed",
    }
    return {name: (path, said[name]) for name, path in made.items()}


def test_odd_paths_are_each_refused_in_words(tmp_path: Path) -> None:
    """And the others beside them are inspected."""
    odd = odd_paths(tmp_path)
    good = tmp_path / "server"
    good.write_bytes(ELF)
    found = gathered(tmp_path, *(path for path, _ in odd.values()), good)
    assert [b.name for b in found.binaries] == ["server"]
    for refused, (path, word) in zip(found.refused, odd.values(), strict=True):
        assert refused.shown == str(path)
        assert word in refused.why


def test_a_socket_and_a_device_are_not_opened(tmp_path: Path) -> None:
    """Opening them could wait for ever, or do something."""
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        found = gathered(tmp_path, path, Path("/dev/null"))
    assert [r.why.split(",")[0] for r in found.refused] == ["it is a socket", "it is a device"]


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Nothing is inspected then."""
    with pytest.raises(InputError, match="not there"):
        gathered(tmp_path, tmp_path / "nothing")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.c", "c"), ("a.HPP", "c"), ("a.rs", "rust"), ("a.go", "go"), ("Makefile.am", "build"),
        ("configure.ac", "build"), ("auto/cc/gcc", "build"), ("auto/x.txt", ""), ("a.txt", ""),
        ("config.h.in", "build"), ("m4/ax.m4", "build"), ("a.c.orig", ""),
    ],
)  # fmt: skip
def test_a_source_is_known_by_its_name(name: str, said: str) -> None:
    """Its language, or that it is of the build."""
    assert language(name) == said


def test_a_debian_package_is_no_static_library() -> None:
    """Both begin alike."""
    assert kind_of(ar_bytes({"debian-binary": b"2.0\n"}), "x") == "deb"
    assert kind_of(ar_bytes({"x.o/": b""}), "x") == "archive"


@pytest.mark.parametrize("length", [b"-60       ", b"+1        ", b"1_0       "])
def test_a_member_whose_length_is_no_number_is_refused(length: bytes, tmp_path: Path) -> None:
    """A negative one led back to the same member for ever."""
    path = tmp_path / "x.deb"
    path.write_bytes(b"!<arch>\n" + b"debian-binary".ljust(48) + length + b"`\n")
    found = gathered(tmp_path, path)
    assert "no number" in found.refused[0].why


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_header_that_is_said_to_be_long_is_not_read(kind: bytes, tmp_path: Path) -> None:
    """A name of 1.5 GB, which is 6.8 MB compressed."""
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 1_500_000_000
    path = tmp_path / "x.tar"
    path.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
    found = gathered(tmp_path, path)
    assert "longer than any name" in found.refused[0].why
