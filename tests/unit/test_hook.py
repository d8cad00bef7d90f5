"""The hook as a whole process, answer by answer, as Claude Code 2.1.332 would call it."""

from __future__ import annotations

import json
import os

import pytest

from tests.support.product import Product, answer, product_fixture  # noqa: F401 - a fixture

# tool, its input; {ws} and {out} are the workspace and the folder outside. Names: Claude Code 2.1.332 and older.
INSIDE = [
    ("Read", {"file_path": "{ws}/a"}),
    ("Read", {"file_path": "a", "offset": 1, "limit": 5}),
    ("Write", {"file_path": "{ws}/a", "content": "x"}),
    ("Write", {"file_path": "{ws}/new/deep/a", "content": "x"}),
    ("Edit", {"file_path": "{ws}/a", "old_string": "x", "new_string": "y", "replace_all": False}),
    ("MultiEdit", {"file_path": "{ws}/a", "edits": []}),
    ("NotebookEdit", {"notebook_path": "{ws}/a.ipynb", "new_source": ""}),
    ("NotebookRead", {"notebook_path": "{ws}/a.ipynb"}),
    ("LS", {"path": "{ws}"}),
    ("Glob", {"pattern": "**/*.py"}),
    ("Glob", {"pattern": "*", "path": "{ws}/sub"}),
    ("Glob", {"pattern": "{ws}/**/x"}),
    ("Glob", {"pattern": "sub/../*"}),
    ("Glob", {"pattern": "../*", "path": "{ws}/sub"}),
    ("Grep", {"pattern": "/etc/passwd"}),
    ("Grep", {"pattern": "x", "path": "sub", "glob": "../../*"}),
    ("LSP", {"filePath": "{ws}/a", "line": 1}),
    ("EnterWorktree", {"name": "w"}),
    ("EnterWorktree", {"path": "{ws}/sub"}),
    ("Workflow", {"script": "return 1"}),
    ("Workflow", {"scriptPath": "{ws}/w.js"}),
    ("Artifact", {"file_path": "{ws}/a", "file_paths": ["{ws}/a", "b"], "out_dir": "{ws}/o"}),
    ("Projects", {"local_path": "{ws}/a", "path": "/remote/name"}),
    ("SendUserFile", {"files": ["{ws}/a"]}),
    ("ReadMcpResourceTool", {"server": "s", "uri": "file://{ws}/a"}),
    ("Monitor", {"ws": {"url": "wss://x.invalid/"}}),
    ("mcp__fs__write_file", {"path": "{ws}/a", "content": "see /etc/passwd"}),
    ("mcp__api__get", {"endpoint": "/no-such-top-level-name/42", "url": "https://x.invalid/../../etc"}),
    ("mcp__chat__post", {"text": "either/or, a ~ b, and so on"}),
    ("mcp__empty__call", {}),
]
OUTSIDE_READ = [
    ("Read", {"file_path": "{out}/a"}),
    ("Read", {"file_path": "../out/a"}),
    ("Read", {"file_path": "sub/../../out/a"}),
    ("Read", {"file_path": "link/a"}),
    ("Read", {"file_path": "~/a"}),
    ("NotebookRead", {"notebook_path": "{out}/a.ipynb"}),
    ("LS", {"path": "{out}"}),
    ("LS", {"path": ".."}),
    ("Glob", {"pattern": "*", "path": "{out}"}),
    ("Glob", {"pattern": "*", "path": ".."}),
    ("Glob", {"pattern": "../out/*"}),
    ("Glob", {"pattern": "{out}/*"}),
    ("Glob", {"pattern": "/*"}),
    ("Glob", {"pattern": "/etc/**/*.conf"}),
    ("Glob", {"pattern": "~/*"}),
    ("Glob", {"pattern": "*/../../out/*"}),
    ("Glob", {"pattern": "**/../../out/x"}),
    ("Glob", {"pattern": "s?b/../../*"}),
    ("Glob", {"pattern": "[s]ub/x/../../../out/*"}),
    ("Glob", {"pattern": "../../out/*", "path": "{ws}/sub"}),
    ("Glob", {"pattern": "x", "path": "link"}),
    ("Glob", {"pattern": "link/*"}),
    ("Grep", {"pattern": "x", "path": "{out}"}),
    ("Grep", {"pattern": "x", "path": "../out"}),
    ("LSP", {"filePath": "{out}/a", "line": 1}),
    ("Workflow", {"scriptPath": "{out}/w.js"}),
    ("Artifact", {"file_path": "{out}/a"}),
    ("Artifact", {"file_path": "{ws}/a", "file_paths": ["{ws}/a", "{out}/a"]}),
    ("Projects", {"local_path": "{out}/a"}),
    ("SendUserFile", {"files": ["{ws}/a", "{out}/a"]}),
    ("ReadMcpResourceTool", {"server": "s", "uri": "file://{out}/a"}),
]
OUTSIDE_WRITE = [
    ("Write", {"file_path": "{out}/a", "content": ""}),
    ("Write", {"file_path": "../out/a", "content": ""}),
    ("Write", {"file_path": "link/a", "content": ""}),
    ("Write", {"file_path": "dangling", "content": ""}),
    ("Write", {"file_path": "~/.bashrc", "content": ""}),
    ("Write", {"file_path": "{ws}-sibling/a", "content": ""}),
    ("Edit", {"file_path": "{out}/a", "old_string": "", "new_string": ""}),
    ("MultiEdit", {"file_path": "{out}/a", "edits": []}),
    ("NotebookEdit", {"notebook_path": "{out}/a.ipynb", "new_source": ""}),
    ("EnterWorktree", {"path": "{out}/w"}),
    ("Artifact", {"file_path": "{ws}/a", "out_dir": "{out}"}),
    ("mcp__fs__write_file", {"path": "{out}/a"}),
    ("mcp__fs__write_file", {"Path": "../out/a"}),
    ("mcp__fs__move", {"source": "{ws}/a", "destination": "{out}/a"}),
    ("mcp__fs__edit", {"deep": [{"er": {"file": "{out}/a"}}]}),
    ("mcp__fs__many", {"paths": ["a", "b", "../out/c"]}),
    ("mcp__fs__uri", {"uri": "file://{out}/a"}),
    ("mcp__fs__uri", {"uri": "file://localhost{out}/a"}),
    ("mcp__fs__uri", {"resource": "file:///etc/%70asswd"}),
    ("mcp__fs__home", {"anything": "~/a"}),
    ("mcp__fs__bare", {"anything": "/etc/hosts"}),
    ("mcp__fs__climb", {"anything": "sub/../../out/x"}),
    ("mcp__fs__in_folder", {"path": "a folder with blanks/../../out/x"}),
    ("SomeToolOfTomorrow", {"file_path": "{out}/a"}),
]
# Paths that a heuristic for prose or URLs must not lose: the key itself says that they are paths.
NAMED = [
    ("mcp__fs__write_file", {"path": "{out}/two\nlines"}),
    ("mcp__fs__write_file", {"path": "blank link/x"}),
    ("mcp__fs__write_file", {"path": "~root/x"}),
]
# Inside as the kernel reads them; outside as runtimes do that trim, expand `~` and fold before they open.
TIDIED = [
    "\ufeff{out}/x",
    "\ufeff../out/x",
    " \ufeff ../out/x\ufeff",
    "../out/x\ufeff",
    " {ws}/inner/../../out/x",
    "\ufeff{ws}/inner/../../out/x",
    "~/../ws/inner/../../out/x",
    " ~/../ws/inner/../../out/x",
]
NO_PATH = [
    "Agent", "AskUserQuestion", "BashOutput", "CronCreate", "EnterPlanMode", "ExitPlanMode", "KillShell",
    "ListMcpResourcesTool", "ScheduleWakeup", "Skill", "SlashCommand", "Task", "TaskOutput", "TodoWrite",
    "WebFetch", "WebSearch",
]  # fmt: skip


