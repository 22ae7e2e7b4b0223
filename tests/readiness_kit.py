"""What tests of readiness share: images as the census tells them, trees, and packages made here."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.readiness.census import Image, image
from assay.readiness.finding import ReadinessFinding
from assay.readiness.inputs import SourceFile, SourceTree
from assay.readiness.machine import Machine
from assay.readiness.source import judge, read

GRAVITON = Machine("graviton", "aarch64", 4096, 64, frozenset(("atomics", "crc32", "pmull", "sb")))
OLD = Machine("old", "aarch64", 65536, 128, frozenset(("asimd",)))


def message(**told: Any) -> dict[str, Any]:
    """The data of a census message; what is not said is an image in which nothing is found."""
    plain = {
        "path": "/usr/bin/server",
        "member": None,
        "arch": "aarch64",
        "kind": "executable",
        "build_id": "ab12",
        "stripped": True,
        "language": "c",
        "counts": {"lse": 0, "ll_sc": 0},
        "unverified": {},
        "helpers": [],
        "coverage": {"text_bytes": 4096, "covered": 0.98, "by": "fde"},
        "sites": [],
        "facts": {"atomics": "none", "min_load_align": 65536, "constructor": None},
        "exports_hints": {},
    }
    facts = {**plain["facts"], **told.pop("facts", {})}
    return {**plain, **told, "facts": facts}


def an_image(**told: Any) -> Image:
    """The same as rules are given it."""
    extra = {key: told.pop(key) for key in ("tables", "exports") if key in told}
    made = image(message(**told))
    return Image(**{**vars(made), **extra})


def site(kind: str, function: str | None = "wait", address: int = 0x1000, **facts: Any) -> Any:
    """A site of a census message."""
    listing = [f"{address:#x}: d503203f  yield", f"{address + 4:#x}: 54ffffe1  b.ne {address:#x}"]
    return {
        "kind": kind,
        "function": function,
        "address": address,
        "length": 2,
        "listing": listing,
        "facts": facts,
    }


def tree_of(folder: Path, files: Mapping[str, str]) -> SourceTree:
    """A source tree on the disk."""
    tree = SourceTree("tree")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        tree.files.append(SourceFile(path, name))
    return tree


def judged(
    folder: Path, files: Mapping[str, str], machine: Machine | None = None
) -> list[ReadinessFinding]:
    """What is found in such a tree."""
    return judge(read(tree_of(folder, files)), machine)


def places(found: list[ReadinessFinding], rule: str) -> list[str]:
    """Where a rule speaks."""
    return [f"{f.path}:{f.line}" for f in found if f.rule == rule]


def tar_bytes(files: Mapping[str, bytes], mode: str = "w") -> bytes:
    """A tar archive."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return held.getvalue()


def ar_bytes(members: Mapping[str, bytes]) -> bytes:
    """An archive of the form that .deb and static libraries have."""
    told = b"!<arch>\n"
    for name, data in members.items():
        told += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        told += data + b"\n" * (len(data) % 2)
    return told


def deb_bytes(files: Mapping[str, bytes], packed: str = "xz") -> bytes:
    """A Debian package."""
    plain = "" if packed == "tar" else f".{packed}"
    data = tar_bytes(files, "w" if packed == "tar" else f"w:{packed}")
    control = tar_bytes({"./control": b"Package: x\n"}, "w:gz")
    return ar_bytes(
        {"debian-binary": b"2.0\n", "control.tar.gz": control, f"data.tar{plain}": data}
    )


def cpio_bytes(files: Mapping[str, bytes]) -> bytes:
    """A cpio archive of the "new ASCII" form, as RPM packs files."""
    told = b""
    for at, (name, data) in enumerate([*files.items(), ("TRAILER!!!", b"")]):
        label = name.encode() + b"\0"
        mode = 0o100755 if data else 0
        fields = (at, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(label), 0)
        told += b"070701" + b"".join(b"%08X" % value for value in fields) + label
        told += b"\0" * (-(110 + len(label)) % 4)
        told += data + b"\0" * (-len(data) % 4)
    return told


def rpm_bytes(payload: bytes) -> bytes:
    """An RPM whose headers say nothing."""
    lead = b"\xed\xab\xee\xdb" + bytes(92)

    def header(store: bytes) -> bytes:
        start = b"\x8e\xad\xe8\x01" + bytes(4)
        return start + (1).to_bytes(4, "big") + len(store).to_bytes(4, "big") + bytes(16) + store

    signature = header(b"sig" * 5)
    signature += bytes(-(96 + len(signature)) % 8)
    return lead + signature + header(b"about" * 7) + payload
