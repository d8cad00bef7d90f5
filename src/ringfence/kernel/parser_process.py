"""Run the shell parser: one child, by absolute path, bounded in text, time and answer.

posix_spawn and pipes, no `subprocess`: importing that costs more (10 ms) than the child takes to answer (2 ms).
The child gets an empty environment, so that nothing the agent exported reaches it, and is killed when it is late.
"""

from __future__ import annotations

import sys
import time
from errno import EPIPE

from ringfence.records import Record

if sys.platform == "win32":
    import os as posix
else:
    import posix  # `os` costs 1.6 ms at start

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
    deadline = time.monotonic() + seconds
    opened: list[int] = []
    pid = 0
    try:
        for _ in range(2):
            opened.extend(posix.pipe())  # neither end is inheritable (PEP 446)
        in_read, in_write, out_read, out_write = opened
        actions = (
            (posix.POSIX_SPAWN_DUP2, in_read, 0),
            (posix.POSIX_SPAWN_DUP2, out_write, 1),
            (posix.POSIX_SPAWN_DUP2, out_write, 2),
        )
        pid = posix.posix_spawn(argv[0], argv, {}, file_actions=actions)
        for fd in (in_read, out_write):
            posix.close(fd)
            opened.remove(fd)
        output = _converse(in_write, out_read, opened, text, deadline)
        if output is None:
            return Answer(
                ok=False, json="", detail=f"no answer within {seconds} s", code="opaque.parser-limit"
            )
        if len(output) > MAX_ANSWER:
            return Answer(ok=False, json="", detail="the answer is too large", code="opaque.parser-limit")
        status = posix.waitpid(pid, 0)[1]
        pid = 0
        return _answer(status, output)
    finally:
        for fd in opened:
            posix.close(fd)
        if pid:
            posix.kill(pid, 9)
            posix.waitpid(pid, 0)


def _converse(feed: int, drain: int, opened: list[int], text: bytes, deadline: float) -> bytes | None:
    """Write `text` and read to the end, whichever is ready; None when the deadline passes first."""
    import select

    posix.set_blocking(feed, False)
    posix.set_blocking(drain, False)
    poller = select.poll()
    poller.register(drain, select.POLLIN | select.POLLHUP)
    view = _feed(feed, memoryview(text))
    if view:
        poller.register(feed, select.POLLOUT)
    else:
        posix.close(feed)
        opened.remove(feed)
    chunks: list[bytes] = []
    size = 0
    while size <= MAX_ANSWER:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        for fd, _event in poller.poll(left * 1000):
            if fd == feed and view:
                view = _feed(feed, view)
                if not view:
                    poller.unregister(feed)
                    posix.close(feed)
                    opened.remove(feed)
            elif fd == drain:
                chunk = posix.read(drain, 1 << 18)
                if not chunk:
                    return b"".join(chunks)
                chunks.append(chunk)
                size += len(chunk)
    return b"".join(chunks)


def _feed(fd: int, view: memoryview) -> memoryview:
    """Write what fits; a child that stopped reading ends the feeding, its answer says why."""
    while view:
        try:
            view = view[posix.write(fd, view) :]
        except BlockingIOError:
            return view
        except OSError as failure:
            if failure.errno != EPIPE:
                raise
            return view[:0]
    return view


def _answer(status: int, output: bytes) -> Answer:
    said = output.decode("utf-8", "surrogateescape")
    if posix.waitstatus_to_exitcode(status) != 0:
        return Answer(ok=False, json="", detail=said.strip()[:200], code="opaque.syntax")
    return Answer(ok=True, json=said, detail="")