def _filled(value: object, product: Product) -> object:
    if isinstance(value, str):
        return value.replace("{ws}", product.ws).replace("{out}", product.out)
    if isinstance(value, dict):
        return {key: _filled(item, product) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, product) for item in value]
    return value


def _ids(rows: list[tuple[str, dict[str, object]]]) -> list[str]:
    return [f"{tool}-{json.dumps(given)[:60]}" for tool, given in rows]


@pytest.fixture(name="tree")
def _tree(product: Product) -> Product:
    product.write("ws/a", "x")
    product.write("ws/sub/b", "x")
    product.write("out/a", "x")
    os.symlink(product.out, product.path("ws/link"))
    os.symlink(product.out, product.path("ws/blank link"))
    os.symlink(product.path("out/none"), product.path("ws/dangling"))
    os.makedirs(product.path("ws-sibling"))
    return product


@pytest.mark.parametrize(("tool", "given"), INSIDE, ids=_ids(INSIDE))
def test_a_use_inside_is_answered_with_silence(tree, tool, given):
    done = tree.hook(tree.payload(tool, _filled(given, tree)))
    assert done == (0, b"", b"")


@pytest.mark.parametrize(("tool", "given"), OUTSIDE_READ, ids=_ids(OUTSIDE_READ))
def test_a_read_outside_is_denied(tree, tool, given):
    decision, reason = answer(tree.hook(tree.payload(tool, _filled(given, tree))))
    assert decision == "deny"
    assert reason.startswith("ringfence deny [outside.read]: ")


