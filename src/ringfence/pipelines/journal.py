"""The decision log: one JSON line for each refusal and each warning, in the state folder, readable by its owner only.

Hot when something is refused, so JSON is written by hand. A log that cannot be written never changes a verdict.
"""

from __future__ import annotations

from _json import encode_basestring_ascii as quoted
from posix import O_APPEND, O_CLOEXEC, O_CREAT, O_NOFOLLOW, O_WRONLY, close, fstat, mkdir, open, rename, write
from time import time

from ringfence.model import Strength

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Decision, Policy, ToolCall

NAME = "decisions.jsonl"
CANARY = "ringfence-canary"
_ROTATE = 4 * 1024 * 1024  # bytes; one older file is kept


def record(policy: Policy, call: ToolCall, decision: Decision, warning: str = "") -> None:
    """Append what an agent's call met."""
    append(
        policy,
        (
            ("door", "hook"),
            ("agent", call.agent),
            ("session", call.session),
            ("tool", call.tool),
            ("cwd", call.cwd),
            ("command", call.commands[0][:2000] if call.commands else ""),
            *_verdict(decision),
            ("warning", warning),
        ),
    )


def record_command(
    policy: Policy, door: str, command: str, cwd: str, decision: Decision, strength: Strength = Strength.HOOK
) -> None:
    """Append what a fenced command met; `strength` is what refused it: its text was read, or the kernel did."""
    told = (("strength", str(strength)),)
    append(policy, (("door", door), ("command", command[:2000]), ("cwd", cwd), *_verdict(decision), *told))


def _verdict(decision: Decision) -> tuple[tuple[str, str], ...]:
    return (
        ("verdict", str(decision.verdict)),
        ("code", decision.code),
        ("op", str(decision.op)),
        ("path", decision.path),
        ("rule", str(decision.rule)),
        ("message", decision.message),
        ("next", decision.hint),
    )


def append(policy: Policy, fields: tuple[tuple[str, str], ...]) -> None:
    folder = policy.folders.state
    if not folder:
        return
    body = ",".join(f"{quoted(key)}:{quoted(value)}" for key, value in fields if value)
    line = f'{{"time":{time():.3f},{body}}}\n'.encode("ascii", "replace")
    path = f"{folder}/{NAME}"
    try:
        fd = _open(folder, path)
    except OSError:
        return
    try:
        write(fd, line)
        full = fstat(fd).st_size > _ROTATE
    except OSError:
        return
    finally:
        close(fd)
    if full:
        try:
            rename(path, path + ".1")
        except OSError:
            return


def _open(folder: str, path: str) -> int:
    flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC
    try:
        return open(path, flags, 0o600)
    except FileNotFoundError:
        _make(folder)
        return open(path, flags, 0o600)


def _make(folder: str) -> None:
    parent = folder.rpartition("/")[0]
    try:
        mkdir(folder, 0o700)
    except FileNotFoundError:
        if parent:
            _make(parent)
            mkdir(folder, 0o700)
    except FileExistsError:
        pass


def _asked_by_us(entry: dict[str, object]) -> bool:
    """Whether the agents' canary session or the canary's file stands in it (pipelines/canaries.py)."""
    return entry.get("session") == CANARY or str(entry.get("path", "")).endswith(
        f"/{CANARY}-that-must-not-exist"
    )


def last_refusal(policy: Policy) -> dict[str, object] | None:
    """The newest entry whose verdict is not `allow`; None if there is none. Cold.

    What `install` and `status` asked to be refused (their canaries) is passed over: nobody asks why.
    """
    import io
    import json
    import os

    for path in (f"{policy.folders.state}/{NAME}", f"{policy.folders.state}/{NAME}.1"):
        if not os.path.exists(path):
            continue
        with io.open(path, encoding="ascii", errors="replace") as file:  # noqa: UP020 - `open` is posix's here
            lines = file.readlines()
        for line in reversed(lines):
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # a line cut short by a full disk
            if (
                isinstance(entry, dict)
                and entry.get("verdict") in ("deny", "ask")
                and not _asked_by_us(entry)
            ):
                return entry
    return None
