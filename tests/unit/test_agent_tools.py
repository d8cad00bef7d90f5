"""Every tool whose input names a path or a command, for every agent: the uses that the decision will judge."""

from __future__ import annotations

import pytest

from ringfence.agents import (
    amp,
    cline,
    copilot,
    cursor,
    droid,
    fields,
    gemini,
    goose,
    kiro,
    opencode,
    patches,
    pi,
    qwen,
    registry,
    vscode,
    windsurf,
)  # fmt: skip
from ringfence.errors import WireError
from ringfence.model import Verdict
from tests.support import dialects

W = "/w"
R, C, D = "read", "write", "delete"
PATCH = (
    "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Move to: ../b\n*** Delete File: /c\n*** End Patch\n"
)
PATCHED = [(C, "a"), (C, "../b"), (D, "/c")]

# agent, tool, input -> uses
TOOLS = [
    ("codex", "apply_patch", {"command": PATCH}, PATCHED),
    ("codex", "view_image", {"path": "../i.png"}, [(R, "../i.png")]),
    ("codex", "update_plan", {"plan": [{"path": "/x"}]}, []),
    ("codex", "mcp__fs__write", {"path": "x", "content": "see /etc/passwd"}, [(C, "x")]),
    ("codex", "mcp__fs__move", {"source": "x", "destination": "../y"}, [(C, "x"), (C, "../y")]),
    ("codex", "ToolOfTomorrow", {"file_path": "x"}, [(C, "x")]),
    ("gemini", "read_file", {"file_path": "x", "start_line": 1}, [(R, "x")]),
    ("gemini", "read_file", {"absolute_path": "/x"}, [(R, "/x")]),
    ("gemini", "read_file", {"absolute_path": "/x", "file_path": "y"}, [(R, "y"), (R, "/x")]),
    ("gemini", "write_file", {"file_path": "../x", "content": ""}, [(C, "../x")]),
    ("gemini", "replace", {"file_path": "x", "old_string": "/etc", "new_string": ""}, [(C, "x")]),
    ("gemini", "list_directory", {"dir_path": ".."}, [(R, "..")]),
    ("gemini", "list_directory", {"path": "/x"}, [(R, "/x")]),
    ("gemini", "glob", {"pattern": "../*"}, [(R, "..")]),
    ("gemini", "glob", {"pattern": "/etc/**/x", "dir_path": "d"}, [(R, "d"), (R, "/etc")]),
    ("gemini", "glob", {"pattern": "*/../../x", "dir_path": "d"}, [(R, "d"), (R, "d/*/../..")]),
    ("gemini", "glob", {"pattern": "{a,../../b}/x"}, [(R, "../..")]),
    ("gemini", "glob", {"pattern": "{../a,b}/x"}, [(R, "..")]),
    ("gemini", "glob", {"pattern": "{/etc,b}/x"}, [(R, "/")]),
    ("gemini", "glob", {"pattern": "{b,/etc}/x", "dir_path": "d"}, [(R, "d"), (R, "/")]),
    ("gemini", "grep_search", {"pattern": "/etc/passwd", "dir_path": "../x"}, [(R, "../x")]),
    ("gemini", "grep_search", {"pattern": "x", "include_pattern": "../../*"}, [(R, "../..")]),
    ("gemini", "grep_search", {"pattern": "x"}, [(R, ".")]),
    ("gemini", "search_file_content", {"pattern": "x", "path": "/x"}, [(R, "/x")]),
    ("gemini", "read_many_files", {"include": ["src/*.py", "../x/**", "/etc/*"]}, [(R, "src"), (R, "../x"), (R, "/etc")]),
    ("gemini", "read_many_files", {"paths": ["../x"]}, [(R, "../x")]),
    ("gemini", "read_mcp_resource", {"uri": "file:///etc/%70asswd"}, [(R, "/etc/passwd")]),
    ("gemini", "get_internal_docs", {"path": "cli/commands.md"}, []),
    ("gemini", "get_internal_docs", {"path": "../../../etc/passwd"}, [(R, "../../../etc/passwd")]),
    ("gemini", "exit_plan_mode", {"plan_filename": "plan.md"}, []),
    ("gemini", "exit_plan_mode", {"plan_filename": "/etc/x"}, [(C, "/etc/x")]),
    ("gemini", "save_memory", {"fact": "/etc/x"}, []),
    ("gemini", "web_fetch", {"prompt": "read file:///etc/passwd"}, []),
    ("gemini", "mcp_fs_write", {"path": "../x"}, [(C, "../x")]),
    ("opencode", "read", {"filePath": "../x", "offset": 1}, [(R, "../x")]),
    ("opencode", "read", {"filePaths": ["a", "../x"]}, [(R, "a"), (R, "../x")]),
    ("opencode", "write", {"filePath": "x", "content": "/etc"}, [(C, "x")]),
    ("opencode", "edit", {"filePath": "x", "oldString": "", "newString": ""}, [(C, "x")]),
    ("opencode", "apply_patch", {"patchText": PATCH}, PATCHED),
    ("opencode", "patch", {"patchText": PATCH}, PATCHED),
    ("opencode", "glob", {"pattern": "*", "path": ".."}, [(R, "..")]),
    ("opencode", "glob", {"pattern": "../../*", "path": "d"}, [(R, "d"), (R, "d/../..")]),
    ("opencode", "grep", {"pattern": "x", "path": "/x", "include": "*.py"}, [(R, "/x")]),
    ("opencode", "list", {"path": "/x"}, [(R, "/x")]),
    ("opencode", "lsp", {"operation": "hover", "filePath": "/x"}, [(R, "/x")]),
    ("opencode", "skill", {"name": "x"}, []),
    ("opencode", "webfetch", {"url": "https://x.invalid/etc"}, []),
    ("opencode", "fs_write_file", {"path": "../x"}, [(C, "../x")]),
    ("pi", "read", {"path": "@~/x"}, [(R, "~/x")]),
    ("pi", "read", {"path": "@/etc/x"}, [(R, "/etc/x")]),
    ("pi", "read", {"path": "@@x"}, [(R, "@x")]),
    ("pi", "read", {"path": "a\u00a0b\u202fc\u3000d\u2009e"}, [(R, "a b c d e")]),
    ("pi", "read", {"path": "\u2003@x"}, [(R, " @x")]),
    ("pi", "read", {"path": "@file:///etc/%70asswd"}, [(R, "/etc/passwd")]),
    ("pi", "write", {"path": "@../x", "content": "/etc"}, [(C, "../x")]),
    ("pi", "edit", {"path": "../x", "edits": [{"oldText": "/a", "newText": "/b"}]}, [(C, "../x")]),
    ("pi", "grep", {"pattern": "/etc", "path": "@/x"}, [(R, "/x")]),
    ("pi", "grep", {"pattern": "/etc"}, [(R, ".")]),
    ("pi", "find", {"pattern": "*.py", "path": "@../x"}, [(R, "../x")]),
    ("pi", "find", {"pattern": "../*"}, [(R, "..")]),
    ("pi", "ls", {"path": "/x"}, [(R, "/x")]),
    ("pi", "ls", {}, [(R, ".")]),
    ("pi", "ls", {"path": None, "limit": None}, [(R, ".")]),
    ("pi", "codemode", {"code": "await tools.read({path: '/etc/x'})"}, []),
    ("pi", "mcp__fs__write", {"path": "../x"}, [(C, "../x")]),
    ("cursor", "Read", {"file_path": "/x"}, [(R, "/x")]),
    ("cursor", "Write", {"file_path": "../x", "content": ""}, [(C, "../x")]),
    ("cursor", "StrReplace", {"path": "../x"}, [(C, "../x")]),
    ("cursor", "Delete", {"path": "../x"}, [(D, "../x")]),
    ("cursor", "Delete", {"file_path": "../x"}, [(D, "../x")]),
    ("cursor", "Grep", {"pattern": "/etc", "file_path": "/x"}, [(R, "/x")]),
    ("cursor", "ApplyPatch", {"patch": PATCH}, PATCHED),
    ("cursor", "ApplyPatch", PATCH, PATCHED),
    ("cursor", "ApplyPatch", {"patch": "*** Add File: a", "input": PATCH}, [(C, "a"), *PATCHED]),
    ("cursor", "MCP:write_file", {"path": "../x"}, [(C, "../x")]),
    ("cursor", "MCP:write_file", '{"path": "../x"}', [(C, "../x")]),
    ("cursor", "Task", {"prompt": "/etc"}, []),
    ("copilot", "view", {"path": "../x", "view_range": [1, 2]}, [(R, "../x")]),
    ("copilot", "create", {"path": "../x", "file_text": "/etc"}, [(C, "../x")]),
    ("copilot", "edit", {"path": "../x", "old_str": "", "new_str": ""}, [(C, "../x")]),
    ("copilot", "apply_patch", PATCH, PATCHED),
    ("copilot", "apply_patch", {"input": PATCH}, PATCHED),
    ("copilot", "apply_patch", {"input": "*** Add File: a", "patch": PATCH}, [*PATCHED, (C, "a")]),
    ("copilot", "edit", {"path": "a", "input": PATCH}, [(C, "a"), *PATCHED]),
    ("copilot", "create", '{"path": "../x", "file_text": ""}', [(C, "../x")]),
    ("copilot", "grep", {"pattern": "/etc", "paths": "../x"}, [(R, "../x")]),
    ("copilot", "rg", {"pattern": "x", "paths": ["a", "/x"], "glob": "*"}, [(R, "a"), (R, "/x")]),
    ("copilot", "grep", {"pattern": "x"}, [(R, ".")]),
    ("copilot", "glob", {"pattern": "../*"}, [(R, "..")]),
    ("copilot", "glob", {"pattern": "*", "paths": ["a", "../b"]}, [(R, "a"), (R, "../b")]),
    ("copilot", "glob", {"pattern": "../*", "paths": ["a"]}, [(R, "a"), (R, "a/..")]),
    ("copilot", "task", {"prompt": "/etc"}, []),
    ("copilot", "write_bash", {"shellId": "0", "input": "touch /etc/x\n"}, []),
    ("copilot", "server-write_file", {"path": "../x"}, [(C, "../x")]),
    ("qwen", "read_file", {"file_path": "/x", "pages": None}, [(R, "/x")]),
    ("qwen", "write_file", {"file_path": "/x", "content": ""}, [(C, "/x")]),
    ("qwen", "edit", {"file_path": "/x"}, [(C, "/x")]),
    ("qwen", "notebook_edit", {"notebook_path": "/x", "new_source": ""}, [(C, "/x")]),
    ("qwen", "glob", {"pattern": "../*"}, [(R, "..")]),
    ("qwen", "glob", {"pattern": "*", "path": "/x"}, [(R, "/x")]),
    ("qwen", "grep_search", {"pattern": "/etc", "path": "/x"}, [(R, "/x")]),
    ("qwen", "grep_search", {"pattern": "x", "glob": "../*"}, [(R, "..")]),
    ("qwen", "list_directory", {"path": "/x"}, [(R, "/x")]),
    ("qwen", "agent", {"prompt": "/etc", "working_dir": "../x"}, [(R, "../x")]),
    ("qwen", "tool_call", {"name": "write_file", "arguments": {"file_path": "/x"}}, [(C, "/x")]),
    ("qwen", "tool_call", {"name": "write_file", "arguments": '{"file_path": "/x"}'}, [(C, "/x")]),
    ("qwen", "tool_call", {"name": "tool_call", "arguments": {"name": "edit", "arguments": {"file_path": "/x"}}}, [(C, "/x")]),
    ("qwen", "mcp__fs__write", {"path": "../x"}, [(C, "../x")]),
    ("amp", "create_file", {"path": "../x", "content": "/etc"}, [(C, "../x")]),
    ("amp", "edit_file", {"path": "x", "old_str": "/a", "new_str": ""}, [(C, "x")]),
    ("amp", "delete_file", {"path": "x"}, [(D, "x")]),
    ("amp", "apply_patch", {"patchText": PATCH}, PATCHED),
    ("amp", "Read", {"path": "~/x", "read_range": [1, 2]}, [(R, "~/x")]),
    ("amp", "Grep", {"pattern": "/etc", "path": "../x"}, [(R, "../x")]),
    ("amp", "Grep", {"pattern": "/etc", "glob": "../*"}, [(R, "..")]),
    ("amp", "glob", {"filePattern": "../../*"}, [(R, "../..")]),
    ("amp", "finder", {"query": "/etc"}, [(R, ".")]),
    ("amp", "view_media", {"path": "/x"}, [(R, "/x")]),
    ("amp", "upload_thread_file", {"path": "/x"}, [(R, "/x")]),
    ("amp", "download_thread_file", {"path": "a", "destination": "/x"}, [(C, "/x")]),
    ("amp", "Task", {"prompt": "/etc"}, []),
    ("amp", "mcp__fs__write", {"path": "../x"}, [(C, "../x")]),
    ("cline", "read_files", {"files": [{"path": "a", "start_line": 1}, {"path": "../x"}]}, [(R, "a"), (R, "../x")]),
    ("cline", "read_files", {"file_paths": ["a", "/x"]}, [(R, "a"), (R, "/x")]),
    ("cline", "read_files", {"paths": ["/x"]}, [(R, "/x")]),
    ("cline", "read_files", {"file_path": "/x"}, [(R, "/x")]),
    ("cline", "read_files", {"files": ["/x"], "paths": ["/y"]}, [(R, "/y"), (R, "/x")]),
    ("cline", "editor", {"path": "../x", "new_text": "/etc"}, [(C, "../x")]),
    ("cline", "apply_patch", {"input": PATCH}, PATCHED),
    ("cline", "search_codebase", {"queries": ["/etc"]}, [(R, ".")]),
    ("cline", "fetch_web_content", {"requests": [{"url": "file:///etc"}]}, []),
    ("cline", "write_to_file", {"path": "/x", "content": ""}, [(C, "/x")]),
    ("cline", "replace_in_file", {"path": "/x", "diff": "/etc"}, [(C, "/x")]),
    ("cline", "read_file", {"path": "/x"}, [(R, "/x")]),
    ("cline", "list_files", {"path": ".."}, [(R, "..")]),
    ("cline", "search_files", {"path": "..", "regex": "/etc"}, [(R, "..")]),
    ("cline", "server__write", {"path": "../x"}, [(C, "../x")]),
    ("droid", "Read", {"file_path": "/x", "offset": 1}, [(R, "/x")]),
    ("droid", "Create", {"file_path": "../x", "content": "/etc"}, [(C, "../x")]),
    ("droid", "Edit", {"file_path": "x", "old_str": "/a", "new_str": "/b"}, [(C, "x")]),
    ("droid", "Edit", {"file_path": "x", "changes": [{"file_path": "../y"}]}, [(C, "x"), (C, "../y")]),
    ("droid", "ApplyPatch", {"input": PATCH}, PATCHED),
    ("droid", "LS", {"directory_path": "..", "ignorePatterns": ["/etc"]}, [(R, "..")]),
    ("droid", "LS", {}, [(R, ".")]),
    ("droid", "Grep", {"pattern": "/etc", "path": "../x"}, [(R, "../x")]),
    ("droid", "Grep", {"pattern": "x", "glob_pattern": "../*"}, [(R, "..")]),
    ("droid", "Glob", {"patterns": "../*"}, [(R, "..")]),
    ("droid", "Glob", {"patterns": ["a/*", "../*"], "folder": "/d"}, [(R, "/d"), (R, "/d/a"), (R, "/d/..")]),
    ("droid", "GenerateImage", {"input_image_paths": ["/x"], "output_path": "../y"}, [(R, "/x"), (C, "../y")]),
    ("droid", "Task", {"prompt": "/etc", "image_paths": ["/x"]}, [(R, "/x")]),
    ("droid", "FetchUrl", {"url": "https://x.invalid/etc"}, []),
    ("droid", "mcp__fs__write", {"path": "../x"}, [(C, "../x")]),
    ("goose", "write", {"path": "../x", "content": "/etc"}, [(C, "../x")]),
    ("goose", "edit", {"path": "x", "before": "/a", "after": ""}, [(C, "x")]),
    ("goose", "developer__edit", {"path": "x"}, [(C, "x")]),
    ("goose", "tree", {"path": "..", "depth": 2}, [(R, "..")]),
    ("goose", "tree", {}, [(R, ".")]),
    ("goose", "read_image", {"source": "../x.png"}, [(R, "../x.png")]),
    ("goose", "read_image", {"source": "file:///etc/%70asswd"}, [(R, "/etc/passwd")]),
    ("goose", "read_image", {"source": "FILE:/etc/x"}, [(R, "/etc/x")]),
    ("goose", "read_image", {"source": "https://x.invalid/etc"}, []),
    ("goose", "web_fetch", {"url": "https://x.invalid/etc", "save_as": "/x"}, [(C, "/x")]),
    ("goose", "web_fetch", {"url": "file:///etc/x"}, [(R, "/etc/x")]),
    ("goose", "fs__write", {"path": "../x"}, [(C, "../x")]),
    ("kiro", "fs_read", {"path": "/x"}, [(R, "/x")]),
    ("kiro", "fs_read", {"operations": [{"mode": "Line", "path": "a"}, {"mode": "Image", "image_paths": ["/x"]}]}, [(R, "a"), (R, "/x")]),
    ("kiro", "read", {"path": "/x", "operations": [{"path": "/y"}]}, [(R, "/x"), (R, "/y")]),
    ("kiro", "read_file", {"path": "../x", "offset": 1}, [(R, "../x")]),
    ("kiro", "fs_write", {"command": "create", "path": "../x", "file_text": "/etc"}, [(C, "../x")]),
    ("kiro", "write", {"operations": [{"command": "append", "path": "a"}, {"command": "create", "path": "/x"}]}, [(C, "a"), (C, "/x")]),
    ("kiro", "str_replace", {"path": "x", "old_str": "/a", "new_str": ""}, [(C, "x")]),
    ("kiro", "@fs/write", {"path": "../x"}, [(C, "../x")]),
    ("vscode", "create_file", {"filePath": "/x", "content": "/etc"}, [(C, "/x")]),
    ("vscode", "replace_string_in_file", {"filePath": "/x", "oldString": "", "newString": ""}, [(C, "/x")]),
    ("vscode", "multi_replace_string_in_file", {"replacements": [{"filePath": "a"}, {"filePath": "/x"}]}, [(C, "a"), (C, "/x")]),
    ("vscode", "insert_edit_into_file", {"filePath": "/x"}, [(C, "/x")]),
    ("vscode", "create_directory", {"dirPath": "/x"}, [(C, "/x")]),
    ("vscode", "apply_patch", {"input": PATCH, "explanation": "/etc"}, PATCHED),
    ("vscode", "apply_patch", {"input": PATCH, "patch": "*** Add File: /y\n+x\n"}, [(C, "/y"), *PATCHED]),
    ("vscode", "read_file", {"filePath": "/x", "startLine": 1}, [(R, "/x")]),
    ("vscode", "list_dir", {"path": ".."}, [(R, "..")]),
    ("vscode", "file_search", {"query": "/etc/**"}, [(R, "/etc")]),
    ("vscode", "file_search", {"query": "**/*.py"}, [(R, ".")]),
    ("vscode", "grep_search", {"query": "/etc", "includePattern": "../*"}, [(R, "..")]),
    ("vscode", "grep_search", {"query": "/etc"}, [(R, ".")]),
    ("vscode", "fetch_webpage", {"urls": ["https://x.invalid/etc"]}, []),
    ("vscode", "mcp_fs_write", {"path": "../x"}, [(C, "../x")]),
    ("windsurf", "pre_read_code", {"file_path": "/x"}, [(R, "/x")]),
    ("windsurf", "pre_write_code", {"file_path": "/x", "edits": [{"old_string": "/a"}]}, [(C, "/x")]),
]  # fmt: skip


