"""What a file is, told by its first bytes, and for sources by its name."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

HEAD_BYTES = 512
"""What is read of a file to tell what it is: as far as the mark of a tar archive."""

_MAGIC = (
    (b"\x7fELF", "elf"),
    (b"!<thin>\n", "thin"),
    (b"\xed\xab\xee\xdb", "rpm"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bzip2"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
COMPRESSED = ("gzip", "xz", "bzip2", "zstd", "lzma")
PACKAGES = ("deb", "rpm", "zip", "tar", *COMPRESSED)

LANGUAGES = {
    ".c": "c", ".h": "c", ".cc": "c", ".cpp": "c", ".cxx": "c", ".c++": "c", ".hpp": "c",
    ".hh": "c", ".hxx": "c", ".inl": "c", ".inc": "c", ".ipp": "c", ".tcc": "c", ".ic": "c",
    ".rs": "rust", ".go": "go", ".cmake": "build", ".m4": "build", ".ac": "build", ".mk": "build",
}  # fmt: skip
_BUILD_NAMES = re.compile(
    r"(?:GNU)?[Mm]akefile(?:\.(?:am|in|global|defs|inc))?|CMakeLists\.txt|configure\.(?:ac|in)|"
    r"meson\.build|BUILD(?:\.bazel)?|BUCK|TARGETS|\w+\.(?:h|hpp|cmake)\.(?:in|cmake)|"
    r"\w*build_detect\w*"
)
_TARS = re.compile(r"\.(?:tar(?:\.\w+)?|tgz|txz|tbz2?|tzst)$", re.IGNORECASE)


def kind_of(head: bytes, name: str) -> str:
    """elf, archive, thin, deb, rpm, zip, tar, a compression, source, empty or other."""
    if not head:
        return "empty"
    if head.startswith(b"!<arch>\n"):
        return "deb" if head[8:].startswith(b"debian-binary") else "archive"
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head[257:262] == b"ustar":
        return "tar"
    if head.startswith(b"]\x00\x00"):
        return "lzma"
    return "source" if language(name) else "other"


def language(name: str) -> str:
    """c, rust, go or build by a file's name; empty for what is no source."""
    path = PurePosixPath(name)
    known = LANGUAGES.get(path.suffix.lower())
    if known:
        return known
    if _BUILD_NAMES.fullmatch(path.name):
        return "build"
    # nginx keeps its checks in shell scripts without a suffix.
    return "build" if "auto" in path.parts[:-1] and not path.suffix else ""


def is_tar(name: str) -> bool:
    """Whether a name says that a compressed file is a tar archive."""
    return bool(_TARS.search(name))
