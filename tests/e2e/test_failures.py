"""docs/agents/failures.md says what really happens when the hook fails in each agent."""

from __future__ import annotations

import os

import pytest

from tests.e2e import failures
from tests.support import offline
from tests.support.agent_run import REPOSITORY, can_install

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def found():
    if lacks := failures.missing():
        pytest.skip(f"needs {lacks}")
    if not offline.can_isolate():
        pytest.skip("no network namespace to be had: the agents could reach the net")
    if not all(can_install(rig.name) for rig in failures.RIGS):
        pytest.skip("this build cannot install into all agents")
    return failures.matrix()


def test_every_call_was_made(found):
    assert [key for key, one in found.items() if not one.made] == []


def test_a_working_hook_refuses_in_its_own_words(found):
    assert {one.told for key, one in found.items() if key[0] == "none"} == {"ringfence"}


@pytest.mark.parametrize("failure", [failure.name for failure in failures.FAILURES])
def test_closed(found, failure):
    ran = {(failure, rig.name) for rig in failures.RIGS if not found[failure, rig.name].blocked}
    assert ran == {key for key in failures.OPEN if key[0] == failure}


def test_the_document_says_so(found):
    with open(os.path.join(REPOSITORY, "docs", "agents", "failures.md"), encoding="utf-8") as file:
        assert file.read() == failures.table(found)
