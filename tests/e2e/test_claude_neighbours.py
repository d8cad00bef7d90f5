"""What else the shell prefix wraps: a person's own shell-form hooks and stdio MCP servers go on working."""

from __future__ import annotations

import json
import os

import pytest

from tests.support.claude_run import Call, Scenario, Stage, bash, run_claude

pytestmark = pytest.mark.e2e

HOOK = (
    "cat > @ws@/'hook saw.json'; printf '%s' '"
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"from my hook"}}'
    "'"
)
SERVER = """
import json, sys

TOOL = {"name": "say", "description": "d", "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}}}
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        info = {"name": "s", "version": "1"}
        answer = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        answer = {"tools": [TOOL]}
    elif method == "tools/call":
        said = f"{sys.argv[1:]} says {params['arguments']['word']}"
        answer = {"content": [{"type": "text", "text": said}]}
    else:
        answer = {}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""

SCENARIO = Scenario(
    "neighbours",
    (bash("echo one"), Call("mcp__mine__say", {"word": "žltý"})),
)


def settle(stage: Stage) -> None:
    """A person's own settings: one shell-form hook, one MCP server with an argument that holds a blank."""
    folder = os.path.join(stage.home, ".claude")
    os.makedirs(folder)
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": stage.fill(HOOK)}]}
    with open(os.path.join(folder, "settings.json"), "w", encoding="utf-8") as out:
        json.dump({"hooks": {"PreToolUse": [hook]}}, out)
    program = os.path.join(stage.home, "server.py")
    with open(program, "w", encoding="utf-8") as out:
        out.write(SERVER)
    mine = {"command": "python3", "args": [program, "a b"], "env": {"PYTHONIOENCODING": "utf-8"}}
    with open(os.path.join(stage.home, ".claude.json"), "w", encoding="utf-8") as out:
        json.dump({"mcpServers": {"mine": mine}}, out)


@pytest.mark.parametrize("fenced", [False, True], ids=["unfenced", "fenced"])
def test_hook_and_server_work(request, claude, stage, fenced):
    if fenced:
        request.getfixturevalue("installer")
    settle(stage)
    run = run_claude(SCENARIO, stage, claude, fenced=fenced)
    assert run.outcome.exit == 0
    assert [result.text for result in run.results] == ["one", "['a b'] says žltý"]
    assert "from my hook" in run.context
    with open(os.path.join(stage.ws, "hook saw.json"), encoding="utf-8") as seen:
        assert json.load(seen)["tool_input"] == {"command": "echo one"}
