"""One more agent is one module and one row: a made-up one, in a copy of the product, spoken with as a whole process."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tests.support.product import PACKAGE, START, Product

# Its dialect: `{"who", "do", "on", "in"}` in, `NO: reason` as JSON out. Only the shared readers are used.
MODULE = """
from ringfence.agents import fields
from ringfence.jsonscan import dumps
from ringfence.model import Op, PathUse, Reply, ToolCall, Verdict

NAME = "sixth"
EVENTS = frozenset(("before",))
AFTER_EVENTS = frozenset()
SESSION_EVENTS = frozenset()
END_EVENT = ""
ROUTES = ("rewrite",)


def decode(payload, exists):
    found = fields.record(NAME, payload)
    if found.get("who") != NAME:
        raise fields.foreign(NAME, "it says who it is")
    tool = fields.text(NAME, found, "do")
    cwd = fields.folder(NAME, found, "in")
    on = fields.text(NAME, found, "on")
    uses, commands = ((), (on,)) if tool == "run" else ((PathUse(Op.WRITE, on, "on"),), ())
    return ToolCall(NAME, "before", "", cwd, tool, "", uses, commands, True)


def route(call, launcher, env):
    return "rewrite"


def encode(call, verdict, reason, *, command="", warning="", payload=None):
    if verdict is not Verdict.ALLOW:
        return Reply(dumps({"NO": reason}))
    return Reply(dumps({"on": command}) if command else "")


def refuse(event, reason):
    return Reply(dumps({"NO": reason}), reason)


def is_unattended(call, env):
    return True


def auto_approves(call):
    return False


def scratch(payload, env, uid):
    return ()
"""
ROW = 'ROWS = {**ROWS, "sixth": Row("sixth", "A sixth agent", "sixth", "sixth-cli")}\n'


@pytest.fixture(name="sixth")
def _sixth(tmp_path):
    package = str(tmp_path / "lib" / "ringfence")
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("hot-*"))
    with open(os.path.join(package, "agents", "sixth.py"), "w", encoding="utf-8") as file:
        file.write(MODULE)
    with open(os.path.join(package, "agents", "registry.py"), "a", encoding="utf-8") as file:
        file.write(ROW)
    return Product(tmp_path, os.path.join(package, os.path.basename(START)))


def _ask(product: Product, raw: bytes, *words: str):
    return product.run("hook", "sixth", "--workspace", product.ws, *words, stdin=raw)


def test_a_made_up_agent_takes_one_module_and_one_row(sixth):
    call = {"who": "sixth", "do": "save", "on": "a", "in": sixth.ws}
    assert _ask(sixth, json.dumps(call).encode()) == (0, b"", b"")
    outside = _ask(sixth, json.dumps({**call, "on": "../out/a"}).encode())
    assert "[outside.write]" in outside.json["NO"]
    run = {**call, "do": "run", "on": "make"}
    assert _ask(sixth, json.dumps(run).encode()).json["on"].endswith(" -c 'make'")
    assert "[deny.mode]" in _ask(sixth, json.dumps(run).encode(), "--mode", "safe").json["NO"]
    assert "[deny.lane]" in _ask(sixth, json.dumps(call).encode(), "--lane", "reviewer").json["NO"]
    for raw in (b"", b"[]", json.dumps(call).encode()[:-1], b"\xff"):
        assert _ask(sixth, raw).json["NO"].startswith("ringfence refused this call")
    foreign = _ask(sixth, json.dumps({**call, "who": "x"}).encode())
    assert (foreign.status, foreign.out) == (2, b"")
    assert foreign.err


def test_without_the_row_it_is_nobody(sixth):
    done = sixth.run("hook", "seventh", stdin=b"{}")
    assert (done.status, done.out) == (2, b"")
    assert "sixth" in done.complaint
