"""What the attack rows do not show: inherited descriptors, changes after the plan, confined reads, fences in fences."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

from tests.kernel.conftest import HERE, needs_landlock, python_of
from tests.support.children import Fence, plain_environment, run

pytestmark = needs_landlock
MODES = ("launch", "thread", "become")


def report(base):
    with open(f"{base}/report", encoding="utf-8") as file:
        _, _, rules, notes = json.load(file)
    return {rule[0]: rule[2] for rule in rules}, notes


# ---- inherited descriptors


@pytest.fixture
def handed(base):
    """Descriptors a caller may leave open, by name."""
    read_end, write_end = os.pipe()
    left, right = socket.socketpair()
    master, slave = os.openpty()
    opened = {
        "pipe": write_end,
        "socket": left.detach(),
        "terminal": slave,
        "null": os.open("/dev/null", os.O_WRONLY),
        "memory": os.memfd_create("ringfence-test", 0),
        "read-only": os.open(f"{base}/out/secret.txt", os.O_RDONLY),
        "inside": os.open(f"{base}/ws/inside.txt", os.O_WRONLY),
        "nameless": os.open(f"{base}/out", os.O_TMPFILE | os.O_RDWR, 0o600),
        "outside": os.open(f"{base}/out/secret.txt", os.O_WRONLY),
        "append": os.open(f"{base}/out/secret.txt", os.O_WRONLY | os.O_APPEND),
        "guarded": os.open(f"{base}/ws/dir/guard", os.O_CREAT | os.O_WRONLY),
        "directory": os.open(f"{base}/out", os.O_RDONLY),
        "own directory": os.open(f"{base}/ws", os.O_RDONLY),
        "handle": os.open(f"{base}/out/secret.txt", os.O_PATH),
    }
    yield opened
    for number in {*opened.values(), read_end, master, right.detach()}:
        os.close(number)


KEPT = {"pipe", "socket", "terminal", "null", "memory", "read-only", "inside", "nameless"}


@pytest.mark.parametrize("mode", MODES)
def test_channels_are_kept_and_ways_out_are_closed(mode, who, base, handed):
    fence = Fence(
        f"{base}/ws",
        mode=mode,
        carve_outs=[f"{base}/ws/dir"],
        report=None if mode == "become" else f"{base}/report",
        minimum="hook",
    )
    argv = [
        "sh",
        "-c",
        'for n in "$@"; do test -e /proc/self/fd/$n && echo $n; done',
        "sh",
        *map(str, handed.values()),
    ]
    numbers = {number: name for name, number in handed.items()}
    seen = {}
    for which in (None, fence):
        done = run(who, argv, which, cwd=f"{base}/ws", pass_fds=tuple(numbers))
        seen[which] = {numbers[int(line)] for line in done.stdout.split()}
    assert seen[None] == set(handed)
    assert seen[fence] == KEPT
    if mode != "become":
        told = " ".join(report(base)[1])
        assert all(f"descriptor {number}:" in told for name, number in handed.items() if name not in KEPT)


def test_the_callers_own_copies_stay_open(who, base, handed):
    run(who, ["true"], Fence(f"{base}/ws"), cwd=f"{base}/ws", pass_fds=tuple(handed.values()))
    assert os.write(handed["outside"], b"still ours") == 10


@pytest.mark.parametrize("mode", MODES)
def test_redirections_outside_are_the_callers_own(mode, who, base):
    """As `command > /outside/log`: kept, and may be reopened by name, but open no other file."""
    argv = [
        "sh",
        "-c",
        f"echo one; echo two > /dev/stdout; echo err >> /dev/stderr; echo no > {base}/out/secret.txt; :",
    ]
    with open(f"{base}/out/log", "w+b") as log, open(f"{base}/out/err", "a+b") as err:
        for file in (log, err):
            os.fchown(file.fileno(), who.uid, who.gid)
        done = run(who, argv, Fence(f"{base}/ws", mode=mode), cwd=f"{base}/ws", stdout=log, stderr=err)
        assert done.returncode == 0
        log.seek(0)
        err.seek(0)
        assert log.read() == b"two\n"  # the shell's > truncates, as it does without a fence
        assert b"err" in err.read()
    with open(f"{base}/out/secret.txt", "rb") as file:
        assert file.read() == b"secret\n"


@pytest.mark.parametrize("mode", MODES)
def test_a_read_only_redirection_does_not_become_writable(mode, who, base):
    with open(f"{base}/out/secret.txt", "rb") as secret:
        argv = ["sh", "-c", "read x; test $x = secret || exit 9; echo pwned > /dev/stdin"]
        done = run(who, argv, Fence(f"{base}/ws", mode=mode), cwd=f"{base}/ws", stdin=secret)
        assert done.returncode not in (0, 9)
        secret.seek(0)
        assert secret.read() == b"secret\n"


@pytest.mark.parametrize("mode", MODES)
def test_closed_standard_descriptors(mode, who, base):
    argv = ["sh", "-c", "echo x > made"]
    command = Fence(f"{base}/ws", mode=mode).command(who, argv)
    done = run(who, ["sh", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "sh", *command], cwd=f"{base}/ws")
    assert done.returncode == 0
    assert os.path.exists(f"{base}/ws/made")


# ---- between the plan and the fence


def test_a_granted_folder_that_vanished_is_reported_and_the_rest_holds(who, base):
    gone = f"{base}/ws-sibling"
    fence = Fence(f"{base}/ws", gone, swap=[[gone, ""]], report=f"{base}/report")
    done = run(who, ["sh", "-c", "echo x > made; ! echo x > ../out/new"], fence, cwd=f"{base}/ws")
    assert done.returncode == 0, done.stderr
    assert os.path.exists(f"{base}/ws/made")
    assert [note for note in report(base)[1] if "not granted" in note and gone in note]


@pytest.mark.parametrize("part", ["dir", "dir/sub"])
def test_a_link_in_the_place_of_a_granted_folder_grants_nothing(part, who, base):
    """An earlier fenced program could have put it there: the folder above is its own."""
    os.makedirs(f"{base}/ws/dir/sub")
    os.chown(f"{base}/ws/dir/sub", who.uid, who.gid)
    os.makedirs(f"{base}/out/sub", exist_ok=True)
    os.chown(f"{base}/out/sub", who.uid, who.gid)
    attack = ["touch", f"{base}/out/sub/new"]
    granted = f"{base}/ws/dir/sub"
    target = f"{base}/out" if part == "dir" else f"{base}/out/sub"
    fence = Fence(granted, swap=[[f"{base}/ws/{part}", target]], report=f"{base}/report")
    assert run(who, attack, fence, cwd=base).returncode != 0
    assert [note for note in report(base)[1] if "symbolic link" in note]
    # Granting what the link leads to would have let it through.
    assert run(who, attack, Fence(f"{base}/out/sub"), cwd=base).returncode == 0


def test_a_single_file_can_be_granted(who, base):
    fence = Fence(f"{base}/ws", files=[f"{base}/out/secret.txt"])
    text = f"echo x > {base}/out/secret.txt && ! rm -f {base}/out/secret.txt && ! echo x > {base}/out/new"
    assert run(who, ["sh", "-c", text], fence, cwd=f"{base}/ws").returncode == 0
    # The same file as a zone: rights for folders are left away, or the kernel would refuse the rule.
    assert (
        run(
            who, ["sh", "-c", text], Fence(f"{base}/ws", f"{base}/out/secret.txt"), cwd=f"{base}/ws"
        ).returncode
        == 0
    )


# ---- what cannot be held is said, and really is not held


def test_a_carve_out_is_left_to_the_hook(who, base):
    fence = Fence(f"{base}/ws", carve_outs=[f"{base}/ws/dir"], report=f"{base}/report")
    assert run(who, ["touch", "dir/x"], fence, cwd=f"{base}/ws").returncode == 0
    assert report(base)[0]["carve_outs.0"] == "hook"
    protected = Fence(f"{base}/ws", carve_outs=[f"{base}/ws/dir"], carve_outs_kind="protect")
    done = run(who, ["touch", "dir/y"], protected, cwd=f"{base}/ws")
    assert (done.returncode, os.path.exists(f"{base}/ws/dir/y")) == (3, False)


def test_metadata_is_left_to_the_hook(who, base):
    fence = Fence(f"{base}/ws", report=f"{base}/report")
    assert run(who, ["chmod", "600", f"{base}/out/secret.txt"], fence, cwd=f"{base}/ws").returncode == 0
    assert report(base)[0]["engine.metadata"] == "hook"


# ---- confined reads


@pytest.mark.parametrize("mode", MODES)
def test_reads_confined_to_the_system_and_the_workspace(mode, who, base):
    fence = Fence(f"{base}/ws", reads="system", mode=mode)
    python = "/usr/bin/python3"
    secret, read = f"{base}/out/secret.txt", "open(__import__('sys').argv[1]).read()"
    for argv, fenced in (
        (["cat", secret], False),
        (["ls", f"{base}/out"], False),
        (["cat", "filelink"], False),
        ([python, "-I", "-c", read, secret], False),
        (["cat", "inside.txt"], True),
        (["ls", "-la", "."], True),
        (["cat", "/etc/passwd"], True),
        ([python, "-I", "-c", "import json, ssl, sqlite3"], True),
        (["sh", "-c", "ls /usr /proc/self /dev > list && sort -o list list"], True),
        (["git", "init", "-q", "r"], True),
    ):
        assert run(who, argv, cwd=f"{base}/ws").returncode == 0, argv
        done = run(who, argv, fence, cwd=f"{base}/ws")
        assert (done.returncode == 0) == fenced, (argv, done.stderr)
    extra = Fence(f"{base}/ws", reads="system", readable=[secret], mode=mode)
    assert run(who, ["cat", secret], extra, cwd=f"{base}/ws").returncode == 0
    assert run(who, ["sh", "-c", f"echo x > {secret}"], extra, cwd=f"{base}/ws").returncode != 0


def test_a_mask_outside_every_readable_tree_is_held(who, base):
    fence = Fence(f"{base}/ws", reads="system", masked=[f"{base}/out"], report=f"{base}/report")
    assert run(who, ["cat", f"{base}/out/secret.txt"], fence, cwd=f"{base}/ws").returncode != 0
    assert report(base)[0]["masked.0"] == "kernel"
    inside = Fence(f"{base}/ws", reads="system", masked=[f"{base}/ws/dir"], report=f"{base}/report")
    assert run(who, ["ls", "dir"], inside, cwd=f"{base}/ws").returncode == 0
    assert report(base)[0]["masked.0"] == "hook"


# ---- several fences


def test_a_fence_inside_only_narrows(who, base):
    outer = Fence(f"{base}/ws")
    for target, fine in (("dir/x", True), ("x", False), ("../out/x", False)):
        inner = Fence(f"{base}/ws/dir", f"{base}/out").command(who, ["touch", target])
        done = run(who, inner, outer, cwd=f"{base}/ws")
        assert (done.returncode == 0) == fine, done.stderr


def test_too_many_layers_run_nothing_and_say_so(who, base):
    command = ["touch", "ran"]
    for _ in range(17):
        command = Fence(f"{base}/ws", mode="become").command(who, command)
    done = run(who, command, cwd=f"{base}/ws")
    assert (done.returncode, os.path.exists(f"{base}/ws/ran")) == (3, False)
    assert "sixteen" in done.stderr


SERVER = """
import os, socket, sys
kind, name = sys.argv[1:]
if kind == "tcp":
    s = socket.create_server(("127.0.0.1", 0)); name = str(s.getsockname()[1])
