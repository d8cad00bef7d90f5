"""Run a harmless command in a scratch tree and compare what changed with what the reading predicted."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess

from ringfence.model import Op

ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb", "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.com", "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.com",
}  # fmt: skip


def plant(root):
    """The tree that every generated command starts from."""
    for name, text in (
        ("a.txt", "alpha\nbeta\n"),
        ("b.txt", "b\n"),
        ("src/main.py", "print(1)\n"),
        ("src/x.tmp", "t\n"),
    ):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    os.makedirs(os.path.join(root, "d"))


def snapshot(root):
    """Absolute name to a value that changes when the thing does; folders count by existence and mode."""
    seen = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            if stat.S_ISDIR(info.st_mode):
                seen[path] = ("d", info.st_mode)
            elif stat.S_ISLNK(info.st_mode):
                seen[path] = ("l", os.readlink(path))
            elif stat.S_ISREG(info.st_mode):
                with open(path, "rb") as data:
                    digest = hashlib.sha256(data.read()).hexdigest()
                seen[path] = ("f", info.st_mode, info.st_ino, info.st_mtime_ns, digest)
            else:
                seen[path] = ("o", info.st_mode)
    return seen


def changed(before, after):
    return {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}


def run(command, cwd, shell="bash", home=None, seconds=10):
    """The real thing, its own process group, bounded in time."""
    env = {**ENV, "HOME": home or cwd, "PWD": cwd}
    done = subprocess.run(
        [shell, "-c", command], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=seconds, start_new_session=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.decode("utf-8", "replace")


def spots(uses):
    """(path, reaches below) of every use that is not a read, resolved as far as the disk goes now."""
    out = []
    for use in uses:
        if use.op is Op.READ:
            continue
        path = use.path if use.path.startswith("/") else os.path.join(use.cwd, use.path)
        entry = use.entry or use.op in (Op.DELETE, Op.RENAME)
        if entry and not path.endswith("/"):
            parent, name = os.path.split(path)
            real = os.path.join(os.path.realpath(parent), name)
        else:
            real = os.path.realpath(path)
        below = use.deep or use.op in (Op.DELETE, Op.RENAME, Op.CREATE) or os.path.isdir(real)
        out.append((os.path.normpath(real), below, use))
    return out


def uncovered(paths, found):
    """Changed paths that no use accounts for."""
    left = []
    for path in sorted(paths):
        for spot, below, use in found:
            if path == spot or (below and path.startswith(spot + "/")):
                break
            if use.op in (Op.CREATE, Op.WRITE, Op.RENAME) and spot.startswith(path + "/"):
                break  # a folder made on the way
            if use.op is Op.CREATE and spot.endswith("aa") and path.startswith(spot[:-2]):
                break  # names with a common beginning
            if use.why == "mktemp" and os.path.dirname(path) == os.path.dirname(spot):
                break
        else:
            left.append(path)
    return left
