"""No trace on the host: not after a normal end, not after SIGKILL at any step of building the fence."""

import errno
import os
import signal
import subprocess

import pytest

from ringfence.enforce import launch
from ringfence.errors import KernelCallError
from ringfence.kernel import namespaces
from ringfence.model import EnforcementReport
from tests.kernel.mounts_world import (
    _environment,
    each_person,
    fenced,
    needs_mounts,
    shell,
    spec_of,
    world,
)

pytestmark = needs_mounts


who = each_person


def mounts_of_host():
    with open("/proc/self/mountinfo") as table:
        return table.read()


def everything(base):
    """Every name below `base` with its kind, mode and content identity."""
    found = {}
    for folder, folders, files in os.walk(base):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            seen = os.lstat(path)
            found[path] = (seen.st_mode, seen.st_uid, seen.st_ino, seen.st_size, seen.st_mtime_ns)
    return found


# A stand-in for the real module that ends the process at its Nth system call.
_KILLED = """
import os, signal, sys
from ringfence.kernel import libc
left = int(sys.argv.pop(1))
real = libc.syscall
def counted(*args, **words):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **words)
libc.syscall = counted
import mounts_run
sys.exit(mounts_run.main(["mounts_run.py", *sys.argv[1:]]))
"""


def _run_killed(who, base, count, text):
    spec, argv = (
        fenced(who, spec_of(base, absent=[f"{base}/ws/.mcp.json"]), ["sh", "-c", text])[3:4],
        ["sh", "-c", text],
    )
    environment = _environment(who, base, PYTHONPATH=f"{who.lib}/src:{who.lib}")
    return subprocess.run(
        [who.python, "-S", "-c", _KILLED, str(count), *spec, *argv],
        cwd=f"{base}/ws", env=environment, stdin=subprocess.DEVNULL, capture_output=True, **who.popen(),
    )  # fmt: skip


def test_sigkill_at_any_step_leaves_nothing(who):
    with world(who) as base:
        table, tree = mounts_of_host(), everything(base)
        count, killed = 0, 0
        while True:
            done = _run_killed(who, base, count, "true")
            assert mounts_of_host() == table
            assert everything(base) == tree
            if done.returncode == 0:
                break
            assert done.returncode == -signal.SIGKILL, done.stderr
            killed += 1
            # Every step near the start and the end, every seventh in between.
            count += 1 if count < 12 else 7
            assert count < 2000, "the fence never came to stand"
        assert killed > 20


def test_a_normal_run_leaves_nothing_but_what_the_program_wrote(who):
    with world(who) as base:
        table, tree = mounts_of_host(), everything(base)
        done = shell(who, base, "mkdir made && rmdir made; ls -la . .claude > /dev/null", fence=spec_of(base))
        assert done.returncode == 0, done.stderr
        after = everything(base)
        ws = f"{base}/ws"
        assert {path for path in after if after[path] != tree.get(path)} <= {ws}
        assert mounts_of_host() == table


def test_what_does_not_exist_yet_gets_no_placeholder(who):
    with world(who) as base:
        done = shell(
            who, base, "ls -A $WS", fence=spec_of(base, absent=[f"{base}/ws/.mcp.json", f"{base}/ws/x/y"])
        )
        names = done.stdout.split()
        assert ".mcp.json" not in names
        assert "x" not in names


def test_sigkill_of_the_wrapper_takes_the_program_with_it(who):
    """Entering a user namespace makes the kernel forget PR_SET_PDEATHSIG; it must be asked for again."""
    with world(who) as base:
        command = fenced(who, spec_of(base, wait=True), ["sh", "-c", "echo $$; exec sleep 60"])
        process = subprocess.Popen(
            command,
            cwd=f"{base}/ws",
            env=_environment(who, base),
            stdout=subprocess.PIPE,
            text=True,
            **who.popen(),
        )
        inner = int(process.stdout.readline())
        process.kill()
        process.wait()
        process.stdout.close()
        handle = os.pidfd_open(inner) if os.path.exists(f"/proc/{inner}") else None
        if handle is not None:
            import select

            ready, _, _ = select.select([handle], [], [], 10)
            os.close(handle)
            assert ready, "the program outlived its wrapper"


def test_status_passes_through(who):
    with world(who) as base:
        spec = spec_of(base, wait=True)
        assert shell(who, base, "exit 7", fence=spec).returncode == 7
        assert shell(who, base, "kill -TERM $$", fence=spec).returncode == -signal.SIGTERM


@pytest.mark.parametrize("wait", [True, False])
def test_every_id_that_there_is_outside_is_there_inside(wait, who):
    """Root's maps are written by the waiting parent, or by a process made for it where nobody waits."""
    with world(who) as base:
        done = shell(who, base, "cat /proc/self/uid_map /proc/self/gid_map", fence=spec_of(base, wait=wait))
    inside = [line.split() for line in done.stdout.splitlines()]
    if who.uid:
        assert inside == [[str(who.uid)] * 2 + ["1"], [str(who.gid)] * 2 + ["1"]]
    else:
        outside = []
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/self/{name}", encoding="utf-8") as file:
                outside += [[first, first, count] for first, _, count in map(str.split, file)]
        assert inside == outside


@pytest.mark.parametrize("end", ["dies", "fails", "does without"])
def test_a_child_that_never_asks_for_its_maps_leaves_nobody_waiting(end, tmp_path):
    def confine():
        if end == "dies":
            os._exit(0)
        mapper.ask(False)
        if end == "fails":
            raise KernelCallError("unshare", errno.ENOSPC, "trying")
        return EnforcementReport("some", "", ())

    opened = os.listdir("/proc/self/fd")
    mapper = namespaces.Mapper()
    program = launch.Program(["true"], {"PATH": "/usr/bin:/bin"}, str(tmp_path))
    outcome = launch.launch(program, confine, assist=mapper.serve)
    assert outcome == launch.Finished(0) if end == "does without" else isinstance(outcome, launch.NotConfined)
    assert len(os.listdir("/proc/self/fd")) == len(opened)


def test_maps_that_cannot_be_written_are_no_fence(monkeypatch, tmp_path):
    monkeypatch.setattr(namespaces, "_map_everything", lambda _: errno.EPERM)
    mapper = namespaces.Mapper()
    program = launch.Program(["touch", "ran"], {"PATH": "/usr/bin:/bin"}, str(tmp_path))
    outcome = launch.launch(program, lambda: mapper.ask(True), assist=mapper.serve)
    assert isinstance(outcome, launch.NotConfined)
    assert outcome.why.errno == errno.EPERM
    assert not os.listdir(tmp_path)
