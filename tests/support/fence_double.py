"""A small judge of paths for the shell tests: roots, longest wins, resolved by the kernel through O_PATH.

Not the product's fence: an independent second opinion, so that the command reader is tested on its own.
"""

from __future__ import annotations

import errno
import os
import pwd
import stat

from ringfence.model import Decision, Op, Rule, Verdict

RULE = Rule("double", "test")
GUARDED = (".git/hooks", ".git/config", ".git/info/attributes", ".git/commondir", ".git/config.worktree")


class UnresolvableError(Exception):
    """No system call would reach it."""


def encode(text):
    return text.encode("utf-8", "surrogateescape")


def resolve(path, *, follow=True):
    """The physical path of what a call would reach; a missing tail is kept, folded as text."""
    raw = encode(path)
    if b"\0" in raw or not raw.startswith(b"/") or len(raw) >= 4096:
        raise UnresolvableError(path)
    hops = 0
    parts = [p for p in raw.split(b"/") if p not in (b"", b".")]
    fd = os.open(b"/", os.O_PATH)
    try:
        index = 0
        while index < len(parts):
            last = index == len(parts) - 1
            flags = (
                os.O_PATH | (os.O_NOFOLLOW if last and not follow else 0) | (0 if last else os.O_DIRECTORY)
            )
            try:
                step = os.open(parts[index], flags, dir_fd=fd)
            except OSError as failure:
                if failure.errno != errno.ENOENT:
                    raise UnresolvableError(path) from None
                here = os.readlink(f"/proc/self/fd/{fd}".encode())
                try:
                    link = os.readlink(parts[index], dir_fd=fd)
                except OSError:
                    if any(len(p) > 255 for p in parts[index:]):
                        raise UnresolvableError(path) from None
                    return os.fsdecode(os.path.normpath(here + b"/" + b"/".join(parts[index:])))
                hops += 1
                if hops > 40:
                    raise UnresolvableError(path) from None
                whole = link if link.startswith(b"/") else here + b"/" + link
                parts = [p for p in whole.split(b"/") if p not in (b"", b".")] + parts[index + 1 :]
                os.close(fd)
                fd = os.open(b"/", os.O_PATH)
                index = 0
                continue
            os.close(fd)
            fd = step
            index += 1
        return os.readlink(f"/proc/self/fd/{fd}".encode()).decode("utf-8", "surrogateescape")
    finally:
        os.close(fd)


def inside(path, root):
    return path == root or root == "/" or path.startswith(root + "/")


class FenceDouble:
    """`check` and `below` as the command pipeline asks them."""

    def __init__(self, workspace, protected=(), *, home=None, guards=True, sweep=""):
        self.workspace = resolve(workspace)
        self.protected = [resolve(p) for p in protected]
        self.home = home
        self.guards = guards
        self.sweep = sweep or self.workspace
        self.asked = []

    def _answer(self, allowed, code, path, op):
        verdict = Verdict.ALLOW if allowed else Verdict.DENY
        return Decision(verdict, code, path, RULE, f"{op} {path}", op)

    def denied(self, path):
        roots = [(self.workspace, False), *((p, True) for p in self.protected)]
        found = [(len(root), shut) for root, shut in roots if inside(path, root)]
        if not found or max(found)[1]:
            return True
        return self.guards and self.guarded(path)

    def guarded(self, path):
        rest = path[len(self.workspace) :]
        parts = rest.split("/")
        for index, part in enumerate(parts):
            if part == ".git":
                tail = "/".join(parts[index:])
                if any(tail == g or tail.startswith(g + "/") for g in GUARDED):
                    return True
                if tail == ".git" and os.path.isfile(path):
                    return True
        return False

    def check(self, path, op, *, cwd):
        self.asked.append((path, op, cwd))
        try:
            return self._check(path, op, cwd)
        except UnresolvableError:
            return self._answer(op is Op.READ, "invalid.unresolvable", path, op)

    def _check(self, path, op, cwd):
        if path == "":
            raise UnresolvableError(path)
        if path.startswith("~"):
            name, slash, rest = path[1:].partition("/")
            if name:
                try:
                    base = pwd.getpwnam(name).pw_dir
                except KeyError:
                    raise UnresolvableError(path) from None
            elif self.home:
                base = self.home
            else:
                raise UnresolvableError(path)
            path = base + slash + rest
        if not path.startswith("/"):
            path = f"{cwd}/{path}"
        if op is Op.READ:
            return self._answer(True, "allow.read", path, op)
        if os.path.normpath(path).startswith(("/proc/", "/dev/fd/")) and not os.path.normpath(
            path
        ).startswith("/proc/self/cwd"):
            return self._answer(False, "deny.magic", path, op)
        entry = op in (Op.DELETE, Op.RENAME)
        real = resolve(path, follow=not entry or path.endswith(("/", "/.", "/..")))
        if real == "/dev/null":
            return self._answer(True, "allow.sink", real, op)
        if entry:
            roots = [self.workspace, *self.protected]
            if any(inside(root, real) for root in roots):
                return self._answer(False, "deny.holds-root", real, op)
            if self.guards and os.path.lexists(f"{real}/hooks") and real.endswith("/.git"):
                return self._answer(False, "deny.holds-guard", real, op)
            return self._answer(not self.denied(real), "deny.outside", real, op)
        if self.denied(real):
            return self._answer(False, "deny.outside", real, op)
        try:
            info = os.lstat(encode(real))
        except OSError:
            return self._answer(True, "allow.workspace", real, op)
        if stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
            for folder, _, files in os.walk(self.sweep):
                for name in files:
                    other = f"{folder}/{name}"
                    there = os.lstat(other)
                    if (there.st_dev, there.st_ino) == (info.st_dev, info.st_ino) and self.denied(other):
                        return self._answer(False, "deny.hardlink", real, op)
        return self._answer(True, "allow.workspace", real, op)

    def below(self, path, cwd):
        try:
            real = resolve(path if path.startswith("/") else f"{cwd}/{path}")
        except UnresolvableError:
            return None
        for root in self.protected:
            if inside(root, real) and root != real:
                return self._answer(False, "deny.holds-root", root, Op.WRITE)
        return None
