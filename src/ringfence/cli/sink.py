"""Where findings go, piece by piece, whole pieces only."""

from __future__ import annotations

import signal
import sys
import tempfile

from ringfence.cli.output import cut_short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import IO, Self


class Sink:
    """Standard output in UTF-8; for a writer whose head comes last, a nameless file until then.

    An interrupt waits until a piece is written: half a finding would spoil everything before it for a program. A
    second one does not wait. Raises BrokenPipeError when nobody reads on, OutputError when no more can be written.
    """

    def __init__(self, *, late: bool) -> None:
        self._out: IO[bytes] = sys.stdout.buffer
        self._spool: IO[bytes] | None = tempfile.TemporaryFile() if late else None  # noqa: SIM115 - closed below
        self._busy = False
        self._asked = False
        self._before: object = None

    def __enter__(self) -> Self:
        # Only where it would raise: a shell's background job ignores interrupts, and goes on doing so.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._spool is not None:
            self._spool.close()

    def _interrupted(self, _number: int, _frame: FrameType | None) -> None:
        if self._busy and not self._asked:
            self._asked = True
            return
        raise KeyboardInterrupt

    def put(self, text: str) -> None:
        """Write a piece. Raises KeyboardInterrupt behind it if one was asked for meanwhile."""
        self._busy = True
        try:
            (self._spool or self._out).write(text.encode("utf-8", "backslashreplace"))
        except BrokenPipeError:
            raise
        except OSError as error:
            raise cut_short(error) from None
        self._busy = False
        if self._asked:
            self._asked = False
            raise KeyboardInterrupt

    def finish(self, tail: str, head: str = "") -> None:
        """Write the last piece, and before everything the head that came late. An interrupt waits for the end."""
        self._busy = True
        try:
            self._end(tail, head)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise cut_short(error) from None
        self._busy = False

    def _end(self, tail: str, head: str) -> None:
        (self._spool or self._out).write(tail.encode("utf-8", "backslashreplace"))
        if self._spool is not None:
            self._out.write(head.encode("utf-8", "backslashreplace"))
            self._spool.seek(0)
            while block := self._spool.read(1 << 16):
                self._out.write(block)
        self._out.flush()
