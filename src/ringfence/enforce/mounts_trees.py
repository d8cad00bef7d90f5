"""Copies of trees: opening a place without links, copying its mount, putting it back, making it read-only."""

from __future__ import annotations

import posix

from ringfence.errors import KernelCallError
from ringfence.kernel import mounts
from ringfence.records import Record

_ELOOP = 40
_FORMAT, _FOLDER = 0o170000, 0o040000


class Copy(Record):
    """A detached tree and the identity of its root."""

    tree: int
    device: int
    inode: int
    folder: bool


def copy_of(path: str, gone: list[str]) -> Copy | None:
    try:
        descriptor = mounts.open_path(path)
    except KernelCallError as error:
        if not mounts.is_gone(error):
            raise
        gone.append(path)
        return None
    try:
        seen = posix.fstat(descriptor)
        tree = mounts.clone_tree(descriptor, path)
        return Copy(tree, seen.st_dev, seen.st_ino, seen.st_mode & _FORMAT == _FOLDER)
    finally:
        posix.close(descriptor)


def copy_if_there(path: str) -> Copy | None:
    """A copy of something of the system's, None where it is missing or is a link to something we keep."""
    if not is_there(path):
        return None
    try:
        return copy_of(path, [])
    except KernelCallError as error:
        if error.errno != _ELOOP:
            raise
        return None


def attach_at(tree: int, path: str) -> None:
    descriptor = mounts.open_path(path)
    mounts.attach(tree, descriptor, path)
    posix.close(descriptor)
    posix.close(tree)


def fix(path: str, gone: list[str]) -> None:
    """Make `path` and all below it read-only where it stands."""
    try:
        descriptor = mounts.open_path(path)
    except KernelCallError as error:
        if not mounts.is_gone(error):
            raise
        gone.append(path)
        return
    tree = mounts.clone_tree(descriptor, path)
    mounts.restrict_tree(tree, mounts.RDONLY, path)
    mounts.attach(tree, descriptor, path)
    posix.close(tree)
    posix.close(descriptor)


def is_there(path: str) -> bool:
    """A cheap first look, for names that are no agent's to change: failing calls cost more than this one."""
    return posix.access(path, 0)


def is_folder(path: str) -> bool:
    """Whether `path` is a folder, reached through no link."""
    try:
        descriptor = mounts.open_path(path)
    except KernelCallError as error:
        if mounts.is_gone(error) or error.errno == _ELOOP:
            return False
        raise
    folder = posix.fstat(descriptor).st_mode & _FORMAT == _FOLDER
    posix.close(descriptor)
    return folder