def _decode(agent: str, call: object, exists=lambda _: False):
    return registry.dialect(registry.ROWS[agent]).decode(call, exists)


def _uses(call) -> list[tuple[str, str]]:
    return [(str(use.op), use.path) for use in call.uses]


@pytest.mark.parametrize(
    ("agent", "tool", "given", "uses"), TOOLS, ids=[f"{r[0]}-{r[1]}-{i}" for i, r in enumerate(TOOLS)]
)
def test_the_paths_of_a_tool(agent, tool, given, uses):
    call = _decode(agent, dialects.payload(agent, W, tool, given))
    assert _uses(call) == uses
    assert call.commands == ()
    assert call.understood


# agent, tool, input -> (command, folder)
COMMANDS = [
    ("codex", "Bash", {"command": "ls"}, ("ls", W)),
    ("gemini", "run_shell_command", {"command": "ls", "dir_path": "d"}, ("ls", "/w/d")),
    ("gemini", "run_shell_command", {"command": "ls", "directory": "/d"}, ("ls", "/d")),
    ("gemini", "run_shell_command", {"command": "ls", "dir_path": ""}, ("ls", W)),
    ("opencode", "bash", {"command": "ls", "workdir": "../d"}, ("ls", "/w/../d")),
    ("pi", "bash", {"command": "ls"}, ("ls", W)),
    ("cursor", "Shell", {"command": "ls", "cwd": "/d"}, ("ls", "/d")),
    ("cursor", "Shell", '{"command": "ls"}', ("ls", W)),
    ("copilot", "bash", {"command": "ls", "mode": "async", "detach": True}, ("ls", W)),
    ("qwen", "run_shell_command", {"command": "ls", "directory": "/d"}, ("ls", "/d")),
    ("qwen", "tool_call", {"name": "run_shell_command", "arguments": {"command": "ls"}}, ("ls", W)),
    ("amp", "shell_command", {"command": "ls", "workdir": "d"}, ("ls", "/w/d")),
    ("amp", "async_shell_command", {"command": "ls"}, ("ls", W)),
    ("amp", "Bash", {"cmd": "ls", "cwd": "/d"}, ("ls", "/d")),
    ("cline", "run_commands", {"commands": ["ls"]}, ("ls", W)),
    ("cline", "run_commands", {"cmd": "ls"}, ("ls", W)),
    (
        "cline",
        "run_commands",
        {"commands": [{"command": "ls", "args": ["a'b", "c"]}]},
        ("ls 'a'\"'\"'b' 'c'", W),
    ),
    ("cline", "execute_command", {"command": "ls"}, ("ls", W)),
    ("droid", "Execute", {"command": "ls", "riskLevel": "low"}, ("ls", W)),
    ("goose", "shell", {"command": "ls", "timeout_secs": 1}, ("ls", W)),
    ("goose", "developer__shell", {"command": "ls"}, ("ls", W)),
    ("kiro", "execute_bash", {"command": "ls"}, ("ls", W)),
    ("kiro", "shell", {"command": "ls"}, ("ls", W)),
    ("vscode", "run_in_terminal", {"command": "ls", "isBackground": False}, ("ls", W)),
    ("windsurf", "pre_run_command", {"command_line": "ls", "cwd": "/d"}, ("ls", "/d")),
]


