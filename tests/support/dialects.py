"""Each agent's side of its hook, for tests: a payload as the agent sends it, and whether it would run the tool after an
answer. Written from what the released agents were seen to do, apart from the product's own modules.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.product import Done, Product

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
# Wired by hand and driven by none of our tests: what `runs` says of them is from documentation, or from others' probes.
BY_HAND = ("amp", "cline", "droid", "goose", "kiro", "vscode", "windsurf")
NATIVE |= {
    "amp": (("create_file", "path"), ("Read", "path"), ("shell_command", "command")),
    "cline": (("editor", "path"), ("read_files", "file_path"), ("run_commands", "commands")),
    "droid": (("Create", "file_path"), ("Read", "file_path"), ("Execute", "command")),
    "goose": (("write", "path"), ("read_image", "source"), ("shell", "command")),
    "kiro": (("fs_write", "path"), ("fs_read", "path"), ("execute_bash", "command")),
    "vscode": (("create_file", "filePath"), ("read_file", "filePath"), ("run_in_terminal", "command")),
    "windsurf": (
        ("pre_write_code", "file_path"),
        ("pre_read_code", "file_path"),
        ("pre_run_command", "command_line"),
    ),
}
REWRITES = ("codex", "gemini", "opencode", "pi", "cursor", "copilot", "droid")
STATUSES = ("amp", "kiro", "windsurf")  # nothing but the exit status counts


def sent(agent: str, call: Any) -> tuple[bytes, dict[str, str], str | None]:
    """(stdin, environment, working directory) of a hook of `agent` for `call`; None: any folder.

    Amp's call is the door's own envelope: only its `stdin` is written, the rest surrounds the process.
    """
    if agent == "amp" and isinstance(call, dict) and "stdin" in call:
        cwd = call.get("cwd")
        return json.dumps(call["stdin"]).encode(), call["env"], cwd
    env = {"AGENT": "amp", "AGENT_TOOL_NAME": "create_file"} if agent == "amp" else {}
    return call if isinstance(call, bytes) else json.dumps(call).encode(), env, None


def ask(product: Product, agent: str, call: Any, *words: str, **more: Any) -> Done:
    """One call of the hook, surrounded as the agent does it."""
    stdin, env, cwd = sent(agent, call)
    more["env"] = {**env, **(more.get("env") or {})}
    if cwd is not None:
        more.setdefault("cwd", cwd)
    return product.run("hook", agent, *(words or ("--workspace", product.ws)), stdin=stdin, **more)


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
    if agent == "amp":
        env = {"AGENT": "amp", "AGENT_TOOL_NAME": tool, "AMP_THREAD_ID": "T-" + SESSION}
        return {"env": env, "cwd": cwd, "stdin": given, **more}
    if agent == "cline":
        roots = {"workspaceRoots": [cwd], "workspaceInfo": {"rootPath": cwd, "hint": "ws"}}
        call = {"id": "c1", "name": tool, "input": given}
        return {
            "clineVersion": "",
            "taskId": "t1",
            **roots,
            "hookName": "tool_call",
            "tool_call": call,
            **more,
        }
    if agent == "goose":
        made = {"event": "PreToolUse", "session_id": SESSION, "matcher_context": tool, "tool_call_id": "c1"}
        return {**made, "tool_name": tool, "tool_input": given, "working_dir": cwd, **more}
    if agent == "windsurf":
        info = {"cwd": cwd, **given} if tool == "pre_run_command" else given
        return {"agent_action_name": tool, "trajectory_id": "t1", "tool_info": info, **more}
    made = {"session_id": SESSION, "cwd": cwd, "tool_name": tool, "tool_input": given}
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
    elif agent == "droid":
        made |= {"hook_event_name": "PreToolUse", "transcript_path": "", "permission_mode": "auto-high"}
    elif agent == "kiro":
        made |= {"hook_event_name": "preToolUse"}
    elif agent == "vscode":
        made |= {
            "hook_event_name": "PreToolUse",
            "timestamp": "2026-11-30T10:00:00.000Z",
            "transcript_path": None,
            "tool_use_id": "toolu_1__vscode-1",
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
    return payload(agent, cwd, tool, {field: _absolute(agent, cwd, text), "content": "x"}, **more)


def read(agent: str, cwd: str, path: str, **more: Any) -> dict[str, Any]:
    tool, field = NATIVE[agent][1]
    return payload(agent, cwd, tool, {field: _absolute(agent, cwd, path)}, **more)


def _absolute(agent: str, cwd: str, path: str) -> str:
    """Windsurf sends no relative paths of files, and no folder that they could start from."""
    return f"{cwd}/{path}" if agent == "windsurf" and path[:1] not in ("/", "~") else path


def shell(agent: str, cwd: str, command: str, **more: Any) -> dict[str, Any]:
    tool, field = NATIVE[agent][2]
    return payload(agent, cwd, tool, {field: command}, **more)


def given_of(agent: str, call: dict[str, Any]) -> Any:
    if agent == "pi":
        return call["event"]["input"]
    if agent == "cline":
        return call["tool_call"]["input"]
    names = {"opencode": "args", "copilot": "toolArgs", "amp": "stdin", "windsurf": "tool_info"}
    return call[names.get(agent, "tool_input")]


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
    if agent in STATUSES:
        return done.status == 0 if agent == "amp" else done.status != 2
    if agent == "cline":  # the exit status is ignored
        return value is None or value.get("cancel") is not True
    if agent == "goose":  # with on_failure
        return done.status == 0 and (not done.out or (value or {}).get("decision") == "allow")
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
    if agent == "droid":
        return said.get("permissionDecision") != "deny"  # it runs what a hook asks about
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
    if agent in ("opencode", "pi", "gemini", "goose"):
        return str(value.get("reason", ""))
    if agent == "cline":
        return str(value.get("errorMessage", ""))
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
    if agent in ("codex", "droid") and said.get("permissionDecision") != "allow":
        return None  # an `updatedInput` without it is dropped
    return None if agent == "qwen" else said.get("updatedInput")


def _object(done: Done) -> dict[str, Any] | None:
    """stdout as one JSON object; None for anything else, which every agent takes for no opinion."""
    try:
        value = json.loads(done.out)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
