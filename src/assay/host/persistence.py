"""What makes settings outlive a boot: files of our own, which come last in a plan.

They are put in place only after the values themselves were seen to be taken, and go with a
rollback. A file that is not Assay's is never written, and a setting that another file would
override is refused, with the name of the winner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from assay.core.errors import InputError, MissingError
from assay.host.rules.fragments import settings
from assay.host.transaction.items import file_item
from assay.host.transaction.plan import OURS, Item
from assay.host.view import View
from assay.linux.tree import Tree

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_UNIT = re.compile(r"[A-Za-z0-9@_.-]+\.service")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_WORDS = re.compile(r"[A-Za-z0-9_.,=:-]+( [A-Za-z0-9_.,=:-]+)*")
_DEVICE = re.compile(r"/sys/class/net/([A-Za-z0-9._-]+)/(queues/[a-z]+-\d+/[a-z_]+)$")


def persistent(tree: Tree, values: Sequence[tuple[str, str]], name: str, plan: str) -> list[Item]:
    """The files that give paths these values at every boot, for a server or purpose `name`.

    Keys of sysctl go to sysctl.d, steering of a network device to a rule of udev, other files of
    the kernel to tmpfiles.d. InputError where a later file would win, or for an interrupt, whose
    number is another one after a boot; MissingError where TuneD has the say.
    """
    _check_name(name)
    if _tuned(tree):
        raise MissingError(
            "TuneD runs here, and writes its own values at every start",
            next_step="put the values into a profile of your own that includes the active one",
        )
    keys = [(p, v) for p, v in values if p.startswith("/proc/sys/")]
    queues = [(p, v) for p, v in values if _DEVICE.match(p)]
    others = [pair for pair in values if pair not in keys and pair not in queues]
    for path, _ in others:
        if not path.startswith("/sys/"):
            raise InputError(
                f"{path} has another number after a boot",
                next_step="leave it out of --persist, or ban the interrupt in irqbalance",
            )
    made = [
        _sysctl(tree, keys, name, plan),
        _fragment(
            tree, f"/etc/udev/rules.d/60-assay-{name}.rules", map(_rule, queues), plan, _head
        ),
        _fragment(tree, f"/etc/tmpfiles.d/assay-{name}.conf", map(_line, others), plan, _target),
    ]
    return [item for item in made if item is not None]


def memlock(tree: Tree, whose: str, limit: int, plan: str) -> Item | None:
    """The file that lets a unit of systemd's, or `user:NAME`'s logins, lock so many bytes."""
    kind, _, user = whose.partition(":")
    if kind == "user" and _USER.fullmatch(user):
        text = f"{_title(plan)}{user} - memlock {-(-limit // 1024)}\n"
        return file_item(tree, f"/etc/security/limits.d/60-assay-{user}.conf", text)
    if not _UNIT.fullmatch(whose):
        raise InputError(
            f"{whose} is neither a unit nor a user",
            next_step="write mariadb.service=8GiB or user:mysql=8GiB",
        )
    text = f"{_title(plan)}[Service]\nLimitMEMLOCK={limit}\n"
    return file_item(tree, f"/etc/systemd/system/{whose}.d/50-assay.conf", text)


def boot_command(tree: Tree, words: str) -> str:
    """The line that adds words to the kernel's command line on a host whose boot loader reads no
    file of Assay's; empty where grub reads /etc/default/grub.d, as Debian's does.

    InputError where the words are no part of a command line.
    """
    _require_words(words)
    if _has(tree, "update-grub") or tree.place("/etc/default/grub.d").is_dir():
        return ""
    if _has(tree, "grubby"):
        return f'grubby --update-kernel=ALL --args="{words}"'
    return f"add to the boot loader's line for the kernel: {words}"


def _require_words(words: str) -> None:
    if not _WORDS.fullmatch(words):
        raise InputError(
            f"{words!r} is no part of a kernel's command line",
            next_step="such as hugepagesz=1G hugepages=4",
        )


def _has(tree: Tree, program: str) -> bool:
    return any(tree.place(f"{folder}/{program}").exists() for folder in ("/usr/sbin", "/sbin"))


def boot(tree: Tree, words: str, plan: str) -> Item | None:
    """The file that adds words to the kernel's command line, once update-grub has run."""
    _require_words(words)
    line = f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {words}"\n'
    return file_item(tree, "/etc/default/grub.d/60-assay.cfg", _title(plan) + line)


def _sysctl(tree: Tree, keys: Sequence[tuple[str, str]], name: str, plan: str) -> Item | None:
    path = f"/etc/sysctl.d/60-assay-{name}.conf"
    named = [(p.removeprefix("/proc/sys/").replace("/", "."), v) for p, v in keys]
    known = settings(View(tree))
    for key, value in named:
        for winner, other in known.get(key, []):
            if _is_after(winner, path) and other != " ".join(value.split()):
                raise InputError(
                    f"{winner} sets {key} = {other}, and is read after {path}",
                    next_step=f"set it there, or take it out of {winner}",
                )
    return _fragment(tree, path, (f"{k} = {v}" for k, v in named), plan, _key)


def _is_after(one: str, other: str) -> bool:
    """Whether a fragment is read after another: by name, and /etc/sysctl.conf last."""
    names = one.rpartition("/")[2], other.rpartition("/")[2]
    return one == "/etc/sysctl.conf" or names[0] > names[1]


def _fragment(
    tree: Tree, path: str, lines: Iterable[str], plan: str, key: Callable[[str], str]
) -> Item | None:
    """A file with these lines, and those of ours before that say something else."""
    new = list(lines)
    if not new:
        return None
    set_anew = {key(line) for line in new}
    before = (tree.read(path) or "").splitlines()
    kept = [line for line in before if not line.startswith("#") and key(line) not in set_anew]
    return file_item(tree, path, _title(plan) + "".join(f"{line}\n" for line in [*kept, *new]))


def _title(plan: str) -> str:
    return f"{OURS}: plan {plan}, taken back by `assay host rollback`\n"


def _line(pair: tuple[str, str]) -> str:
    return f"w- {pair[0]} - - - - {pair[1]}"


def _rule(pair: tuple[str, str]) -> str:
    found = _DEVICE.match(pair[0])
    assert found is not None, "only queues come here"
    device, attribute = found.groups()
    return f'ACTION=="add", SUBSYSTEM=="net", KERNEL=="{device}", ATTR{{{attribute}}}="{pair[1]}"'


def _key(line: str) -> str:
    return line.partition("=")[0].strip()


def _target(line: str) -> str:
    return line.split()[1]


def _head(line: str) -> str:
    """A rule without what it assigns."""
    return line.rpartition("=")[0]


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(
            f"--persist {name}: not a name for a file", next_step="such as mariadb or web-1"
        )


def _tuned(tree: Tree) -> bool:
    view = View(tree)
    return bool(view.read("/etc/tuned/active_profile")) and any(
        view.read(f"/proc/{pid}/comm") == "tuned" for pid in view.names("/proc") if pid.isdigit()
    )
