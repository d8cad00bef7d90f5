"""A program started by a confined thread: what the thread leaves behind, and that nobody climbs out through it."""

from __future__ import annotations

import os

import pytest

from tests.kernel.conftest import needs_landlock, python_of
from tests.support.children import run

pytestmark = needs_landlock

# Everything in one interpreter: the thread confines itself, starts a program and is kept alive for it to attack.
START = """
import _thread, posix, sys
sys.path.insert(0, sys.argv[1])
from ringfence.enforce import landlock as engine
from ringfence.enforce.plan import plan
from ringfence.kernel import privileges, probe, spawn
from ringfence.model import Access, Confinement, Rule, Zone, ZoneKind

closed, argv = sys.argv[2] == "closed", sys.argv[3:]
if not closed:
    del privileges.DROPPED["CAP_SYS_PTRACE"]
zone = Zone(posix.getcwd(), Access.WRITE, ZoneKind.WORKSPACE, Rule("w", "test"))
here = probe.capabilities(("landlock", "seccomp"))
planned = plan(Confinement((zone,), (), (), (), (), "anywhere"), here)
worker, tie = spawn.Worker(), spawn.Tie()
us, thread = posix.getpid(), worker.do(_thread.get_native_id)

def build():
    spawn.stand_apart()
    engine.confine_self(planned)
    if closed:
        spawn.close_memory()

worker.do(build)
argv = [word.replace("WRAPPER", str(us)).replace("THREAD", str(thread)) for word in argv]
pid, failed_with = worker.do(lambda: spawn.spawn(argv, posix.environ, (), tie))
assert not failed_with, failed_with
_, status = posix.waitpid(pid, 0)
"""

ATTACH = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
for number in map(int, sys.argv[1:]):
    seized = libc.ptrace(0x4206, number, None, None)  # PTRACE_SEIZE
    print("attached" if seized == 0 else f"errno {ctypes.get_errno()}", end=" ")
    try:
        open(f"/proc/{number}/mem", "rb").close()
        print("memory")
    except OSError as refused:
        print("errno", refused.errno)
"""


def _source(who):
    return os.path.join(who.checkout, "src")


def _start(who, base, closed, argv, tail=""):
    words = [python_of(who), "-I", "-c", START + tail, _source(who), "closed" if closed else "open", *argv]
    return run(who, words, cwd=f"{base}/ws")


def test_the_program_cannot_attach_to_the_thread_that_started_it(who, base):
    """The thread stands in the program's own domain, and shares its memory with a wrapper that stands in none."""
    attack = [python_of(who), "-I", "-c", ATTACH, "THREAD", "WRAPPER"]
    done = _start(who, base, False, attack)
    thread, wrapper = done.stdout.splitlines()
    if thread != "attached memory":
        pytest.skip(f"something else refuses it here already: {thread} (kernel.yama.ptrace_scope, say)")
    assert wrapper == "errno 1 errno 13"  # Landlock's word, on the thread outside
    done = _start(who, base, True, attack)
    assert done.stdout.splitlines() == ["errno 1 errno 13"] * 2, done.stderr


def test_a_program_may_still_trace_its_own_children(who, base):
    text = (
        "import ctypes, os, time\nlibc = ctypes.CDLL(None)\npid = os.fork()\n"
        "if not pid: time.sleep(60)\n"
        "print(libc.ptrace(0x4206, pid, None, None))\nos.kill(pid, 9)"
    )
    assert _start(who, base, True, [python_of(who), "-I", "-c", text]).stdout == "0\n"


def test_only_the_thread_is_confined_and_stands_apart(who, base):
    """The wrapper's own hands stay free: it has to put things right when the program has ended."""
    tail = (
        "import os\n"
        f"open('{base}/out/ours', 'w').close()\n"
        "worker.do(lambda: os.chdir('/'))\n"
        f"assert os.getcwd() == '{base}/ws'\n"
        "reading, writing = os.pipe()\n"
        "worker.do(lambda: os.close(1))\n"
        "def theirs():\n"
        "    try:\n"
        f"        open('{base}/out/theirs', 'w')\n"
        "    except PermissionError:\n"
        "        return 'refused'\n"
        "print(worker.do(theirs), [line.split()[1] for line in open('/proc/self/status') if 'NoNewPrivs' in line])\n"
    )
    done = _start(who, base, True, ["true"], tail)
    assert done.stdout == "refused ['0']\n", done.stderr
    assert os.path.exists(f"{base}/out/ours")
    assert not os.path.exists(f"{base}/out/theirs")


@pytest.mark.parametrize("bound", [True, False])
def test_the_tie_kills_what_it_is_bound_to_and_nothing_else(bound, who, base):
    """The twin without `bind` shows that it is the tie that kills."""
    tail = "import os\nprint(pid, flush=True)\nos.kill(us, 9)\n"
    body = START.replace("_, status = posix.waitpid(pid, 0)", tail)
    if not bound:
        body = body.replace("worker.do(build)\n", "worker.do(build)\nspawn.Tie.bind = lambda *_: None\n")
    sleep = ["sh", "-c", "sleep 5 >/dev/null 2>&1; touch outlived"]
    done = run(
        who,
        [python_of(who), "-I", "-c", body, _source(who), "closed", *sleep],
        cwd=f"{base}/ws",
    )
    pid = int(done.stdout)
    assert done.returncode == -9
    assert _ends_by_itself(pid, f"{base}/ws/outlived") == (not bound)


def _ends_by_itself(pid, trace):
    """Whether the process lives until it has left its trace."""
    import time

    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                gone = file.read().rsplit(")", 1)[1].split()[0] in "ZX"
        except FileNotFoundError:
            gone = True
        if gone:
            return os.path.exists(trace)
        time.sleep(0.02)
    raise AssertionError("it neither ended nor was killed")


def test_a_loosened_tie_kills_nobody(who, base):
    tail = "tie.loosen()\nimport os\nmade = os.posix_spawn('/bin/sleep', ['sleep', '60'], {})\n"
    tail += "tie = spawn.Tie(); tie.bind(made); print(os.waitpid(made, os.WNOHANG)); tie.loosen()\n"
    tail += "print(os.WTERMSIG(os.waitpid(made, 0)[1]))\n"
    done = _start(who, base, True, ["true"], tail)
    assert done.stdout == "(0, 0)\n9\n", done.stderr


def test_what_a_task_raises_is_raised_where_it_was_given(who, base):
    tail = (
        "def fails(): raise ValueError('here')\n"
        "try:\n    worker.do(fails)\nexcept ValueError as error:\n    print(error)\n"
        "print(worker.do(lambda: 7))\nworker.end()\n"
    )
    assert _start(who, base, True, ["true"], tail).stdout == "here\n7\n"
