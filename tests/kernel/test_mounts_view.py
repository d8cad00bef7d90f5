"""What the program sees: zones inside zones, terminals, jobs of earlier calls, mounts that lead out, races."""

import os
import select
import shutil
import signal
import subprocess

import pytest

from ringfence.enforce import report
from tests.kernel.mounts_world import (
    _environment,
    each_person,
    fenced,
    helpers,
    needs_landlock,
    needs_mounts,
    people,
    person,
    shell,
    spec_of,
    world,
)

pytestmark = needs_mounts


who = each_person


def content(path):
    with open(path) as file:
        return file.read()


def zones(base, *pairs, **more):
    made = [[f"{base}/{path}", kind] for path, kind in pairs]
    return {"zones": made, "cwd": f"{base}/ws", **more}


def test_a_writable_tree_below_a_protected_one(who):
    with world(who) as base:
        spec = zones(base, ("ws", "workspace"), ("ws/deep", "protect"), ("ws/deep/main", "workspace"))
        done = shell(
            who,
            base,
            "echo 1 > deep/main/new && ! touch deep/new && mv deep/main/new deep/main/n2",
            fence=spec,
        )
        assert done.returncode == 0, done.stderr
        assert shell(who, base, "mv deep/main x || mv deep x", fence=spec).returncode != 0


def test_a_writable_tree_below_a_masked_one(who):
    with world(who) as base:
        spec = zones(base, ("ws", "workspace"), ("out/repo", "workspace"), masked=[f"{base}/out"])
        done = shell(who, base, "echo 1 > $OUT/repo/new && cat $OUT/repo/new && cat $OUT/kept", fence=spec)
        assert done.stdout == "1\n"
        assert "original" not in done.stdout
        assert os.path.exists(f"{base}/out/repo/new")
        listing = shell(who, base, "ls $OUT; touch $OUT/x", fence=spec)
        assert listing.returncode != 0
        assert "kept" not in listing.stdout


def test_a_granted_folder_below_the_private_runtime_folder(who):
    with world(who) as base:
        os.makedirs(f"{base}/run/ringfence/session")
        os.chown(f"{base}/run/ringfence", who.uid, who.gid)
        os.chown(f"{base}/run/ringfence/session", who.uid, who.gid)
        spec = zones(base, ("ws", "workspace"), ("run/ringfence/session", "temp"))
        done = shell(
            who,
            base,
            "echo 1 > $XDG_RUNTIME_DIR/ringfence/session/f; echo 2 > $XDG_RUNTIME_DIR/g",
            fence=spec,
        )
        assert done.returncode == 0, done.stderr
        assert content(f"{base}/run/ringfence/session/f") == "1\n"
        assert not os.path.exists(f"{base}/run/g")


@pytest.mark.parametrize(("row", "socket"), [("session-bus", "run/bus"), ("docker", "engine.sock")])
def test_a_control_socket_can_be_kept_open(who, row, socket):
    with world(who) as base, helpers(base):
        ask = f"$PY $TOOL ask $BASE/{socket}"
        assert shell(who, base, ask, fence=spec_of(base)).returncode != 0
        done = shell(who, base, ask, fence=spec_of(base, keep=[row]))
        assert done.returncode == 0, done.stderr


def test_sockets_in_a_granted_runtime_folder_are_hidden_one_by_one(who):
    with world(who) as base, helpers(base):
        spec = zones(base, ("ws", "workspace"), ("run", "temp"))
        done = shell(who, base, "$PY $TOOL ask $XDG_RUNTIME_DIR/bus", fence=spec)
        assert done.returncode not in (0, 3), done.stderr
        away = shell(who, base, "mv run/bus run/b2; mv $XDG_RUNTIME_DIR/bus $XDG_RUNTIME_DIR/b2", fence=spec)
        assert away.returncode != 0
        done = shell(who, base, "echo 1 > $XDG_RUNTIME_DIR/mine && cat $BASE/run/mine", fence=spec)
        assert done.stdout == "1\n"


def test_the_whole_disk_writable_but_for_the_guards(who):
    with world(who) as base:
        spec = {"zones": [["/", "workspace"], [f"{base}/ws/.git/hooks", "guard"]], "cwd": f"{base}/ws"}
        done = shell(who, base, "echo 1 > $OUT/new && echo 2 > b && mv b packages/b2", fence=spec)
        assert done.returncode == 0, done.stderr
        assert content(f"{base}/out/new") == "1\n"
        assert shell(who, base, "echo evil > $HOOK", fence=spec).returncode == 1
        assert "Device or resource busy" in shell(who, base, "mv .git x", fence=spec).stderr