@pytest.mark.parametrize(("agent", "tool", "given", "expected"), COMMANDS)
def test_a_command_and_the_folder_it_runs_in(agent, tool, given, expected):
    call = _decode(agent, dialects.payload(agent, W, tool, given))
    assert (call.commands, call.cwd) == ((expected[0],), expected[1])
    assert call.uses == ()


# --- what one agent alone has -------------------------------------------------------------------------


def test_permissions_that_a_gemini_command_asks_for_are_judged_like_its_own_paths():
    given = {
        "command": "ls",
        "additional_permissions": {"fileSystem": {"read": ["/r"], "write": ["../w"]}, "network": True},
    }
    call = _decode("gemini", dialects.payload("gemini", W, "run_shell_command", given))
    assert _uses(call) == [(R, "/r"), (C, "../w")]
    with pytest.raises(WireError):
        _decode(
            "gemini",
            dialects.payload("gemini", W, "run_shell_command", {**given, "additional_permissions": 1}),
        )


def test_the_names_that_pis_read_tries_are_judged_where_they_exist():
    there = {"/w/Cafe\u0301 10.30\u202fAM.png", "/w/l\u2019e\u0301te\u0301"}
    asked = _decode("pi", dialects.payload("pi", W, "read", {"path": "l'\u00e9t\u00e9"}), there.__contains__)
    assert _uses(asked) == [(R, "l'\u00e9t\u00e9"), (R, "l\u2019e\u0301te\u0301")]
    shot = _decode(
        "pi", dialects.payload("pi", W, "read", {"path": "x 10.30 AM.png"}), lambda p: "\u202f" in p
    )
    assert (R, "x 10.30\u202fAM.png") in _uses(shot)
    # Only `read` tries them; a write lands where it says.
    assert _uses(_decode("pi", dialects.payload("pi", W, "write", {"path": "l'\u00e9"}), lambda _: True)) == [
        (C, "l'\u00e9")
    ]


