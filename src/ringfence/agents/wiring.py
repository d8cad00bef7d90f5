"""What `install` says and learns about one agent's settings; the same for every agent (docs/install.md). Cold."""

from __future__ import annotations

import os

from ringfence.errors import FenceError
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Site(Record):
    """Whose settings are meant. `scope`: "project" or "user"; `home` and `env` as the agent's own process has them."""

    scope: str
    workspace: str
    home: str
    env: Mapping[str, str]


class Wiring(Record):
    """What is to stand in a settings file. `launcher` "" leaves the agent's shell setting alone.

    `limit`: words that end the command after some seconds, for agents that run the tool when a hook is slow; () where
    the machine has no such program.
    """

    command: str
    args: tuple[str, ...]
    launcher: str = ""
    limit: tuple[str, ...] = ()


class Found(Record):
    """What stands in one settings file."""

    path: str
    exists: bool
    hooks: tuple[str, ...]  # events that call us
    wiring: Wiring | None  # how they call us
    prefix: str  # the shell prefix set there, whoever set it
    disabled: bool  # a switch there turns hooks off
    problem: str = ""
    switch: str = ""  # which switch that is
    line: str = ""  # the command as it stands there, where the agent gives it to a shell


class Check(Record):
    """One thing that was looked at. `strength` is what the promise rests on: kernel, hook, or none."""

    name: str
    ok: bool | None  # None: could not be looked at
    strength: str
    detail: str


class Answered(Record):
    """What the installed hook answered."""

    status: int
    stdout: str
    stderr: str


def read_text(path: str) -> str | None:
    """The file's text, None if it does not exist. Raises FenceError if it is no file of UTF-8 text that we may read."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise FenceError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise FenceError(
            f"{path} cannot be read: {error.strerror}", "mend it first; nothing was changed"
        ) from None


def write_text(path: str, text: str) -> None:
    """Replace the file in one step; its mode stays, a new one is its owner's alone. Raises FenceError."""
    try:
        _replace(path, text)
    except OSError as error:
        at = f"{error.filename}: " if error.filename and error.filename != path else ""
        raise FenceError(
            f"{path} cannot be written: {at}{error.strerror}", "mend that first; this file was not changed"
        ) from None


def _replace(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    staged = f"{path}.ringfence-{os.getpid()}"
    mode = 0o600
    if os.path.exists(path):
        mode = os.stat(path).st_mode & 0o777
    fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(staged, path)


def names_us(words: list[str], agent: str) -> bool:
    """Whether a command's words call ringfence's hook for this agent, of any version or place."""
    program = any(w.endswith(("/ringfence/start.py", "/ringfence")) or w == "ringfence" for w in words)
    return program and any(words[i : i + 2] == ["hook", agent] for i in range(len(words)))