@needs_landlock
@pytest.mark.parametrize("abi", [1, 2, 3, 6])
def test_renames_between_folders_work_on_every_abi(who, abi):
    move = '$PY -c \'import os; os.rename("a", "sub/a"); os.rename("sub", "packages/sub")\''
    with world(who) as base:
        done = shell(who, base, move, fence=spec_of(base, landlock=abi))
        assert done.returncode == 0, done.stderr
        assert shell(who, base, "echo evil > $OUT/kept", fence=spec_of(base, landlock=abi)).returncode == 1


def test_a_program_can_tell_that_it_stands_inside(who):
    ask = "$PY -S -c 'from ringfence.enforce.mounts_mark import inside_a_fence; print(inside_a_fence())'"
    with world(who) as base:
        assert shell(who, base, ask).stdout == "False\n"
        assert shell(who, base, ask, fence=spec_of(base)).stdout == "True\n"


def test_one_granted_file(who):
    with world(who) as base:
        spec = spec_of(base, files=[f"{base}/out/kept"])
        done = shell(who, base, "echo in > $OUT/kept; rm -f $OUT/kept; touch $OUT/new", fence=spec)
        assert done.returncode != 0
        assert content(f"{base}/out/kept") == "in\n"
        assert not os.path.exists(f"{base}/out/new")


def _report(who, base, **more):
    path = f"{base}/ws/report"
    done = shell(who, base, "true", fence=spec_of(base, report=path, **more))
    assert done.returncode == 0, done.stderr
    with open(path, "rb") as told:
        return report.decode(told.read())


def test_the_report_tells_each_rule(who):
    with world(who) as base:
        told = _report(who, base, absent=[f"{base}/ws/.mcp.json", f"{base}/out/none"])
        strengths = {rule.subject: str(rule.strength) for rule in told.rules}
        assert told.engine == "mounts"
        assert strengths[f"{base}/ws"] == strengths[f"{base}/ws/.git/hooks"] == "kernel"
        assert strengths[f"{base}/ws/.env"] == "kernel"
        assert strengths[f"{base}/ws/.mcp.json"] == "after the fact"
        assert strengths[f"{base}/out/none"] == "kernel"
        assert not report.accepts(told, report.Strength.KERNEL, strict=False)


def test_the_report_without_landlock_names_what_is_open(who):
    with world(who) as base:
        told = _report(who, base, landlock=False, reads="system")
        weak = {rule.subject for rule in told.rules if str(rule.strength) in ("not here", "hook")}
        assert {"named pipes", "abstract sockets", "descriptors", "reads"} <= weak


def test_what_vanished_is_reported(who):
    with world(who) as base:
        shutil.rmtree(f"{base}/ws/deep/main")
        told = _report(who, base)
        strengths = {rule.subject: str(rule.strength) for rule in told.rules}
        assert strengths[f"{base}/ws/deep/main"] == "after the fact"


def test_a_link_in_the_place_of_a_root_builds_no_fence(who):
    with world(who) as base:
        os.rename(f"{base}/ws/deep", f"{base}/ws/real")
        os.symlink(f"{base}/out", f"{base}/ws/deep")
        done = shell(who, base, "touch ran", fence=spec_of(base))
        assert done.returncode == 3
        assert not os.path.exists(f"{base}/ws/ran")


def test_a_link_in_the_place_of_a_writable_root_grants_nothing(who):
    """The root was a folder when the plan was made; following the link would grant what it points at."""
    with world(who) as base:
        shutil.rmtree(f"{base}/ws/deep/main")
        os.symlink(f"{base}/out", f"{base}/ws/deep/main")
        spec = zones(base, ("ws", "workspace"), ("ws/deep", "protect"), ("ws/deep/main", "workspace"))
        done = shell(who, base, "echo evil > $OUT/kept", fence=spec)
        assert done.returncode == 3, done.stderr
        assert content(f"{base}/out/kept") == "original\n"


def test_a_mask_can_be_neither_filled_nor_opened_up(who):
    attempts = ("touch private/x", "chmod 755 private", "chmod 644 .env", "rm -f .env", "mv private p")
    with world(who) as base:
        for attempt in attempts:
            done = shell(who, base, attempt, fence=spec_of(base))
            assert done.returncode not in {0, 3}, attempt


@needs_landlock
def test_reads_are_confined_by_the_second_layer(who):
    with world(who) as base:
        assert shell(who, base, "cat $OUT/kept", fence=spec_of(base)).returncode == 0
        done = shell(who, base, "cat a && cat $OUT/kept", fence=spec_of(base, reads="system"))
        assert done.stdout == "a\n"
        assert done.returncode != 0