def test_a_users_own_line_in_pi_is_a_command_too():
    event = {"type": "user_bash", "command": "touch /etc/x", "excludeFromContext": True, "cwd": "/d"}
    call = _decode("pi", {"agent": "pi", "cwd": W, "mode": "tui", "event": event})
    assert (call.commands, call.cwd) == (("touch /etc/x",), "/d")
    answer = pi.encode(call, Verdict.ALLOW, "", command="fenced", payload={"event": event})
    assert answer.stdout == '{"verdict":"allow","input":{"command":"fenced"}}'


def test_cursors_other_events():
    base = {"cursor_version": "3.20.0", "conversation_id": "c", "workspace_roots": [W]}
    shell = _decode(
        "cursor", {**base, "hook_event_name": "beforeShellExecution", "command": "ls", "cwd": "/d"}
    )
    assert (shell.commands, shell.cwd) == (("ls",), "/d")
    assert cursor.route(shell, "", {}) == "none"
    given = {"file_path": "/x", "content": "/etc", "attachments": [{"type": "rule", "file_path": "/y"}]}
    read = _decode("cursor", {**base, "hook_event_name": "beforeReadFile", **given})
    assert _uses(read) == [(R, "/x"), (R, "/y")]
    with pytest.raises(WireError):
        _decode("cursor", {**base, "hook_event_name": "beforeReadFile", "content": ""})
    after = _decode("cursor", {**base, "hook_event_name": "afterFileEdit", "file_path": "/x", "edits": []})
    assert cursor.encode(after, Verdict.ALLOW, "").stdout == "{}"
    with pytest.raises(WireError):
        _decode(
            "cursor", {**base, "workspace_roots": [], "hook_event_name": "preToolUse", "tool_name": "Read"}
        )


