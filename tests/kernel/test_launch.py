"""The wrapper is transparent: a program behind it ends, stops, is signalled and inherits as without it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import termios
import time

import pytest

from ringfence.enforce import launch
from ringfence.model import EnforcementReport
from tests.kernel.conftest import needs_landlock, needs_seccomp, python_of
from tests.support.children import Fence, plain_environment, run

pytestmark = needs_landlock
WITH_PARENT = ("launch", "thread")
MODES = (*WITH_PARENT, "become")
PATIENCE = 20.0  # seconds until something that must happen counts as not happening


def start(who, base, argv, mode="launch", *, fence=True, more=None, **options):
    command = Fence(f"{base}/ws", mode=mode, **(more or {})).command(who, argv) if fence else argv
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen(
        command, cwd=f"{base}/ws", env=plain_environment(base), text=True, **who.popen(), **options
    )


@contextlib.contextmanager
def started(*args, **options):
    process = start(*args, **options)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
        process.stdout.close()


def soon(condition):
    """Whether it becomes true within our patience; never a measure of speed."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


# Every delivery writes a byte; a handler in Python would run once for two that come close together.
COUNT = """
import os, select, time
reading, writing = os.pipe()
os.set_blocking(writing, False)
signal.signal(wanted, lambda number, frame: None)
signal.set_wakeup_fd(writing)
print("ready", flush=True)
select.select([reading], [], [])
time.sleep(0.2)
count = os.read(reading, 99).count(bytes([wanted]))
"""


# ---- how it ends


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("code", [0, 1, 2, 3, 70, 126, 255])
def test_exit_status(code, mode, who, base):
    assert run(who, ["sh", "-c", f"exit {code}"], Fence(f"{base}/ws", mode=mode), cwd=base).returncode == code


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "name", ["SIGTERM", "SIGKILL", "SIGINT", "SIGHUP", "SIGPIPE", "SIGXFSZ", "SIGABRT", "SIGRTMIN"]
)
def test_death_by_signal(name, mode, who, base):
    number = int(getattr(signal, name))
    # The suite itself may run under nohup, and an ignored signal is inherited: it would not kill, fence or no fence.
    was = signal.signal(number, signal.SIG_DFL) if signal.getsignal(number) is signal.SIG_IGN else None
    try:
        done = run(who, ["sh", "-c", f"kill -{number} $$"], Fence(f"{base}/ws", mode=mode), cwd=base)
    finally:
        if was is not None:
            signal.signal(number, was)
    assert done.returncode == -number, done.stderr


def test_the_imitated_death_leaves_no_core(who, base):
    def status(command):
        def allow():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

        process = subprocess.Popen(command, cwd=f"{base}/ws", preexec_fn=allow, **who.popen())
        _, raw = os.waitpid(process.pid, 0)
        process.returncode = 0  # taken above, with the bit that Popen drops
        return raw

    crash = ["sh", "-c", "kill -SEGV $$"]
    if not os.WCOREDUMP(status(crash)):
        pytest.skip("this machine writes no core files")
    fenced = status(Fence(f"{base}/ws").command(who, crash))
    assert (os.WTERMSIG(fenced), os.WCOREDUMP(fenced)) == (signal.SIGSEGV, False)


@pytest.mark.parametrize("mode", MODES)
def test_what_cannot_be_run(mode, who, base):
    fence = Fence(f"{base}/ws", mode=mode)
    for name, mode_bits in (("plain", 0o644), ("script", 0o755), ("lost", 0o755)):
        with open(f"{base}/ws/{name}", "w", encoding="utf-8") as file:
            file.write("#!/nowhere/at/all\n" if name == "lost" else "exit 9\n")
        os.chmod(f"{base}/ws/{name}", mode_bits)
    for argv, code in (
        (["no-such-program"], 127),
        (["./missing"], 127),
        (["./plain"], 126),
        (["./dir"], 126),
        (["./lost"], 127),
        ([""], 127),
        (["./script"], 9),  # no first line: the shell runs it
    ):
        done = run(who, argv, fence, cwd=f"{base}/ws")
        assert done.returncode == code, (argv, done.stderr)
        assert ("cannot run" in done.stderr) == (code > 100)
        # The same as a shell says, which is what a caller knows.
        if argv[0]:
            twin = run(who, ["bash", "-c", '"$@"', "sh", *argv], cwd=f"{base}/ws")
            assert twin.returncode == code or (argv == ["./lost"] and twin.returncode == 126)


