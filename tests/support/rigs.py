"""How each real agent is run against the scripted model: pinned at the versions of scripts/agents, offline, with all
of its own permissions given. Sources: the agents themselves, run so (docs/agents)."""

from __future__ import annotations

import json

from tests.support.agent_run import Rig
from tests.support.offline import MODEL_URL
from tests.support.scripted import Call


def _dump(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


CLAUDE = Rig(
    name="claude",
    package="claude-code",
    command="claude",
    model="fake_anthropic",
    argv=("-p", "go", "--permission-mode", "bypassPermissions"),
    env={
        "ANTHROPIC_BASE_URL": MODEL_URL,
        "ANTHROPIC_API_KEY": "not-a-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",  # without it bypassPermissions is refused to root
    },
    files={},
    shell=lambda command: [Call("Bash", {"command": command})],
    write=lambda path, text: [Call("Write", {"file_path": path, "content": text})],
    edit=lambda path, old, new: [
        Call("Read", {"file_path": path}),
        Call("Edit", {"file_path": path, "old_string": old, "new_string": new}),
    ],
    read=lambda path: [Call("Read", {"file_path": path})],
    notebook=lambda path, source: [
        Call("Read", {"file_path": path}),
        Call("NotebookEdit", {"notebook_path": path, "cell_id": "c1", "new_source": source}),
    ],
    background=lambda command: [Call("Bash", {"command": command, "run_in_background": True})],
    settings="@ws@/.claude/settings.json",
)

_CODEX = f"""model = "{{model}}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
analytics.enabled = false
otel.metrics_exporter = "none" # else it waits five seconds at its end

[model_providers.scripted]
name = "scripted"
base_url = "{MODEL_URL}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[projects."@ws@"]
trust_level = "trusted"
"""


def _codex(model: str) -> dict[str, str]:
    return {"@home@/.codex/config.toml": _CODEX.replace("{model}", model)}


CODEX = Rig(
    name="codex",
    package="codex",
    command="codex",
    model="fake_responses",
    argv=("exec", "--skip-git-repo-check", "go"),
    env={"SCRIPTED_KEY": "not-a-key"},
    # The newest model whose tools are offered as they are; without a known name there is no patch tool.
    files=_codex("gpt-5.5"),
    shell=lambda command: [Call("exec_command", {"cmd": command, "yield_time_ms": 20000})],
    write=None,
    edit=None,
    read=None,
    patch=lambda text: [Call("apply_patch", {"input": text})],
    settings="@ws@/.codex/hooks.json",
    asks_program=True,
)


def _script(tool: str, argument: object) -> list[Call]:
    code = f"const r = await tools.{tool}({json.dumps(argument)}); text(JSON.stringify(r));"
    return [Call("exec", {"input": code})]


# Code mode: the model writes JavaScript, whose nested calls are the hook's to judge.
CODEX_CODE = CODEX._replace(
    variant="code",
    files=_codex("gpt-6-sol"),
    shell=lambda command: _script("exec_command", {"cmd": command, "yield_time_ms": 20000}),
    patch=lambda text: _script("apply_patch", text),
)

GEMINI = Rig(
    name="gemini",
    package="gemini-cli",
    command="gemini",
    model="fake_gemini",
    # Its file tools refuse paths outside its own workspace, which is made wide so that the fence is what refuses.
    argv=(
        *("-p", "go", "-m", "gemini-2.5-flash", "--approval-mode", "yolo"),
        *("--include-directories", "@out@", "--include-directories", "@sib@"),
    ),
    env={
        "GEMINI_API_KEY": "not-a-key",
        "GOOGLE_GEMINI_BASE_URL": MODEL_URL,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    },
    files={
        "@home@/.gemini/settings.json": _dump(
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "model": {"disableLoopDetection": True, "maxSessionTurns": -1},
                "privacy": {"usageStatisticsEnabled": False},
                "telemetry": {"enabled": False},
            }
        )
    },
    shell=lambda command: [Call("run_shell_command", {"command": command})],
    write=lambda path, text: [Call("write_file", {"file_path": path, "content": text})],
    edit=lambda path, old, new: [
        Call("replace", {"file_path": path, "instruction": "i", "old_string": old, "new_string": new})
    ],
    read=lambda path: [Call("read_file", {"file_path": path})],
    background=lambda command: [Call("run_shell_command", {"command": command, "is_background": True})],
    settings="@ws@/.gemini/settings.json",
)


# OpenCode installs its plugin types into every folder that may hold plugins, and waits over a minute for a registry
# that is not there. It does not where they are installed: that is what one start with a network leaves behind.
_TYPES = _dump({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}})
_INSTALLED = {
    f"{folder}/{name}": text
    for folder in ("@home@/.config/opencode", "@ws@/.opencode")
    for name, text in (("package-lock.json", _TYPES), ("node_modules/.keep", ""))
}


