"""Each agent's side of its hook, for tests: a payload as the agent sends it, and whether it would run the tool after an
answer. Written from what the released agents were seen to do, apart from the product's own modules.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.product import Done

SESSION = "00000000-0000-4000-8000-000000000000"

# agent -> (write tool, read tool, shell tool); each with the field that names the path or the command
NATIVE = {
    "claude": (("Write", "file_path"), ("Read", "file_path"), ("Bash", "command")),
    "codex": (("apply_patch", "command"), ("view_image", "path"), ("Bash", "command")),
    "gemini": (("write_file", "file_path"), ("read_file", "file_path"), ("run_shell_command", "command")),
    "opencode": (("write", "filePath"), ("read", "filePath"), ("bash", "command")),
    "pi": (("write", "path"), ("read", "path"), ("bash", "command")),
    "cursor": (("Write", "file_path"), ("Read", "file_path"), ("Shell", "command")),
    "copilot": (("create", "path"), ("view", "path"), ("bash", "command")),
    "qwen": (("write_file", "file_path"), ("read_file", "file_path"), ("run_shell_command", "command")),
}
REWRITES = ("codex", "gemini", "opencode", "pi", "cursor", "copilot")


def payload(agent: str, cwd: str, tool: str, given: Any, **more: Any) -> dict[str, Any]:
    """One call of `tool` as `agent` reports it to a hook."""
    if agent == "opencode":
        return {
            "agent": agent,
            "cwd": cwd,
            "session": "ses_1",
            "call": "c1",
            "tool": tool,
            "args": given,
            **more,
        }
    if agent == "pi":
        event = {"type": "tool_call", "toolName": tool, "toolCallId": "c1", "input": given}
        return {"agent": agent, "cwd": cwd, "mode": "print", "event": event, **more}
    if agent == "copilot":
        return {"sessionId": SESSION, "timestamp": 1, "cwd": cwd, "toolName": tool, "toolArgs": given, **more}
    made: dict[str, Any] = {"session_id": SESSION, "cwd": cwd, "tool_name": tool, "tool_input": given}
    if agent == "claude":
        made |= {"hook_event_name": "PreToolUse", "transcript_path": "", "permission_mode": "default"}
    elif agent == "codex":
        made |= {"hook_event_name": "PreToolUse", "turn_id": "t1", "model": "m", "permission_mode": "default"}
    elif agent == "gemini":
        made |= {
            "hook_event_name": "BeforeTool",
            "timestamp": "2026-11-30T10:00:00.000Z",
            "transcript_path": "",
        }
    elif agent == "qwen":
        made |= {
            "hook_event_name": "PreToolUse",
            "timestamp": "2026-11-30T10:00:00.000Z",
            "permission_mode": "default",
            "prompt_id": "p",
            "tool_call_id": "c1",
        }
    elif agent == "cursor":
        made |= {
            "hook_event_name": "preToolUse",
            "conversation_id": SESSION,
            "generation_id": "g",
            "cursor_version": "3.20.0",
            "workspace_roots": [cwd],
        }
    return {**made, **more}


def write(agent: str, cwd: str, path: str, **more: Any) -> dict[str, Any]:
    tool, field = NATIVE[agent][0]
    text = f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n" if agent == "codex" else path
    return payload(agent, cwd, tool, {field: text, "content": "x"}, **more)


def read(agent: str, cwd: str, path: str, **more: Any) -> dict[str, Any]:
    tool, field = NATIVE[agent][1]
    return payload(agent, cwd, tool, {field: path}, **more)


def shell(agent: str, cwd: str, command: str, **more: Any) -> dict[str, Any]:
    tool, field = NATIVE[agent][2]
    return payload(agent, cwd, tool, {field: command}, **more)


def given_of(agent: str, call: dict[str, Any]) -> Any:
    if agent == "pi":
        return call["event"]["input"]
    return call[{"opencode": "args", "copilot": "toolArgs"}.get(agent, "tool_input")]


def runs(agent: str, done: Done) -> bool:
    """Whether the agent runs the tool after this answer. A question counts as not run: nobody is there."""
    value = _object(done)
    if agent in ("opencode", "pi"):  # our own shim, docs/hook-protocol.md
        return done.status == 0 and value is not None and value.get("verdict") == "allow"
    if agent == "copilot":
        if done.status:
            return False  # closed on every failure but a timeout
        return value is None or value.get("permissionDecision") not in ("deny", "ask")
    if agent == "cursor":  # with failClosed
        return done.status == 0 and value is not None and value.get("permission") == "allow"
    if done.status:
        reason = bool(done.err.strip()) or agent == "claude"
        silenced = agent == "gemini" and value is not None
        return not (done.status == 2 and reason and not silenced)
    if value is None:
        return True
    if agent == "gemini":
        return value.get("decision") not in ("deny", "block", "ask")
    said = value.get("hookSpecificOutput")
    if agent == "codex":
        return not _codex_denies(value, said)
    if not isinstance(said, dict) or said.get("hookEventName") not in ("PreToolUse", "PreSkillShellCommand"):
        return True
    return said.get("permissionDecision") not in ("deny", "ask")


def _codex_denies(value: dict[str, Any], said: Any) -> bool:
    """Codex drops an answer with a field that it does not support, an `ask`, and an empty reason: the tool runs."""
    if not set(value) <= {"hookSpecificOutput", "systemMessage"} or not isinstance(said, dict):
        return False
    known = {
        "hookEventName",
        "permissionDecision",
        "permissionDecisionReason",
        "updatedInput",
        "additionalContext",
    }
    if not set(said) <= known or said.get("hookEventName") != "PreToolUse":
        return False
    return said.get("permissionDecision") == "deny" and bool(said.get("permissionDecisionReason"))


def reason(agent: str, done: Done) -> str:
    """What the model is told of a denial."""
    value = _object(done)
    if value is None:
        return done.complaint
    if agent in ("opencode", "pi", "gemini"):
        return str(value.get("reason", ""))
    if agent == "copilot":
        return str(value.get("permissionDecisionReason", ""))
    if agent == "cursor":
        return str(value.get("user_message", ""))
    return str(value["hookSpecificOutput"]["permissionDecisionReason"])


def rewritten(agent: str, done: Done) -> dict[str, Any] | None:
    """The input that the tool runs with instead of its own, None where the answer changes nothing."""
    value = _object(done) or {}
    if not runs(agent, done):
        return None
    if agent in ("opencode", "pi"):
        return value.get("input")
    if agent == "copilot":
        return value.get("modifiedArgs")
    if agent == "cursor":
        return value.get("updated_input")
    said = value.get("hookSpecificOutput", {})
    if agent == "gemini":
        return said.get("tool_input")
    if agent == "codex" and said.get("permissionDecision") != "allow":
        return None  # an `updatedInput` without it is dropped
    return None if agent == "qwen" else said.get("updatedInput")


def _object(done: Done) -> dict[str, Any] | None:
    """stdout as one JSON object; None for anything else, which every agent takes for no opinion."""
    try:
        value = json.loads(done.out)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
