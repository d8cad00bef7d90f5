"""What stood in a settings file before we wrote to it: kept, so that `uninstall` brings back exactly those bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from ringfence.agents.wiring import write_text
from ringfence.pipelines import launchers

Without = Callable[[str], str]  # a file's text -> the text without what is ours in it


class Store:
    """The records, in the state folder: path, the text before, the text after, the folders that we made."""

    def __init__(self, state: str) -> None:
        self._folder = os.path.join(state, "installed")

    def remember(self, path: str, before: str | None, after: str, without: Without) -> None:
        """Before writing `after` (or right behind, where the agent itself wrote it)."""
        if before is not None and (plain := without(before)) != before:
            known, older = self.remembered(path, before)
            before = older if known else plain or None
        record = self._record(path)
        os.makedirs(self._folder, 0o700, exist_ok=True)
        made = self._made(path) or _missing_folders(path)
        body = {"path": path, "before": before, "after": after, "folders": made}
        launchers.write(record, json.dumps(body))
        os.chmod(record, 0o600)

    def remembered(self, path: str, now: str) -> tuple[bool, str | None]:
        """(whether nobody changed the file since we wrote it, what stood there before; None: no file)."""
        record = self._read(path)
        before = record.get("before")
        known = bool(record) and record.get("after") == now and (before is None or isinstance(before, str))
        return known, before if isinstance(before, str) else None

    def knows(self, path: str) -> bool:
        """Whether we ever wrote to the file."""
        return bool(self._read(path))

    def put_back(self, path: str, text: str | None) -> None:
        """Write the text; None removes the file, and the folders that we made for it, where they are empty."""
        if text is not None:
            write_text(path, text)
            return
        remove(path)
        for folder in self._made(path):
            try:
                os.rmdir(folder)
            except OSError:
                return  # somebody else keeps something there

    def forget(self, path: str) -> None:
        """No record any more."""
        remove(self._record(path))

    def _made(self, path: str) -> list[str]:
        folders = self._read(path).get("folders")
        return [str(folder) for folder in folders] if isinstance(folders, list) else []

    def _read(self, path: str) -> dict[str, object]:
        try:
            with open(self._record(path), encoding="utf-8") as file:
                record = json.load(file)
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) and record.get("path") == path else {}

    def _record(self, path: str) -> str:
        from ringfence.pipelines.session import digest

        return os.path.join(self._folder, f"{digest(path):016x}.json")


def _missing_folders(path: str) -> list[str]:
    """The folders above `path` that do not exist yet, the deepest first."""
    found = []
    folder = os.path.dirname(path)
    while folder and not os.path.isdir(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


def link_target(path: str) -> str:
    """Where the file leads, if it is a link."""
    return os.readlink(path) if os.path.islink(path) else ""


def remove(path: str) -> None:
    """Unlink, if it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
