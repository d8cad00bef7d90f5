"""Run the shell parser: one child, by absolute path, bounded in text, time and answer.

posix_spawn and pipes, no `subprocess`: importing that costs more (10 ms) than the child takes to answer (2 ms).
The child gets an empty environment, so that nothing the agent exported reaches it, and is killed when it is late.
"""

from __future__ import annotations

import errno
import os
import time

from ringfence.records import Record

MAX_TEXT = 256 * 1024  # bytes of command text; agents send far less
MAX_ANSWER = 16 * 1024 * 1024  # bytes of JSON
MAX_SECONDS = 1.0
DIALECTS = ("bash", "zsh", "posix", "mksh")


class Answer(Record):
    """What the parser said. `ok` False: `detail` is its own message (a syntax error) or ours."""

    ok: bool
    json: str
    detail: str
    code: str = ""


def run_parser(program: str, dialect: str, text: bytes, seconds: float = MAX_SECONDS) -> Answer:
    """Feed `text` to the shfmt at `program`. Never raises for what the child does; codes are `opaque.*`."""
    if not program.startswith("/"):
        return Answer(ok=False, json="", detail="no parser is installed", code="opaque.no-parser")
    if dialect not in DIALECTS:
        return Answer(ok=False, json="", detail=f"unknown dialect {dialect!r}", code="opaque.dialect")
    if len(text) > MAX_TEXT:
        detail = f"{len(text)} bytes of command text, more than {MAX_TEXT}"
        return Answer(ok=False, json="", detail=detail, code="opaque.parser-limit")
    try:
        return _exchange((program, "-ln", dialect, "--to-json"), text, seconds)
    except OSError as failure:
        return Answer(ok=False, json="", detail=f"{program}: {failure.strerror}", code="opaque.no-parser")


def _exchange(argv: tuple[str, ...], text: bytes, seconds: float) -> Answer:
    import select

    deadline = time.monotonic() + seconds
    opened: list[int] = []
    pid = 0
    try:
        in_read, in_write = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
        opened += (in_read, in_write)
        out_read, out_write = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
        opened += (out_read, out_write)
        actions = (
            (os.POSIX_SPAWN_DUP2, in_read, 0),
            (os.POSIX_SPAWN_DUP2, out_write, 1),
            (os.POSIX_SPAWN_DUP2, out_write, 2),
        )
        # A caller that blocked or ignored signals must not pass that on: SIGPIPE and SIGKILL end the child.
        pid = os.posix_spawn(argv[0], argv, {}, file_actions=actions)
        for fd in (in_read, out_write):
            os.close(fd)
            opened.remove(fd)
        os.set_blocking(in_write, False)
        os.set_blocking(out_read, False)
        poller = select.poll()
        poller.register(out_read, select.POLLIN | select.POLLHUP)
        view = memoryview(text)
        chunks: list[bytes] = []
        size = 0
        view = _feed(in_write, view)
        if view:
            poller.register(in_write, select.POLLOUT)
        else:
            os.close(in_write)
            opened.remove(in_write)
        late = False
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or size > MAX_ANSWER:
                late = True
                break
            for fd, _event in poller.poll(left * 1000):
                if fd == in_write and view:
                    view = _feed(in_write, view)
                    if not view:
                        poller.unregister(in_write)
                        os.close(in_write)
                        opened.remove(in_write)
                elif fd == out_read:
                    try:
                        chunk = os.read(out_read, 1 << 18)
                    except BlockingIOError:
                        continue
                    if not chunk:
                        status = os.waitpid(pid, 0)[1]
                        pid = 0
                        return _answer(status, b"".join(chunks))
                    chunks.append(chunk)
                    size += len(chunk)
        if late:
            why = f"the parser took longer than {seconds} s" if size <= MAX_ANSWER else "the answer is too large"
            return Answer(ok=False, json="", detail=why, code="opaque.parser-limit")
    finally:
        for fd in opened:
            os.close(fd)
        if pid:
            os.kill(pid, 9)
            os.waitpid(pid, 0)


def _feed(fd: int, view: memoryview) -> memoryview:
    """Write what fits; a child that stopped reading ends the feeding, its answer says why."""
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            return view
        except OSError as failure:
            if failure.errno != errno.EPIPE:
                raise
            return view[:0]
    return view


def _answer(status: int, output: bytes) -> Answer:
    said = output.decode("utf-8", "surrogateescape")
    if os.waitstatus_to_exitcode(status) != 0:
        return Answer(ok=False, json="", detail=said.strip()[:200], code="opaque.syntax")
    return Answer(ok=True, json=said, detail="")
