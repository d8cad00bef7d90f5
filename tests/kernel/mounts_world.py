"""A small world for one attack: a workspace with guards, an outside, a process outside, and servers in it.

base/ws     the workspace, a git repository: .git/hooks and .claude/settings.json guarded, .env, private/ and
            nest/.env masked, vendor/lib a nested repository, deep/main a protected checkout
base/out    outside: kept, secret, empty/, repo, pipe
base/ws-evil, base/tmp (granted), base/run (runtime folder)
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from typing import NamedTuple

import pytest

from ringfence.kernel.probe import capabilities
from tests.support.users import ROOT, account, open_folder, usable_python

HERE = os.path.dirname(os.path.abspath(__file__))
GIT = {
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t",
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*", "GIT_CONFIG_KEY_1": "init.defaultBranch", "GIT_CONFIG_VALUE_1": "main",
}  # fmt: skip

CAPABILITIES = capabilities(("landlock", "userns", "mount_api", "seccomp"))
_MISSING = [
    f"{name}: {why}" for name, why in CAPABILITIES.why_not if name in ("userns", "mount_api", "seccomp")
]
needs_mounts = pytest.mark.skipif(bool(_MISSING), reason="; ".join(_MISSING))
needs_landlock = pytest.mark.skipif(not CAPABILITIES.landlock, reason="no Landlock in this kernel")

_BUILD = """
set -e
mkdir -p ws/sub ws/packages/a ws/packages/b ws/private ws/nest ws/.claude ws-evil out/empty tmp
install -d -m 700 run
cd ws
git init -q
rm -f .git/hooks/*.sample
for at in packages/a/f packages/b/keep tracked a; do echo $at > $at; done
printf '/.env\n/private\n/nest\n/vendor\n/deep\n/.claude\n' > .gitignore
git add .gitignore packages tracked a
git commit -qm start
for hook in pre-commit; do printf '#!/bin/sh\n' > .git/hooks/$hook; done
echo original > .claude/settings.json
for at in .env private/key nest/.env ../out/secret; do echo secret > $at; done
mkdir -p vendor/lib deep/main
(cd vendor/lib && git init -q && rm -f .git/hooks/*.sample && printf '#!/bin/sh\n' > .git/hooks/pre-commit)
(cd deep/main && git init -q && echo original > code && git add code && git commit -qm start)
cd ../out
echo original > kept
echo original > open && chmod 666 open
mkfifo pipe
git init -q repo && git -C repo commit -q --allow-empty -m start
"""


class Person(NamedTuple):
    """Whom the fenced programs run as. `lib` holds our sources and the tools, readable to them."""

    name: str
    uid: int
    gid: int
    python: str
    lib: str
    template: str

    def popen(self):
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def people():
    """Names of whom to test as: ourselves, and a real other user if we are root."""
    if os.geteuid():
        return ["self"]
    return ["root", "user"] if usable_python() and shutil.which("useradd") else ["root"]


@contextlib.contextmanager
def person(name):
    """The person with a template of the world, all removed afterwards."""
    uid, gid = os.geteuid(), os.getegid()
    if name == "user":
        who = account()
        uid, gid = who.pw_uid, who.pw_gid
    with open_folder() as lib:
        shutil.copytree(
            os.path.join(ROOT, "src"), os.path.join(lib, "src"), ignore=shutil.ignore_patterns("__pycache__")
        )
        for file in ("mounts_run.py", "mounts_tool.py"):
            shutil.copy(os.path.join(HERE, file), lib)
        template = os.path.join(lib, "world")
        os.mkdir(template)
        os.chown(template, uid, gid)
        subprocess.run(["chmod", "-R", "a+rX", lib], check=True)
        who = Person(name, uid, gid, usable_python() or sys.executable, lib, template)
        subprocess.run(
            ["sh", "-c", _BUILD], cwd=template, env=_environment(who, template), check=True, **who.popen()
        )
        yield who


@pytest.fixture(scope="module", params=people())
def each_person(request):
    """`who` of the mounts tests: each takes it under that name."""
    with person(request.param) as someone:
        yield someone


@contextlib.contextmanager
def world(who):
    """A fresh copy of the template; yields its path."""
    with open_folder(None if who.uid == os.geteuid() else who) as base:
        subprocess.run(["cp", "-a", who.template + "/.", base], check=True)
        yield base


def _environment(who, base, **more):
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": base, "LC_ALL": "C.UTF-8", **GIT,
        "BASE": base, "WS": f"{base}/ws", "OUT": f"{base}/out", "TMPDIR": f"{base}/tmp", "PY": who.python,
        "XDG_RUNTIME_DIR": f"{base}/run", "DOCKER_HOST": f"unix://{base}/engine.sock",
        "HOOK": f"{base}/ws/.git/hooks/pre-commit", "TOOL": f"{who.lib}/mounts_tool.py",
        "PYTHONPATH": f"{who.lib}/src", "PYTHONDONTWRITEBYTECODE": "1", **more,
    }  # fmt: skip


def spec_of(base, **more):
    """The confinement of this world, as mounts_run.py reads it."""
    ws = f"{base}/ws"
    return {
        "zones": [
            [ws, "workspace"], [f"{base}/tmp", "temp"], [f"{ws}/.git/hooks", "guard"],
            [f"{ws}/.claude/settings.json", "guard"], [f"{ws}/vendor/lib/.git/hooks", "guard"],
            [f"{ws}/deep/main", "protect"],
        ],
        "masked": [f"{ws}/.env", f"{ws}/private", f"{ws}/nest/.env", f"{base}/out/secret"],
        "cwd": ws,
        **more,
    }  # fmt: skip


def fenced(who, spec, argv):
    """The command line that runs `argv` under the engine."""
    return [who.python, "-S", f"{who.lib}/mounts_run.py", json.dumps(spec), *argv]


def shell(who, base, how, *, fence=None, prelude="", timeout=60, **env):
    """Run the shell text in the workspace, behind `fence` (a spec) if there is one; the finished process."""
    inner = ["bash", "-c", how]
    inner = fenced(who, fence, inner) if fence else inner
    outer = ["bash", "-c", f'{prelude}\nexec "$@"', "start", *inner] if prelude else inner
    return subprocess.run(
        outer, cwd=f"{base}/ws", env=_environment(who, base, **env), stdin=subprocess.DEVNULL, capture_output=True,
        text=True, errors="replace", timeout=timeout, check=False, **who.popen(),
    )  # fmt: skip


def landed(who, base, test):
    """Whether the attack's own test says that it worked; judged outside, by us."""
    run = subprocess.run(["sh", "-c", test], cwd=base, env=_environment(who, base), capture_output=True)
    return run.returncode == 0


@contextlib.contextmanager
def peer(who, base):
    """A process of the same user outside the fence, standing in OUT with descriptor 8 on it; yields its id."""
    text = 'cd "$OUT"; exec 8<"$OUT"; echo; exec sleep 120'
    process = subprocess.Popen(
        ["sh", "-c", text], env=_environment(who, base), stdout=subprocess.PIPE, **who.popen()
    )
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def helpers(base):
    """Servers that write outside when asked: a session bus, a container engine, one without a path; and a reader."""
    servers = []
    for address in (f"{base}/run/bus", f"{base}/engine.sock", f"\0ringfence-{base}"):
        server = socket.socket(socket.AF_UNIX)
        server.bind(address)
        if not address.startswith("\0"):
            os.chmod(address, 0o777)
        server.listen()
        thread = threading.Thread(target=_serve, args=(server, f"{base}/out/kept"), daemon=True)
        thread.start()
        servers.append((server, thread))
    reader = os.open(f"{base}/out/pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield
    finally:
        os.close(reader)
        for server, thread in servers:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            server.close()
            thread.join(5)


def _serve(server, path):
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        with client:
            if client.recv(16):
                with open(path, "w") as out:
                    out.write("evil by helper\n")
                client.sendall(b".")


def attempt(who, row, fence=None, **fence_words):
    """Replay one row in a fresh world; whether it landed, and what the shell said."""
    with world(who) as base, peer(who, base) as pid, helpers(base):
        spec = spec_of(base, **fence_words) if fence else None
        done = shell(who, base, row.how, fence=spec, prelude=row.prelude, PEER=str(pid))
        return landed(who, base, row.landed), done
