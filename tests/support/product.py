"""The product as its users start it: an interpreter without `site`, our start file, words, a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pytest

import ringfence
from ringfence.kernel import probe
from tests.support.tree import Tree

PACKAGE = os.path.dirname(os.path.abspath(ringfence.__file__))
START = os.path.join(PACKAGE, "start.py")
TIMEOUT = 60  # seconds; a guard against a hanging test, never a measure

HERE = probe.capabilities()
HAS_MOUNTS = HERE.userns and HERE.mount_api
needs_engine = pytest.mark.skipif(
    not (HAS_MOUNTS or HERE.landlock), reason="neither user namespaces nor Landlock: " + str(HERE.why_not)
)
needs_layer = pytest.mark.skipif(not (HAS_MOUNTS and HERE.overlay), reason=str(HERE.why_not))
needs_mounts = pytest.mark.skipif(not HAS_MOUNTS, reason=str(HERE.why_not))


def rows(names: Iterable[Any], known: Mapping[Any, str] | None = None) -> list[Any]:
    """Parameters, those that fail for a known fault of the product marked with it: strict, so that a repair shows."""
    known = known or {}
    return [
        pytest.param(
            name, marks=[pytest.mark.xfail(strict=True, reason=known[name])] if name in known else []
        )
        for name in names
    ]


class Done(NamedTuple):
    """How a process ended."""

    status: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape")

    @property
    def complaint(self) -> str:
        return self.err.decode("utf-8", "surrogateescape")

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Product(Tree):
    """A home, a workspace and a folder outside, all below `base`; nothing of the real user's is read or written."""

    def __init__(
        self,
        base: object,
        start: str = START,
        python: str = sys.executable,
        popen: dict[str, Any] | None = None,
    ) -> None:
        """`popen` is what subprocess needs to run the product as somebody else (tests/support/users.py)."""
        self.base = os.path.realpath(str(base))
        self.start = start
        self.python = python
        self.popen = popen or {}
        self.home = self.path("home")
        self.ws = self.path("ws")
        self.out = self.path("out")
        self.state = self.path("home/.local/state/ringfence")
        self.config = self.path("home/.config/ringfence")
        self.cache = self.path("home/.cache/ringfence")
        for folder in (self.home, self.ws, self.out, self.path("run")):
            os.makedirs(folder, mode=0o755, exist_ok=True)
        self.env = {
            "HOME": self.home,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": self.path("run"),
            "XDG_CONFIG_DIRS": self.path("site"),
        }

    def words(self, *words: str | bytes) -> list[str | bytes]:
        return [self.python, "-I", "-S", self.start, *words]

    def run(
        self,
        *words: str | bytes,
        stdin: bytes | None = b"",
        cwd: str | None = None,
        env: dict[str, str] | None = None,
    ) -> Done:
        """One command from start to end. `env` is added to the product's own."""
        done = subprocess.run(
            self.words(*words),
            input=stdin,
            capture_output=True,
            cwd=self.ws if cwd is None else cwd,
            env={**self.env, **(env or {})},
            timeout=TIMEOUT,
            check=False,
            **self.popen,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def hook(self, payload: object, *words: str, **more: Any) -> Done:
        """One call of Claude's hook; `payload` is bytes as they are, or a value to be written as JSON."""
        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        return self.run("hook", "claude", *(words or ("--workspace", self.ws)), stdin=raw, **more)

    def payload(
        self, tool: str, given: object, event: str = "PreToolUse", **more: object
    ) -> dict[str, object]:
        made: dict[str, object] = {
            "session_id": "00000000-0000-4000-8000-000000000000",
            "transcript_path": "",
            "cwd": self.ws,
            "permission_mode": "default",
            "hook_event_name": event,
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": "toolu_1",
        }
        made.update(more)
        return made

    def log(self) -> list[dict[str, object]]:
        """The decision log, oldest first."""
        try:
            with open(os.path.join(self.state, "decisions.jsonl"), encoding="ascii") as file:
                return [json.loads(line) for line in file]
        except FileNotFoundError:
            return []


@pytest.fixture(name="product")
def product_fixture(tmp_path: object) -> Product:
    """Import it into a test module to use it."""
    return Product(tmp_path)


def answer(done: Done, event: str = "PreToolUse") -> tuple[str, str]:
    """(decision, reason) of a hook's answer; ("", "") for no opinion. Fails on anything that Claude would not read."""
    assert done.status == 0, done
    if not done.out:
        return "", ""
    value = json.loads(done.out)
    said = value["hookSpecificOutput"]
    assert said["hookEventName"] == event
    if event == "PermissionRequest":
        assert set(said) == {"hookEventName", "decision"}
        assert set(said["decision"]) == {"behavior", "message"}
        return said["decision"]["behavior"], said["decision"]["message"]
    assert set(said) == {"hookEventName", "permissionDecision", "permissionDecisionReason"}
    return said["permissionDecision"], said["permissionDecisionReason"]


def blocks(done: Done, event: str = "PreToolUse") -> str:
    """The reason, if Claude Code 2.1.332 would not run the tool after this answer; fails otherwise.

    A JSON denial at exit 0, or nothing on stdout, a reason on stderr and exit 2; the latter is no denial of a
    PermissionRequest.
    """
    if done.status == 2 and event != "PermissionRequest":
        assert done.out == b"", done
        assert done.err.strip(), done
        return done.complaint
    decision, reason = answer(done, event)
    assert decision in ("deny", "ask"), done
    assert reason
    return reason
