"""Many fenced shells at once, half of them killed at a random moment: nothing may stay behind.

200 shells by default, RINGFENCE_SOAK=2000 for the whole. What may stay until the next start (the record of a killed
command, its temp folder) must be gone after it; what a killed shell planted in a guarded place too.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time

import pytest

from tests.support import users
from tests.support.product import TIMEOUT, Product, needs_engine

pytestmark = needs_engine

COUNT = int(os.environ.get("RINGFENCE_SOAK", "200"))
AT_ONCE = 8
JOB = 937.0625  # seconds; a background job is found again by this odd number

WORK = (
    "echo $$ > made-$$; rm made-$$",
    'f=$(mktemp); echo x > "$f"; sleep 0.02; cat "$f"',
    "echo evil > .mcp.json; sleep 0.02",
    "mkdir -p .gemini; echo {} > .gemini/settings.json; sleep 0.01",
    "git config user.name x$$; git config core.fsmonitor ./evil; sleep 0.01",
    "git add -A; git commit -qm $$; git status >/dev/null",
    "echo evil > .git/hooks/pre-commit; mv .git x; sleep 0.01",
    "for i in 1 2 3; do (sleep 0.05 &) ; done; sleep 0.03",
    f"exec 1>&- 2>&-; sleep {JOB} & :",
    "head -c 3000000 /dev/zero | tee big-$$ | wc -c; rm -f big-$$",
)


@pytest.fixture(name="place", params=["mounts", "landlock"])
def _place(request):
    with users.open_folder() as base:
        product = Product(base)
        product.engine = request.param
        product.write("ws/a", "1")
        product.write("ws/.claude/settings.json", "{}")
        subprocess.run(["git", "init", "-q", product.ws], check=True)
        for key in ("name", "email"):
            subprocess.run(["git", "-C", product.ws, "config", f"user.{key}", "t"], check=True)
        yield product


def start(product, text):
    words = product.words("shell", "--engine", product.engine, "--workspace", product.ws, "-c", text)
    # Quietly, and with a closed standard input: the job that stays must hold nothing of the test's open.
    return subprocess.Popen(
        words, cwd=product.ws, env=product.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def soak(product, chance, numbers, peaks):
    for number in numbers:
        process = start(product, WORK[number % len(WORK)])
        if chance.random() < 0.5:
            time.sleep(chance.random() * 0.15)
            os.kill(process.pid, signal.SIGKILL)  # not Popen.kill: it would reap what wait4 is to count
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        peaks[number] = used.ru_maxrss


def processes_of(product):
    """Every process whose environment names this test's home, with its command line."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                environment = file.read()
            with open(f"/proc/{name}/cmdline", "rb") as file:
                command = file.read()
        except OSError:
            continue
        if f"HOME={product.home}\0".encode() in environment and command:
            found[int(name)] = command
    return found


def table():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return file.read()


def test_nothing_stays_behind(place):
    mounts_before = table()
    folders = f"/tmp/ringfence-{os.geteuid()}"
    peaks = [0] * COUNT
    workers = [
        threading.Thread(target=soak, args=(place, random.Random(seed), range(seed, COUNT, AT_ONCE), peaks))  # noqa: S311
        for seed in range(AT_ONCE)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    jobs = processes_of(place)
    try:
        assert jobs, "the background jobs that were asked for are gone"
        _nothing_left(place, mounts_before, folders, jobs)
        _flat(peaks)
    finally:
        for pid in jobs:
            os.kill(pid, signal.SIGKILL)


def _nothing_left(place, mounts_before, folders, jobs):
    others = {pid: command for pid, command in jobs.items() if str(JOB).encode() not in command}
    # The short sleeps of a job that is just ending.
    deadline = time.monotonic() + TIMEOUT
    while others and time.monotonic() < deadline:
        time.sleep(0.1)
        others = {
            pid: command for pid, command in processes_of(place).items() if str(JOB).encode() not in command
        }
    assert others == {}
    # The next start puts right what the killed ones could not.
    done = place.run("shell", "--engine", place.engine, "--workspace", place.ws, "-c", "true")
    assert done.status == 0, done
    assert table() == mounts_before
    again = place.run("shell", "--engine", place.engine, "--workspace", place.ws, "-c", "true")
    assert (again.status, again.err) == (0, b"")
    assert os.listdir(f"{place.state}/pending") == []
    left = os.listdir(folders) if os.path.isdir(folders) else []
    assert [n for n in left if n[:5] == "call-" and not os.path.exists(f"/proc/{n[5:]}")] == []
    assert os.listdir(place.out) == []
    guarded = [".mcp.json", ".gemini/settings.json"]
    assert [name for name in guarded if os.path.lexists(f"{place.ws}/{name}")] == []
    if place.engine == "mounts":
        assert not os.path.exists(f"{place.ws}/.git/hooks/pre-commit")
        assert not os.path.exists(f"{place.ws}/x")
    names = {n for n in os.listdir(place.ws) if not n.startswith(("made-", "big-"))}
    assert names <= {"a", ".git", ".claude", ".gemini", "x"}, names
    with open(f"{place.ws}/.git/config", encoding="utf-8") as file:
        assert "fsmonitor" not in file.read()


def _flat(peaks):
    """The wrapper of the last shells needs no more memory than that of the first."""
    quarter = len(peaks) // 4
    first, last = sorted(peaks[:quarter]), sorted(peaks[-quarter:])
    assert last[quarter // 2] <= first[quarter // 2] * 1.15, (first[quarter // 2], last[quarter // 2])