@pytest.mark.parametrize("mode", MODES)
def test_path_lookup(mode, who, base):
    fence = Fence(f"{base}/ws", mode=mode)
    for folder in ("one", "two"):
        os.mkdir(f"{base}/ws/{folder}")
        with open(f"{base}/ws/{folder}/tool", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho {folder}\n")
    os.chmod(f"{base}/ws/two/tool", 0o755)
    env = plain_environment(base, PATH=f"/nowhere:{base}/ws/one:{base}/ws/two:/bin")
    assert run(who, ["tool"], fence, cwd=base, env=env).stdout == "two\n"
    env["PATH"] = f"{base}/ws/one"
    assert run(who, ["tool"], fence, cwd=base, env=env).returncode == 126
    del env["PATH"]
    assert run(who, ["true"], fence, cwd=base, env=env).returncode == 0
    env["PATH"] = ""
    assert run(who, ["tool"], fence, cwd=f"{base}/ws/two", env=env).stdout == "two\n"


@pytest.mark.parametrize("mode", MODES)
def test_another_working_folder(mode, who, base):
    here = run(who, ["pwd"], Fence(f"{base}/ws", mode=mode, cwd=f"{base}/out"), cwd=base)
    assert here.stdout == f"{base}/out\n"
    gone = run(who, ["pwd"], Fence(f"{base}/ws", mode=mode, cwd=f"{base}/gone"), cwd=base)
    assert (gone.returncode, gone.stdout) == (127, "")
    assert f"{base}/gone" in gone.stderr


@pytest.mark.parametrize("mode", WITH_PARENT)
def test_the_parent_hears_the_report_before_and_the_status_after(mode, who, base):
    fence = Fence(f"{base}/ws", mode=mode, report=f"{base}/report", after=f"{base}/after")
    run(who, ["sh", "-c", f"cp {base}/report seen; exit 7"], fence, cwd=f"{base}/ws")
    with open(f"{base}/ws/seen", encoding="utf-8") as seen:
        assert json.load(seen)[0] == "landlock"
    with open(f"{base}/after", encoding="utf-8") as file:
        assert os.waitstatus_to_exitcode(int(file.read())) == 7


@pytest.mark.parametrize("mode", MODES)
def test_a_declined_report_runs_nothing(mode, who, base):
    fence = Fence(f"{base}/ws", mode=mode, strict=True)
    done = run(who, ["touch", "ran"], fence, cwd=f"{base}/ws")
    assert (done.returncode, os.path.exists(f"{base}/ws/ran")) == (3, False)


# ---- when our own part fails


@pytest.mark.parametrize("death", ["killed", "raised", "silent"])
def test_a_child_that_dies_while_it_builds_the_fence_runs_nothing(death, tmp_path, capfd):
    def confine():
        if death == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if death == "raised":
            raise RuntimeError("a bug of ours")
        os._exit(0)

    program = launch.Program(["touch", str(tmp_path / "ran")], plain_environment(str(tmp_path)))
    outcome = launch.launch(program, confine)
    assert isinstance(outcome, launch.NotConfined)
    assert launch.exit_code(outcome) == 3
    assert not os.listdir(tmp_path)
    assert ("a bug of ours" in capfd.readouterr().err) == (death == "raised")


def test_an_accept_that_fails_leaves_no_child_and_runs_nothing(tmp_path):
    def accept(report):
        raise RuntimeError(report.engine)

    held = EnforcementReport("some", "", ())
    program = launch.Program(["touch", str(tmp_path / "ran")], plain_environment(str(tmp_path)))
    assert launch.launch(program, lambda: held) == launch.Finished(0)
    os.unlink(tmp_path / "ran")
    mask, opened = signal.pthread_sigmask(signal.SIG_BLOCK, ()), os.listdir("/proc/self/fd")
    with pytest.raises(RuntimeError, match="some"):
        launch.launch(program, lambda: held, accept)
    assert not os.listdir(tmp_path)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
    assert len(os.listdir("/proc/self/fd")) == len(opened)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_child_killed_while_the_report_is_looked_at_ends_by_that_signal(tmp_path):
    def confine():
        return EnforcementReport(str(os.getpid()), "", ())

    def accept(report):
        os.kill(int(report.engine), signal.SIGKILL)
        os.waitid(os.P_PID, int(report.engine), os.WEXITED | os.WNOWAIT)
        return True

    program = launch.Program(["touch", str(tmp_path / "ran")], plain_environment(str(tmp_path)))
    outcome = launch.launch(program, confine, accept)
    assert isinstance(outcome, launch.Finished)
    assert os.WTERMSIG(outcome.status) == signal.SIGKILL
    assert not os.listdir(tmp_path)


def test_a_long_report_does_not_block_the_pipe(tmp_path):
    notes = ("x" * 1000,) * 1000
    heard = []
    program = launch.Program(["true"], plain_environment(str(tmp_path)))
    outcome = launch.launch(
        program, lambda: EnforcementReport("some", "", (), notes), lambda r: heard.append(r) or True
    )
    assert outcome == launch.Finished(0)
    assert heard[0].notes == notes


# ---- signals


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGQUIT", "SIGALRM", "SIGWINCH"]
)
def test_a_signal_to_the_wrapper_reaches_the_program_once(name, mode, who, base):
    text = f"import signal\nwanted = signal.{name}\n" + COUNT + "raise SystemExit(count)"
    with started(who, base, [python_of(who), "-I", "-c", text], mode) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(getattr(signal, name))
        assert process.wait(PATIENCE) == 1


