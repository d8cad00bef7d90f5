"""Codex asked, through its own app-server, to trust our hooks: only it can compute the digest of a definition.

Source: Codex CLI 0.171.0 (`codex app-server generate-json-schema`; run): JSON-RPC lines on stdin and stdout,
`initialize`, `hooks/list {cwds}`, `config/batchWrite {edits}`. Its writer keeps the other bytes of config.toml. Cold.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from typing import Any, Self

from ringfence.agents.wiring import Check, Site
from ringfence.errors import FenceError

_WAIT = 30.0  # seconds for one answer
_NAME = "Codex trusts the hook"
_HOW = "trust it in Codex (/hooks), or put codex on PATH and install again"


class _Server:
    """One app-server. Raises FenceError when it cannot be started, or does not answer."""

    def __init__(self, site: Site) -> None:
        try:
            self._child = subprocess.Popen(
                ["codex", "app-server"],
                env=dict(site.env),
                cwd=site.workspace if site.scope == "project" else None,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise FenceError(f"codex cannot be run: {error.strerror}", _HOW) from None
        self._count = 0
        self._rest = b""
        info = {"name": "ringfence", "title": "ringfence", "version": "1"}
        self.ask("initialize", {"clientInfo": info})
        self._send({"method": "initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._child.stdin is not None  # noqa: S101 - opened as a pipe above
        self._child.stdin.close()
        try:
            self._child.wait(5)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._child.stdin is not None  # noqa: S101 - opened as a pipe above
        try:
            self._child.stdin.write(json.dumps(message).encode() + b"\n")
            self._child.stdin.flush()
        except OSError as error:
            raise FenceError(f"codex app-server went away: {error.strerror}", _HOW) from None

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One request's result."""
        self._count += 1
        self._send({"id": self._count, "method": method, "params": params})
        until = time.monotonic() + _WAIT
        while True:
            message = self._line(until, method)
            if message.get("id") == self._count:
                break
        if "error" in message:
            raise FenceError(
                f"codex app-server refuses {method}: {message['error'].get('message', '')}", _HOW
            )
        result = message.get("result")
        return result if isinstance(result, dict) else {}

    def _line(self, until: float, method: str) -> dict[str, Any]:
        assert self._child.stdout is not None  # noqa: S101 - opened as a pipe above
        fd = self._child.stdout.fileno()
        while b"\n" not in self._rest:
            with selectors.DefaultSelector() as ready:
                ready.register(fd, selectors.EVENT_READ)
                part = os.read(fd, 65536) if ready.select(max(0.0, until - time.monotonic())) else b""
            if not part:
                raise FenceError(f"codex app-server gives no answer to {method}", _HOW)
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            return {}
        return message if isinstance(message, dict) else {}

    def hooks(self, site: Site, path: str) -> list[dict[str, Any]]:
        """Our hooks in `path`, as Codex lists them."""
        data = self.ask("hooks/list", {"cwds": [site.workspace]}).get("data") or []
        listed = [hook for entry in data for hook in entry.get("hooks") or []]
        return [h for h in listed if h.get("sourcePath") == path and " hook codex" in str(h.get("command"))]


def _verdict(hooks: list[dict[str, Any]], path: str) -> Check:
    if not hooks:
        why = f"Codex does not list the hooks of {path}: hooks may be off, or the project not trusted"
        return Check(_NAME, False, "none", why)
    waiting = [
        str(h.get("eventName"))
        for h in hooks
        if h.get("trustStatus") not in ("trusted", "managed") or h.get("enabled") is not True
    ]
    if waiting:
        return Check(_NAME, False, "none", f"Codex skips it on {', '.join(waiting)} without a word; {_HOW}")
    return Check(_NAME, True, "hook", f"on {', '.join(str(h.get('eventName')) for h in hooks)}")


def look(site: Site, path: str) -> Check:
    """Whether Codex runs our hooks, as it says itself."""
    try:
        with _Server(site) as server:
            return _verdict(server.hooks(site, path), path)
    except FenceError as error:
        return Check(_NAME, None, "none", f"{error.message}; {_HOW}")


def trust_hooks(site: Site, path: str) -> Check:
    """Trust exactly our hooks in `path`, and look again."""
    try:
        with _Server(site) as server:
            state = {
                hook["key"]: {"trusted_hash": hook["currentHash"], "enabled": True}
                for hook in server.hooks(site, path)
            }
            if state:
                _write(server, [("hooks.state", state)])
            return _verdict(server.hooks(site, path), path)
    except FenceError as error:
        return Check(_NAME, False, "none", f"{error.message}; {_HOW}")


def trust_project(site: Site) -> None:
    """Record that the workspace is trusted. Raises FenceError."""
    with _Server(site) as server:
        _write(server, [("projects", {site.workspace: {"trust_level": "trusted"}})])


def _write(server: _Server, edits: list[tuple[str, Any]]) -> None:
    wanted = [{"keyPath": key, "mergeStrategy": "upsert", "value": value} for key, value in edits]
    server.ask("config/batchWrite", {"edits": wanted, "reloadUserConfig": True})