@pytest.mark.parametrize(("tool", "given"), OUTSIDE_WRITE, ids=_ids(OUTSIDE_WRITE))
def test_a_write_outside_is_denied(tree, tool, given):
    decision, reason = answer(tree.hook(tree.payload(tool, _filled(given, tree))))
    assert decision == "deny"
    assert reason.startswith("ringfence deny [outside.write]: ")


@pytest.mark.parametrize(("tool", "given"), NAMED, ids=_ids(NAMED))
def test_a_path_that_its_key_names_is_judged_whatever_it_looks_like(tree, tool, given):
    assert answer(tree.hook(tree.payload(tool, _filled(given, tree))))[0] == "deny"


@pytest.mark.parametrize("text", TIDIED, ids=ascii)
def test_a_path_that_a_runtime_tidies_is_judged_as_that_runtime_opens_it(tree, text):
    os.makedirs(tree.path("ws/one/two/three"))
    os.symlink(tree.path("ws/one/two/three"), tree.path("ws/inner"))
    given = _filled({"file_path": text, "content": ""}, tree)
    # What Node makes of it: `trim` (ECMA-262: U+FEFF is a blank), `~/` for HOME, `path.resolve` folds the text.
    bare = given["file_path"].strip().strip("\ufeff").strip()
    bare = tree.home + bare[1:] if bare.startswith("~/") else bare
    opened = os.path.normpath(os.path.join(tree.ws, bare))
    assert opened.startswith(tree.out + "/")
    assert answer(tree.hook(tree.payload("Write", given)))[0] == "deny"


@pytest.mark.parametrize("name", ["\ufeffx", "a \ufeff b", "caf\u00e9"], ids=ascii)
def test_a_strange_name_inside_is_still_written(tree, name):
    assert tree.hook(tree.payload("Write", {"file_path": f"{tree.ws}/{name}"})) == (0, b"", b"")


@pytest.mark.parametrize("tool", NO_PATH)
def test_a_tool_that_names_no_path_is_answered_with_silence(product, tool):
    given = {"prompt": "write /etc/passwd", "path": "/etc/passwd", "url": "file:///etc/passwd"}
    assert product.hook(product.payload(tool, given)) == (0, b"", b"")


