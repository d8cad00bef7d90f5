"""Every attack row: it works without a fence, and changes nothing behind one. Everyday rows: they work in both."""

from __future__ import annotations

import contextlib
import json
import os
import time

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
from tests.kernel.meeting import met
from tests.support.children import Fence, plain_environment, run


def words(row, who, before=""):
    if row.language == "py":
        return [python_of(who), "-I", "-c", before + row.how]
    return [{"sh": "/bin/sh", "bash": "/bin/bash"}[row.language], "-c", row.how]


def attempt(row, who, base, fence=None):
    """Let the row try; whether it got out, and the finished process for the message."""
    with contextlib.ExitStack() as stack:
        passed, more = stack.enter_context(met(row.inherit, base))
        before = snapshot(base)
        prey = stack.enter_context(victim(who, base)) if "VICTIM" in row.how else ""
        env = plain_environment(
            base,
            WS=f"{base}/ws",
            OUT=f"{base}/out",
            SIB=f"{base}/ws-sibling",
            VICTIM=str(prey),
            DISK=disk(),
            PYTHON=python_of(who),
            **more,
        )
        done = run(who, words(row, who, SYSCALLS), fence, cwd=f"{base}/ws", env=env, pass_fds=passed)
        time.sleep(row.settle)
        escaped = snapshot(base) != before or "PWNED" in done.stdout
    return escaped, done


def check_unfenced(row, who, base):
    """The control: it gets out without a fence, or this person could not do it anyway, with the errno of the table."""
    escaped, done = attempt(row, who, base)
    if escaped:
        return
    number = row.errno_of(who.name if who.uid == 0 else "user")
    said = done.stdout + done.stderr
    assert number, f"the attack is no attack: {said}"
    assert os.strerror(number) in said, f"it fails for another reason: {said}"


def check_reported(row, engine, rules):
    """What an engine leaves open stands in its report, weaker than the kernel holds it."""
    rule = row.open_rule(engine)
    if rule != "-":
        held = [said for said in rules if said[0] == rule]
        assert held
        assert all(strength != "kernel" or why for _, _, strength, why, *_ in held), held


@needs_landlock
@pytest.mark.parametrize("row", ATTACKS, ids=[row.id for row in ATTACKS])
def test_attack_works_unfenced_and_not_behind_the_fence(row, who, base):
    reason = missing(row.needs, who, base)
    if reason:
        pytest.skip(reason)
    if row.since > HERE.landlock:
        pytest.skip(f"this kernel's Landlock cannot stop it: ABI {row.since} does")
    impossible = row.errno_of(who.name if who.uid == 0 else "user")
    for mode in ("launch", "thread", "become"):
        told = os.path.join(base, "ws", "report") if row.open_in else None
        fence = Fence(f"{base}/ws", mode=mode, report=told)
        escaped, done = attempt(row, who, base, fence)
        if row.open_rule("landlock"):
            with open(told, encoding="utf-8") as file:
                check_reported(row, "landlock", json.load(file)[2])
            if escaped:
                return  # it works behind the fence, so it works without
            assert impossible, f"{mode}: it is held after all: {done.stdout}{done.stderr}"
        assert not escaped, f"{mode}: {done.stdout}{done.stderr}"
        assert "ringfence:" not in done.stderr, done.stderr
        build_workspace(base, who)
    check_unfenced(row, who, base)


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
