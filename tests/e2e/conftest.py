"""Fixtures for driving real agents. Skips ask for a capability: an installed agent, a network namespace."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING

import pytest

from tests.support import claude_run, offline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def claude() -> str:
    program = claude_run.claude_program()
    if program is None:
        pytest.skip("Claude Code is not installed: run scripts/agents claude-code")
    if not offline.can_isolate():
        pytest.skip("no network namespace to be had: the agent could reach the net")
    return program


@pytest.fixture(scope="session")
def installer() -> None:
    if not claude_run.can_install():
        pytest.skip("this build has no `ringfence install`")


@pytest.fixture
def stage(tmp_path) -> Iterator[claude_run.Stage]:
    with _stage(tmp_path / "one") as made:
        yield made


@pytest.fixture
def other_stage(tmp_path) -> Iterator[claude_run.Stage]:
    """A second stage, for tests that compare two runs."""
    with _stage(tmp_path / "two") as made:
        yield made


@contextlib.contextmanager
def _stage(folder: Path) -> Iterator[claude_run.Stage]:
    """E2E_UID: as root, run the agent as this user instead, as people do.

    Its stage lies outside pytest's own folder, which no other user may enter.
    """
    uid = os.environ.get("E2E_UID")
    if uid is None:
        folder.mkdir()
        yield claude_run.make_stage(str(folder))
        return
    with tempfile.TemporaryDirectory(prefix="ringfence-e2e-") as root:
        os.chmod(root, 0o755)
        yield claude_run.make_stage(root, int(uid))
