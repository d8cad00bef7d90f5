"""Every attack row: it works without a fence, and changes nothing behind one. Everyday rows: they work in both."""

from __future__ import annotations

import contextlib
import os

import pytest

from tests.kernel.attacks import ATTACKS, EVERYDAY, SYSCALLS
from tests.kernel.conftest import (
    HERE,
    build_workspace,
    disk,
    missing,
    needs_landlock,
    python_of,
    snapshot,
    victim,
)
from tests.support.children import Fence, plain_environment, run


def words(row, who, before=""):
    if row.language == "py":
        return [python_of(who), "-I", "-c", before + row.how]
    return [{"sh": "/bin/sh", "bash": "/bin/bash"}[row.language], "-c", row.how]


@contextlib.contextmanager
def inherited(kind, base):
    """The descriptor an attack starts with, as the caller of the fence opened it."""
    secret = os.path.join(base, "out/secret.txt")
    targets = {
        "file": (secret, os.O_RDWR),
        "directory": (os.path.join(base, "out"), os.O_RDONLY),
        "handle": (secret, os.O_PATH),
    }
    if not kind:
        yield ()
        return
    descriptor = os.open(*targets[kind])
    try:
        yield (descriptor,)
    finally:
        os.close(descriptor)


def attempt(row, who, base, fence=None):
    """Let the row try; whether it got out, and the finished process for the message."""
    before = snapshot(base)
    with contextlib.ExitStack() as stack:
        passed = stack.enter_context(inherited(getattr(row, "inherit", ""), base))
        prey = stack.enter_context(victim(who, base)) if "VICTIM" in row.how else ""
        env = plain_environment(
            base,
            WS=f"{base}/ws",
            OUT=f"{base}/out",
            SIB=f"{base}/ws-sibling",
            VICTIM=str(prey),
            FD=str(passed[0] if passed else ""),
            DISK=disk(),
            PYTHON=python_of(who),
        )
        done = run(who, words(row, who, SYSCALLS), fence, cwd=f"{base}/ws", env=env, pass_fds=passed)
    return snapshot(base) != before or "PWNED" in done.stdout, done


@needs_landlock
@pytest.mark.parametrize("row", ATTACKS, ids=[row.id for row in ATTACKS])
def test_attack_works_unfenced_and_not_behind_the_fence(row, who, base):
    reason = missing(row.needs, who, base)
    if reason:
        pytest.skip(reason)
    if row.since > HERE.landlock:
        pytest.skip(f"this kernel's Landlock cannot stop it: ABI {row.since} does")
    for mode in ("launch", "thread", "become"):
        escaped, done = attempt(row, who, base, Fence(f"{base}/ws", mode=mode))
        assert not escaped, f"{mode}: {done.stdout}{done.stderr}"
        assert "ringfence:" not in done.stderr, done.stderr
        build_workspace(base, who)
    escaped, done = attempt(row, who, base)
    assert escaped, f"the attack is no attack: {done.stdout}{done.stderr}"


@needs_landlock
@pytest.mark.parametrize("row", EVERYDAY, ids=[row.id for row in EVERYDAY])
@pytest.mark.parametrize("mode", ["unfenced", "launch", "thread", "become"])
def test_everyday_work_goes_on(row, mode, who, base):
    reason = missing(row.needs, who, base)
    if reason:
        pytest.skip(reason)
    before = snapshot(base)
    fence = None if mode == "unfenced" else Fence(f"{base}/ws", mode=mode)
    env = plain_environment(base, WS=f"{base}/ws", OUT=f"{base}/out")
    # Output into a file, as agents do it: programs reopen it by name.
    with open(f"{base}/ws/output", "w+", encoding="utf-8") as output:
        os.chown(output.name, who.uid, who.gid)
        done = run(who, words(row, who), fence, cwd=f"{base}/ws", env=env, stdout=output, stderr=output)
        output.seek(0)
        assert done.returncode == 0, output.read()
    assert snapshot(base) == before
