"""docs/agents is what the table says, no more and no less."""

from __future__ import annotations

import importlib.util
import os

from ringfence.agents import registry
from ringfence.agents.holes import HOLES
from ringfence.render import lanes_docs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def generator():
    path = os.path.join(ROOT, "scripts", "gen_agents.py")
    spec = importlib.util.spec_from_file_location("gen_agents", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_pages_are_current():
    pages = lanes_docs.pages(generator().table(), HOLES)
    folder = os.path.join(ROOT, "docs", "agents")
    # failures.md is measured, by tests/e2e/test_failures.py.
    assert set(os.listdir(folder)) - {"failures.md"} == set(pages), "run scripts/gen_agents.py"
    for name, text in pages.items():
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            assert file.read() == text, f"{name} is out of date: run scripts/gen_agents.py"


def test_the_five_are_in_it():
    assert {"claude", "codex", "gemini", "opencode", "pi"} <= set(generator().table()) <= set(registry.ROWS)


def test_every_cell_of_every_agent_is_on_its_page():
    for name, lanes in generator().table().items():
        text = lanes_docs.pages({name: lanes}, HOLES)[f"{name}.md"]
        for ask in lanes_docs.ASKS:
            assert f"| {ask.posture} | {ask.mode} | {ask.lane} |" in text
            for fenced in (True, False):
                made = lanes.render(ask, lanes_docs.Places(fenced=fenced))
                assert all(promise.what in text and promise.why in text for promise in made.promises)
                assert made.prompt in text