else:
    s = socket.socket(socket.AF_UNIX); s.bind(name.replace("@", "\\0")); s.listen()
if os.fork():
    os._exit(0)
print(os.getpid(), name, flush=True)
os.close(1); os.close(2)
while True:
    c, _ = s.accept(); c.sendall(b"hello"); c.close()
"""
CLIENT = """
import socket, sys
kind, name = sys.argv[1:]
if kind == "tcp":
    s = socket.create_connection(("127.0.0.1", int(name)))
else:
    s = socket.socket(socket.AF_UNIX); s.connect(name.replace("@", "\\0"))
raise SystemExit(s.recv(9) != b"hello")
"""


@pytest.mark.parametrize("kind", ["tcp", "file", "abstract"])
def test_a_server_of_an_earlier_call(kind, who, base):
    """Later calls can talk to it and stop it; only an abstract socket is out of their reach, from ABI 6."""
    name = {"tcp": "-", "file": "socket", "abstract": f"@ringfence-{os.getpid()}-{who.name}"}[kind]
    fence = Fence(f"{base}/ws")

    def python(text, *args):
        return run(
            who,
            [python_of(who), "-I", "-c", text, *args],
            fence,
            cwd=f"{base}/ws",
            env=plain_environment(base),
        )

    served = python(SERVER, kind, name)
    pid, name = served.stdout.split()
    try:
        reached = python(CLIENT, kind, name).returncode == 0
        assert reached == (kind != "abstract" or HERE.landlock < 6)
        assert run(who, ["kill", pid], fence, cwd=base).returncode == 0
    finally:
        if os.path.exists(f"/proc/{pid}/cmdline"):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                ours = b"create_server" in file.read()
            if ours:
                os.kill(int(pid), signal.SIGKILL)


def test_no_powers_of_root_survive(who, base):
    """Modules, raw memory, mounts and file handles are beneath any fence."""
    text = run(
        who,
        ["grep", "-E", "^(CapBnd|CapPrm|CapEff|CapInh|CapAmb|NoNewPrivs)", "/proc/self/status"],
        Fence(f"{base}/ws"),
        cwd=base,
    ).stdout
    sets = {name: int(value, 16) for name, value in re.findall(r"(\w+):\s*(\w+)", text)}
    assert sets.pop("NoNewPrivs") == 1
    dropped = 1 << 2 | 1 << 16 | 1 << 17 | 1 << 21 | 1 << 22
    relevant = sets if who.is_root else {name: sets[name] for name in ("CapPrm", "CapEff", "CapAmb")}
    assert not any(value & dropped for value in relevant.values())
    # Root keeps the everyday ones (here CAP_CHOWN), or package managers and archives would fail inside.
    assert bool(sets["CapEff"] & 1) == who.is_root


def test_powers_handed_down_by_the_caller_do_not_survive(who, base):
    """Container runtimes start programs with inheritable capabilities, service managers with ambient ones."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can hand down capabilities, and setpriv does it")
    as_whom = [] if who.is_root else ["--reuid", str(who.uid), "--regid", str(who.gid), "--clear-groups"]
    given = ["setpriv", *as_whom, "--inh-caps", "+sys_admin,+chown", "--ambient-caps", "+sys_admin,+chown"]
    show = ["grep", "-E", "^Cap(Inh|Prm|Eff|Amb)", "/proc/self/status"]

    def powers(argv):
        done = subprocess.run(
            [*given, *argv], cwd=base, capture_output=True, text=True, env=plain_environment(base)
        )
        return {name: int(value, 16) for name, value in re.findall(r"(\w+):\s*(\w+)", done.stdout)}

    unfenced, fenced = powers(show), powers(Fence(f"{base}/ws").command(who, show))
    admin, chown = 1 << 21, 1 << 0
    assert all(held & admin for held in unfenced.values())
    assert not any(held & admin for held in fenced.values())
    assert fenced["CapAmb"] & chown