@pytest.mark.parametrize("mode", WITH_PARENT)
def test_a_signal_to_the_wrapper_that_the_program_does_not_catch_ends_both(mode, who, base):
    with started(who, base, ["sh", "-c", "echo $$; exec sleep 60"], mode) as process:
        pid = int(process.stdout.readline())
        process.terminate()
        assert process.wait(PATIENCE) == -signal.SIGTERM
        assert not alive(pid)


@pytest.mark.parametrize("mode", WITH_PARENT)
def test_sigkill_of_the_wrapper_ends_the_program_but_not_its_background_jobs(mode, who, base):
    with started(who, base, ["sh", "-c", "sleep 60 >/dev/null & echo $! $$; exec sleep 60"], mode) as process:
        job, program = map(int, process.stdout.readline().split())
        try:
            assert alive(program)
            time.sleep(0.3)  # the tie is made just after the program began to run (kernel/spawn.py)
            process.kill()
            process.wait()
            assert soon(lambda: not alive(program))
            assert alive(job)
        finally:
            os.kill(job, signal.SIGKILL)


@pytest.mark.parametrize("mode", MODES)
def test_background_jobs_outlive_the_call(mode, who, base):
    done = run(
        who, ["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"], Fence(f"{base}/ws", mode=mode), cwd=base
    )
    job = int(done.stdout)
    try:
        assert alive(job)
        # And the next call, a fence of its own, can stop it.
        next_call = run(who, ["kill", str(job)], Fence(f"{base}/ws", mode=mode), cwd=base)
        assert next_call.returncode == 0, next_call.stderr
        assert soon(lambda: not alive(job))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(job, signal.SIGKILL)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["SIGSTOP", "SIGTSTP"])
@pytest.mark.parametrize("to_group", [False, True])
def test_stopping_and_continuing(to_group, name, mode, who, base):
    number = getattr(signal, name)
    # A group of its own in our session, as a shell with job control makes for a job: not an orphaned one.
    with started(
        who, base, ["sh", "-c", f"kill -{int(number)} $$; exit 5"], mode, process_group=0
    ) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        assert os.WSTOPSIG(status) == number
        if to_group:
            os.killpg(process.pid, signal.SIGCONT)
        else:
            process.send_signal(signal.SIGCONT)
        assert process.wait(PATIENCE) == 5


# The C library keeps two signals to itself, and its posix_spawn(3) starts programs with them ignored.
LIBRARY = 1 << 31 | 1 << 32


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ignored", ["SIGHUP SIGQUIT SIGUSR2", "SIGHUP SIGCHLD"])
def test_dispositions_and_mask_are_the_callers(ignored, mode, who, base):
    def caller():
        for name in ignored.split():
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTSTP, signal.SIGRTMIN})

    def state(**options):
        argv = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]
        with started(who, base, argv, mode, preexec_fn=caller, **options) as process:
            told = [line.split() for line in process.communicate(timeout=PATIENCE)[0].splitlines()]
            assert process.returncode == 0
            return {name: int(signals, 16) & ~LIBRARY for name, signals in told}

    assert state(fence=False) == state()


@pytest.mark.parametrize("mode", MODES)
def test_limits_priority_mask_folder_and_environment_stay(mode, who, base):
    def caller():
        os.umask(0o027)
        os.nice(3)
        resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))

    def state(**options):
        argv = [
            "sh",
            "-c",
            "umask; nice; ulimit -a; pwd; env | sort; ls /proc/self/fd; ps -o pgid=,sid= -p $$ | tr -d 0-9",
        ]
        with started(who, base, argv, mode, preexec_fn=caller, **options) as process:
            return process.communicate(timeout=PATIENCE)[0]

    assert state(fence=False) == state()


# ---- the terminal


