"""Sources: the distribution's own source package, or a tarball that somebody gives.

The package comes by apt, told to use a state, a cache and a list of sources of our
own: the host's lists, cache and configuration are read, never written. apt checks
what it fetches against the signed index; the digest that the index has of the
package's files (the entries of its .dsc) is checked here once more, each time the
tarball is used.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cmp_to_key
from pathlib import Path, PurePosixPath

from assay.builds import tools
from assay.core.cache import FULL, cache, keep
from assay.core.digest import file_digest
from assay.core.errors import InputError, MissingError

MOST_MEMBERS = 50_000
MOST_BYTES = 1 << 30
"""Bounds of what is unpacked: a tarball that claims more is refused."""

HOST_APT = Path("/etc/apt")
HOOKS = ("Pre-Invoke", "Post-Invoke", "Post-Invoke-Success")
ABOUT = "source.json"
Fill = Callable[[Path], None]
"""Fills a folder."""


@dataclass(frozen=True)
class Source:
    """A tarball with its SHA-256. `version` is the package's, or the tarball's name."""

    path: Path
    sha256: str
    version: str


def given(path: Path) -> Source:
    """A tarball of the user's: its digest is recorded, and nothing vouches for it."""
    if not path.is_file():
        raise InputError(f"{path} is not a file", next_step="give the path of a source tarball")
    return Source(path, file_digest(path), path.name)


def given_or(variable: str, fetch: Callable[[], Source]) -> Source:
    """The tarball that a variable of the environment names, or else what `fetch` gets."""
    path = os.environ.get(variable)
    if path:
        return given(Path(path))
    try:
        return fetch()
    except MissingError as error:
        error.next_step += f": {variable}=PATH"
        raise


def distribution(package: str) -> Source:
    """The upstream tarball of Debian's source package, fetched once.

    MissingError if there is no apt or it cannot fetch; InputError if what is kept was altered.
    """
    folder = keep(cache("sources") / package, lambda making: _fetch(package, making))
    return fetched(folder)


def fetched(folder: Path) -> Source:
    """What was fetched into a folder; InputError if it was altered."""
    about = json.loads((folder / ABOUT).read_text())
    source = Source(folder / about["path"], about["sha256"], about["version"])
    if file_digest(source.path) != source.sha256:
        raise InputError(
            f"{source.path} is not what was fetched: its SHA-256 is another",
            next_step=f"remove {folder}; it is fetched again",
        )
    return source


def _fetch(package: str, folder: Path) -> None:
    """A version of the package: only its upstream tarball, and what the index says.

    That of the package which is installed is taken if it can be had; else the newest that can, as
    an index may name files that are gone.
    """
    what = f"fetching the source of {package}"
    step = "check the network and apt's configuration, or give a source tarball"
    with tempfile.TemporaryDirectory(prefix="assay-apt-") as made:
        env = {"APT_CONFIG": str(_own_apt(Path(made)))}

        def apt(*words: str) -> str:
            return tools.run(words, folder, what=what, next_step=step, env=env)

        apt("apt-get", "-qq", "update")
        index = apt("apt-cache", "--only-source", "showsrc", package)
        refused: MissingError | None = None
        for version in _versions(index, package):
            try:
                wanted = f"{package}={version}"
                apt("apt-get", "-qq", "source", "--download-only", "--tar-only", wanted)
                break
            except MissingError as error:
                refused = refused or error
        else:
            raise refused or MissingError(f"{what}: the index has none", next_step=step)
    name = _tarball(folder, package)
    digest = file_digest(folder / name)
    if _version_with(index, name, digest) is None:
        raise MissingError(f"{what}: {name} is not in the index with its SHA-256", next_step=step)
    about = asdict(Source(Path(name), digest, f"{package} {version}, upstream tarball"))
    (folder / ABOUT).write_text(json.dumps(about, default=str, indent=1))


def _versions(index: str, package: str) -> list[str]:
    """The versions of an index: the installed one first, then the newest."""
    found = dict.fromkeys(re.findall(r"(?m)^Version: (\S+)$", index))
    newest = sorted(found, key=cmp_to_key(_compared), reverse=True)
    said = subprocess.run(
        ["dpkg-query", "-W", "-f", "${source:Package} ${source:Version}\\n"],
        capture_output=True,
        text=True,
        errors="replace",
    ).stdout
    installed = set(re.findall(rf"(?m)^{re.escape(package)} (\S+)$", said))
    return sorted(newest, key=lambda version: version not in installed)


def _compared(one: str, other: str) -> int:
    """As dpkg puts versions in order."""

    def holds(relation: str) -> bool:
        words = ["dpkg", "--compare-versions", one, relation, other]
        return subprocess.run(words).returncode == 0

    return -1 if holds("lt") else int(holds("gt"))


