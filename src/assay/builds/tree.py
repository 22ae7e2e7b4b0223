"""A tree of sources and objects that builds are made in, one after the other.

Builds that differ in their source alone share a tree: only files that differ are written, and only
what depends on them is compiled again, in the same folder, so that paths within are the same. A
tree knows what of the source stands in it (`state.json`), and whether the last build in it ended.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from assay.builds.compilers import COMMANDS, CompilerCall, Compilers, commands, write_scripts
from assay.builds.includes import dependants
from assay.builds.patches import Overlay
from assay.builds.program import Unpacked
from assay.builds.recipe_file import RECONFIGURES, BuildRecipe, Words
from assay.builds.stranger import BuildError, end_all, environment, run_stranger, settle_clock
from assay.builds.variation import Variation
from assay.core.cache import needs_room
from assay.core.digest import digest
from assay.linux.own_user import give, own_user

CXX = (".cc", ".cpp", ".cxx", ".C")
UNSURE_S = 2.0
"""Of a build that was cut off: what was written so shortly before may be half."""


@dataclass
class TreeState:
    """What stands in a tree. `source` maps each file of the source to its digest, `ran` what was
    compiled and linked, by output; `busy` is true while a build goes on, and after one was cut off.
    """

    source: dict[str, str] = field(default_factory=dict)
    ran: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    configured_ns: int = 0
    busy: bool = False


class BuildTree:
    """One tree, held by this process for as long as the block of `held` lasts."""

    def __init__(
        self, folder: Path, recipe: BuildRecipe, found: Compilers, variation: Variation, lock: int
    ) -> None:
        self.folder, self.recipe, self.lock = folder, recipe, lock
        self.source, self.log = folder / "tree", folder / "log"
        self.tools, self.commands = folder / "tools", folder / "commands"
        self.user = own_user()
        self.variation, self.found = variation, found
        self.state = self._read()

    def _read(self) -> TreeState:
        try:
            return TreeState(**json.loads((self.folder / "state.json").read_text()))
        except (OSError, ValueError, TypeError):
            return TreeState()

    def _keep(self, *, busy: bool) -> None:
        self.state.busy = busy
        part = self.folder / "state.part"
        part.write_text(json.dumps(asdict(self.state)))
        part.replace(self.folder / "state.json")

    def build(
        self, unpacked: Unpacked, overlay: Overlay, watch: Callable[[int], None], what: str
    ) -> None:
        """Has the tree hold this source, and all that is made of it.

        BuildError if it does not compile; the tree is then as far as it came. A build that was cut
        off and cannot go on begins from the source: what was half may be what its own build does
        not make again.
        """
        was_cut_off = self.state.busy
        try:
            self._build(unpacked, overlay, watch, what)
        except BuildError:
            if not was_cut_off:
                raise
            self.state = TreeState()
            self._build(unpacked, overlay, watch, what)

    def _build(
        self, unpacked: Unpacked, overlay: Overlay, watch: Callable[[int], None], what: str
    ) -> None:
        wanted = _wanted(unpacked, overlay)
        with needs_room(self.folder):
            if self.state.busy:
                self._take_in()
                self._mend()
            changed = self._changed(wanted)
            if not self.state.configured_ns or any(Path(c).name in RECONFIGURES for c in changed):
                self._begin_anew()
                changed = set(wanted)
            self._keep(busy=True)
            self._write(unpacked, overlay, wanted, changed)
            shutil.rmtree(self.commands, ignore_errors=True)
            self.commands.mkdir()
            write_scripts(self.tools, self.found, self.variation, self.source)
            give(self.source, self.user)
            give(self.commands, self.user)
            self.log.write_bytes(b"")
            try:
                self._make(watch, what)
            except BuildError:
                self._ended()
                raise
            self._ended()

    def _ended(self) -> None:
        """A build came to its end, be it that it failed: nothing is half."""
        end_all(self.user)
        self._take_in()
        self._keep(busy=False)

    def _make(self, watch: Callable[[int], None], what: str) -> None:
        if not self.state.configured_ns:
            for command in self.recipe.configure:
                self.run(command, what)
            newest = max((p.stat().st_mtime_ns for p in self._files()), default=1)
            self.state.configured_ns = newest
            self._keep(busy=True)

        def compiled() -> None:
            watch(sum(1 for _ in os.scandir(self.commands)))

        for command in self.recipe.make:
            self.run(command, what, watch=compiled, written=True)

    def run(
        self,
        command: Words,
        what: str,
        *,
        watch: Callable[[], None] = lambda: None,
        written: bool = False,
        install: Path | None = None,
    ) -> None:
        """Runs one command of the recipe in the tree; BuildError if it fails."""
        path = f"{self.tools}:{os.environ.get('PATH', os.defpath)}"
        env = environment(self.source, path) | {"GIT_CEILING_DIRECTORIES": str(self.folder)}
        if written:
            env[COMMANDS] = str(self.commands)
        words = _filled(command, self.variation, install)
        run_stranger(
            words,
            self.source,
            self.log,
            user=self.user,
            env=env,
            lock=self.lock,
            what=what,
            watch=watch,
        )

    def ran(self) -> list[CompilerCall]:
        """The last command for each thing that was compiled or linked."""
        return [CompilerCall(folder, tuple(words)) for folder, words in self.state.ran.values()]

    def linking(self) -> CompilerCall | None:
        """The command that linked the product."""
        found = self.state.ran.get(self.recipe.linked_file)
        return None if found is None else CompilerCall(found[0], tuple(found[1]))

    def give(self, folder: Path) -> None:
        """Makes a folder that of whoever builds."""
        give(folder, self.user)

    def is_cxx(self, ran: CompilerCall) -> bool:
        """Whether what a link reads was compiled as C++."""
        return any(call.source.endswith(CXX) for call in self.ran())

    def without_link(self) -> BuildError:
        """The error of a build that links its product by no compiler's command."""
        line = f"no command of a compiler made {self.recipe.linked_file}"
        return BuildError(f"building {self.recipe.name} failed: {line}", self.log, line)

    def _take_in(self) -> None:
        """Remembers what was compiled and linked now; paths are below the tree."""
        if not self.commands.is_dir():
            return
        top = f"{self.source}{os.sep}"
        for ran in commands(self.commands):
            if not ran.output:
                continue
            output = os.path.normpath(os.path.join(ran.folder, ran.output))
            if output.startswith(top):
                known = output.removeprefix(top)
                folder = os.path.relpath(ran.folder, self.source)
                self.state.ran.pop(known, None)
                self.state.ran[known] = (folder, list(ran.words))

    def _changed(self, wanted: Mapping[str, str]) -> set[str]:
        here = self.state.source
        return {name for name in {*wanted, *here} if wanted.get(name) != here.get(name)}

    def _begin_anew(self) -> None:
        shutil.rmtree(self.source, ignore_errors=True)
        self.source.mkdir()
        self.state = TreeState()

    def _write(
        self, unpacked: Unpacked, overlay: Overlay, wanted: dict[str, str], changed: set[str]
    ) -> None:
        """Puts changed files in their places, and removes every object that depends on one."""
        is_new = not self.state.source
        if not is_new and changed:
            words = {word for call in self.ran() for word in call.words}
            self._forget(dependants(self.source, changed, words))
        self.state.source |= dict.fromkeys(changed, "")
        self._keep(busy=True)
        for name in sorted(changed):
            place = self.source / name
            with suppress(FileNotFoundError):
                place.unlink()
            if name not in wanted:
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            content = overlay.get(name)
            if content is not None:
                place.write_bytes(content)
                place.chmod(0o755 if wanted[name].startswith("x") else 0o644)
            else:
                shutil.copy2(unpacked.folder / name, place, follow_symlinks=False)
            if not is_new and not place.is_symlink():
                os.utime(place)
        for name in self.recipe.forget if is_new else ():
            (self.source / name).unlink(missing_ok=True)
        self.state.source = wanted
        self._keep(busy=True)  # what is compiled from now on stays, though this be killed
        if not is_new:
            # Whoever wrote an object in this very instant must not look newer than its source.
            settle_clock(self.source / next(iter(sorted(changed & set(wanted))), ""))

    def _forget(self, stale: set[str]) -> None:
        """Removes the objects of these sources, whatever the program's own build knows of them."""
        for output, (folder, words) in self.state.ran.items():
            source = CompilerCall(folder, tuple(words)).source
            if source and os.path.normpath(os.path.join(folder, source)) in stale:
                (self.source / output).unlink(missing_ok=True)

    def _mend(self) -> None:
        """After a build that was cut off: what may be half goes, and what stands there is read."""
        end_all(self.user)
        if not self.state.configured_ns:
            self._begin_anew()
            return
        own = set(self.state.source)
        times = {p: p.lstat().st_mtime_ns for p in self._files()}
        last = max(times.values(), default=0) - UNSURE_S * 1e9
        for path, written in times.items():
            name = path.relative_to(self.source).as_posix()
            if name not in own and written >= max(last, self.state.configured_ns + 1):
                path.unlink(missing_ok=True)
        # A source file that was being written is written again.
        for name, known in list(self.state.source.items()):
            place = self.source / name
            if not known.startswith("link") and _of_file(place) != known:
                self.state.source[name] = ""

    def _files(self) -> Iterator[Path]:
        for folder, _, files in os.walk(self.source):
            yield from (Path(folder, file) for file in files)


