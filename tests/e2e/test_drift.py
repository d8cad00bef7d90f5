"""The table against the installed agents: every flag of every cell is one that the binary still takes.

Agents change within weeks. A failure here names the agent's version and the flag: change the table, then its pin.
"""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from ringfence.agents import registry
from ringfence.errors import NotEnforcedError
from ringfence.pipelines import binaries, rendering
from ringfence.render.lanes import Places
from ringfence.render.lanes_docs import ASKS
from tests.support import agent_run

pytestmark = pytest.mark.e2e

# the name here -> the package's name in scripts/agents
PACKAGES = {
    "claude": "claude-code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "opencode": "opencode",
    "pi": "pi",
    "qwen": "qwen-code",
    "copilot": "copilot",
}


@pytest.fixture(params=PACKAGES)
def installed(request, tmp_path):
    """(row, lanes, the installed program as launch asks it)."""
    name = request.param
    row = registry.ROWS[name]
    try:
        lanes = rendering.lanes_of(row)
    except rendering.UsageError:
        pytest.skip(f"{name} has no modes and lanes in this build")
    program = agent_run.program_of(PACKAGES[name], row.program)
    if program is None:
        pytest.skip(f"NOT LOOKED AT: {name} is not installed; run scripts/agents {PACKAGES[name]}")
    path = os.pathsep.join((os.path.dirname(program), *agent_run.node_folder(), agent_run.SYSTEM_PATH))
    cache = str(tmp_path / "cache")
    return row, lanes, binaries.find(row, lanes, {"PATH": path, "HOME": str(tmp_path)}, cache)


def test_the_table_was_made_from_the_pinned_version(installed):
    row, lanes, binary = installed
    assert lanes.PINNED == agent_run.pinned()[PACKAGES[row.name]] == binary.version


def test_the_binary_takes_every_flag_of_every_cell(installed):
    _, lanes, binary = installed
    swapped = set()
    for ask in ASKS:
        for fenced in (True, False):
            made = lanes.render(ask, Places("/cfg", "/home", "/cfg/launcher", fenced))
            fit = binaries.fitting(lanes, binary, made)  # raises, naming version and flag
            swapped |= {(ask, note) for note in fit.notes if note not in made.notes}
    # What this version no longer takes is in the table as a swap, and no more than is known.
    if lanes.TITLE == "Codex":
        assert all("untrusted" in note for _, note in swapped)
        assert swapped
    else:
        assert not swapped


def test_a_flag_that_the_binary_does_not_know_is_told_with_its_version(installed):
    row, lanes, binary = installed
    made = lanes.render(ASKS[0], Places())
    with pytest.raises(NotEnforcedError) as caught:
        binaries.fitting(lanes, binary, made._replace(flags=("--no-such-flag", *made.flags)))
    assert f"{lanes.TITLE} {binary.version}" in str(caught.value)
    assert "--no-such-flag" in str(caught.value)
    assert row.program in str(caught.value)


def test_the_refused_words_are_words_of_the_agent(installed):
    """A word that no agent has any more would only look like protection. Spellings that the help leaves out are known."""
    row, lanes, binary = installed
    hidden = {
        "codex": {"--yolo", "--ignore-user-config"},  # an alias; of `exec` alone
        "opencode": {"--attach"},  # of `run` alone
        "claude": {"--cloud", "--environment"},
    }
    known = set(binaries._FLAG.findall(binary.help)) | set(binaries._WORD.findall(binary.help))
    for word in lanes.REFUSED:
        name = word.partition(" ")[0]
        assert name in known or word in hidden.get(row.name, ()), f"{lanes.TITLE} {binary.version}: {word}"


@pytest.mark.parametrize("installed", ["opencode"], indirect=True)
def test_opencode_reads_the_permissions_from_the_environment(installed, tmp_path):
    _, lanes, binary = installed
    for ask in ASKS:
        made = lanes.render(ask, Places(str(tmp_path)))
        env = {**binary.env, **dict(made.env), "OPENCODE_DISABLE_MODELS_FETCH": "1"}
        done = subprocess.run(
            [binary.path, "--pure", "debug", "config"],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        asked = json.loads(dict(made.env)["OPENCODE_CONFIG_CONTENT"])["permission"]
        assert json.loads(done.stdout)["permission"] == asked