def test_the_reason_says_what_where_by_which_rule_and_what_next(tree):
    decision, reason = answer(tree.hook(tree.payload("Read", {"file_path": "../out/a"})))
    assert decision == "deny"
    assert reason == (
        f"ringfence deny [outside.read]: reading {tree.out}/a: it lies outside the workspace {tree.ws} and every "
        f'readable zone. Rule: built in (default). Next: grant it: [[zone]] path = "{tree.out}/a" access = "read", '
        'or reads = "anywhere".'
    )


def test_every_refusal_is_in_the_decision_log_and_no_permission_is(tree):
    tree.hook(tree.payload("Read", {"file_path": "a"}))
    assert tree.log() == []
    tree.hook(tree.payload("Write", {"file_path": "../out/a", "content": ""}))
    (entry,) = tree.log()
    assert entry.pop("time") > 0
    entry.pop("message")
    entry.pop("next")
    assert entry == {
        "door": "hook",
        "agent": "claude",
        "session": "00000000-0000-4000-8000-000000000000",
        "tool": "Write",
        "cwd": tree.ws,
        "verdict": "deny",
        "code": "outside.write",
        "op": "write",
        "path": f"{tree.out}/a",
        "rule": "built in (default)",
    }
    log = os.path.join(tree.state, "decisions.jsonl")
    assert os.stat(log).st_mode & 0o777 == 0o600


def test_the_strictest_of_several_paths_counts(tree):
    given = {"source": "a", "destination": f"{tree.out}/a", "target": "b"}
    decision, reason = answer(tree.hook(tree.payload("mcp__fs__copy", given)))
    assert decision == "deny"
    assert f"{tree.out}/a" in reason


def test_relative_paths_start_from_the_payloads_cwd_and_the_policy_does_not(tree):
    inside = tree.payload("Write", {"file_path": "b", "content": ""}, cwd=tree.path("ws/sub"))
    assert tree.hook(inside) == (0, b"", b"")
    outside = tree.payload("Write", {"file_path": "b", "content": ""}, cwd=tree.out)
    assert answer(tree.hook(outside))[0] == "deny"


def test_guarded_files_are_refused_to_a_file_tool(tree):
    for name in (".git/hooks/pre-commit", ".claude/settings.local.json", ".mcp.json", "ringfence.toml"):
        given = {"file_path": f"{tree.ws}/{name}", "content": ""}
        decision, reason = answer(tree.hook(tree.payload("Write", given)))
        assert decision == "deny", name
        assert "ringfence deny [guard." in reason, name


# --- commands ---------------------------------------------------------------------------------------

LAUNCHER = "/state dir/it's/ringfence-claude-0"


def test_a_command_without_a_launcher_is_asked_about_and_denied_where_nobody_answers(product):
    call = product.payload("Bash", {"command": "true"})
    assert answer(product.hook(call))[0] == "ask"
    for mode in ("bypassPermissions", "dontAsk"):
        decision, reason = answer(product.hook({**call, "permission_mode": mode}))
        assert decision == "deny"
        assert f"nobody is there to ask (permission mode {mode})" in reason


def test_a_command_is_rewritten_where_the_prefix_is_not_in_force(product):
    given = {"command": "echo 'it'", "timeout": 5, "run_in_background": True, "description": "é"}
    words = ("--workspace", product.ws, "--launcher", LAUNCHER)
    done = product.hook(product.payload("Bash", given), *words)
    assert done.json == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "updatedInput": {
                **given,
                "command": "'/state dir/it'\"'\"'s/ringfence-claude-0' 'echo '\"'\"'it'\"'\"''",
            },
        }
    }
    assert (done.status, done.err) == (0, b"")


@pytest.mark.parametrize("prefix", ["", "/somebody/elses", LAUNCHER + "x"])
def test_any_other_prefix_is_not_ours(product, prefix):
    words = ("--workspace", product.ws, "--launcher", LAUNCHER)
    done = product.hook(
        product.payload("Bash", {"command": ":"}), *words, env={"CLAUDE_CODE_SHELL_PREFIX": prefix}
    )
    assert "updatedInput" in done.json["hookSpecificOutput"]