def test_copilots_two_spellings_mean_the_same():
    for name, native in copilot.NATIVE.items():
        given = {"path": "../x", "command": "ls", "pattern": "*", "paths": "../x"}
        camel = _decode("copilot", dialects.payload("copilot", W, native, given))
        pascal = _decode(
            "copilot",
            {"hook_event_name": "PreToolUse", "session_id": dialects.SESSION, "timestamp": "t", "cwd": W,
             "tool_name": name, "tool_input": given},
        )  # fmt: skip
        assert camel._replace(event="") == pascal._replace(event="")


def test_an_edit_of_copilots_pascal_event_may_be_a_patch():
    base = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "timestamp": "t",
        "cwd": W,
        "tool_name": "Edit",
    }
    for given in (PATCH, {"input": PATCH}):
        assert _uses(_decode("copilot", {**base, "tool_input": given})) == PATCHED


@pytest.mark.parametrize(
    "query", ["ATTACH DATABASE '/etc/x' AS y", "vacuum  into '/x'", "select writefile('/x','')"]
)
def test_sql_that_reaches_a_file_is_not_understood(query):
    call = _decode("copilot", dialects.payload("copilot", W, "sql", {"query": query}))
    assert not call.understood
    assert _decode("copilot", dialects.payload("copilot", W, "sql", {"query": "select 1"})).understood


