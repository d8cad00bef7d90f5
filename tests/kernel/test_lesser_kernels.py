"""Older kernels, really: rule sets of each older ABI, and a kernel whose calls are hidden by a filter.

Each row says what the older kernel cannot hold; the newer one must hold it, and the report must say which.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess

import pytest

from ringfence.kernel import landlock
from tests.kernel.conftest import HERE, build_workspace, needs_landlock, needs_seccomp, python_of
from tests.support.children import Fence, plain_environment, run

ABIS = range(1, landlock.named(HERE.landlock) + 1)


@needs_landlock
@pytest.mark.parametrize("abi", ABIS)
def test_the_kernel_takes_every_right_of_each_named_abi(abi):
    os.close(landlock.create_ruleset(abi, landlock.FS_RIGHTS[abi], landlock.SCOPES[abi]))


def told(base):
    with open(f"{base}/report", encoding="utf-8") as file:
        engine, _, rules, notes = json.load(file)
    return engine, {rule[0]: rule[2] for rule in rules}, notes


def fenced(who, base, text, abi, **more):
    fence = Fence(f"{base}/ws", abi=abi, report=f"{base}/report", minimum="hook")
    env = plain_environment(base, OUT=f"{base}/out", **more)
    return run(
        who,
        [python_of(who), "-I", "-c", "import os\nOUT = os.environ['OUT']\n" + text],
        fence,
        cwd=f"{base}/ws",
        env=env,
    )


@needs_landlock
@pytest.mark.parametrize("abi", ABIS)
def test_writing_is_held_by_every_abi(abi, who, base):
    assert fenced(who, base, "open(OUT + '/new', 'w')", abi).returncode == 1
    assert not os.path.exists(f"{base}/out/new")
    assert fenced(who, base, "open('new', 'w')", abi).returncode == 0


@needs_landlock
@pytest.mark.parametrize("abi", ABIS)
def test_moving_between_folders_needs_abi_2(abi, who, base):
    text = (
        "import errno\ntry: os.rename('inside.txt', 'dir/x')\nexcept OSError as e: raise SystemExit(e.errno)"
    )
    done = fenced(who, base, text, abi)
    assert done.returncode == (0 if abi >= landlock.ABI_2 else 18), done.stderr  # EXDEV
    assert any("EXDEV" in note for note in told(base)[2]) == (abi < landlock.ABI_2)


@needs_landlock
@pytest.mark.parametrize("abi", ABIS)
def test_truncating_outside_is_held_from_abi_3_and_the_boundary_reported_so(abi, who, base):
    fenced(who, base, "os.truncate(OUT + '/secret.txt', 1)", abi)
    held = os.path.getsize(f"{base}/out/secret.txt") > 1
    assert held == (abi >= landlock.ABI_3)
    assert told(base)[1]["writable.0"] == ("kernel" if held else "hook")


@needs_landlock
@pytest.mark.parametrize("abi", ABIS)
def test_a_boundary_that_is_not_held_is_refused_before_anything_runs(abi, who, base):
    done = run(who, ["touch", "ran"], Fence(f"{base}/ws", abi=abi), cwd=f"{base}/ws")
    accepted = abi >= landlock.ABI_3
    assert (done.returncode, os.path.exists(f"{base}/ws/ran")) == ((0, True) if accepted else (3, False))
    assert accepted or "nothing was run" in done.stderr


@needs_landlock
@pytest.mark.parametrize("abi", ABIS)
def test_abstract_sockets_outside_are_held_from_abi_6(abi, who, base):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0ringfence-{os.getpid()}-{who.name}-{abi}")
        server.listen()
        text = "import socket\nsocket.socket(socket.AF_UNIX).connect('\\0' + os.environ['NAME'])"
        done = fenced(who, base, text, abi, NAME=server.getsockname()[1:].decode())
    held = done.returncode != 0
    assert held == (abi >= landlock.ABI_6), done.stderr
    assert ("engine.abstract-sockets" in told(base)[1]) == (not held)


def readable_device():
    """A device that everybody may open for reading and that no plan grants, "" if there is none."""
    granted = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}
    for name in sorted(set(os.listdir("/dev")) - granted):
        with contextlib.suppress(OSError):
            known = os.stat(f"/dev/{name}")
            if known.st_rdev and known.st_mode & 0o170004 == 0o020004:
                os.close(os.open(f"/dev/{name}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))
                return f"/dev/{name}"
    return ""


@needs_landlock
@pytest.mark.parametrize("abi", ABIS)
def test_ioctl_on_devices_outside_is_held_from_abi_5(abi, who, base):
    device = readable_device()
    if not device:
        pytest.skip("no device here that everybody may open")
    text = (
        f"import fcntl, errno\nfd = os.open({device!r}, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)\n"
        "try: fcntl.ioctl(fd, 0x5401, bytes(64))\nexcept OSError as e: raise SystemExit(e.errno)"
    )
    denied = fenced(who, base, text, abi).returncode == 13  # EACCES
    assert denied == (abi >= landlock.ABI_5)
    assert any("ioctl" in note for note in told(base)[2]) == (not denied)


# ---- calls hidden by a filter


@needs_landlock
@needs_seccomp
@pytest.mark.parametrize(
    "hidden",
    ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "openat2", "prctl"],
)
@pytest.mark.parametrize("mode", ["launch", "thread", "become"])
def test_a_missing_call_means_nothing_is_run_and_exit_3(hidden, mode, who, base):
    done = run(who, ["touch", "ran"], Fence(f"{base}/ws", mode=mode), cwd=f"{base}/ws", hide=[hidden])
    assert (done.returncode, os.path.exists(f"{base}/ws/ran")) == (3, False), done.stderr
    assert "nothing was run" in done.stderr
    assert "Traceback" not in done.stderr
    # The twin: with nothing that we need hidden, the same words run.
    build_workspace(base, who)
    done = run(who, ["touch", "ran"], Fence(f"{base}/ws", mode=mode), cwd=f"{base}/ws", hide=["chroot"])
    assert (done.returncode, os.path.exists(f"{base}/ws/ran")) == (0, True), done.stderr


@needs_landlock
@needs_seccomp
def test_where_a_thread_cannot_stand_apart_a_child_does_it(who, base):
    """Container runtimes refuse unshare(2) whatever it is asked for."""
    argv = ["sh", "-c", f"touch ran; touch {base}/out/made; exit 7"]
    done = run(who, argv, Fence(f"{base}/ws", mode="thread"), cwd=f"{base}/ws", hide=["unshare"])
    assert (done.returncode, os.path.exists(f"{base}/ws/ran")) == (7, True), done.stderr
    assert not os.path.exists(f"{base}/out/made")


@needs_seccomp
def test_without_landlock_the_report_says_none_and_why(who, base):
    fence = Fence(f"{base}/ws", report=f"{base}/report", minimum="hook")
    done = run(who, ["true"], fence, cwd=f"{base}/ws", hide=["landlock_create_ruleset"])
    assert done.returncode == 0, done.stderr
    engine, rules, _ = told(base)
    assert (engine, rules) == ("none", {"writable.0": "hook"})


@needs_landlock
@needs_seccomp
def test_without_filters_the_terminal_is_reported_open(who, base):
    fence = Fence(f"{base}/ws", report=f"{base}/report")
    command = fence.command(who, ["true"])
    # The filter that hides `seccomp` is itself installed with it, and only then in force.
    done = run(who, command, cwd=f"{base}/ws", hide=["seccomp"])
    assert done.returncode == 0, done.stderr
    assert told(base)[1]["engine.terminal-input"] == "not here"
    assert run(who, fence.command(who, ["true"]), cwd=f"{base}/ws").returncode == 0
    assert "engine.terminal-input" not in told(base)[1]


@needs_seccomp
def test_the_filter_really_hides(who, base):
    """The tool that all of this rests on: the call works without it, and fails with the errno asked for."""
    script = os.path.join(who.checkout, "scripts", "fake_enosys.py")
    text = "import ctypes; l = ctypes.CDLL(None, use_errno=True); l.personality(0); l.unshare(0x4000000); print(ctypes.get_errno())"
    for words, expected in (
        (["--hide", "unshare"], "38"),
        (["--errno", "EACCES", "--hide", "setns,unshare"], "13"),
        (["--hide", "chroot"], "0" if who.is_root else "1"),
    ):
        command = [who.python, "-I", script, *words, "--", python_of(who), "-I", "-c", text]
        done = run(who, command, cwd=base)
        assert done.stdout.strip() == expected, done.stderr
    usage = subprocess.run(
        [who.python, script, "--hide", "nonsense", "--", "true"], capture_output=True, **who.popen()
    )
    assert usage.returncode == 2