def _opencode(model: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{MODEL_URL}/v1", "apiKey": "not-a-key"},
        "models": {model: {"name": model, "tool_call": True}},
    }
    config = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": f"scripted/{model}",
        "provider": {"scripted": provider},
        "permission": {"*": "allow", "external_directory": "allow"},
    }
    return {"@home@/.config/opencode/opencode.json": _dump(config), **_INSTALLED}


OPENCODE = Rig(
    name="opencode",
    package="opencode",
    command="opencode",
    model="fake_chat",
    argv=("run", "go"),
    env={
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    },
    files=_opencode("m"),
    shell=lambda command: [Call("bash", {"command": command, "description": "d"})],
    write=lambda path, text: [Call("write", {"filePath": path, "content": text})],
    edit=lambda path, old, new: [
        Call("read", {"filePath": path}),
        Call("edit", {"filePath": path, "oldString": old, "newString": new}),
    ],
    read=lambda path: [Call("read", {"filePath": path})],
    settings="@ws@/opencode.json",
)
# Offered instead of edit and write to models with this name.
OPENCODE_PATCH = OPENCODE._replace(
    variant="patch",
    files=_opencode("gpt-5"),
    write=None,
    edit=None,
    patch=lambda text: [Call("apply_patch", {"patchText": text})],
)

PI = Rig(
    name="pi",
    package="pi",
    command="pi",
    model="fake_chat",
    argv=("-p", "go", "--provider", "scripted", "--model", "m", "--mode", "json"),
    env={"PI_OFFLINE": "1"},
    files={
        "@home@/.pi/agent/models.json": _dump(
            {
                "providers": {
                    "scripted": {
                        "baseUrl": f"{MODEL_URL}/v1",
                        "api": "openai-completions",
                        "apiKey": "not-a-key",
                        "models": [{"id": "m"}],
                    }
                }
            }
        )
    },
    shell=lambda command: [Call("bash", {"command": command})],
    write=lambda path, text: [Call("write", {"path": path, "content": text})],
    edit=lambda path, old, new: [Call("edit", {"path": path, "edits": [{"oldText": old, "newText": new}]})],
    read=lambda path: [Call("read", {"path": path})],
    settings="@ws@/.pi/settings.json",
)

QWEN = Rig(
    name="qwen",
    package="qwen-code",
    command="qwen",
    model="fake_chat",
    argv=(
        *("-p", "go", "--approval-mode", "yolo"),
        *("--include-directories", "@out@", "--include-directories", "@sib@"),
    ),
    env={
        "OPENAI_API_KEY": "not-a-key",
        "OPENAI_BASE_URL": f"{MODEL_URL}/v1",
        "OPENAI_MODEL": "m",
    },
    files={
        "@home@/.qwen/settings.json": _dump(
            {
                "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
                "telemetry": {"enabled": False},
                "privacy": {"usageStatisticsEnabled": False},
                "model": {"skipLoopDetection": True},
            }
        )
    },
    shell=lambda command: [Call("run_shell_command", {"command": command, "is_background": False})],
    write=lambda path, text: [Call("write_file", {"file_path": path, "content": text})],
    edit=lambda path, old, new: [
        Call("read_file", {"file_path": path}),
        Call("edit", {"file_path": path, "old_string": old, "new_string": new}),
    ],
    read=lambda path: [Call("read_file", {"file_path": path})],
    notebook=lambda path, source: [
        Call("read_file", {"file_path": path}),
        Call("notebook_edit", {"notebook_path": path, "cell_id": "c1", "new_source": source}),
    ],
    background=lambda command: [Call("run_shell_command", {"command": command, "is_background": True})],
    settings="@ws@/.qwen/settings.json",
    routes=False,
    amends_settings=True,
)


def _copilot(model: str) -> dict[str, str]:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{MODEL_URL}/v1",
        "COPILOT_PROVIDER_API_KEY": "not-a-key",
        "COPILOT_MODEL": model,
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS": "true",  # else print mode skips them
    }


COPILOT = Rig(
    name="copilot",
    package="copilot",
    command="copilot",
    model="fake_chat",
    argv=("-p", "go", "--allow-all-tools", "--allow-all-paths", "--no-color"),
    env=_copilot("m"),
    # It takes the nearest folder with a `.git` for the project, also above: this one ends the search.
    files={"@home@/.copilot/config.json": "{}\n", "@ws@/.git/description": ""},
    shell=lambda command: [Call("bash", {"command": command, "description": "d"})],
    write=lambda path, text: [Call("create", {"path": path, "file_text": text})],
    edit=lambda path, old, new: [Call("edit", {"path": path, "old_str": old, "new_str": new})],
    read=lambda path: [Call("view", {"path": path})],
    # No background: when such a job ends, Copilot adds a tool result of its own, by which the script would lose count.
    settings="@ws@/.github/hooks/ringfence.json",
)

RIGS = (CLAUDE, CODEX, CODEX_CODE, GEMINI, OPENCODE, OPENCODE_PATCH, PI, QWEN, COPILOT)
