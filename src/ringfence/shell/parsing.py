"""Text in, tree or refusal out: what goes to the parser, and what is made of its answer."""

from __future__ import annotations

from ringfence.shell.plain import plain_script
from ringfence.shell.state import RESERVED
from ringfence.shell.tree import Refusal, Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # (source bytes, the parser's dialect) -> (accepted, JSON text, code, detail)
    Exchange = Callable[[bytes, str], tuple[bool, str, str, str]]

MAX_CHARS = 256 * 1024
_CARRIAGE = "\ue00d"  # private use: an ordinary character to every shell, as bash reads CR


class _Context:
    """What `_json.make_scanner` asks for. The pure Python `json` package costs 7 ms to import, this nothing."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None
    memo: dict[str, str] = {}  # noqa: RUF012  # the C scanner asks for an attribute, and empties it itself


def decode_json(text: str) -> Any:
    """One JSON value. Raises ValueError for text that is none (with the C scanner's own StopIteration hidden)."""
    from _json import make_scanner

    start = len(text) - len(text.lstrip())
    try:
        value, _end = make_scanner(_Context)(text, start)  # type: ignore[arg-type]  # typeshed types the context as itself
    except StopIteration:
        raise ValueError("not JSON") from None
    return value


def read_script(text: str, dialect: str, exchange: Exchange, *, short_cut: bool = True) -> Script | Refusal:
    """Parse `text` as `dialect` ("bash", "zsh", "sh"). Raises nothing for what the text holds.

    `short_cut`: a plain command is read without the parser (shell/plain.py), to the same tree.
    """
    if "\0" in text:
        return Refusal("invalid.nul", "a NUL byte in the command")
    if len(text) > MAX_CHARS:
        return Refusal("opaque.parser-limit", f"{len(text)} characters, more than {MAX_CHARS}")
    if short_cut and (made := plain_script(text)) is not None:
        return made
    sent = text
    if any(c in text for c in RESERVED):
        return Refusal("opaque.guard-control", "control characters in the command")
    if "\r" in text:
        if _CARRIAGE in text:
            return Refusal("opaque.guard-control", "a carriage return beside a private-use character")
        sent = text.replace("\r", _CARRIAGE)
    try:
        source = sent.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return Refusal("invalid.encoding", "text that no file system could hold")
    return _read(source, text, dialect, exchange, 8)


def _read(source: bytes, text: str, dialect: str, exchange: Exchange, attempts: int) -> Script | Refusal:
    from ringfence.shell.lower import lower  # large, and a plain command does without it

    read_as = _PARSER_DIALECT.get(dialect, dialect)
    accepted, answer, code, detail = exchange(source, read_as)
    if not accepted and dialect == "sh":
        # `sh` may be bash: what only bash accepts still runs there.
        read_as = "bash"
        accepted, answer, code, detail = exchange(source, read_as)
    if not accepted:
        return Refusal(code or "opaque.syntax", detail or "a syntax error")
    if "\r" in text:
        answer = answer.replace(_CARRIAGE, "\\r")
    try:
        root = decode_json(answer)
    except (ValueError, RecursionError):
        return Refusal("opaque.parser-limit", "the parser's answer is nested too deeply or cut off")
    try:
        made = lower(root, text, source, read_as)
    except RecursionError:
        return Refusal("opaque.parser-limit", "nested too deeply")
    if isinstance(made, Refusal) and made.code == "opaque.guard-comment" and attempts:
        # bash ends the comment at its newline: read the text again without it, offsets unmoved.
        end = source.find(b"\n", made.at)
        blank = source[: made.at + 1] + b" " * (end - made.at - 1) + source[end:]
        return _read(blank, text, dialect, exchange, attempts - 1)
    return made


_PARSER_DIALECT = {
    "bash": "bash",
    "zsh": "zsh",
    "sh": "posix",
    "dash": "posix",
    "ksh": "mksh",
    "mksh": "mksh",
}