@pytest.mark.parametrize("tool", ["Bash", "Monitor"])
def test_a_command_that_our_prefix_wraps_is_left_as_it_is(product, tool):
    words = ("--workspace", product.ws, "--launcher", LAUNCHER)
    done = product.hook(
        product.payload(tool, {"command": "touch a; make"}),
        *words,
        env={"CLAUDE_CODE_SHELL_PREFIX": LAUNCHER},
    )
    assert done == (0, b"", b"")


@pytest.mark.parametrize("tool", ["Bash", "Monitor"])
@pytest.mark.parametrize("prefix", ["", LAUNCHER])
def test_what_a_commands_text_tells_is_refused_before_it_runs(product, tool, prefix):
    words = ("--workspace", product.ws, "--launcher", LAUNCHER)
    call = product.payload(tool, {"command": "make; touch /etc/x"})
    decision, reason = answer(product.hook(call, *words, env={"CLAUDE_CODE_SHELL_PREFIX": prefix}))
    assert decision == "deny"
    assert reason.startswith("ringfence deny [outside.write]: writing /etc/x: ")


@pytest.mark.parametrize(
    ("tool", "given"),
    [("PowerShell", {"command": "ls"}), ("REPL", {"code": "1"}), ("Monitor", {"command": "ls"})],
)
def test_code_that_no_engine_stands_around_is_never_allowed_by_reading(product, tool, given):
    words = ("--workspace", product.ws, "--launcher", LAUNCHER)
    call = product.payload(tool, given)
    decision, reason = answer(product.hook(call, *words))
    assert decision == "ask"
    assert "[opaque.no-engine]" in reason
    assert answer(product.hook({**call, "permission_mode": "bypassPermissions"}, *words))[0] == "deny"


def test_what_opaque_means_is_the_policys(product):
    product.write("home/.config/ringfence/ringfence.toml", 'opaque = "deny"\n')
    assert answer(product.hook(product.payload("REPL", {"code": "1"})))[0] == "deny"
    product.write("home/.config/ringfence/ringfence.toml", 'opaque = "allow"\n')
    assert product.hook(product.payload("REPL", {"code": "1"})) == (0, b"", b"")


def test_what_unattended_means_is_the_policys(product):
    product.write("home/.config/ringfence/ringfence.toml", 'unattended = "allow"\n')
    call = product.payload("REPL", {"code": "1"}, permission_mode="bypassPermissions")
    assert product.hook(call) == (0, b"", b"")


# --- events -----------------------------------------------------------------------------------------


def test_a_permission_request_is_denied_in_its_own_shape(tree):
    call = tree.payload("Write", {"file_path": "../out/a", "content": ""}, "PermissionRequest")
    decision, reason = answer(tree.hook(call), "PermissionRequest")
    assert decision == "deny"
    assert "[outside.write]" in reason


def test_a_permission_request_never_answers_a_question_for_a_person(tree):
    inside = tree.payload("Write", {"file_path": "a", "content": ""}, "PermissionRequest")
    assert tree.hook(inside) == (0, b"", b"")
    asked = tree.payload("REPL", {"code": "1"}, "PermissionRequest")
    done = tree.hook(asked)
    assert (done.status, done.out) == (0, b"")
    unattended = {**asked, "permission_mode": "bypassPermissions"}
    assert answer(tree.hook(unattended), "PermissionRequest")[0] == "deny"


def test_a_skills_own_shell_line_is_stopped_where_no_fence_stands_around_it(product):
    call = product.payload("Bash", {"command": "true"}, "PreSkillShellCommand", command_name="x")
    words = ("--workspace", product.ws, "--launcher", LAUNCHER)
    decision, _ = answer(product.hook(call, *words), "PreSkillShellCommand")
    assert decision in ("ask", "deny")