@pytest.mark.parametrize(
    ("agent", "tool"),
    [
        ("pi", "powershell"),
        ("copilot", "powershell"),
        ("claude", "REPL"),
        ("kiro", "execute_cmd"),
        ("vscode", "create_and_run_task"),
        ("vscode", "run_notebook_cell"),
    ],  # fmt: skip
)
def test_code_that_no_engine_holds_is_not_understood(agent, tool):
    assert not _decode(agent, dialects.payload(agent, W, tool, {"command": "ls", "code": "1"})).understood


def test_a_bridge_that_never_ends_is_refused():
    given: dict = {"name": "read_file", "arguments": {"file_path": "x"}}
    for _ in range(50):
        given = {"name": "tool_call", "arguments": given}
    with pytest.raises(WireError):
        _decode("qwen", dialects.payload("qwen", W, "tool_call", given))


def test_tables_do_not_contradict_each_other():
    for module in (
        gemini, opencode, pi, cursor, copilot, qwen, amp, cline, droid, goose, kiro, vscode, windsurf
    ):  # fmt: skip
        tables = [
            set(module.PATHS),
            set(module.COMMANDS),
            set(module.NO_PATHS),
            set(getattr(module, "CODE", ())),
        ]
        assert sum(map(len, tables)) == len(set().union(*tables)), module.NAME


