"""Somebody who has no rights."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable

from assay.core.errors import AssayError


def as_nobody(work: Callable[[], str]) -> str:
    """What a function returns in a process that has no rights, nor any file of ours to read."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        said = "it did not come to an end"
        try:
            entry = pwd.getpwnam("nobody")
            os.setgroups([])
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
            said = work()
        except AssayError as error:
            said = f"{error.message}; {error.next_step}"
        except BaseException as error:
            said = repr(error)
        finally:
            os.write(writer, said.encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said
