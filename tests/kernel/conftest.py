"""Trees, people and capabilities that the kernel tests share."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import subprocess
import sys

import pytest

from ringfence.kernel import probe
from tests.support import users

HERE = probe.capabilities()
"""Of the kernel that really runs; a test skips on what is missing here, never on a platform's name."""

needs_landlock = pytest.mark.skipif(not HERE.landlock, reason=dict(HERE.why_not).get("landlock", ""))
needs_seccomp = pytest.mark.skipif(not HERE.seccomp, reason=dict(HERE.why_not).get("seccomp", ""))


@pytest.fixture(scope="session", params=users.names())
def who(request):
    """Each account in turn: root and an ordinary user, or just ourselves."""
    with users.someone(request.param) as one:
        yield one


@pytest.fixture
def base(who):
    """The tree of tests/kernel/attacks.py, owned by `who`."""
    with users.open_folder(who) as made:
        build(made, who)
        yield made


def build(base, who):
    for name in ("out/dir", "out/empty", "ws-sibling"):
        os.makedirs(os.path.join(base, name))
    for name in ("out/secret.txt", "out/dir/deep.txt", "ws-sibling/secret.txt"):
        write(os.path.join(base, name))
    own(base, who)
    build_workspace(base, who)
    if os.geteuid() == 0:
        helper = os.path.join(base, "helper")
        shutil.copy("/usr/bin/touch", helper)
        os.chmod(helper, 0o4755)
        os.mkdir(os.path.join(base, "rootonly"), 0o755)


def build_workspace(base, who):
    """The part an attack may spoil without escaping; made anew for each try."""
    workspace = os.path.join(base, "ws")
    if os.path.exists(workspace):
        shutil.rmtree(workspace)
    os.makedirs(os.path.join(workspace, "dir"))
    write(os.path.join(workspace, "inside.txt"), "inside\n")
    os.symlink("../out", os.path.join(workspace, "link"))
    os.symlink("../out/secret.txt", os.path.join(workspace, "filelink"))
    os.symlink("../out/made", os.path.join(workspace, "dangling"))
    own(workspace, who)


def write(path, text="secret\n"):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def own(top, who):
    os.chown(top, who.uid, who.gid)
    for root, folders, files in os.walk(top):
        for name in (*folders, *files):
            os.chown(os.path.join(root, name), who.uid, who.gid, follow_symlinks=False)


def snapshot(base):
    """Everything outside the workspace: kind, mode, owner, size, links, content, attributes, and the times of files.

    Any change is an escape. A folder's time changes with what is in it, and that is seen by itself.
    """
    seen = {}
    for root, folders, files in os.walk(base):
        if root == base and "ws" in folders:
            folders.remove("ws")
        for name in (*folders, *files):
            path = os.path.join(root, name)
            known = os.lstat(path)
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
            else:
                content = ""
            plain = os.path.isfile(path) and not os.path.islink(path)
            extra = (known.st_nlink, known.st_size, known.st_mtime_ns) if plain else ()
            owner = (known.st_uid, known.st_gid)
            seen[os.path.relpath(path, base)] = (known.st_mode, owner, extra, content, attributes(path))
    return seen


def attributes(path):
    """Extended attributes and access control lists, as far as this file system has them."""
    try:
        names = os.listxattr(path, follow_symlinks=False)
        return {name: os.getxattr(path, name, follow_symlinks=False) for name in sorted(names)}
    except OSError:
        return {}


@contextlib.contextmanager
def victim(who, base):
    """A process outside the fence, of the same user, standing in $OUT with $OUT/secret.txt open for writing."""
    # Where Yama restricts ptrace to descendants, it must allow us, or the attack would fail for that reason.
    text = "import ctypes, time; ctypes.CDLL(None).prctl(0x59616D61, -1, 0, 0, 0); print(flush=True); time.sleep(60)"
    with open(os.path.join(base, "out/secret.txt"), "r+b") as stdin:
        process = subprocess.Popen(
            [python_of(who), "-I", "-c", text],
            cwd=os.path.join(base, "out"),
            stdin=stdin,
            stdout=subprocess.PIPE,
            **who.popen(),
        )
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def python_of(who):
    return users.SYSTEM_PYTHON if who.name == "user" else sys.executable


def missing(needs, who, base):
    """Why a row cannot be tried here, "" if it can."""
    for need in needs:
        if need == "root":
            reason = "" if who.is_root else "only root can try this"
        elif need == "user":
            reason = "" if who.name == "user" else "root gains nothing by it"
        elif need == "suid":
            reason = "setuid bits are off on this mount" if os.statvfs(base).f_flag & os.ST_NOSUID else ""
        elif need == "userns":
            reason = dict(HERE.why_not).get("userns", "")
        elif need == "core":
            with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
                reason = "core files go elsewhere" if file.read()[0] in "|/" else ""
        elif need == "disk":
            reason = "" if disk() else "no disk to be seen"
        elif need in _WRITABLE:
            reason = "" if os.path.exists(_WRITABLE[need]) else f"no {_WRITABLE[need]}"
        elif need == "overlay":
            reason = dict(HERE.why_not).get("overlay", "")
        elif need in {"xattr", "acl", "inode-flags"}:
            reason = _not_on(base, need)
        elif need == "modules":
            reason = (
                "" if os.path.exists("/proc/modules") and os.uname().machine == "x86_64" else "no modules"
            )
        else:
            reason = "" if shutil.which(need) else f"{need} is not installed"
        if reason:
            return reason
    return ""


_WRITABLE = {
    "cron": "/etc/cron.d",
    "hugepages": "/sys/kernel/mm/transparent_hugepage/enabled",
    "sysrq": "/proc/sysrq-trigger",
}


def _not_on(base, need):
    """Why the file system of the test's world lacks a kind of metadata, "" if it has it."""
    path = os.path.join(base, "out/secret.txt")
    try:
        if need == "xattr":
            os.getxattr(path, "user.none")
        elif need == "acl":
            os.getxattr(path, "system.posix_acl_access")
        else:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                fcntl.ioctl(descriptor, 0x80086601, bytes(8))  # FS_IOC_GETFLAGS
            finally:
                os.close(descriptor)
    except OSError as error:
        return "" if error.errno == errno.ENODATA else f"{need}: {error.strerror} on this file system"
    return ""


def disk():
    """A block device that root could write here, "" if there is none (a container's, a hardened machine's)."""
    for entry in sorted(os.listdir("/sys/block")) if os.path.isdir("/sys/block") else ():
        with contextlib.suppress(OSError):
            os.close(os.open(f"/dev/{entry}", os.O_WRONLY))
            return f"/dev/{entry}"
    return ""