def test_what_only_some_of_the_agents_wired_by_hand_have():
    many = _decode(
        "cline", dialects.payload("cline", W, "run_commands", {"commands": ["a", "b"], "command": "c"})
    )
    assert many.commands == ("a", "b", "c")
    older = {"clineVersion": "3.35.0", "hookName": "PreToolUse", "workspaceRoots": [W]}
    texts = {"toolName": "run_commands", "parameters": {"commands": '["a", "b"]'}}
    assert _decode("cline", {**older, "preToolUse": texts}).commands == ("a", "b")
    texts = {"toolName": "execute_command", "parameters": {"command": "[ -f x ] && make"}}
    assert _decode("cline", {**older, "preToolUse": texts}).commands == ("[ -f x ] && make",)
    server = {"mcp_server_name": "fs", "mcp_tool_name": "write", "mcp_tool_arguments": {"path": "../x"}}
    call = _decode("windsurf", dialects.payload("windsurf", W, "pre_mcp_tool_use", server))
    assert (call.tool, call.cwd, _uses(call)) == ("write", "/", [(C, "../x")])
    text = {**server, "mcp_tool_arguments": '{"path": "../y"}'}
    assert _uses(_decode("windsurf", dialects.payload("windsurf", W, "pre_mcp_tool_use", text))) == [
        (C, "../y")
    ]
    prompt = {"agent_action_name": "pre_user_prompt", "tool_info": {"user_prompt": "x"}}
    assert _decode("windsurf", prompt).event not in windsurf.EVENTS
    with pytest.raises(WireError):
        _decode("windsurf", {"agent_action_name": "pre_tomorrow", "tool_info": {"file_path": "/x"}})
    for bad in ({"operations": []}, {"operations": ["x"]}, {"operations": [{"mode": "Line"}]}, {}):
        with pytest.raises(WireError):
            _decode("kiro", dialects.payload("kiro", W, "fs_read", bad))
    for env in ({}, {"AGENT": "amp"}, {"AGENT": "other", "AGENT_TOOL_NAME": "Read"}):
        with pytest.raises(WireError):
            _decode("amp", {"env": env, "cwd": W, "stdin": {"path": "x"}})


def test_vs_codes_documented_spelling_is_its_own_and_nobody_elses():
    given = {"filePath": "/x", "oldString": "", "newString": ""}
    call = {
        "timestamp": "t",
        "cwd": W,
        "sessionId": "s",
        "hookEventName": "PreToolUse",
        "transcript_path": "/t",
        "tool_name": "replace_string_in_file",
        "tool_input": given,
        "tool_use_id": "1",
    }
    assert _uses(_decode("vscode", call)) == [(C, "/x")]
    for agent in registry.ROWS:
        if agent != "vscode":
            with pytest.raises(WireError):
                _decode(agent, call)
    for more in ({"permissionMode": "off"}, {"hook_event_name": "PreToolUse"}):
        with pytest.raises(WireError):
            _decode("vscode", {**call, **more})


def test_droids_commands_are_changed_only_where_it_approves_them_itself():
    for mode in droid.MODES:
        call = _decode("droid", dialects.shell("droid", W, "ls", permission_mode=mode))
        assert droid.route(call, "", {}) == ("rewrite" if mode == "auto-high" else "none")


# --- patches ------------------------------------------------------------------------------------------

PATCHES = [
    ("*** Begin Patch\n*** Add File: a b\n+x\n*** End Patch", [(C, "a b")]),
    ("*** Begin Patch\n*** Add File:a\n+x\n*** End Patch", [(C, "a")]),
    ("*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch\r\n", [(C, "a")]),
    ("*** Begin Patch\n  *** Add File: a\n+x\n", [(C, "a")]),
    ("\t*** Delete File: a\n", [(D, "a")]),
    ("*** Add File: a\n+x\n\ufeff*** Add File: ../b\n+x\n", [(C, "a"), (C, "../b")]),
    ("*** Add File:  two blanks  \n", [(C, " two blanks")]),
    ("*** add file: a\n", [(C, "a")]),
    ("***  Add File : a\n", [(C, "a")]),
    ("***Add File: a\n", [(C, "a")]),
    ("*** Update File: a:b\n*** Move to: c:d\n@@\n x\n", [(C, "a:b"), (C, "c:d")]),
    ("*** Update File: a\n@@\n x\n*** Move to: late\n", [(C, "a"), (C, "late")]),
    ("*** Add File: /abs/../x\n", [(C, "/abs/../x")]),
    ("*** Begin Patch\n*** Add File: a\n+*** Delete File: /etc/x\n*** End Patch", [(C, "a")]),
    ("*** Begin Patch\n*** Add File: a\n+1\n*** End Patch\n*** Begin Patch\n*** Delete File: b\n*** End Patch\n", [(C, "a"), (D, "b")]),
    ("*** Update File: a\n@@\n-x\n+y\n*** End of File\n", [(C, "a")]),
    ("<<'EOF'\n*** Begin Patch\n*** Add File: a\n*** End Patch\nEOF", [(C, "a")]),
    ("*** Add File: \u00e9\udcff\n", [(C, "\u00e9\udcff")]),
]  # fmt: skip
NO_PATCHES = [
    None, 1, [], {}, "", "x", "*** Begin Patch\n*** End Patch\n", "*** Add File:\n", "*** Add File: \t \n+x\n",
    "*** Add File: a\n*** Rename File: b\n", "*** Add File: a\n*** Copy to: /etc/x\n", "--- a/x\n+++ b/x\n",
    "*** Add File: a\n" * 10_001,
]  # fmt: skip


