"""Every attack row lands without the fence and does not land with it; every everyday row works inside."""

import shutil
import subprocess

import pytest

from tests.kernel.mounts_rows import ATTACKS, EVERYDAY
from tests.kernel.mounts_world import (
    CAPABILITIES,
    attempt,
    each_person,
    needs_mounts,
    shell,
    spec_of,
    world,
)

pytestmark = needs_mounts


who = each_person


def _ids(rows):
    return [row.id for row in rows]


@pytest.mark.parametrize("row", ATTACKS, ids=_ids(ATTACKS))
def test_attack(who, row):
    if row.who == "root" and who.uid:
        pytest.skip("only root can do this without a fence")
    if not row.alone and not CAPABILITIES.landlock:
        pytest.skip("held by Landlock, which this kernel has not")
    lands, said = attempt(who, row)
    assert lands, f"proves nothing, it fails without a fence: {said.stderr}"
    lands, said = attempt(who, row, fence=True)
    assert not lands, said.stdout + said.stderr
    assert said.returncode != 3, said.stderr
    if who.uid and row.alone:
        return  # the same without Landlock is shown as root, whom less holds
    lands, said = attempt(who, row, fence=True, landlock=False)
    assert lands is not row.alone, f"with mounts alone: {said.stderr}"


def _has(who, name):
    if name == "pip of the interpreter":
        return subprocess.run([who.python, "-m", "pip", "--version"], capture_output=True).returncode == 0
    return shutil.which(name)


@pytest.mark.parametrize("row", EVERYDAY, ids=_ids(EVERYDAY))
def test_everyday(who, row):
    missing = [name for name in row.needs if not _has(who, name)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    with world(who) as base:
        bare = shell(who, base, f"set -e\n{row.how}")
        assert bare.returncode == 0, f"proves nothing, it fails without a fence: {bare.stderr}"
    with world(who) as base:
        done = shell(who, base, f"set -e\n{row.how}", fence=spec_of(base))
        assert done.returncode == 0, done.stdout + done.stderr