@pytest.mark.parametrize(("kept", "fine"), [("-all", True), ("-all,+sys_admin", False)])
def test_a_root_without_the_right_to_drop_powers(kept, fine, who, base):
    """A container's root with nothing left runs as anyone; one that keeps a power nobody can take runs nothing."""
    if not who.is_root or not shutil.which("setpriv"):
        pytest.skip("only root can be made less, and setpriv does it")
    given = ["setpriv", "--bounding-set", kept, "--inh-caps", "-all"]
    os.chmod(base, 0o777)
    os.chmod(f"{base}/ws", 0o777)  # this root may not override permissions; the tree is its own all the same
    command = Fence(f"{base}/ws").command(who, ["touch", "ran"])
    done = subprocess.run(
        [*given, *command], cwd=f"{base}/ws", capture_output=True, text=True, env=plain_environment(base)
    )
    assert (done.returncode, os.path.exists(f"{base}/ws/ran")) == ((0, True) if fine else (3, False)), (
        done.stderr
    )
    assert fine or "CAP_SYS_ADMIN" in done.stderr


def test_a_sandbox_of_the_programs_own_cannot_be_set_up_and_a_note_says_so(who, base):
    if not HERE.userns:
        pytest.skip(dict(HERE.why_not)["userns"])
    fence = Fence(f"{base}/ws", report=f"{base}/report")
    assert run(who, ["unshare", "-Ur", "true"], cwd=f"{base}/ws").returncode == 0
    assert run(who, ["unshare", "-Ur", "true"], fence, cwd=f"{base}/ws").returncode != 0
    assert [note for note in report(base)[1] if "browsers" in note]
