"""Run a program and a scripted model together where no packet can leave, and end everything it started.

Two halves of one file. `run_offline` is called by a test: it starts this file again in a network namespace of its
own. That inner half brings up `lo`, checks that nothing else is there, serves the model on it, runs the program,
ends all its descendants by process id and writes what it saw as JSON.

The inner half is a child subreaper, so a descendant that left its process group and session (agents start every
shell with setsid) still becomes its child when its parent ends, and is found by walking /proc.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
GRACE = 20.0  # seconds the outer half waits beyond the inner half's own limit

# The namespace is the run's own, so the port is always free: agents' config files can name the address beforehand.
PORT = 4801
MODEL_URL = f"http://127.0.0.1:{PORT}"

PR_SET_CHILD_SUBREAPER = 36
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1


class Job(NamedTuple):
    """What to run. `{url}` in an `env` value or an `argv` word becomes the model's address
    (MODEL_URL, which files may name as it stands).

    `uid`: run the program as this user (only root can ask). `watch`: seconds to leave descendants alone after the
    program ended, so that a test can see which outlive it.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: str
    script: list[Any]
    model: str = "fake_anthropic"
    stdin: str | None = None
    timeout: float = 90.0
    uid: int | None = None
    watch: float = 0.0


class Outcome(NamedTuple):
    """`exit` is None after a timeout, negative for a signal. `outlived`: (pid, command line) of each descendant
    that still ran when the program had ended (and `watch` seconds had passed); they are ended by then."""

    exit: int | None
    stdout: str
    stderr: str
    requests: list[dict[str, Any]]
    unknown: list[str]
    outlived: list[tuple[int, str]]
    seconds: float


def isolation() -> list[str]:
    """Command words that put what follows into a network namespace; the caller's user stays the same."""
    unshare = shutil.which("unshare", path="/usr/bin:/bin:/usr/sbin:/sbin") or "unshare"
    if os.geteuid() == 0:
        return [unshare, "--net"]
    # --keep-caps: bringing lo up takes CAP_NET_ADMIN; the inner half drops it again before the agent starts.
    return [unshare, "--user", "--map-current-user", "--keep-caps", "--net"]


def can_isolate() -> bool:
    """Whether this machine lets us have a network namespace (a capability, not a platform name)."""
    try:
        probe = subprocess.run([*isolation(), "true"], capture_output=True, check=False, timeout=10)
    except OSError:
        return False
    return probe.returncode == 0


def run_offline(job: Job, folder: str) -> Outcome:
    """Run `job` isolated; `folder` (existing, private to the caller) holds the order and the record.

    Raises RuntimeError when the isolation or the inner half itself failed.
    """
    order, record = os.path.join(folder, "job.json"), os.path.join(folder, "outcome.json")
    with open(order, "w", encoding="utf-8") as out:
        json.dump(job._asdict(), out)
    inner = [*isolation(), sys.executable, "-I", os.path.abspath(__file__), order, record]
    env = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    # SIGTERM, not SIGKILL, on our own timeout or Ctrl-C: the inner half must still end what it started.
    child = subprocess.Popen(
        inner, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        said, _ = child.communicate(timeout=job.timeout + job.watch + GRACE)
    except BaseException:
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=GRACE)
        raise
    if child.returncode != 0 or not os.path.exists(record):
        raise RuntimeError(f"offline run failed ({child.returncode}): {said.decode(errors='replace')}")
    with open(record, encoding="utf-8") as kept:
        seen = json.load(kept)
    seen["outlived"] = [(pid, line) for pid, line in seen["outlived"]]
    return Outcome(**seen)


# ---- the inner half ----


def _lo_up() -> None:
    """Bring `lo` up and refuse to go on if any other interface exists."""
    import fcntl

    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"]:
        raise RuntimeError(f"not isolated: interfaces {names}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        flags = struct.unpack("16sh", fcntl.ioctl(plug, SIOCGIFFLAGS, struct.pack("16sh", b"lo", 0)))[1]
        fcntl.ioctl(plug, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | IFF_UP))


