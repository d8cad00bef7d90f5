"""Sub-agents and children: under the parent's policy, mode and lane, which no payload and no child can widen."""

from __future__ import annotations

import json
import os

import pytest

from ringfence.agents import registry
from tests.support import dialects
from tests.support.product import Product, needs_engine, product_fixture  # noqa: F401 - a fixture

AGENTS = list(registry.ROWS)
# What a sub-agent's call says beside an ordinary one.
CHILD = {
    "claude": {"agent_id": "a1", "agent_type": "general-purpose"},
    "codex": {"agent_id": "a1", "agent_type": "worker", "turn_id": "t2"},
    "qwen": {"agent_id": "general-purpose-1"},
    "opencode": {"session": "ses_child"},
}
# Words that a payload might carry to be let out; none of them is read from there.
WISHES = {
    "mode": "power",
    "lane": "full",
    "workspace": ["/"],
    "workspace_roots": ["/"],
    "roots": ["/"],
    "ringfence": {"lane": "full"},
    "permission_mode": "bypassPermissions",
    "sandbox": "danger-full-access",
}


def _ask(product: Product, agent: str, payload: object, *words: str, **more):
    return dialects.ask(product, agent, payload, *words, **more)


def _child(agent: str, call: dict) -> dict:
    made = {**call, **CHILD.get(agent, {})}
    if agent == "pi":
        made["event"] = {**call["event"], "parentToolCallId": "c0", "toolCallId": "c0/1"}
    return made


@pytest.mark.parametrize("agent", AGENTS)
def test_a_childs_call_is_judged_like_its_parents(product, agent):
    for lane in ("full", "reviewer"):
        words = ("--workspace", product.ws, "--lane", lane)
        for path in ("a", "../out/a"):
            call = dialects.write(agent, product.ws, path)
            own, child = _ask(product, agent, call, *words), _ask(product, agent, _child(agent, call), *words)
            assert (
                dialects.runs(agent, own) == dialects.runs(agent, child) == (lane == "full" and path == "a")
            )
    safe = _ask(product, agent, _child(agent, dialects.shell(agent, product.ws, "true")), "--mode", "safe")
    assert not dialects.runs(agent, safe)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("wish", WISHES)
def test_a_payload_cannot_wish_itself_a_wider_fence(product, agent, wish):
    """Wherever the child stands and whatever it says: a worktree outside, a mode, a lane, a root of its own."""
    words = ("--workspace", product.ws, "--lane", "reviewer", "--mode", "safe")
    for call in (dialects.write(agent, product.ws, "a"), dialects.shell(agent, product.ws, "true")):
        assert not dialects.runs(agent, _ask(product, agent, {**call, wish: WISHES[wish]}, *words))
    outside = dialects.write(agent, product.out, "a")
    assert not dialects.runs(agent, _ask(product, agent, {**outside, wish: WISHES[wish]}))


@pytest.mark.parametrize("agent", AGENTS)
def test_the_environment_of_a_call_does_not_move_the_installed_workspace(product, agent):
    root = registry.ROWS[agent].root
    env = {root: product.out} if root else {}
    call = dialects.write(agent, product.out, "a")
    assert not dialects.runs(agent, _ask(product, agent, call, env=env))


@needs_engine
@pytest.mark.parametrize("agent", AGENTS)
def test_a_child_agent_inside_a_fence_may_ask_a_wider_hook_and_gains_nothing(product, agent):
    """A nested agent brings a hook of its own, with a wider workspace: its answer is only text, the kernel holds."""
    call = json.dumps(dialects.write(agent, product.out, "a"))
    hook = " ".join(map(str, product.words("hook", agent, "--workspace", product.out)))
    script = f"{hook} < call.json > answer.json 2> hook.err; echo x > {product.out}/a; echo x > inside"
    product.write("ws/call.json", call)
    alone = product.run("run", "--no-restrict-paths", "--", "/bin/sh", "-c", script)
    assert os.path.exists(product.path("out/a")), alone
    os.remove(product.path("out/a"))
    os.remove(product.path("ws/inside"))
    product.run("run", "--workspace", product.ws, "--", "/bin/sh", "-c", script)
    assert os.path.exists(product.path("ws/inside"))
    assert not os.path.exists(product.path("out/a"))


@needs_engine
def test_a_fenced_shell_inside_a_fenced_shell_can_only_narrow(product):
    os.makedirs(product.path("ws/sub"))
    inner = " ".join(map(str, product.words("shell", "--workspace")))
    write = f"for f in {product.out}/x {product.ws}/y {product.ws}/sub/z; do echo x > $f; done"
    product.write("ws/s.sh", write)
    outer = ("run", "--workspace", product.ws, "--", "/bin/sh", "-c")
    wider = product.run(*outer, f"{inner} / {product.ws}/s.sh")
    assert not os.path.exists(product.path("out/x")), wider
    narrower = product.run(*outer, f"rm -f y sub/z; {inner} {product.ws}/sub {product.ws}/s.sh")
    assert os.path.exists(product.path("ws/sub/z")), narrower
    assert not os.path.exists(product.path("ws/y")), narrower
