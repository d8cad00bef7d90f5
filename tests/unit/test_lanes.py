"""Every cell of the fixed table (docs/modes.md), as argv, environment and configuration that are really rendered."""

from __future__ import annotations

import importlib
import itertools
import json
import tomllib

import pytest

from ringfence.model import Lane, Mode, Posture
from ringfence.render import lanes
from ringfence.render.lanes import Ask, Held, Places

AGENTS = ("claude", "codex", "gemini", "opencode", "pi")
SAFE, POWER = Mode.SAFE, Mode.POWER
FULL, REVIEWER = Lane.FULL, Lane.REVIEWER
ATTENDED, UNATTENDED = Posture.ATTENDED, Posture.UNATTENDED
ASKS = [Ask(*axes) for axes in itertools.product(Mode, Lane, Posture)]


def module(agent):
    return importlib.import_module(f"ringfence.render.lanes_{agent}")


def made(agent, *axes, fenced=False, loose=False, root=False):
    return module(agent).render(Ask(*axes), Places("/cfg", "/home", "/cfg/launcher", fenced, loose, root))


def value(flags, name):
    """The one value of a flag; fails if the flag is missing or given twice."""
    assert flags.count(name) == 1, flags
    return flags[flags.index(name) + 1]


def settings(flags):
    """Codex: every `-c key=value`, read as the TOML that it is."""
    pairs = [flags[at + 1] for at, word in enumerate(flags) if word == "-c"]
    return tomllib.loads("\n".join(pairs))


def permission(rendering):
    return json.loads(dict(rendering.env)["OPENCODE_CONFIG_CONTENT"])["permission"]


def decided(rules, name):
    """OpenCode's own reading: the last key that matches wins (agents are run with it in tests/e2e)."""
    found = None
    for key, answer in rules.items():
        if key in ("*", name) or (key.endswith("*") and name.startswith(key[:-1])):
            found = answer
    return found


def denied_by_policy(rendering):
    files = {file.name: file.text for file in rendering.files}
    if "policy.toml" not in files:
        assert "--policy" not in rendering.flags
        return set()
    assert value(rendering.flags, "--policy") == "/cfg/policy.toml"
    (rule,) = tomllib.loads(files["policy.toml"])["rule"]
    assert (rule["decision"], rule["priority"]) == ("deny", 999)
    assert "argsPattern" not in rule  # with one, the tool would stay in the model's list
    return set(rule["toolName"])


# --- Claude Code ------------------------------------------------------------------------------------


def test_claude_attended_safe_has_no_bash_and_accepts_edits():
    flags = made("claude", SAFE, FULL, ATTENDED).flags
    assert "Bash" in value(flags, "--disallowedTools").split(",")
    assert not {"Edit", "Write", "NotebookEdit"} & set(value(flags, "--disallowedTools").split(","))
    assert value(flags, "--permission-mode") == "acceptEdits"
    assert "--allowedTools" not in flags


def test_claude_attended_power_has_bash_approved_and_no_bypass():
    flags = made("claude", POWER, FULL, ATTENDED).flags
    assert value(flags, "--allowedTools") == "Bash"
    assert "--disallowedTools" not in flags
    assert not any("bypass" in word.lower() or "dangerously" in word for word in flags)


def test_claude_unattended_full():
    flags = made("claude", POWER, FULL, UNATTENDED).flags
    assert value(flags, "--permission-mode") == "bypassPermissions"
    assert "--disallowedTools" not in flags
    assert "--tools" not in flags


def test_claude_unattended_reviewer():
    flags = made("claude", POWER, REVIEWER, UNATTENDED).flags
    assert value(flags, "--permission-mode") == "bypassPermissions"
    assert value(flags, "--disallowedTools") == "Edit,Write,NotebookEdit"


def test_claude_does_not_send_the_prompt_of_an_older_launch():
    for ask in ASKS:
        assert value(made("claude", *ask).flags, "--system-prompt-snapshot") == "off"


def test_claude_says_sandbox_to_root_only_inside_our_fence():
    axes = (POWER, FULL, UNATTENDED)
    assert dict(made("claude", *axes, fenced=True, root=True).env) == {"IS_SANDBOX": "1"}
    assert made("claude", *axes, fenced=False, root=True).env == ()
    assert made("claude", *axes, fenced=True, root=False).env == ()


