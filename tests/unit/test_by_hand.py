"""Agents that are wired by hand: told plainly that there is no install, no render and no launch, and how to wire them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from ringfence.agents import holes, registry
from ringfence.agents.by_hand import BY_HAND, lines
from tests.support import dialects
from tests.support.product import PACKAGE, START, Product, needs_engine, product_fixture  # noqa: F401 - a fixture

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_an_agent_has_settings_of_ours_or_stands_in_the_table():
    assert set(dialects.BY_HAND) == set(BY_HAND) < set(registry.ROWS)
    for agent, row in registry.ROWS.items():
        there = os.path.exists(os.path.join(PACKAGE, "agents", f"{row.module}_settings.py"))
        assert there == (agent not in BY_HAND), agent


@pytest.mark.parametrize("agent", BY_HAND)
def test_what_is_not_there_is_said_and_nothing_is_written(product, agent):
    before = set(os.listdir(product.ws)), set(os.listdir(product.home))
    for words in (("install",), ("status",), ("uninstall",), ("render",), ("launch",)):
        given = () if words == ("render",) else ("--workspace", product.ws)
        done = product.run(*words, agent, *given)
        assert done.status == 2, words
        assert f"ringfence hook {agent} --help" in done.complaint, words
        assert registry.ROWS[agent].title in done.complaint
    assert (set(os.listdir(product.ws)), set(os.listdir(product.home))) == before


@pytest.mark.parametrize("agent", BY_HAND)
def test_the_help_has_the_whole_snippet_and_its_evidence(product, agent):
    done = product.run("hook", agent, "--help")
    assert done.status == 0
    for line in (*lines(agent), *holes.lines(agent)):
        assert line in done.text
    assert f"ringfence hook {agent} --workspace /DIR" in done.text
    assert "never run" in done.text or "not driven by our tests" in done.text
    assert "By hand" not in product.run("hook", "claude", "--help").text
    stray = product.run("hook", agent, "--workspace", product.ws, "--help", stdin=b"{}")
    assert not dialects.runs(agent, stray)


def test_the_docs_have_every_snippet():
    with open(os.path.join(ROOT, "docs", "by-hand.md"), encoding="utf-8") as file:
        text = file.read()
    for agent, found in BY_HAND.items():
        assert f"## {registry.ROWS[agent].title}" in text
        for part in (found.evidence, found.file, found.text, *(f"* {line}\n" for line in holes.lines(agent))):
            assert part in text, agent


@pytest.mark.parametrize("agent", [agent for agent in BY_HAND if agent not in ("amp", "cline")])
def test_the_snippets_are_json(agent):
    for part in BY_HAND[agent].text.split("\n\n"):
        assert isinstance(json.loads(part), dict)


def _script(product: Product, agent: str, ringfence: str) -> dict:
    """The words of a child that runs the snippet's script with `ringfence` standing on PATH."""
    text = BY_HAND[agent].text
    script = text[text.index("#!/bin/sh") :].replace("/DIR", product.ws)
    path = product.write("bin/ringfence", f"#!/bin/sh\n{ringfence}\n")
    os.chmod(path or product.path("bin/ringfence"), 0o755)
    return {
        "args": ["/bin/sh", "-c", script],
        "cwd": product.ws,
        "env": {**product.env, "PATH": f"{product.path('bin')}:/usr/bin:/bin"},
        "capture_output": True,
        "timeout": 60,
    }


def _real(product: Product) -> str:
    words = " ".join("'" + str(word) + "'" for word in product.words())
    return f'exec {words} "$@"'


@pytest.mark.parametrize("agent", ["amp", "cline"])
def test_the_scripts_refuse_and_allow(product, agent):
    for path, allowed in (("a", True), (f"{product.out}/a", False)):
        stdin, env, _ = dialects.sent(agent, dialects.write(agent, product.ws, path))
        child = _script(product, agent, _real(product))
        child["env"] |= env
        ran = subprocess.run(**child, input=stdin, check=False)
        done = dialects.Done(ran.returncode, ran.stdout, ran.stderr)
        assert dialects.runs(agent, done) == allowed, ran


@pytest.mark.parametrize(
    "broken", ["exit 1", "exit 2", "exit 0", "kill -9 $$", "exec /nowhere", "echo x; exit 70"]
)
def test_clines_script_says_no_itself_where_the_hook_does_not(product, broken):
    ran = subprocess.run(**_script(product, "cline", broken), input=b"{}", check=False)
    assert json.loads(ran.stdout)["cancel"] is True


@needs_engine
@pytest.mark.parametrize("agent", [agent for agent in BY_HAND if agent != "droid"])
def test_a_fence_around_the_agent_and_the_word_for_it_let_commands_run(product, agent):
    """What docs/by-hand.md says of `ringfence run` and --fenced: neither alone is enough."""
    stdin, env, _ = dialects.sent(agent, dialects.shell(agent, product.ws, "make"))
    product.write("ws/call", stdin.decode())
    for word in ("", "--fenced"):
        hook = " ".join(map(str, product.words("hook", agent, "--workspace", product.ws, word))).strip()
        plain = product.run(
            "hook", agent, "--workspace", product.ws, *filter(None, [word]), stdin=stdin, env=env
        )
        assert not dialects.runs(agent, plain)
        within = product.run(
            "run", "--workspace", product.ws, "--", "/bin/sh", "-c", f"exec {hook} < call", env=env
        )
        assert dialects.runs(agent, within) == bool(word), within


@pytest.mark.parametrize("agent", BY_HAND)
def test_a_broken_module_of_ours_blocks_all_the_same(tmp_path, agent):
    """Half an upgrade: Cline reads no exit status, so the registry's row has its answer."""
    package = str(tmp_path / "lib" / "ringfence")
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("hot-*", "__pycache__"))
    with open(os.path.join(package, "agents", f"{agent}.py"), "w", encoding="utf-8") as file:
        file.write("raise RuntimeError\n")
    broken = Product(tmp_path, os.path.join(package, os.path.basename(START)))
    done = dialects.ask(broken, agent, dialects.write(agent, broken.ws, "a"))
    assert not dialects.runs(agent, done), done
    assert done.err