def test_a_skill_line_is_never_rewritten(product):
    # A rewrite is not applied there and stops the line (Claude Code 2.1.332), so it would only confuse.
    call = product.payload("Bash", {"command": "true"}, "PreSkillShellCommand")
    done = product.hook(call, "--workspace", product.ws, "--launcher", LAUNCHER)
    assert b"updatedInput" not in done.out


# event -> the field that it carries besides those of all events; a tool's input only where the tool has run already
SILENT = {
    "PostToolUse": {"tool_input": {"file_path": "/etc/x"}, "tool_name": "Write"},
    "PostToolUseFailure": {"tool_input": {"file_path": "/etc/x"}, "tool_name": "Write"},
    "PermissionDenied": {"tool_input": {"file_path": "/etc/x"}, "tool_name": "Write"},
    "Stop": {"stop_hook_active": False},
    "UserPromptSubmit": {"prompt": "write /etc/x"},
    "CwdChanged": {"old_cwd": "/", "new_cwd": "/etc"},
    "SomethingOfTomorrow": {},
}


@pytest.mark.parametrize("event", SILENT)
def test_events_that_decide_nothing_are_answered_with_silence(product, event):
    call = {"hook_event_name": event, "session_id": "s", "cwd": product.ws, **SILENT[event]}
    assert product.hook(call) == (0, b"", b"")


def test_an_event_that_the_hook_was_not_installed_for_is_refused(product):
    call = product.payload("Write", {"file_path": "a", "content": ""}, "PostToolUse")
    done = product.hook(call, "--workspace", product.ws, "--event", "PreToolUse")
    assert answer(done)[0] == "deny"


ATTENDED = {
    # (permission mode, what Claude Code says of itself) -> what becomes of a question
    ("default", ""): "ask",
    ("default", "1"): "ask",
    ("default", "0"): "deny",
    ("plan", "0"): "deny",
    ("auto", "1"): "ask",
    ("auto", "0"): "deny",
    ("auto", ""): "deny",
    ("bypassPermissions", "1"): "deny",
    ("dontAsk", "1"): "deny",
    ("default", "yes"): "ask",
}


@pytest.mark.parametrize(("mode", "said"), ATTENDED)
def test_whether_somebody_is_there_to_ask(product, mode, said):
    call = product.payload("REPL", {"code": "1"}, permission_mode=mode)
    done = product.hook(call, env={"CLAUDE_CODE_SESSION_ATTENDED": said} if said else {})
    assert answer(done)[0] == ATTENDED[mode, said]


def test_the_end_of_a_session_takes_its_temp_folder_along(product):
    base = f"/tmp/ringfence-{os.geteuid()}"
    session = f"t{os.getpid()}-end"
    folder = f"{base}/claude-{session}"
    os.makedirs(f"{folder}/sub", 0o700)
    other = f"{base}/claude-t{os.getpid()}-other"
    os.makedirs(other, 0o700)
    try:
        start = {"hook_event_name": "SessionStart", "session_id": session, "source": "startup", "cwd": "/"}
        assert product.hook(start) == (0, b"", b"")
        assert os.path.isdir(f"{folder}/sub")
        end = {"hook_event_name": "SessionEnd", "session_id": session, "reason": "other", "cwd": "/"}
        assert product.hook(end) == (0, b"", b"")
        assert not os.path.exists(folder)
        assert os.path.isdir(other)
    finally:
        os.rmdir(other)


# --- the predicate: fenced or not --------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["bypassPermissions", "auto"])
def test_a_run_that_approves_itself_without_a_fence_is_warned_three_times(product, mode):
    call = product.payload("Write", {"file_path": f"{product.out}/a", "content": ""}, permission_mode=mode)
    done = product.hook(call, "--no-restrict-paths")
    text = (
        f"ringfence: NO FENCE. This session approves its own tool calls ({mode}) and no workspace is named, so "
        "nothing is refused. Name one: ringfence install claude --workspace DIR, or set RINGFENCE_WORKSPACE."
    )
    assert done.status == 0
    assert done.json == {"systemMessage": text}
    assert done.complaint == text + "\n"
    (entry,) = product.log()
    assert entry["warning"] == text
    assert entry["verdict"] == "allow"


