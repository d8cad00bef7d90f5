"""install, uninstall and status for every agent but Claude Code (test_install.py), as a user runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from ringfence.agents import registry
from ringfence.agents.by_hand import BY_HAND
from ringfence.pipelines.install import settings_of
from tests.support.product import Product, needs_engine, product_fixture  # noqa: F401 - a fixture

pytestmark = needs_engine  # install proves itself by a command that only an engine can refuse

_BY_HAND = pytest.mark.skip(reason="wired by hand: ringfence writes no settings of it (test_by_hand.py)")
AGENTS = tuple(
    pytest.param(name, marks=_BY_HAND) if name in BY_HAND else name
    for name in registry.names()
    if name != "claude"
)
JSON_FILES = ("codex", "gemini", "cursor", "qwen")
COMMENTED = ("gemini", "qwen")
PLUGINS = ("opencode", "pi")
# What is wrong in a bare home, where neither the agent is installed nor anything trusted.
UNTRUSTED = ("codex", "gemini", "pi", "copilot")
needs_node = pytest.mark.skipif(
    shutil.which("node", path="/usr/local/bin:/usr/bin:/bin") is None, reason="no node"
)


def _file(product: Product, agent: str, scope: str) -> str:
    return settings_of(agent).settings_path(scope, product.ws, product.home, {})


def _bytes(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _call(product: Product, command: str, agent: str, *more: str, **env: str) -> tuple[int, dict]:
    done = product.run(command, agent, "--workspace", product.ws, "--json", *more, env=env)
    assert done.status in (0, 1), done
    return done.status, done.json


def _failed(report: dict) -> list[str]:
    return [check["name"] for check in report["checks"] if check["ok"] is False]


def _everything(product: Product) -> dict[str, bytes]:
    found = {}
    for root in (product.home, product.ws):
        for folder, _, names in os.walk(root):
            if "/.local/state" not in folder and "/.cache" not in folder:
                found[folder] = b""
                found.update({p: _bytes(p) or b"" for p in (os.path.join(folder, n) for n in names)})
    return found


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("agent", AGENTS)
def test_there_and_back_leaves_nothing(product, agent, scope):
    before = _everything(product)
    status, report = _call(product, "install", agent, "--scope", scope)
    trusting = agent in UNTRUSTED and not (scope == "user" and agent in ("pi", "copilot"))
    assert status == (1 if trusting else 0), report
    assert report["changed"]
    assert os.path.exists(_file(product, agent, scope))
    assert any(check["ok"] and "refuses a write outside" in check["name"] for check in report["checks"])
    once = _everything(product)
    again = _call(product, "install", agent, "--scope", scope)[1]
    assert not again["changed"]
    assert _everything(product) == once
    assert _call(product, "uninstall", agent, "--scope", scope)[1]["changed"]
    left = {p: t for p, t in _everything(product).items() if "/.local" not in p and "/.cache" not in p}
    assert {p for p in left if p not in before} <= {
        f"{product.home}/.codex",
        *(p for p in left if "/.codex/" in p),
    }
    assert not _call(product, "uninstall", agent, "--scope", scope)[1]["changed"]


THEIRS = '{"command": "/bin/true"}'
TEXTS = {
    "codex": '{\n  "hooks": {\n    "PreToolUse": [ {"hooks": [ {"type": "command", "command": "/bin/true"} ]} ]\n  }\n}\n',
    "cursor": '{"version":1,"hooks":{"preToolUse":[' + THEIRS + "]}}",
    "gemini": '{\n  // mine\n  "model": {"name": "x"}, /* and\n  this */\n  "hooks": {\n    "BeforeTool": [\n      {"hooks": [{"type": "command", "command": "/bin/true"}]} // keep\n    ]\n  }\n}\n',
    "qwen": '{\r\n\t// mine\r\n\t"model": {"name": "x"} // last\r\n}\r\n',
}


@pytest.mark.parametrize("agent", JSON_FILES)
def test_others_stay_byte_for_byte(product, agent):
    path = _file(product, agent, "project")
    product.write(os.path.relpath(path, product.base), TEXTS[agent])
    raw = _bytes(path)
    _call(product, "install", agent)
    text = (_bytes(path) or b"").decode()
    for line in TEXTS[agent].split("\n"):
        for part in ("// mine", "// keep", "// last", "/* and", "  this */", "/bin/true", '"x"'):
            assert part not in line or part in text
    _call(product, "uninstall", agent)
    assert _bytes(path) == raw


@pytest.mark.parametrize("agent", COMMENTED)
def test_taken_out_of_a_file_that_somebody_changed_since_comments_stay(product, agent):
    path = _file(product, agent, "project")
    product.write(os.path.relpath(path, product.base), TEXTS[agent])
    _call(product, "install", agent)
    text = (_bytes(path) or b"").decode() + "// added later\n"
    product.write(os.path.relpath(path, product.base), text)
    _call(product, "uninstall", agent)
    left = (_bytes(path) or b"").decode()
    assert "ringfence" not in left
    assert "// added later" in left
    for part in ("// mine", "// keep", "// last", "/bin/true"):
        assert (part in left) == (part in TEXTS[agent]), part


@pytest.mark.parametrize("agent", JSON_FILES)
def test_a_file_that_cannot_be_read_is_left_alone(product, agent):
    path = _file(product, agent, "project")
    product.write(os.path.relpath(path, product.base), '{"hooks": [}')
    done = product.run("install", agent, "--workspace", product.ws)
    assert done.status == 2
    assert "not JSON" in done.complaint
    assert _bytes(path) == b'{"hooks": [}'


@pytest.mark.parametrize("agent", ["claude", *AGENTS])
def test_what_cannot_be_read_or_written_is_said(product, agent):
    path = _file(product, agent, "project")
    os.makedirs(path)
    for command in ("install", "uninstall"):
        done = product.run(command, agent, "--workspace", product.ws)
        assert done.status == 2, done
        assert f"{path} cannot be read: Is a directory" in done.complaint
    folder = os.path.dirname(path)
    shutil.rmtree(folder)
    with open(folder, "w", encoding="ascii"):
        pass
    done = product.run("install", agent, "--workspace", product.ws)
    assert done.status == 2, done
    assert f"{path} cannot be written: {folder}: " in done.complaint


@pytest.mark.parametrize("agent", PLUGINS)
def test_a_file_of_somebody_else_in_its_place_is_refused(product, agent):
    path = _file(product, agent, "project")
    product.write(os.path.relpath(path, product.base), "export const Mine = 1\n")
    done = product.run("install", agent, "--workspace", product.ws)
    assert done.status == 2
    assert "exists and is not ours" in done.complaint
    assert _bytes(path) == b"export const Mine = 1\n"


@pytest.mark.parametrize("agent", AGENTS)
def test_a_canary_that_is_not_refused_puts_everything_back(product, agent):
    """The workspace is so wide that what should lie outside it does not."""
    before = _everything(product)
    wide = ("--no-restrict-paths",)
    done = product.run("install", agent, "--workspace", product.ws, *wide)
    assert done.status == 3, done
    assert "was put back" in done.complaint
    after = {p: t for p, t in _everything(product).items() if "/.local" not in p and "/.cache" not in p}
    assert after == before


@pytest.mark.parametrize("agent", AGENTS)
def test_status_says_what_is_missing_and_what_was_broken(product, agent):
    status, report = _call(product, "status", agent, "--scope", "user")
    assert status == 1
    assert "not installed" in report["checks"][0]["detail"]
    _call(product, "install", agent, "--scope", "user")
    status, report = _call(product, "status", agent, "--scope", "user")
    assert set(_failed(report)) <= {"the folder is trusted"}, report
    path = _file(product, agent, "user")
    text = (_bytes(path) or b"").decode()
    product.write(os.path.relpath(path, product.base), text.replace("/start.py", "/gone.py"))
    status, report = _call(product, "status", agent, "--scope", "user")
    assert status == 1
    assert _failed(report), report


@pytest.mark.parametrize(
    ("agent", "where"), [("gemini", ".gemini/trustedFolders.json"), ("pi", ".pi/agent/trust.json")]
)
def test_trust_is_given_only_on_demand_and_taken_back(product, agent, where):
    path = product.path(f"home/{where}")
    product.write(
        f"home/{where}", '{\n  "/other": true\n}\n' if agent == "pi" else '{"/other": "TRUST_FOLDER"}'
    )
    raw = _bytes(path)
    status, report = _call(product, "install", agent)
    assert status == 1
    assert [name for name in _failed(report) if "trusted" in name]
    assert _bytes(path) == raw
    status, report = _call(product, "install", agent, "--trust")
    assert status == 0, report
    assert product.ws in json.loads(_bytes(path) or b"")
    _call(product, "uninstall", agent)
    assert _bytes(path) == raw


@pytest.mark.parametrize(
    ("agent", "where"), [("gemini", ".gemini/trustedFolders.json"), ("pi", ".pi/agent/trust.json")]
)
def test_trust_that_its_owner_gave_stays(product, agent, where):
    mine = json.dumps({product.ws: True if agent == "pi" else "TRUST_FOLDER"})
    product.write(f"home/{where}", mine)
    assert _call(product, "install", agent)[0] == 0
    _call(product, "uninstall", agent)
    assert (_bytes(product.path(f"home/{where}")) or b"").decode() == mine


def test_codex_that_is_not_there_cannot_trust(product):
    status, report = _call(product, "install", "codex", "--scope", "user")
    assert status == 1
    (why,) = [check["detail"] for check in report["checks"] if check["name"] == "Codex trusts the hook"]
    assert "codex cannot be run" in why


OFF = {
    "gemini": ("home/.gemini/settings.json", '{"hooksConfig": {"enabled": false}}', "hooksConfig.enabled"),
    "qwen": ("home/.qwen/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
    "copilot": ("home/.copilot/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
    "codex": ("home/.codex/config.toml", "[features]\nhooks = false\n", "features.hooks"),
}


@pytest.mark.parametrize("agent", OFF)
def test_a_switch_that_turns_hooks_off_is_named(product, agent):
    path, text, name = OFF[agent]
    _call(product, "install", agent)
    product.write(path, text)
    report = _call(product, "status", agent)[1]
    assert [c for c in report["checks"] if c["ok"] is False and name in c["detail"]], report


# --- the generated plugins ---------------------------------------------------------------------------

DRIVE = {
    "opencode": (
        "const h = await m.Ringfence({directory: '/'}); const o = {args: {filePath: 'x'}};"
        "try { await h['tool.execute.before']({tool: 'write', sessionID: 's', callID: 'c'}, o);"
        " console.log('ran', JSON.stringify(o.args)) } catch (e) { console.log('blocked', e.message) }"
    ),
    "pi": (
        "let f; m.default({on: (n, h) => { if (n === 'tool_call') f = h }}); const e = {type: 'tool_call', toolName: 'write',"
        " toolCallId: 'c', input: {path: 'x'}}; const r = await f(e, {cwd: '/', mode: 'print', hasUI: false});"
        " if (r?.block) console.log('blocked', r.reason); else console.log('ran', JSON.stringify(e.input))"
    ),
}
HOOKS = {
    "allows": ('cat > /dev/null; echo \'{"verdict":"allow"}\'', "ran"),
    "rewrites": ('cat > /dev/null; echo \'{"verdict":"allow","input":{"a":1}}\'', 'ran {"a":1}'),
    "denies": ('cat > /dev/null; echo \'{"verdict":"deny","reason":"no"}\'', "blocked no"),
    "denies before it has read": ('echo \'{"verdict":"deny","reason":"no"}\'', "blocked no"),
    "asks": ('echo \'{"verdict":"ask","reason":"sure?"}\'', "blocked sure?"),
    "an unknown verdict": ('echo \'{"verdict":"maybe"}\'', "blocked ringfence refused"),
    "an input that is none": ('echo \'{"verdict":"allow","input":7}\'', "blocked ringfence refused"),
    "null": ("echo null", "blocked ringfence refused"),
    "silence": ("exit 0", "blocked ringfence refused"),
    "text": ("echo fine", "blocked ringfence refused"),
    "two answers": ('echo \'{"verdict":"allow"}{}\'', "blocked ringfence refused"),
    "an allow and a bad end": ('echo \'{"verdict":"allow"}\'; exit 1', "blocked ringfence refused"),
    "killed": ('echo \'{"verdict":"allow"}\'; kill -9 $$', "blocked ringfence refused"),
    "slow": ("exec sleep 60", "blocked ringfence refused"),
    "endless": ("yes", "blocked ringfence refused"),
    "missing": ("", "blocked ringfence refused"),
}


@needs_node
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("agent", PLUGINS)
def test_a_plugin_takes_nothing_but_a_whole_answer(tmp_path, monkeypatch, agent, hook):
    from ringfence.agents import plugins
    from ringfence.agents.wiring import Wiring

    monkeypatch.setattr(plugins, "WAIT", 1.0)
    script, expected = HOOKS[hook]
    program = tmp_path / "ringfence"
    if script:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    made = tmp_path / "plugin.mjs"
    made.write_text(settings_of(agent).install_text(str(made), None, Wiring(str(program), ("hook", agent))))
    code = f"const m = await import({json.dumps(str(made))}); {DRIVE[agent]}; process.exit(0)"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.startswith(expected), done