def test_a_server_of_one_call_is_stopped_by_the_next(who):
    with world(who) as base:
        start = "$PY -m http.server 0 --bind 127.0.0.1 > log 2>&1 & echo $! > pid"
        assert shell(who, base, start, fence=spec_of(base)).returncode == 0
        pid = int(content(f"{base}/ws/pid"))
        handle = os.pidfd_open(pid)
        try:
            stop = shell(who, base, "kill $(cat pid)", fence=spec_of(base))
            assert stop.returncode == 0, stop.stderr
            assert select.select([handle], [], [], 10)[0], "the server did not stop"
        finally:
            os.close(handle)
            if os.path.exists(f"/proc/{pid}/environ"):
                os.kill(pid, signal.SIGKILL)


def test_a_job_of_an_earlier_call_lends_nothing(who):
    """Call 1 was given more than call 2: its root and its descriptors must not be reachable from call 2."""
    with world(who) as base:
        wide = zones(base, ("ws", "workspace"), ("out", "workspace"))
        start = "(exec 7<$OUT; exec sleep 60) > /dev/null 2>&1 & echo $! > pid"
        assert shell(who, base, start, fence=wide).returncode == 0
        pid = int(content(f"{base}/ws/pid"))
        try:
            done = shell(
                who,
                base,
                f"echo evil > /proc/{pid}/root$OUT/kept; echo evil > /proc/{pid}/fd/7/kept",
                fence=spec_of(base),
            )
            assert done.returncode != 0
            assert content(f"{base}/out/kept") == "original\n"
        finally:
            os.kill(pid, signal.SIGKILL)


_ON_TERMINAL = """
import fcntl, os, pty, struct, sys, termios
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
out = b""
while True:
    try:
        piece = os.read(master, 4096)
    except OSError:
        break
    if not piece:
        break
    out += piece
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.buffer.write(out)
sys.exit(status)
"""


def on_terminal(who, base, text, fence=None):
    """Run the shell text on a terminal of its own that was made outside the fence."""
    inner = fenced(who, fence, ["sh", "-c", text]) if fence else ["sh", "-c", text]
    return subprocess.run(
        [who.python, "-c", _ON_TERMINAL, *inner], cwd=f"{base}/ws", env=_environment(who, base), capture_output=True,
        text=True, timeout=60, **who.popen(),
    )  # fmt: skip


@pytest.mark.parametrize("request_number", ["termios.TIOCSTI", "termios.TIOCSTI | 1 << 32"])
def test_nothing_is_typed_into_the_callers_terminal(who, request_number):
    # The high half of the word is not looked at by the kernel, and must not fool the filter (CVE-2019-10063).
    call = (
        "import ctypes, termios; l = ctypes.CDLL(None, use_errno=True); "
        f"r = [l.syscall(ctypes.c_long(16), ctypes.c_long(0), ctypes.c_long({request_number}), c.encode()) for c in chr(10)]; "
        "raise SystemExit(r != [0])"
    )
    with world(who) as base:
        text = f"$PY -c '{call}'"
        bare = on_terminal(who, base, text)
        if bare.returncode:
            pytest.skip("this kernel lets nobody type into a terminal (dev.tty.legacy_tiocsti)")
        held = on_terminal(who, base, text, spec_of(base))
        assert held.returncode == 1, held.stdout


def test_a_terminal_works_inside(who):
    with world(who) as base:
        text = "test -t 0 && echo x > /dev/tty && stty size > /dev/null && tty"
        done = on_terminal(who, base, text, spec_of(base))
        assert done.returncode == 0, done.stdout
        # The caller's terminal keeps a name, though not its old one: that may be another terminal inside.
        if os.path.exists("/dev/console"):
            assert "/dev/console" in done.stdout


def test_other_terminals_cannot_be_reached(who):
    parent, child = os.openpty()
    try:
        name = os.ttyname(child)
        os.chown(name, who.uid, who.gid)
        with world(who) as base:
            assert shell(who, base, f"echo x > {name}").returncode == 0
            done = shell(who, base, f"echo x > {name}", fence=spec_of(base))
            assert done.returncode != 0
    finally:
        os.close(parent)
        os.close(child)


def _with_mounts(who, base, setup, text, fence):
    """The shell text after `setup`, which changes mounts in a namespace of its own and so not the machine's."""
    inner = fenced(who, fence, ["sh", "-c", text]) if fence else ["sh", "-c", text]
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", f'{setup}\nexec "$@"', "start", *inner],
        cwd=f"{base}/ws", env=_environment(who, base), capture_output=True, text=True, timeout=60,
    )  # fmt: skip


TWINS = {
    "protected": ("mkdir twin && mount --bind deep/main twin", "echo evil > twin/code", "ws/deep/main/code"),
    "outside": ("mkdir twin && mount --bind $OUT twin", "echo evil > twin/kept", "out/kept"),
    "above": ("mkdir twin && mount --bind $BASE twin", "echo evil > twin/out/kept", "out/kept"),
}


