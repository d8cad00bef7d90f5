"""JSON in and out without importing `json`.

The `json` package costs about 5 ms to import (it loads `re`), most of a hook's time. Its C core is importable
alone; tests/unit/test_jsonscan.py holds both functions equal to `json`. Hot.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_core: Any
try:
    import _json as _core
except ImportError:
    _core = None  # an interpreter without the C core: slower, the same answers

_OFF = (False, False, False)
_BLANKS = " \t\n\r"


class _Context:
    """What the C scanner asks of its decoder (`json.decoder.JSONDecoder`)."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = {"-Infinity": float("-inf"), "Infinity": float("inf"), "NaN": float("nan")}.__getitem__


_scan = _core.make_scanner(_Context()) if _core else None


def loads(text: str | bytes) -> Any:
    """The value of a JSON text; bytes are UTF-8. Raises ValueError, also for text that nests too deeply."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogatepass")
    if _scan is None:
        return _slow_loads(text)
    start = 0
    size = len(text)
    while start < size and text[start] in _BLANKS:
        start += 1
    try:
        value, end = _scan(text, start)
    except SystemError:
        # CPython 3.11 looks for its error class in sys.modules and has none if `json.decoder` was never imported.
        raise ValueError("text that is not JSON") from None
    except StopIteration as stop:
        raise ValueError(f"no JSON value at character {stop.value}") from None
    except RecursionError:
        raise ValueError("JSON that nests too deeply") from None
    while end < size and text[end] in _BLANKS:
        end += 1
    if end != size:
        raise ValueError(f"more text after the JSON value, at character {end}")
    return value


def dumps(value: Any) -> str:
    """JSON text in ASCII, without blanks. TypeError: JSON has no form for it; ValueError: NaN, a circle."""
    if _scan is None:
        return _slow_dumps(value)
    if isinstance(value, str):
        return str(_core.encode_basestring_ascii(value))
    # The C signature: markers, default, string encoder, indent, separators, sort_keys, skipkeys, allow_nan.
    encoder = _core.make_encoder({}, _refuse, _core.encode_basestring_ascii, None, ":", ",", *_OFF)
    return "".join(encoder(value, 0))


def _refuse(value: Any) -> Any:
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _slow_loads(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON that nests too deeply") from None


def _slow_dumps(value: Any) -> str:
    import json

    return json.dumps(value, separators=(",", ":"), allow_nan=False)
