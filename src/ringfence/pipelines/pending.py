"""The journal of commands that are running: what their watcher saw at the start, in the state folder.

A fenced program may kill its watcher, and power may fail. So what is to be looked at afterwards is written down before
the program starts; the next command that starts finds the record of a watcher that is gone and looks in its place.
"""

from __future__ import annotations

from posix import (
    O_CLOEXEC,
    O_CREAT,
    O_NOFOLLOW,
    O_TRUNC,
    O_WRONLY,
    close,
    getpid,
    listdir,
    open,
    rename,
    unlink,
    write,
)

from ringfence.jsonscan import dumps, loads
from ringfence.pipelines import beneath
from ringfence.pipelines.aftermath import Watch
from ringfence.pipelines.placing import exists, placed
from ringfence.pipelines.session import make_parents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Confinement, Policy

_FOLDER = "pending"


def _folder(policy: Policy) -> str:
    return f"{policy.folders.state}/{_FOLDER}" if policy.folders.state else ""


def begin(policy: Policy, watch: Watch) -> None:
    """Write the record. A state folder that cannot be written costs only this; the watch itself stands."""
    folder = _folder(policy)
    if not folder or not policy.restricted:
        return
    path = f"{folder}/{getpid()}"
    body = dumps(watch.record()).encode("ascii", "replace")
    flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
    try:
        try:
            fd = open(path + ".new", flags, 0o600)
        except FileNotFoundError:
            make_parents(folder)
            fd = open(path + ".new", flags, 0o600)
        try:
            write(fd, body)
        finally:
            close(fd)
        rename(path + ".new", path)
    except OSError:
        return


def end(policy: Policy) -> None:
    folder = _folder(policy)
    if folder:
        _remove(f"{folder}/{getpid()}")


def others_run(policy: Policy) -> bool:
    """Whether another fenced command is running now."""
    try:
        names = listdir(_folder(policy) or "/nonexistent")
    except OSError:
        return False
    return any(name.isdigit() and int(name) != getpid() and beneath.lives(int(name)) for name in names)


def recover(policy: Policy, wanted: Confinement) -> list[str]:
    """Look in the place of every watcher that is gone; a line for each thing found."""
    folder = _folder(policy)
    if not folder:
        return []
    try:
        names = listdir(folder)
    except OSError:
        return []
    for name in names:
        # A record that was being written when its watcher was killed: nothing had started yet.
        if name[-4:] == ".new" and name[:-4].isdigit() and not beneath.lives(int(name[:-4])):
            _remove(f"{folder}/{name}")
    orphans = [
        name for name in names if name.isdigit() and int(name) != getpid() and not beneath.lives(int(name))
    ]
    if not orphans:
        return []
    said: list[str] = []
    at = beneath.open_folder(folder)
    for name in orphans if at >= 0 else ():
        text = beneath.content(at, name)
        try:
            record = loads(text or b"")
            mine = {root for root, *_ in record["vets"]} | {root for root, *_ in record["absent"]}
        except (ValueError, KeyError, TypeError):
            record, mine = {}, set()  # cut short by a full disk or a power loss before it was whole
        if not mine & set(policy.workspace) and any(exists(root) for root in mine):
            continue  # another workspace's: the next command there looks
        # Taken out first: of two that start at once, one looks.
        try:
            unlink(f"{folder}/{name}")
        except OSError:
            continue
        if not mine & set(policy.workspace):
            continue
        try:
            watch = Watch(policy, wanted, placed)
            watch.resume(record)
            said.extend(f"(of an earlier command whose watcher was killed) {line}" for line in watch.after())
        except (ValueError, KeyError, TypeError):
            continue
    return said


def _remove(path: str) -> None:
    try:
        unlink(path)
    except OSError:
        return
