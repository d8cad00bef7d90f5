"""A path in a policy to its absolute spelling: joined to its folder, `~` expanded, nothing resolved."""

from __future__ import annotations

import sys

LIST_SEPARATOR = ";" if sys.platform == "win32" else ":"  # os.pathsep; `os` is not free and this file is hot


class PathTextError(Exception):
    """A path text that would mean something else than its writer thinks. `hint` is the next step."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def spell(text: str, folder: str, home: str | None) -> str:
    """The absolute spelling of `text`; relative texts start from `folder`. Raises PathTextError.

    Shell habits that this format does not have are refused: a protected `$HOME/x` that quietly protected a
    folder named "$HOME" would be a hole.
    """
    if not text:
        raise PathTextError("the path is empty", 'write "." for the folder itself')
    if "\0" in text or "\n" in text:
        raise PathTextError("the path holds a NUL or a line break")
    if any(0xD800 <= ord(char) < 0xDC00 for char in text):
        raise PathTextError("the path holds half of a surrogate pair")
    if text.startswith("$"):
        raise PathTextError(f'variables are not expanded: "{text}"', 'write "~/..." or the whole path')
    if "://" in text or text.startswith("file:"):
        raise PathTextError(f'this is a URL, not a path: "{text}"')
    if text == "~" or text.startswith("~/"):
        if not home or not home.startswith("/"):
            raise PathTextError(f'"{text}" needs a home folder and HOME is not set to one')
        return home.rstrip("/") + text[1:] if home != "/" or text != "~" else "/"
    if text.startswith("~"):
        hint = 'write "~/..." for your own home, the whole path for another, "./~..." for a name with a tilde'
        raise PathTextError(f'only your own home can be written with a tilde: "{text}"', hint)
    return text if text.startswith("/") else folder.rstrip("/") + "/" + text


def below(path: str, root: str) -> bool:
    """Whether `path` is `root` or lies below it, both absolute and physical; component by component."""
    if root in (path, "/"):
        return True
    return path.startswith(root) and path[len(root)] == "/"