@pytest.mark.parametrize(("setup", "text", "victim"), TWINS.values(), ids=TWINS)
def test_a_bind_mount_inside_the_workspace_leads_nowhere(setup, text, victim):
    if "root" not in people():
        pytest.skip("needs root to make a bind mount")
    with person("root") as root:
        with world(root) as base:
            bare = _with_mounts(root, base, setup, text, None)
            assert bare.returncode == 0, bare.stderr
            assert content(f"{base}/{victim}") == "evil\n"
        with world(root) as base:
            done = _with_mounts(root, base, setup, text, spec_of(base))
            assert done.returncode not in (0, 3), done.stderr
            assert content(f"{base}/{victim}") == "original\n"


def test_a_volume_of_its_own_inside_the_workspace_stays_writable():
    if "root" not in people():
        pytest.skip("needs root to mount")
    with person("root") as root, world(root) as base:
        setup = "mkdir node_modules && mount -t tmpfs none node_modules"
        done = _with_mounts(root, base, setup, "echo 1 > node_modules/f && cat node_modules/f", spec_of(base))
        assert done.stdout == "1\n", done.stderr


def test_without_shared_memory_there_is_still_a_fence():
    """/dev/shm is only the handiest place to hide what masks are made of."""
    if "root" not in people():
        pytest.skip("needs root to hide it")
    with person("root") as root, world(root) as base:
        setup = (
            "mkdir d && mount -t tmpfs none d && mknod -m 666 d/null c 1 3 && mkdir d/pts && mount --rbind d /dev && "
            "test ! -e /dev/shm"
        )
        text = "! echo evil > $HOOK && ! mv .git x && ! grep -q secret .env && echo ok > /dev/null && echo ok"
        done = _with_mounts(root, base, setup, text, spec_of(base))
        assert done.stdout == "ok\n", done.stderr


def test_shared_memory_itself_can_be_granted(who):
    if not os.path.isdir("/dev/shm"):
        pytest.skip("this system has no shared memory folder")
    name = f"/dev/shm/ringfence-{os.getpid()}"
    with world(who) as base:
        spec = spec_of(base)
        spec["zones"].append(["/dev/shm", "temp"])
        try:
            done = shell(who, base, f"echo 1 > {name} && ! echo evil > $HOOK", fence=spec)
            assert done.returncode == 0, done.stderr
            assert os.path.exists(name)
        finally:
            if os.path.exists(name):
                os.unlink(name)


def test_a_mount_made_later_outside_does_not_arrive_writable():
    if "root" not in people():
        pytest.skip("needs root to mount")
    with person("root") as root, world(root) as base:
        text = "touch up; while [ ! -e go ]; do sleep 0.05; done; echo evil > $OUT/empty/f"
        inner = fenced(root, spec_of(base), ["sh", "-c", text])
        script = (
            'mount --bind "$OUT" "$OUT"; mount --make-shared "$OUT"; "$@" & '
            'while [ ! -e "$WS/up" ]; do sleep 0.05; done; mount -t tmpfs none "$OUT/empty"; touch "$WS/go"; wait $!; '
            'ls "$OUT/empty"'
        )
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "start", *inner], cwd=f"{base}/ws", env=_environment(root, base),
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.stdout == "", done.stdout
        assert "Read-only" in done.stderr


def test_swapping_folders_while_the_fence_is_built_gains_nothing(who):
    """An earlier job of the agent swaps a guarded folder with a link to the outside, again and again."""
    swap = (
        "while [ ! -e stop ]; do mv deep real 2>/dev/null; ln -s $OUT deep 2>/dev/null; rm deep 2>/dev/null; "
        "mv real deep 2>/dev/null; done"
    )
    with world(who) as base:
        job = subprocess.Popen(
            ["sh", "-c", swap], cwd=f"{base}/ws", env=_environment(who, base), **who.popen()
        )
        try:
            for _ in range(12):
                shell(
                    who,
                    base,
                    "echo evil > $OUT/kept; echo evil > deep/kept; touch $OUT/new",
                    fence=spec_of(base),
                )
                assert content(f"{base}/out/kept") == "original\n"
                assert not os.path.exists(f"{base}/out/new")
        finally:
            open(f"{base}/ws/stop", "w").close()
            job.wait(10)


def test_git_that_replaces_a_guarded_tracked_file_cannot(who):
    """What remains, pinned down: a switch that would change a guarded file that git tracks leaves the old one."""
    with world(who) as base:
        setup = (
            "git add -f .claude/settings.json && git commit -qm s && git checkout -qb other && "
            "git rm -q --cached .claude/settings.json && git commit -qm gone && git checkout -q -f main"
        )
        assert shell(who, base, setup).returncode == 0
        shell(who, base, "git checkout other", fence=spec_of(base))
        assert content(f"{base}/ws/.claude/settings.json") == "original\n"
