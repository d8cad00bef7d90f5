"""Where text goes: colour only on a terminal (NO_COLOR is honoured), JSON for programs."""

from __future__ import annotations

import json
import sys

from rich.console import Console
from rich.text import Text

from ringfence.errors import OutputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Out:
    """One command's output. `json_mode` prints exactly one JSON document and nothing else on stdout."""

    def __init__(self, json_mode: bool) -> None:
        self.json_mode = json_mode
        self._console = Console(file=sys.stdout, highlight=False, soft_wrap=True, emoji=False, markup=False)

    def paint(self, text: str, style: str) -> str:
        """Styled by escape codes on a terminal, unchanged elsewhere."""
        if not self._console.is_terminal or self._console.no_color:
            return text
        with self._console.capture() as captured:
            self._console.print(Text(text, style=style), end="")
        return captured.get()

    def lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            _emit(sys.stdout, line)

    def note(self, text: str) -> None:
        """A remark on stderr, in text mode and in JSON mode alike."""
        _emit(sys.stderr, text)

    def json(self, value: object) -> None:
        _emit(sys.stdout, json.dumps(value, indent=2, ensure_ascii=True))


def cut_short(error: OSError) -> OutputError:
    """What to say when standard output takes no more. A reader that went away is another matter (BrokenPipeError)."""
    return OutputError(
        f"standard output cannot be written: {error.strerror}",
        "what was printed is not the whole answer: send it to a place with room for it",
    )


def _emit(stream: object, text: str) -> None:
    try:
        _write(stream, text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cut_short(error) from None


def _write(stream: object, text: str) -> None:
    data = (text + "\n").encode("utf-8", "surrogateescape")
    buffer = getattr(stream, "buffer", None)
    if buffer is None:  # a test's capture
        stream.write(data.decode("utf-8", "backslashreplace"))  # type: ignore[attr-defined]
        return
    stream.flush()  # type: ignore[attr-defined]
    buffer.write(data)
    buffer.flush()