def _prctl(option: int, value: int) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) == -1:
        raise OSError(ctypes.get_errno(), f"prctl({option})")


def _processes() -> dict[int, tuple[int, bool]]:
    """Every process: its parent, and whether it is dead and only waits to be reaped."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # ended meanwhile
        found[int(name)] = (int(parent), state == "Z")
    return found


def _descendants(of: int) -> list[int]:
    """Live descendants, as far as one look at /proc can tell: a process whose parent ends while we look is missed."""
    seen = _processes()
    below = {of}
    grew = True
    while grew:
        more = {pid for pid, (parent, _) in seen.items() if parent in below} - below
        below |= more
        grew = bool(more)
    return sorted(pid for pid in below - {of} if not seen[pid][1])


def _command_line(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            return line.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _end_descendants(*, spare: int = 0) -> None:
    """Until none is seen in three looks: one may fork, or change parents, while we look. `spare` is not reaped."""
    clean = 0
    while clean < 3:
        left = [pid for pid in _descendants(os.getpid()) if pid != spare]
        clean = 0 if left else clean + 1
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    if not spare:
        _reap()


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _adopt(program: int, stop: threading.Event) -> None:
    """Reap orphans as init would, until told to stop: a test may wait for a process to be gone. Never the program
    itself, whose status belongs to subprocess."""
    while not stop.wait(0.05):
        for pid, (parent, dead) in _processes().items():
            if dead and parent == os.getpid() and pid != program:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


def _run_program(job: Job, url: str) -> dict[str, Any]:
    began = time.monotonic()
    fill = str.replace
    program = subprocess.Popen(
        [fill(word, "{url}", url) for word in job.argv],
        env={name: fill(value, "{url}", url) for name, value in job.env.items()},
        cwd=job.cwd,
        stdin=subprocess.PIPE if job.stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        user=job.uid,
        group=job.uid,
        extra_groups=[] if job.uid is not None else None,
    )
    stop = threading.Event()
    init = threading.Thread(target=_adopt, args=(program.pid, stop), daemon=True)
    init.start()
    exit_code: int | None = None
    typed = job.stdin.encode() if job.stdin is not None else None
    try:
        out, err = program.communicate(typed, timeout=job.timeout)
        exit_code = program.returncode
    except subprocess.TimeoutExpired:
        program.kill()
        _end_descendants(spare=program.pid)
        out, err = program.communicate()
    seconds = time.monotonic() - began
    time.sleep(job.watch)
    stop.set()
    init.join()
    outlived = [(pid, _command_line(pid)) for pid in _descendants(os.getpid())]
    _end_descendants()
    return {
        "exit": exit_code,
        "stdout": out.decode(errors="replace"),
        "stderr": err.decode(errors="replace"),
        "outlived": outlived,
        "seconds": seconds,
    }


def _main(order: str, record: str) -> int:
    # Last, so that nothing of ours hides a standard module; `tests.support` must be found as the tests find it.
    sys.path.append(os.path.dirname(os.path.dirname(HERE)))
    import importlib

    with open(order, encoding="utf-8") as given:
        job = Job(**json.load(given))
    model = importlib.import_module(f"tests.support.{job.model}")
    _lo_up()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    if os.geteuid() != 0:
        _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)

    def stop(*_: object) -> None:
        raise SystemExit(1)

    signal.signal(signal.SIGTERM, stop)
    try:
        with model.serve(job.script, PORT) as server:
            seen = _run_program(job, server.url)
            seen["requests"], seen["unknown"] = server.requests, server.unknown
    finally:
        _end_descendants()
    with open(record, "w", encoding="utf-8") as kept:
        json.dump(seen, kept)
    return 0


if __name__ == "__main__":
    raise SystemExit(_main(sys.argv[1], sys.argv[2]))