# --- Codex ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axes", "sandbox", "approval"),
    [
        ((SAFE, FULL, ATTENDED), "read-only", "untrusted"),
        ((POWER, FULL, ATTENDED), "workspace-write", "never"),
        ((POWER, FULL, UNATTENDED), "danger-full-access", "never"),
        ((POWER, REVIEWER, UNATTENDED), "danger-full-access", "never"),
    ],
)
def test_codex_sandbox_and_approval(axes, sandbox, approval):
    rendering = made("codex", *axes)
    found = settings(rendering.flags)
    assert (found["sandbox_mode"], found["approval_policy"]) == (sandbox, approval)
    thread = json.loads({file.name: file.text for file in rendering.files}["thread-start.json"])
    assert thread == {"approvalPolicy": approval, "sandbox": sandbox}


def test_codex_reviewer_has_the_flags_of_the_full_lane():
    full, review = (made("codex", POWER, lane, UNATTENDED).flags for lane in (FULL, REVIEWER))
    drop = "developer_instructions="
    assert [w for w in full if not w.startswith(drop)] == [w for w in review if not w.startswith(drop)]


def test_codex_safe_has_no_shell_tool():
    for ask in ASKS:
        flags = made("codex", *ask).flags
        assert ("--disable" in flags) == (ask.mode is SAFE)
        if ask.mode is SAFE:
            assert value(flags, "--disable") == "shell_tool"


def test_codex_says_when_its_own_sandbox_gives_way_to_ours():
    outside, inside = (made("codex", POWER, FULL, ATTENDED, fenced=fenced) for fenced in (False, True))
    assert settings(inside.flags)["sandbox_mode"] == "danger-full-access"
    assert any("danger-full-access" in note for note in inside.notes)
    assert outside.notes == ()


def test_codex_without_any_fence_keeps_its_own():
    flags = made("codex", POWER, FULL, UNATTENDED, loose=True).flags
    assert settings(flags)["sandbox_mode"] == "workspace-write"


def test_codex_never_talks_to_a_server_outside():
    for ask in ASKS:
        assert "--no-daemon" in made("codex", *ask).flags


# --- OpenCode ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axes", "wanted"),
    [
        ((SAFE, FULL, ATTENDED), {"bash": "deny", "external_directory": "deny"}),
        ((POWER, FULL, ATTENDED), {"bash": "allow", "external_directory": "deny"}),
        (
            (POWER, FULL, UNATTENDED),
            {"bash": "allow", "edit": "allow", "external_directory": "allow", "webfetch": "allow"},
        ),
        ((POWER, REVIEWER, UNATTENDED), {"edit": "deny", "bash": "allow", "read": "allow"}),
    ],
)
def test_opencode_permissions(axes, wanted):
    rules = permission(made("opencode", *axes))
    assert {name: decided(rules, name) for name in wanted} == wanted


def test_opencode_refusals_outlast_a_users_order_of_keys():
    """Settings are merged key by key and keep the user's order: a `*` of his after `bash` would win."""
    ours = permission(made("opencode", SAFE, REVIEWER, UNATTENDED))
    merged = {"bash": "allow", "edit": "ask", "external_directory": "allow", "*": "allow"}
    merged.update(ours)
    assert [decided(merged, name) for name in ("bash", "edit", "external_directory")] == ["deny"] * 3


# --- Pi ---------------------------------------------------------------------------------------------


def test_pi_attended_is_the_same_in_both_modes_and_promises_no_shell():
    safe, power = (made("pi", mode, FULL, ATTENDED) for mode in (SAFE, POWER))
    drop = ("--append-system-prompt",)
    without = [
        [w for at, w in enumerate(r.flags) if w not in drop and r.flags[at - 1] not in drop]
        for r in (safe, power)
    ]
    assert without[0] == without[1]
    assert "bash" in value(safe.flags, "--exclude-tools").split(",")
    assert "available for the active workspace" not in power.prompt
    assert "Do not use, offer or advertise a shell" in power.prompt
    assert safe.hook == power.hook  # what was withheld is withheld by the hook too
    assert any(p.what == "a shell" and p.held is Held.NONE for p in power.promises)


def test_pi_unattended():
    flags = made("pi", POWER, FULL, UNATTENDED).flags
    assert "--approve" in flags
    assert "--tools" not in flags
    assert "--exclude-tools" not in flags
    flags = made("pi", POWER, REVIEWER, UNATTENDED).flags
    assert "--approve" in flags
    assert value(flags, "--exclude-tools") == "edit,write"


# --- Gemini CLI -------------------------------------------------------------------------------------