@pytest.mark.parametrize(("text", "uses"), PATCHES)
def test_the_files_of_a_patch(text, uses):
    assert [(str(use.op), use.path) for use in patches.patch_uses("x", "apply_patch", text)] == uses


@pytest.mark.parametrize("text", NO_PATCHES)
def test_a_patch_that_names_no_file_or_has_a_strange_header_is_refused(text):
    with pytest.raises(WireError):
        patches.patch_uses("x", "apply_patch", text)


DOC = "*** Begin Patch\n*** Add File: ../b\n+x\n*** End Patch"
WRAPPED = [
    (f"apply_patch <<'EOF'\n{DOC}\nEOF", ("", DOC)),
    (f"apply_patch <<'EOF'\n{DOC}\nEOF\n", ("", DOC)),
    (f'\n apply_patch<<"PATCH"\n{DOC}\nPATCH\n', ("", DOC)),
    (f"applypatch <<EOF\n{DOC}\nEOF", ("", DOC)),
    (f"cd sub && apply_patch <<'EOF'\n{DOC}\nEOF", ("sub", DOC)),
    (f"cd '/a b' && apply_patch <<'EOF'\n{DOC}\nEOF", ("/a b", DOC)),
]
# Whatever else a shell might do stays a command.
NOT_WRAPPED = [
    "apply_patch",
    f"apply_patch '{DOC}'",
    f"apply_patch <<'EOF'\n{DOC}\nEOF\ntouch /etc/x",
    f"apply_patch <<'EOF' && touch /etc/x\n{DOC}\nEOF",
    f"apply_patch <<'EOF' > /etc/x\n{DOC}\nEOF",
    f"apply_patch <<EOF\n{DOC}\n+$(touch /etc/x)\nEOF",
    f"apply_patch <<EOF\n{DOC}\n+`touch /etc/x`\nEOF",
    f"apply_patch <<'EOF'\nEOF\ntouch /etc/x\n{DOC}\nEOF",
    f"touch /etc/x; apply_patch <<'EOF'\n{DOC}\nEOF",
    f"cd sub; apply_patch <<'EOF'\n{DOC}\nEOF",
    f"cd $HOME && apply_patch <<'EOF'\n{DOC}\nEOF",
    f"cd ~ && apply_patch <<'EOF'\n{DOC}\nEOF",
    f"cd - && apply_patch <<'EOF'\n{DOC}\nEOF",
    f"cd a b && apply_patch <<'EOF'\n{DOC}\nEOF",
    f"cd \"$(touch /etc/x)\" && apply_patch <<'EOF'\n{DOC}\nEOF",
    f"cd a && cd b && apply_patch <<'EOF'\n{DOC}\nEOF",
    f"cat apply_patch <<'EOF'\n{DOC}\nEOF",
    f"X=1 apply_patch <<'EOF'\n{DOC}\nEOF",
    f"apply_patch <<-'EOF'\n{DOC}\nEOF",
    f"apply_patch <<''\n{DOC}\n",
    f"apply_patch <<'E OF'\n{DOC}\nE OF",
    f"apply_patch << 'EOF' # x\n{DOC}\nEOF",
]


@pytest.mark.parametrize(("line", "expected"), WRAPPED)
def test_a_shell_line_that_is_nothing_but_a_patch(line, expected):
    assert patches.wrapped_patch(line) == expected


@pytest.mark.parametrize("line", NOT_WRAPPED)
def test_a_shell_line_that_is_more_than_a_patch(line):
    assert patches.wrapped_patch(line) is None


def test_codex_applies_a_wrapped_patch_itself_so_it_is_an_edit_and_no_command():
    line = f"cd sub && apply_patch <<'EOF'\n{DOC}\nEOF\n"
    call = _decode("codex", dialects.shell("codex", W, line))
    assert (call.commands, _uses(call)) == ((), [(C, "/w/sub/../b")])
    with pytest.raises(WireError):
        _decode("codex", dialects.shell("codex", W, "apply_patch <<'EOF'\nnothing\nEOF\n"))


# --- fields -------------------------------------------------------------------------------------------


def test_a_foreign_mark_is_known_for_each_agent_that_has_one():
    for key in fields.MARKS:
        refused = owners = 0
        for agent in registry.ROWS:
            call = dialects.write(agent, W, "a")
            owners += key in call
            try:
                _decode(agent, {**call, key: call.get(key, "x")})
            except WireError:
                refused += 1
            else:
                assert key in (*call, "cursor_version", "generation_id"), (key, agent)
        assert refused >= len(registry.ROWS) - max(owners, 1)