@contextmanager
def held(
    folder: Path, lock: Path, recipe: BuildRecipe, found: Compilers, variation: Variation
) -> Iterator[BuildTree]:
    """The tree in a folder, once no other process works in it and no command of one is left."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    lock.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield BuildTree(folder, recipe, found, variation, descriptor)
    finally:
        os.close(descriptor)


def _wanted(unpacked: Unpacked, overlay: Overlay) -> dict[str, str]:
    """By path, the digest of each file that the source should have."""
    wanted = dict(unpacked.manifest)
    for name, content in overlay.items():
        if content is None:
            wanted.pop(name, None)
        else:
            may_run = wanted.get(name, "-")[0]
            wanted[name] = f"{may_run if may_run == 'x' else '-'} {digest(content)}"
    return wanted


def _of_file(place: Path) -> str:
    """As a manifest has it; empty if it is not there."""
    if not place.is_file():
        return ""
    may_run = "x" if place.stat().st_mode & 0o100 else "-"
    return f"{may_run} {digest(place.read_bytes())}"


def _filled(command: Sequence[str], variation: Variation, install: Path | None) -> list[str]:
    """The words of a command, what stands in braces replaced."""
    jobs = len(os.sched_getaffinity(0))
    words: list[str] = []
    for word in command:
        if word == "{options}":
            words += variation.configure
        else:
            words.append(word.replace("{jobs}", f"-j{jobs}").replace("{install}", str(install)))
    return words