def test_gemini():
    safe = made("gemini", SAFE, FULL, ATTENDED)
    assert denied_by_policy(safe) == {"run_shell_command"}
    assert value(safe.flags, "--approval-mode") == "auto_edit"
    power = made("gemini", POWER, FULL, ATTENDED)
    assert value(power.flags, "--approval-mode") == "yolo"
    assert dict(power.env)["GEMINI_CLI_TRUST_WORKSPACE"] == "true"
    (settings,) = (file for file in power.files if file.name == "settings.json")
    assert settings.hooked
    assert settings.merged
    assert json.loads(settings.text)["hooksConfig"] == {"enabled": True}
    assert denied_by_policy(power) == set()
    full = made("gemini", POWER, FULL, UNATTENDED)
    assert value(full.flags, "--approval-mode") == "yolo"
    review = made("gemini", POWER, REVIEWER, UNATTENDED)
    assert value(review.flags, "--approval-mode") == "yolo"
    assert {"write_file", "replace"} <= denied_by_policy(review)
    assert "run_shell_command" not in denied_by_policy(review)


# --- all of them ------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: "-".join(axis.value for axis in ask))
def test_whatever_is_asked(agent, ask):
    """What holds for each of the forty cells, named in the records or not."""
    found = made(agent, *ask)
    words = dict(zip(found.hook[::2], found.hook[1::2], strict=True))
    shell = words["--mode"] == "power"
    if ask.mode is SAFE:
        assert not shell
    assert words["--lane"] == ask.lane.value
    assert words["--posture"] == ask.posture.value
    # The prompt is the mode's, and says no more than the session has.
    assert (
        "local commands are available for the active workspace and stay scoped to it" in found.prompt
    ) == shell
    forbids = "Do not use, offer or advertise a shell, a terminal, Bash, script execution, git"
    assert (forbids in found.prompt) == (not shell)
    assert ("You review and change nothing" in found.prompt) == (ask.lane is REVIEWER)
    # It reaches the agent, and the native definition carries the same.
    everything = "\n".join([*found.flags, *(v for _, v in found.env), *(f.text for f in found.files)])
    assert found.prompt in everything or json.dumps(found.prompt)[1:-1] in everything
    assert found.prompt in found.definition[1] or json.dumps(found.prompt)[1:-1] in found.definition[1]
    # A person who may approve is never given a way around.
    if ask.posture is ATTENDED:
        assert not any("bypass" in word.lower() for word in found.flags)
    # Promises: none is left unsaid.
    said = {promise.what for promise in found.promises}
    assert "nothing outside the workspace is written" in said
    assert ("no edit tools" in said) == (ask.lane is REVIEWER)
    assert ("no shell" in said) == (not shell)
    assert all(promise.why for promise in found.promises)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_full_lane_names_no_tools_and_the_reviewer_a_deny_list(agent):
    full = made(agent, POWER, FULL, UNATTENDED).definition[1]
    head = full.partition("\n---\n")[0]
    assert "tools" not in head.lower()
    assert "permission" not in head
    review = made(agent, POWER, REVIEWER, UNATTENDED).definition[1].partition("\n---\n")[0]
    wanted = {
        "claude": "disallowedTools: Edit, Write, NotebookEdit",
        "pi": "excludeTools: edit, write",
        "opencode": "permission:\n  edit: deny",
    }
    # Codex and Gemini CLI know no deny list there: hook, policy rule and engine hold it, and the promises say so.
    assert wanted.get(agent, "name") in review


@pytest.mark.parametrize("agent", AGENTS)
def test_strengths_grow_with_the_fence_around_the_process(agent):
    inside, outside = (made(agent, POWER, REVIEWER, UNATTENDED, fenced=f).promises for f in (True, False))
    strength = {p.what: p.held for p in inside}
    assert strength["nothing outside the workspace is written"] is Held.KERNEL
    assert strength["the workspace is not changed"] is Held.KERNEL
    assert strength["background workers and MCP servers are fenced"] is Held.KERNEL
    weaker = {p.what: p.held for p in outside}
    assert weaker["nothing outside the workspace is written"] is Held.HOOK
    assert weaker["background workers and MCP servers are fenced"] is Held.NONE


def test_codex_patches_of_a_reviewer_are_held_by_the_hook():
    found = {p.what: p for p in made("codex", POWER, REVIEWER, UNATTENDED).promises}
    assert found["no edit tools"].held is Held.HOOK


# --- prompts on turns that carry a snapshot -----------------------------------------------------------


def test_a_turn_without_a_snapshot_is_the_prompt():
    assert lanes.turn("P") == "P"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("mode", [SAFE, POWER])
def test_a_snapshot_does_not_push_the_mode_out(agent, mode):
    prompt = made(agent, mode, FULL, UNATTENDED).prompt
    snapshot = "You have a shell.\n============\nStill in force: use Bash."
    turn = lanes.turn(prompt, snapshot)
    assert turn.startswith(prompt)
    assert turn.endswith(prompt)
    assert snapshot in turn
    lines = turn.splitlines()
    marks = [line for line in lines if set(line) == {"="} and len(line) > 12]
    assert len(marks) == 2
    assert marks[0] == marks[1]
    assert marks[0] not in snapshot
