"""The parts of the system that a fenced program sees changed: devices, terminals, /proc."""

from __future__ import annotations

import posix

from ringfence.enforce.mounts_devices import PROC_FIXED, process_folders
from ringfence.enforce.mounts_trees import Copy, attach_at, copy_if_there, is_folder, is_there
from ringfence.errors import KernelCallError
from ringfence.kernel import mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_ELOOP = 40
_FORMAT, _FOLDER, _LINK = 0o170000, 0o040000, 0o120000


def private_terminals(terminal: Copy | None) -> None:
    """A pty instance of our own: the user's other terminals can be neither read nor written.

    The caller's own terminal stays open on its descriptors and as /dev/tty; its name would now mean another,
    so it is put on /dev/console, where ttyname(3) finds it.
    """
    if not is_folder("/dev/pts"):
        return
    flags = mounts.NOSUID | mounts.NOEXEC
    mounts.mount_new("devpts", "devpts", "/dev/pts", flags, "newinstance,ptmxmode=0666,mode=0620")
    # Where /dev/ptmx is a link, as in containers, it leads to the new one already.
    multiplexer = copy_if_there("/dev/pts/ptmx")
    for copy, path in ((multiplexer, "/dev/ptmx"), (terminal, "/dev/console")):
        try:
            if copy:
                attach_at(copy.tree, path)
        except KernelCallError as error:
            if not mounts.is_gone(error) and error.errno != _ELOOP:
                raise


def fix_proc() -> None:
    """Keep what acts on the whole machine read-only; for root by what is there, not by a list alone."""
    names: Iterable[str] = PROC_FIXED
    if posix.geteuid() == 0:
        found = (f"/proc/{name}" for name in posix.listdir("/proc") if not process_folders(name))
        names = [path for path in found if _could_write(path)]
    for path in names:
        if not is_there(path):
            continue
        try:
            descriptor = mounts.open_path(path)
        except KernelCallError as error:
            if mounts.is_gone(error) or error.errno == _ELOOP:
                continue
            raise
        tree = mounts.clone_tree(descriptor, path)
        mounts.restrict_tree(tree, mounts.RDONLY, path)
        mounts.attach(tree, descriptor, path)
        posix.close(tree)
        posix.close(descriptor)


def _could_write(path: str) -> bool:
    """Whether something at `path` is meant to be written by someone: a folder, or a file with a write bit."""
    mode = posix.lstat(path).st_mode
    return mode & _FORMAT == _FOLDER or (mode & _FORMAT != _LINK and mode & 0o222 != 0)
