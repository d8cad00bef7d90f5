"""File operations as data: a generator of scripts, a program that plays one, and a snapshot to compare trees by.

Started as `python layer_ops.py SCRIPT.json` with the tree as its working folder. Errors of single operations are what
a shell script would shrug off: the next one goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import socket
import stat
import sys

NAMES = ("a", "b", "c", "D", "d", "é", "x y", "-n", "z.txt")
EXPLICIT = 1_000_000_000  # a time that a script sets; other times are side effects


# ---- the tree that every script starts from


def plant(top):
    for folder in ("d", "d/e", "d/e/f", "D", "empty"):
        os.makedirs(os.path.join(top, folder))
    for path, text in (
        ("a", "first\n"),
        ("b", "second\n"),
        ("d/a", "in d\n"),
        ("d/e/b", "deep\n"),
        ("d/e/f/c", "deeper\n"),
        ("D/a", "other case\n"),
        ("z.txt", "z" * 5000),
    ):
        with open(os.path.join(top, path), "w", encoding="utf-8") as file:
            file.write(text)
    os.symlink("a", os.path.join(top, "c"))
    os.symlink("nowhere", os.path.join(top, "d/x y"))
    os.chmod(os.path.join(top, "b"), 0o600)
    for root, folders, files in os.walk(top):
        for name in (*folders, *files):
            os.utime(os.path.join(root, name), (EXPLICIT - 100, EXPLICIT - 100), follow_symlinks=False)


def link_pair(top):
    os.link(os.path.join(top, "z.txt"), os.path.join(top, "d/z2"))


# ---- scripts


def generate(seed, limits=False):
    """A list of operations. With `limits`, also those that an overlay answers differently."""
    dice = random.Random(seed)  # noqa: S311 - a seeded script, no secret
    folders = ["", "d", "d/e", "D", "empty", "n", "n/m", "d/e/f"]

    def path():
        folder = dice.choice(folders)
        return f"{folder}/{dice.choice(NAMES)}" if folder else dice.choice(NAMES)

    kinds = ["write", "append", "truncate", "unlink", "rename", "mkdir", "rmdir", "rmtree", "symlink", "link", "chmod",
             "xattr", "noxattr", "fifo", "socket", "utime", "sparse", "mv", "replace", "swap", "same", "open-unlink"]  # fmt: skip
    if limits:
        kinds += ["rename-folder", "write-linked"] * 4
    script = []
    for _ in range(dice.randint(3, 14)):
        kind = dice.choice(kinds)
        script.append([kind, path(), path(), dice.randint(0, 1 << 30)])
    return script


def play(script):
    for kind, one, two, number in script:
        if kind in OPENING and any(_waits(path) for path in (one, two)):
            continue  # opening a named pipe waits for somebody at its other end
        try:
            PLAYS[kind](one, two, number)
        except (OSError, shutil.Error):
            continue


OPENING = (
    "write",
    "append",
    "truncate",
    "replace",
    "same",
    "sparse",
    "open-unlink",
    "swap",
    "mv",
    "write-linked",
)


def _waits(path):
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def _write(one, _two, number):
    with open(one, "w", encoding="ascii") as file:
        file.write(f"{number}\n" * (number % 7))


def _append(one, _two, number):
    with open(one, "a", encoding="ascii") as file:
        file.write(f"+{number}\n")


def _rename(one, two, _number):
    # Folders that were there before are for "rename-folder" alone.
    if os.path.isdir(one) and not os.path.islink(one):
        return
    os.rename(one, two)


def _chmod(one, _two, number):
    if os.path.isdir(one):
        os.chmod(one, 0o700 | (number & 0o77))
    elif not os.path.islink(one):
        os.chmod(one, 0o600 | (number & 0o177))


def _link(one, two, _number):
    if os.path.islink(one) or not os.path.isfile(one):
        return
    os.link(one, two)


def _socket(one, _two, _number):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(one)


def _sparse(one, _two, number):
    with open(one, "wb") as file:
        file.seek(1 << 20)
        file.write(b"end %d" % number)


def _mv(one, two, _number):
    # mv(1): rename, and copy and delete where that fails with EXDEV.
    if os.path.isdir(one) and not os.path.islink(one):
        if os.path.exists(two) or two.startswith(one + "/"):
            return
        shutil.copytree(one, two, symlinks=True)
        shutil.rmtree(one)
        return
    os.rename(one, two)


def _replace(one, _two, number):
    with open(one + ".new", "w", encoding="ascii") as file:
        file.write(str(number))
    os.rename(one + ".new", one)


def _swap(one, _two, number):
    """A file becomes a folder, a folder a file."""
    if os.path.isdir(one) and not os.path.islink(one):
        shutil.rmtree(one)
        _write(one, "", number)
    else:
        os.unlink(one)
        os.mkdir(one)
        _write(f"{one}/inner", "", number)


def _same(one, _two, _number):
    """The old content once more: only the time changes."""
    with open(one, "rb") as file:
        content = file.read()
    with open(one, "wb") as file:
        file.write(content)


def _open_unlink(one, two, number):
    with open(one, "r+b") as file:
        os.unlink(one)
        file.write(b"%d" % number)
        file.seek(0)
        with open(two, "wb") as other:
            other.write(file.read())


def _rename_folder(_one, two, number):
    os.rename(("d/e", "D", "d", "empty")[number % 4], f"{two}.moved")


PLAYS = {
    "write": _write,
    "append": _append,
    "truncate": lambda one, _two, number: os.truncate(one, number % 4),
    "unlink": lambda one, _two, _number: os.unlink(one),
    "rename": _rename,
    "mkdir": lambda one, _two, _number: os.makedirs(one),
    "rmdir": lambda one, _two, _number: os.rmdir(one),
    "rmtree": lambda one, _two, _number: shutil.rmtree(one),
    "symlink": lambda one, two, _number: os.symlink(two, one),
    "link": _link,
    "chmod": _chmod,
    "xattr": lambda one, _two, number: os.setxattr(one, "user.test", b"%d" % number),
    "noxattr": lambda one, _two, _number: os.removexattr(one, "user.test"),
    "fifo": lambda one, _two, _number: os.mkfifo(one),
    "socket": _socket,
    "utime": lambda one, _two, number: os.utime(one, (EXPLICIT, EXPLICIT + number % 1000)),
    "sparse": _sparse,
    "mv": _mv,
    "replace": _replace,
    "swap": _swap,
    "same": _same,
    "open-unlink": _open_unlink,
    "rename-folder": _rename_folder,
    "write-linked": lambda _one, _two, number: _append("d/z2", "", number),
}


# ---- comparing


def snapshot(top):
    """path -> everything that a later program could tell apart, side effects on times left out."""
    seen = {}
    groups = {}
    for root, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = os.path.join(root, name)
            way = os.path.relpath(path, top)
            known = os.lstat(path)
            kind = stat.S_IFMT(known.st_mode)
            content = ""
            if stat.S_ISLNK(known.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(known.st_mode):
                content = f"{known.st_size}:{_digest(path)}"
                if known.st_nlink > 1:
                    groups.setdefault(known.st_ino, []).append(way)
            attributes = (
                ()
                if stat.S_ISLNK(known.st_mode)
                else tuple(
                    (n, os.getxattr(path, n, follow_symlinks=False))
                    for n in sorted(os.listxattr(path, follow_symlinks=False))
                    if n.startswith("user.")
                )
            )
            mode = 0 if stat.S_ISLNK(known.st_mode) else stat.S_IMODE(known.st_mode)
            seen[way] = (
                kind,
                mode,
                known.st_uid,
                known.st_gid,
                content,
                attributes,
                known.st_mtime_ns if not stat.S_ISDIR(known.st_mode) else 0,
            )
    return seen, sorted(sorted(names) for names in groups.values())


def lasting(snap):
    """The snapshot with only those times that a script has set."""
    seen, groups = snap
    limit = (EXPLICIT + 2000) * 10**9
    return {way: (*row[:-1], row[-1] if row[-1] < limit else 0) for way, row in seen.items()}, groups


def difference(before, after):
    """{(kind, way)} in the words of `ringfence try --json`."""
    old, new = before[0], after[0]
    found = set()
    for way in old.keys() | new.keys():
        one, other = old.get(way), new.get(way)
        if one is None:
            found.add(("created", way))
        elif other is None:
            found.add(("deleted", way))
        elif (one[0], one[4]) != (other[0], other[4]):
            found.add(("changed", way))
        elif one != other:
            found.add(("metadata", way))
    return found


def _digest(path):
    mode = os.lstat(path).st_mode
    if not mode & 0o400 and os.geteuid() != 0:
        return "closed"
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as given:
        play(json.load(given))
