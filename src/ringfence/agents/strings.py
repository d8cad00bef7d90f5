"""Paths in the input of a tool that we do not know: every string that looks like one.

A heuristic, and only that: a tool server opens what it likes, outside any engine of ours unless the whole agent is
launched inside one. Strength of what follows from this: hook.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The last word of a key that names a path: `path`, `filePath`, `output_dir`, …
_PATH_WORDS = (
    "path", "paths", "file", "files", "filename", "filenames", "dir", "dirs", "directory", "directories", "folder",
    "folders", "cwd", "root", "roots", "dest", "destination", "target", "output", "source", "uri", "location",
)  # fmt: skip
_LIMIT = 10_000  # strings looked at in one call; more is refused by the caller
_LONGEST = 8192  # characters; longer than any path that is written without a purpose
_LINES = 4  # a name may hold a line break; a text under the key `output` has many
MAX_DEPTH = 40


class TooMuchError(ValueError):
    """The input is deeper or larger than any real tool call."""


def path_strings(value: object, exists: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """(key, path text) for each string that names a path. `exists` says whether a top-level name is there.

    A string counts if its key says so and it is no prose, or if it starts like a path; `/users/42` under a key such
    as `endpoint` counts only if its first name exists, because URL routes look the same.
    """
    budget = [_LIMIT]
    for key, text in _strings(value, "", 0, budget):
        found = _as_path(key, text, exists)
        if found is not None:
            yield key, found


def _strings(value: object, key: str, depth: int, budget: list[int]) -> Iterator[tuple[str, str]]:
    if depth > MAX_DEPTH:
        raise TooMuchError("the tool's input is nested too deeply")
    budget[0] -= 1
    if budget[0] < 0:
        raise TooMuchError("the tool's input holds too many values")
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _strings(item, str(name), depth + 1, budget)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, key, depth + 1, budget)


def _as_path(key: str, text: str, exists: Callable[[str], bool]) -> str | None:
    if not text or (len(text) > _LONGEST and not _is_long_path(text)):
        return None
    if text.startswith("file://"):
        return from_uri(text)
    if "://" in text.partition(" ")[0]:
        return None
    named = key.lower().replace("-", "_").endswith(_PATH_WORDS)
    if named and _is_one_name(text):
        return text
    if "\n" in text:
        return None
    if text.startswith(("~/", "./", "../")) or text in {"~", ".", ".."}:
        return text
    if text[0] == "/":
        top = "/" + text.lstrip("/").partition("/")[0]
        return text if top != "/" and exists(top) else None
    if "/../" in text or text.endswith("/.."):
        return text
    return None


def _is_one_name(text: str) -> bool:
    """Not a text that merely stands under such a key (`source`, `output`): those have more lines than one name."""
    return text.count("\n") < _LINES


def _is_long_path(text: str) -> bool:
    """Whether a text that no system call would take is a path all the same: programs fold `x/../` before they open."""
    return "/" in text and not any(c in text for c in ' \n\t"{}();')


def trimmed(text: str) -> str:
    """The text without blanks at its ends, by the widest reading: Python's `strip`, and U+FEFF, which ECMAScript's
    `trim` takes for a blank (ECMA-262, TrimString) and Python does not."""
    found = text.strip()
    while not found.isascii() and (found[0] == "\ufeff" or found[-1] == "\ufeff"):
        found = found.strip("\ufeff").strip()
    return found


def from_uri(text: str) -> str:
    """The path of a `file:` URI (RFC 8089): percent escapes decoded, an empty or local host dropped."""
    rest = text[len("file://") :]
    host, slash, tail = rest.partition("/")
    path = slash + tail if host in ("", "localhost") else "//" + rest
    if "%" not in path:
        return path
    out = bytearray()
    raw = path.encode("utf-8", "surrogateescape")
    at = 0
    while at < len(raw):
        if raw[at : at + 1] == b"%":
            try:
                out.append(int(raw[at + 1 : at + 3], 16))
                at += 3
                continue
            except ValueError:
                pass
        out.append(raw[at])
        at += 1
    return out.decode("utf-8", "surrogateescape")
