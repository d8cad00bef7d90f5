"""What a hook cannot stop stands in one table, and whoever asks is told all of it."""

from __future__ import annotations

import json
import os

import pytest

from ringfence.agents import holes, registry
from tests.support.product import Product, product_fixture  # noqa: F401 - a fixture


def test_every_agent_has_rows_and_every_row_is_whole():
    assert set(holes.HOLES) == set(registry.ROWS)
    for agent, rows in holes.HOLES.items():
        assert len({row.what for row in rows}) == len(rows), agent
        for row in rows:
            assert {row.hook, row.launch} <= {holes.KERNEL, holes.HOOK, holes.NONE}, row
            assert row.why, row
        # Both are holes of every agent: a hook that is gone, and what no hook can hold.
        assert any("killed" in row.what for row in rows), agent
        assert any("MCP" in row.what for row in rows), agent


def test_an_agent_without_a_route_says_so():
    for agent, row in registry.ROWS.items():
        routes = registry.dialect(row).ROUTES
        said = any(hole.what == "shell commands" for hole in holes.HOLES[agent])
        assert said == (not routes), agent


@pytest.mark.parametrize("agent", ["claude", "gemini"])
def test_status_and_render_print_every_row(product, agent):
    status = product.run("status", agent, "--workspace", product.ws)
    for row in holes.HOLES[agent]:
        assert row.what in status.text
        assert row.why in status.text
    told = json.loads(product.run("status", agent, "--workspace", product.ws, "--json").out)
    assert [hole["what"] for hole in told["holes"]] == [row.what for row in holes.HOLES[agent]]
    part = json.loads(product.run("render", agent, "--part", "holes", "--json").out)
    assert [hole["what"] for hole in part["holes"]] == [row.what for row in holes.HOLES[agent]]
    text = " ".join(product.run("render", agent, "--part", "holes").text.split())
    for row in holes.HOLES[agent]:
        assert " ".join(row.what.split()[:3]) in text


def test_the_docs_have_every_row():
    folder = os.path.join(
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "docs", "agents"
    )
    for agent, rows in holes.HOLES.items():
        path = os.path.join(folder, f"{agent}.md")
        if not os.path.exists(path):
            continue  # an agent without modes and lanes has no page
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for row in rows:
            assert f"| {row.what} | {row.hook} | {row.launch} |" in text