def _own_apt(folder: Path) -> Path:
    """A configuration of apt's that writes only in `folder` and reads the host's for the rest.

    Hooks of the host are left out: they tidy its cache or tell its desktop.
    """
    for part in ("state/lists/partial", "cache/archives/partial", "conf", "lists"):
        (folder / part).mkdir(parents=True)
    for file in sorted((HOST_APT / "apt.conf.d").glob("*")):
        (folder / "conf" / file.name).symlink_to(file)
    _own_lists(folder / "lists")
    clear = "".join(f"#clear APT::Update::{hook};\n" for hook in HOOKS)
    (folder / "conf" / "zz-assay").write_text(clear)
    configuration = folder / "apt.conf"
    configuration.write_text(
        f'Dir::Etc::parts "{folder}/conf";\n'
        'Dir::Etc::sourcelist "/dev/null";\n'
        f'Dir::Etc::sourceparts "{folder}/lists";\n'
        f'Dir::State "{folder}/state";\n'
        'Dir::State::status "/var/lib/dpkg/status";\n'
        f'Dir::Cache "{folder}/cache";\n'
        'Acquire::Languages "none";\n'
    )
    return configuration


def _own_lists(folder: Path) -> None:
    """The host's package sources, each turned into the one for source packages."""
    parts = sorted((HOST_APT / "sources.list.d").glob("*"))
    for file in [*parts, HOST_APT / "sources.list"]:
        if file.suffix not in (".list", ".sources") or not file.is_file():
            continue
        text = file.read_text("utf-8", "replace")
        if file.suffix == ".sources":
            text = re.sub(r"(?im)^Types:.*$", "Types: deb-src", text)
        else:
            text = re.sub(r"(?m)^[ \t]*deb[ \t]", "deb-src ", text)
        (folder / file.name).write_text(text)


def _tarball(folder: Path, package: str) -> str:
    found = [p.name for p in folder.glob(f"{package}_*.orig.tar.*") if p.suffix != ".asc"]
    if len(found) != 1:
        raise MissingError(
            f"apt fetched no upstream tarball of {package}", next_step="give a source tarball"
        )
    return found[0]


def _version_with(index: str, name: str, digest: str) -> str | None:
    """The last version in the index whose entries (those of its .dsc) hold the file and digest."""
    found = None
    for record in index.split("\n\n"):
        entry = re.search(rf"(?m)^ {digest} \d+ {re.escape(name)}$", record)
        version = re.search(r"(?m)^Version: (\S+)$", record)
        if entry and version:
            found = version[1]
    return found


def unpack(source: Source, folder: Path) -> Path:
    """Unpack into `folder`; the one folder that the tarball holds.

    Only files, folders and links between them, none outside, no more than is bounded: anything else
    is an InputError; a full disk stays an OSError. Times are the tarball's: a `configure` that
    looks older than what it is made of would be made again, by tools that are not here.
    """

    def refused(why: str) -> InputError:
        return InputError(f"{source.path} is not unpacked: {why}", next_step="give another tarball")

    tops: set[str] = set()
    count = size = 0
    try:
        with tarfile.open(source.path) as archive:
            for member in archive:
                path = PurePosixPath(member.name)
                count, size = count + 1, size + member.size
                if path.is_absolute() or ".." in path.parts:
                    raise refused(f"{member.name} lies outside")
                if not (member.isfile() or member.isdir() or _is_inside(member)):
                    raise refused(f"{member.name} is neither file nor folder, nor a link inside")
                if count > MOST_MEMBERS or size > MOST_BYTES:
                    raise refused("it is too large")
                tops.update(path.parts[:1])
                _write(archive, member, folder / path)
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        raise refused(str(error)) from error
    if len(tops) != 1:
        raise refused(f"it holds {len(tops)} folders, not one")
    return folder / tops.pop()


def _is_inside(member: tarfile.TarInfo) -> bool:
    """Whether it is a link to something in the same folder of a tarball."""
    return member.issym() and links_inside(member.name, member.linkname)


def links_inside(name: str, target: str) -> bool:
    """Whether a link of this name, by its text alone, stays below the first folder of its path."""
    depth = len(PurePosixPath(name).parts) - 2
    for part in PurePosixPath(target).parts:
        depth += -1 if part == ".." else 1
        if part == "/" or depth < 0:
            return False
    return True


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
        return
    if any(folder.is_symlink() for folder in place.parents):
        raise tarfile.TarError(f"{member.name} lies behind a link")
    place.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        place.symlink_to(member.linkname)
        return
    content = archive.extractfile(member)
    assert content is not None, "a regular file has contents"
    with content, place.open("wb") as file:
        shutil.copyfileobj(content, file)
    place.chmod(0o755 if member.mode & 0o100 else 0o644)
    os.utime(place, (member.mtime, member.mtime))
