"""A bar with the rate on standard error, where that is a terminal; nothing anywhere else."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Progress:
    """`size`: bytes that there are to read, 0 = not known. `bytes` and `step` count what was read and judged."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._judged = 0
        self._read = 0

    def __enter__(self) -> Self:
        if not sys.stderr.isatty():
            return self
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn("judged {task.fields[judged]:>12,}"),
            BarColumn(),
            TextColumn("{task.fields[rate]:>10,.0f}/s"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("audit", total=self._size or None, judged=0, rate=0.0)
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def bytes(self, count: int) -> None:
        """So many more bytes were read."""
        self._read += count

    def step(self, count: int) -> None:
        """So many more records were judged."""
        self._judged += count
        if self._bar is None or self._task is None:
            return
        task = self._bar.tasks[0]
        rate = self._judged / task.elapsed if task.elapsed else 0.0
        self._bar.update(self._task, completed=self._read, judged=self._judged, rate=rate)
