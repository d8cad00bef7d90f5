"""Who else could have written a file that the fence believes.

Root is always trusted: it could change the fence itself. Cold path: `pwd` and `grp` are fine here.
"""

from __future__ import annotations

import os
import stat
import sys

_GROUP_OR_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def current_uid() -> int | None:
    """Who we are; None where files have no POSIX owner, and then nobody counts as a stranger."""
    return None if sys.platform == "win32" else os.getuid()


def stranger(facts: os.stat_result, uid: int | None) -> str:
    """Why someone other than `uid` and root could have written the file that `facts` describe; "" if nobody
    could.

    A group that is the owner's private one (same name, no other member; the default of Debian and Fedora,
    whose umask 002 makes every file group-writable) counts as the owner.
    """
    if uid is None:
        return ""
    if facts.st_uid not in (0, uid):
        return f"it belongs to user {_name(facts.st_uid)}"
    if facts.st_mode & stat.S_IWOTH:
        return "everybody may write it"
    if facts.st_mode & stat.S_IWGRP and not _private_group(facts.st_gid, facts.st_uid):
        return f"group {facts.st_gid} may write it"
    return ""


def stranger_above(path: str, uid: int | None) -> str:
    """The same for the folders that lead to `path`: whoever may write one of them may put another file there.

    A sticky folder (/tmp) lets nobody rename what belongs to others, so it counts as closed.
    """
    folder = os.path.dirname(path)
    while uid is not None:
        try:
            facts = os.stat(folder)
        except OSError:
            return f"{folder} cannot be examined"
        sticky = facts.st_mode & stat.S_ISVTX
        if facts.st_uid not in (0, uid):
            return f"the folder {folder} belongs to user {_name(facts.st_uid)}"
        if not sticky and (why := stranger(facts, uid)):
            return f"of the folder {folder}: {why}"
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    return ""


def _private_group(gid: int, uid: int) -> bool:
    try:
        import grp
        import pwd

        group = grp.getgrgid(gid)
        user = pwd.getpwuid(uid)
    except (ImportError, KeyError):
        return False
    return user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _name(uid: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(uid).pw_name
    except (ImportError, KeyError):
        return str(uid)
