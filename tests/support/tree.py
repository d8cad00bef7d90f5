"""A small tree of files below one temporary folder."""

from __future__ import annotations

import os


class Tree:
    """`base` is the folder; names are relative to it."""

    base: str

    def path(self, name: str) -> str:
        return os.path.join(self.base, name)

    def write(self, name: str, text: str | bytes = "") -> str:
        """Make the file, readable by everybody whatever the umask, and the folders above it."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        os.chmod(path, 0o644)
        return path
