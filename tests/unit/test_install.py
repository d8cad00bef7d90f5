"""`ringfence install | uninstall | status claude` as a user runs them, with a home of their own."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.support.product import TIMEOUT, Product, needs_engine, product_fixture, rows  # noqa: F401 - a fixture

pytestmark = needs_engine  # install proves itself by a command that only an engine can refuse

GROUP = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "/bin/true"}]}'
STYLES = {
    "nothing": None,
    "an empty file": "",
    "a blank line": "\n",
    "an empty object": "{}",
    "two blanks": '{\n  "model": "x"\n}\n',
    "tabs, no newline at the end": '{\n\t"model": "x",\n\t"env": {\n\t\t"A": "1"\n\t}\n}',
    "one line": '{"model":"x","n":1.50}',
    "CRLF": '{\r\n  "model": "x"\r\n}\r\n',
    "odd blanks": '\n{\n\n  "a":   1 ,\n\n  "b": [ ]\n\n}\n\n\n',
    "empty hooks": '{"hooks": {}, "env": {}}',
    "empty lists": '{\n  "hooks": {\n    "PreToolUse": [],\n    "Stop": [ ]\n  }\n}\n',
    "someone's hooks": '{\n  "hooks": {\n    "PreToolUse": [\n      ' + GROUP + "\n    ]\n  }\n}\n",
    "duplicate keys": '{"env": {"A": "1"}, "env": {"B": "2"}, "hooks": {}, "hooks": {"Stop": []}}',
    "not ASCII": '{"a": "\u00e9\\u00e9\U0001f600"}',
}


def _file(product: Product, scope: str = "project") -> str:
    return product.path(
        "ws/.claude/settings.local.json" if scope == "project" else "home/.claude/settings.json"
    )


def _bytes(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _call(product: Product, command: str, *more: str, status: int = 0, **env: str) -> dict[str, object]:
    done = product.run(command, "claude", "--workspace", product.ws, "--json", *more, env=env)
    assert done.status == status, done
    return done.json if done.out else {}


TAKEN = "empty ones of others are taken for what our own entries left behind"


@pytest.mark.parametrize("name", STYLES)
def test_there_and_back_is_the_same_bytes(product, name):
    text = STYLES[name]
    path = _file(product)
    if text is not None:
        product.write("ws/.claude/settings.local.json", text)
    before = _bytes(path)

    assert _call(product, "install")["changed"] is True
    installed = _bytes(path)
    assert installed is not None
    assert installed != before
    assert _call(product, "install")["changed"] is False
    assert _bytes(path) == installed

    assert _call(product, "uninstall")["changed"] is True
    assert _bytes(path) == before
    assert os.path.exists(os.path.dirname(path)) == (text is not None)
    assert _call(product, "uninstall")["changed"] is False
    assert _bytes(path) == before
    assert not os.listdir(os.path.join(product.state, "launch"))


def test_what_others_added_meanwhile_stays(product):
    product.write("ws/.claude/settings.local.json", '{\n  "model": "x"\n}\n')
    _call(product, "install")
    path = _file(product)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    product.write(
        "ws/.claude/settings.local.json", text.replace('"model": "x"', '"model": "y",\n  "new": [1,  2]')
    )
    assert _call(product, "uninstall")["changed"] is True
    with open(path, encoding="utf-8") as file:
        left = file.read()
    assert json.loads(left) == {"model": "y", "new": [1, 2]}
    assert '"new": [1,  2]' in left


def test_without_the_memory_of_what_stood_there_only_ours_goes(product):
    product.write("ws/.claude/settings.local.json", '{"model":"x","env":{"A":"1"}}')
    _call(product, "install")
    for name in os.listdir(os.path.join(product.state, "installed")):
        os.unlink(os.path.join(product.state, "installed", name))
    _call(product, "uninstall")
    assert _bytes(_file(product)) == b'{"model":"x","env":{"A":"1"}}'


def test_another_protected_checkout_replaces_the_wiring_and_the_way_back_stays(product):
    product.write("ws/.claude/settings.local.json", "{ }")
    _call(product, "install")
    _call(product, "install", "--protect", product.out)
    with open(_file(product), encoding="utf-8") as file:
        value = json.load(file)
    assert [len(groups) for groups in value["hooks"].values()] == [1] * 5
    (handler,) = value["hooks"]["PreToolUse"][0]["hooks"]
    assert handler["args"][handler["args"].index("--protect") + 1] == product.out
    _call(product, "uninstall")
    assert _bytes(_file(product)) == b"{ }"


def test_the_mode_of_the_file_is_kept_and_a_new_one_is_private(product):
    _call(product, "install")
    assert os.stat(_file(product)).st_mode & 0o777 == 0o600
    _call(product, "uninstall")
    product.write("ws/.claude/settings.local.json", "{}")
    os.chmod(_file(product), 0o640)
    _call(product, "install")
    assert os.stat(_file(product)).st_mode & 0o777 == 0o640


def test_the_launcher_is_one_word_and_its_owners_alone(product):
    _call(product, "install")
    with open(_file(product), encoding="utf-8") as file:
        prefix = json.load(file)["env"]["CLAUDE_CODE_SHELL_PREFIX"]
    assert prefix.startswith("/")
    assert " -" not in prefix
    assert os.stat(prefix).st_mode & 0o777 == 0o700
    # As Claude starts it: one word, one line; inside works, outside does not.
    line = f"touch inside; touch {product.out}/outside"
    done = subprocess.run(
        [prefix, line], capture_output=True, cwd=product.ws, env=product.env, timeout=TIMEOUT
    )
    assert done.returncode == 1
    assert os.listdir(product.out) == []
    assert os.path.exists(product.path("ws/inside"))
    unfenced = subprocess.run(["/bin/sh", "-c", line], cwd=product.ws, timeout=TIMEOUT)
    assert unfenced.returncode == 0
    assert os.listdir(product.out) == ["outside"]


def test_the_hook_as_written_there_refuses_and_allows(product):
    _call(product, "install")
    with open(_file(product), encoding="utf-8") as file:
        hooks = json.load(file)["hooks"]
    (handler,) = hooks["PreToolUse"][0]["hooks"]

    def ask(path: str) -> bytes:
        payload = json.dumps(product.payload("Write", {"file_path": path, "content": ""})).encode()
        words = [handler["command"], *handler["args"]]
        done = subprocess.run(
            words, input=payload, capture_output=True, cwd="/", env=product.env, timeout=TIMEOUT
        )
        assert done.returncode == 0
        return done.stdout

    assert ask(f"{product.ws}/a") == b""
    assert b'"permissionDecision":"deny"' in ask(f"{product.out}/a")
    # The agent may not take the fence out again.
    assert b"[guard." in ask(_file(product))


def test_the_scope_user(product):
    made = _call(product, "install", "--scope", "user")
    assert made["settings"] == _file(product, "user")
    assert made["scope"] == "user"
    assert _bytes(_file(product)) is None
    assert _call(product, "status", "--scope", "user")["changed"] is False
    _call(product, "status", status=1)
    _call(product, "uninstall", "--scope", "user")
    assert _bytes(_file(product, "user")) is None


# --- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_link_is_refused_and_left_alone(product, command):
    target = product.write("home/dotfiles/settings.json", "{}")
    os.makedirs(os.path.dirname(_file(product)))
    os.symlink(target, _file(product))
    done = product.run(command, "claude", "--workspace", product.ws)
    assert done.status == 2
    assert done.complaint == (
        f"ringfence: {_file(product)} is a link to {target}\n"
        "  install into another scope, or make it a file of its own: a rename would replace the link\n"
    )
    assert os.readlink(_file(product)) == target
    assert _bytes(target) == b"{}"


@pytest.mark.parametrize("text", ['{"a": 1,}', "{\n// mine\n}", "[]", '{"hooks": []}', "\ufeff{}"])
def test_a_file_that_cannot_be_read_is_refused_and_left_alone(product, text):
    path = product.write("ws/.claude/settings.local.json", text)
    done = product.run("install", "claude", "--workspace", product.ws)
    assert done.status == 2
    assert done.complaint.startswith(f"ringfence: {path}:")
    assert done.complaint.endswith("\n  mend the file first; nothing was changed\n")
    assert _bytes(path) == text.encode()


@pytest.mark.parametrize("text", [None, '{ "model":"x" }'])
def test_a_fence_that_does_not_hold_is_put_back(product, text):
    # A zone that grants what the canary tries: the hook as installed allows the write outside.
    product.write(
        "home/.config/ringfence/ringfence.toml", f'[[zone]]\npath = "{product.base}"\naccess = "write"\n'
    )
    if text is not None:
        product.write("ws/.claude/settings.local.json", text)
    done = product.run("install", "claude", "--workspace", product.ws)
    assert done.status == 3
    assert done.complaint.startswith(
        f"ringfence: the hook as installed does not hold, so {_file(product)} was put back: "
        "hook refuses a write outside: "
    )
    assert _bytes(_file(product)) == (None if text is None else text.encode())
    assert not [name for name in os.listdir(product.base) if "canary" in name]


def test_without_a_workspace_nothing_is_guessed(product):
    done = product.run("install", "claude")
    assert done.status == 2
    assert done.complaint.startswith("ringfence: name the workspace that the agent may write\n")
    assert not os.path.exists(_file(product))


def test_without_a_home_there_are_no_user_settings(product):
    done = product.run("install", "claude", "--workspace", product.ws, "--scope", "user", env={"HOME": ""})
    assert done.status == 2
    assert "HOME" in done.complaint


# --- status ------------------------------------------------------------------------------------------


def _tamper(product: Product, change: object) -> None:
    with open(_file(product), encoding="utf-8") as file:
        value = json.load(file)
    change(value)
    product.write("ws/.claude/settings.local.json", json.dumps(value))


def _drop_event(value: dict) -> None:
    del value["hooks"]["PermissionRequest"]


def _move_program(value: dict) -> None:
    value["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = "/nowhere/python"


def _free(value: dict) -> None:
    args = value["hooks"]["PreToolUse"][0]["hooks"][0]["args"]
    at = args.index("--workspace")
    args[at : at + 2] = ["--no-restrict-paths"]


def _disable(value: dict) -> None:
    value["disableAllHooks"] = True


@pytest.mark.parametrize("change", [_drop_event, _move_program, _free, _disable])
def test_status_notices(product, change):
    _call(product, "install")
    assert all(check["ok"] is not False for check in _call(product, "status")["checks"])
    _tamper(product, change)
    assert not all(check["ok"] is not False for check in _call(product, "status", status=1)["checks"])


def test_status_before_and_after(product):
    (check,) = _call(product, "status", status=1)["checks"]
    assert check["detail"] == "not installed; run: ringfence install claude --workspace DIR --scope project"
    _call(product, "install")
    _call(product, "status")
    _call(product, "uninstall")
    _call(product, "status", status=1)


def test_status_notices_a_launcher_that_is_gone(product):
    _call(product, "install")
    folder = os.path.join(product.state, "launch")
    (name,) = os.listdir(folder)
    os.unlink(os.path.join(folder, name))
    _call(product, "status", status=1)


@pytest.mark.parametrize("where", ["home/.claude/settings.json", "ws/.claude/settings.json"])
def test_status_notices_another_layer_that_switches_hooks_off(product, where):
    _call(product, "install")
    product.write(where, '{"disableAllHooks": true}')
    found = [c for c in _call(product, "status", status=1)["checks"] if c["ok"] is False]
    assert [c["detail"] for c in found] == [f"{product.path(where)} sets disableAllHooks"]


@pytest.mark.parametrize("name", ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"])
def test_status_notices_a_variable_that_switches_hooks_off(product, name):
    _call(product, "install")
    found = [c for c in _call(product, "status", status=1, **{name: "1"})["checks"] if c["ok"] is False]
    assert [c["detail"] for c in found] == [f"{name} is set: Claude Code runs no hooks then"]


def _claude(product: Product, version: str) -> dict[str, str]:
    path = product.write("bin/claude", f"#!/bin/sh\necho '{version} (Claude Code)'\n")
    os.chmod(path, 0o755)
    return {"PATH": f"{product.path('bin')}:{product.env['PATH']}"}


@pytest.mark.parametrize(
    ("version", "ok"), [("2.1.294", False), ("2.1.295", True), ("2.1.332", True), ("3.0.0", True)]
)
def test_an_agent_too_old_for_a_hook_that_blocks_when_it_breaks(product, version, ok):
    env = _claude(product, version)
    made = _call(product, "install", status=0 if ok else 1, **env)
    (check,) = [c for c in made["checks"] if "onFailure" in c["name"]]
    assert check["ok"] is ok
    assert version in check["detail"]
    assert check["strength"] == ("hook" if ok else "none")


# --- somebody else's shell prefix --------------------------------------------------------------------


@pytest.mark.parametrize(
    "where", ["ws/.claude/settings.local.json", "ws/.claude/settings.json", "home/.claude/settings.json"]
)
def test_a_foreign_shell_prefix_is_kept_and_commands_are_rewritten_instead(product, where):
    foreign = '{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/opt/theirs"}}'
    product.write(where, foreign)
    made = _call(product, "install")
    (check,) = [c for c in made["checks"] if c["name"] == "shell prefix"]
    assert (
        f"{product.path(where)} sets CLAUDE_CODE_SHELL_PREFIX to /opt/theirs; it is left alone"
        in check["detail"]
    )
    with open(_file(product), encoding="utf-8") as file:
        value = json.load(file)
    assert value.get("env", {}).get("CLAUDE_CODE_SHELL_PREFIX") in (None, "/opt/theirs")
    (handler,) = value["hooks"]["PreToolUse"][0]["hooks"]
    assert "--launcher" in handler["args"]
    _call(product, "status")
    _call(product, "uninstall")
    assert _bytes(product.path(where)) == foreign.encode()


def test_json_keys_and_words_for_people(product):
    value = _call(product, "install")
    assert set(value) == {"version", "agent", "scope", "settings", "changed", "workspace", "checks"}
    assert (value["version"], value["agent"], value["scope"]) == (1, "claude", "project")
    assert value["workspace"] == [product.ws]
    for check in value["checks"]:
        assert set(check) == {"name", "ok", "strength", "detail"}
    done = product.run("install", "claude", "--workspace", product.ws)
    assert done.text.startswith(f"claude: already installed in {_file(product)}\n")
    assert "  ok   fenced shell refuses a write outside [kernel]: " in done.text