@pytest.mark.parametrize("mode", ["default", "plan", "acceptEdits"])
def test_a_person_who_is_asked_anyway_is_not_warned(product, mode):
    call = product.payload("Write", {"file_path": f"{product.out}/a", "content": ""}, permission_mode=mode)
    assert product.hook(call, "--no-restrict-paths") == (0, b"", b"")


def test_the_environment_names_the_workspace_where_no_flag_does(product):
    call = product.payload("Write", {"file_path": f"{product.out}/a", "content": ""})
    open_call = product.run("hook", "claude", stdin=json.dumps(call).encode())
    assert open_call == (0, b"", b"")
    fenced = product.run(
        "hook", "claude", stdin=json.dumps(call).encode(), env={"RINGFENCE_WORKSPACE": product.ws}
    )
    assert answer(fenced)[0] == "deny"


def test_restrict_paths_alone_fences_to_where_the_agent_was_started(product):
    call = product.payload("Write", {"file_path": f"{product.out}/a", "content": ""}, cwd=product.out)
    assert answer(product.hook(call, "--restrict-paths"))[0] == "deny"
    started = product.hook(call, "--restrict-paths", env={"CLAUDE_PROJECT_DIR": product.out})
    assert started == (0, b"", b"")


def test_protect_holds_where_nothing_else_is_fenced(product):
    call = product.payload("Write", {"file_path": f"{product.out}/a", "content": ""})
    done = product.hook(call, "--no-restrict-paths", "--protect", product.out)
    assert "[protected.checkout]" in answer(done)[1]


# --- Claude's own folders ----------------------------------------------------------------------------


def test_claudes_own_scratch_is_granted_by_the_shape_of_its_names(product):
    session = "11111111-2222-3333-4444-555555555555"
    slug = "-x"
    config = f"{product.home}/.claude"
    transcript = f"{config}/projects/{slug}/{session}.jsonl"
    temp = product.path("tmp")
    more = {"session_id": session, "transcript_path": transcript}
    env = {"TMPDIR": temp}

    def ask(tool: str, path: str) -> str:
        call = product.payload(tool, {"file_path": path, "content": ""}, **more)
        return answer(product.hook(call, env=env))[0]

    assert ask("Read", f"{temp}/claude-{os.getuid()}/{slug}/{session}/tasks/1.output") == ""
    assert ask("Read", f"{temp}/claude-{os.getuid()}/{slug}/other-session/tasks/1.output") == "deny"
    assert ask("Read", f"{config}/projects/{slug}/{session}/tool-results/1.txt") == ""
    assert ask("Write", f"{config}/projects/{slug}/{session}/tool-results/1.txt") == "deny"
    assert ask("Write", f"{config}/projects/{slug}/memory/MEMORY.md") == ""
    assert ask("Write", f"{config}/plans/p.md") == ""
    assert ask("Write", f"{config}/settings.json") == "deny"
    assert ask("Read", transcript) == "deny"


@pytest.mark.parametrize(
    "transcript",
    [
        "",
        "/x.jsonl",
        "{config}/projects/../s.jsonl",
        "{config}/projects/a/b/{id}.jsonl",
        "{config}/projects//{id}.jsonl",
    ],
)
def test_a_transcript_path_of_another_shape_grants_nothing(product, transcript):
    session = "11111111-2222-3333-4444-555555555555"
    config = f"{product.home}/.claude"
    path = transcript.replace("{config}", config).replace("{id}", session)
    call = product.payload(
        "Write", {"file_path": f"{config}/plans/p.md"}, session_id=session, transcript_path=path
    )
    assert answer(product.hook(call))[0] == "deny"