def on_terminal(command, cwd, env, who):
    """Start `command` as a session leader on a new terminal; (pid, master)."""
    pid, master = pty.fork()
    if pid == 0:
        try:
            os.chdir(cwd)
            if os.geteuid() == 0 and who.uid:
                os.fchown(0, who.uid, -1)
                os.setgroups([])
                os.setresgid(who.gid, who.gid, who.gid)
                os.setresuid(who.uid, who.uid, who.uid)
            os.execvpe(command[0], command, env)
        finally:
            os._exit(99)
    return pid, master


class Screen:
    """What a terminal shows, and waiting for it."""

    def __init__(self, master):
        self.master, self.text = master, ""

    def expect(self, pattern):
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.text)):
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            assert ready, f"never saw {pattern!r} in {self.text!r}"
            with contextlib.suppress(OSError):
                self.text += os.read(self.master, 4096).decode(errors="replace")
        self.text = self.text[found.end() :]
        return found

    def type(self, text):
        os.write(self.master, text.encode())


@contextlib.contextmanager
def screen(command, base, who):
    pid, master = on_terminal(
        command, f"{base}/ws", plain_environment(base, PS1="PROMPT> ", TERM="dumb"), who
    )
    try:
        yield Screen(master)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)


@pytest.mark.parametrize("mode", MODES)
def test_ctrl_c_reaches_the_program_once_and_the_wrapper_waits(mode, who, base):
    text = "import signal\nwanted = signal.SIGINT\n" + COUNT + "print('seen', count, flush=True)"
    command = Fence(f"{base}/ws", mode=mode).command(who, [python_of(who), "-I", "-c", text])
    with screen(command, base, who) as shown:
        shown.expect("ready")
        shown.type("\x03")
        assert shown.expect(r"seen (\d+)")[1] == "1"


@pytest.mark.parametrize("mode", MODES)
def test_job_control_of_the_calling_shell(mode, who, base):
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    with open(f"{base}/ws/fenced", "w", encoding="utf-8") as file:
        words = Fence(f"{base}/ws", mode=mode).command(
            who, ["sh", "-c", "echo running; read x; echo got $x; exit 7"]
        )
        file.write("exec " + " ".join("'" + word.replace("'", "'\\''") + "'" for word in words) + "\n")
    with screen(["bash", "--norc", "--noprofile", "-i"], base, who) as shown:
        shown.expect("PROMPT> ")
        shown.type("sh ./fenced\n")
        shown.expect("running")
        shown.type("\x1a")
        shown.expect("Stopped")
        shown.type("echo status $?\n")
        assert shown.expect(r"status (\d+)\r")[1] == str(128 + signal.SIGTSTP)
        shown.type("fg\n")
        shown.expect("fenced")
        shown.type("words\n")  # read from the terminal: it is in the foreground again
        shown.expect("got words")
        shown.type("echo status $?\n")
        assert shown.expect(r"status (\d+)\r")[1] == "7"
        # In the background it may not read, and stops for that reason.
        shown.type("sh ./fenced &\n")
        shown.expect("running")
        assert soon(lambda: _stopped(shown))


def _stopped(shown):
    shown.type("jobs\n")
    while select.select([shown.master], [], [], 0.1)[0]:
        shown.text += os.read(shown.master, 4096).decode(errors="replace")
    return "Stopped" in shown.text


@needs_seccomp
@pytest.mark.parametrize("mode", MODES)
def test_a_program_cannot_type_into_the_callers_terminal(mode, who, base):
    text = (
        "import fcntl\n"
        "try:\n    fcntl.ioctl(0, 0x5412, b'x')\n    print('typed', flush=True)\n"
        "except OSError as e:\n    print('refused', e.errno, flush=True)"
    )
    attack = [python_of(who), "-I", "-c", text]
    with screen(attack, base, who) as shown:
        if shown.expect(r"typed|refused \d+")[0] != "typed":
            pytest.skip("this kernel refuses it by itself (dev.tty.legacy_tiocsti)")
    with screen(Fence(f"{base}/ws", mode=mode).command(who, attack), base, who) as shown:
        assert shown.expect(r"typed|refused \d+")[0] == "refused 1"


def test_terminal_settings_can_be_changed_from_inside(who, base):
    """Editors and pagers need it, on descriptors they open themselves too."""
    attack = Fence(f"{base}/ws").command(who, ["sh", "-c", "stty -echo </dev/tty && echo done"])
    with screen(attack, base, who) as shown:
        shown.expect("done")
        assert not termios.tcgetattr(shown.master)[3] & termios.ECHO
