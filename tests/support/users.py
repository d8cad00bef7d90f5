"""Who runs a kernel test: root proves nothing about users, and a user nothing about root.

As root, the tests make a system account and a copy of the sources that it can read (a checkout and an
interpreter below /root are closed to it). As anybody else, they run as themselves.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

NAME = "ringfence-test"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SYSTEM_PYTHON = "/usr/bin/python3"


class Someone(NamedTuple):
    """Whom a program runs as, with which interpreter, and where that finds our sources and this folder."""

    name: str
    uid: int
    gid: int
    python: str
    checkout: str

    @property
    def is_root(self) -> bool:
        return self.uid == 0

    def popen(self) -> dict:
        """What subprocess needs to run a program as them."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def usable_python() -> str | None:
    """An interpreter outside root's home, new enough for us."""
    asked = "import sys; raise SystemExit(sys.version_info < (3, 11))"
    if (
        os.access(SYSTEM_PYTHON, os.X_OK)
        and subprocess.run([SYSTEM_PYTHON, "-I", "-c", asked]).returncode == 0
    ):
        return SYSTEM_PYTHON
    return None


def names() -> list[str]:
    """The accounts to run each kernel test as."""
    if os.geteuid() != 0:
        return ["self"]
    return ["root", "user"] if usable_python() and shutil.which("useradd") else ["root"]


def account() -> pwd.struct_passwd:
    """The test account, made if it is missing. It has no password, no shell and no home."""
    try:
        return pwd.getpwnam(NAME)
    except KeyError:
        words = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", NAME]
        subprocess.run(words, check=True, capture_output=True)
        return pwd.getpwnam(NAME)


@contextlib.contextmanager
def someone(name: str):
    """Root, the test account or whoever we are; with the copy of the sources it needs, removed afterwards."""
    if name == "user":
        who = account()
        with open_folder() as copy:
            for part in ("src", os.path.join("tests", "support"), "scripts"):
                target = os.path.join(copy, part)
                shutil.copytree(
                    os.path.join(ROOT, part), target, ignore=shutil.ignore_patterns("__pycache__")
                )
            subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
            yield Someone("user", who.pw_uid, who.pw_gid, SYSTEM_PYTHON, copy)
    else:
        yield Someone(name, os.geteuid(), os.getegid(), sys.executable, ROOT)


@contextlib.contextmanager
def open_folder(owner: Someone | None = None):
    """A folder that every user can reach (pytest's own are closed), and that is gone afterwards."""
    made = tempfile.mkdtemp(prefix="ringfence-")
    try:
        os.chmod(made, 0o755)
        if owner is not None:
            os.chown(made, owner.uid, owner.gid)
        yield made
    finally:
        # A test may have left folders that not even their owner can search.
        subprocess.run(["chmod", "-R", "u+rwX", made], capture_output=True)
        shutil.rmtree(made)
