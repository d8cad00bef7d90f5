"""Real payloads, one file each: what each agent's dialect makes of its own, and that it refuses every other's."""

from __future__ import annotations

import json
import os

import pytest

from ringfence.agents import registry
from ringfence.errors import ForeignError, WireError
from tests.support import dialects
from tests.support.product import Product, product_fixture  # noqa: F401 - a fixture

CORPUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "corpus", "payloads")
WS = "/home/dev/project"

# file -> (tool, cwd, uses as (op, path), commands)
EXPECTED = {
    "claude/bash-redirect-outside": ("Bash", WS, [], ["pytest -q > /home/dev/other/report.txt 2>&1"]),
    "claude/edit-inside": ("Edit", WS, [("write", f"{WS}/src/app.py")], []),
    "claude/permission-request-edit": ("Edit", WS, [("write", "/home/dev/other/setup.cfg")], []),
    "claude/skill-shell-line": ("Bash", WS, [], ["git log --oneline -5 > ../log.txt"]),
    "codex/bash-inside": ("Bash", WS, [], ["python -m pytest tests -q"]),
    "codex/bash-workdir-becomes-cwd": (
        "Bash",
        f"{WS}/packages/core",
        [],
        ["tee ../../other/out.txt < data.csv"],
    ),
    "codex/apply-patch-move-and-delete": (
        "apply_patch",
        WS,
        [("write", "src/old_name.py"), ("write", "/home/dev/other/new_name.py"), ("delete", "docs/draft.md")],
        [],
    ),
    "codex/permission-request": ("Bash", WS, [], ["rm -r /home/dev/other/build"]),
    "gemini/write-file-relative": ("write_file", WS, [("write", "docs/guide.md")], []),
    "gemini/replace-inside": ("replace", WS, [("write", f"{WS}/src/app.py")], []),
    "gemini/shell-dir-path": ("run_shell_command", f"{WS}/packages/core", [], ["cp report.txt ../../other/"]),
    "opencode/read-relative": ("read", WS, [("read", "../other/.env")], []),
    "opencode/edit-inside": ("edit", WS, [("write", "src/app.py")], []),
    "opencode/task-subagent": ("task", WS, [], []),
    "pi/bash": ("bash", WS, [], ["git -C ../other checkout -- ."]),
    "pi/find-nested": ("find", WS, [("read", "/home/dev")], []),
    "pi/read-at-prefix": ("read", WS, [("read", "../other/secret.txt")], []),
    "copilot/camel-apply-patch-string": (
        "apply_patch",
        WS,
        [("write", "src/app.py"), ("write", "../shared/notes.txt")],
        [],
    ),
    "copilot/camel-legacy-json-string": ("create", WS, [("write", "../other/new.txt")], []),
    "copilot/pascal-edit": ("edit", WS, [("write", f"{WS}/src/app.py")], []),
    "cursor/pretooluse-shell": ("Shell", WS, [], ["mv build ../other/"]),
    "cursor/pretooluse-write": ("Write", WS, [("write", "/home/dev/other/a.ts")], []),
    "cursor/before-mcp-execution": ("write_file", WS, [("write", "/home/dev/other/a.txt")], []),
    "qwen/notebook-edit-subagent": ("notebook_edit", WS, [("write", f"{WS}/analysis/run.ipynb")], []),
    "qwen/shell-directory": ("run_shell_command", f"{WS}/src", [], ["sed -i s/a/b/ ../other/file.txt"]),
    "amp/delegate-apply-patch": (
        "apply_patch",
        WS,
        [("write", "src/app.py"), ("write", "../shared/notes.txt")],
        [],
    ),
    "amp/delegate-shell": ("shell_command", WS, [], ["touch /home/dev/other/x"]),
    "cline/apply-patch": ("apply_patch", WS, [("write", "src/app.py"), ("write", "../shared/notes.txt")], []),
    "cline/editor-insert": ("editor", WS, [("write", f"{WS}/src/app.py")], []),
    "cline/run-commands": ("run_commands", WS, [], ["npm ci", "cp -r dist ../other/"]),
    "cline/vscode-legacy-write": ("write_to_file", WS, [("write", "../other/x.txt")], []),
    "droid/documented-camel-envelope": ("Read", WS, [("read", "/home/dev/other/a.txt")], []),
    "droid/edit": ("Edit", WS, [("write", f"{WS}/src/app.py")], []),
    "droid/execute": ("Execute", WS, [], ["make build | tee ../other/build.log"]),
    "droid/glob-list": ("Glob", WS, [("read", WS), ("read", f"{WS}/..")], []),
    "goose/edit-outside": ("edit", WS, [("write", "/home/dev/other/a.py")], []),
    "goose/write-relative": ("write", WS, [("write", "docs/a.md")], []),
    "kiro/cli2-execute-bash": ("execute_bash", WS, [], ["cp a.txt ../other/"]),
    "kiro/cli3-str-replace": ("str_replace", WS, [("write", "src/app.py")], []),
    "vscode/observed-shape-replace": ("replace_string_in_file", WS, [("write", f"{WS}/src/app.ts")], []),
    "vscode/observed-shape-terminal": ("run_in_terminal", WS, [], ["rm -rf ../other/dist"]),
    # Windsurf's file tools name no folder: relative paths would start from the root.
    "windsurf/pre-read-code": ("pre_read_code", "/", [("read", f"{WS}/README.md")], []),
    "windsurf/pre-write-code": ("pre_write_code", "/", [("write", "/home/dev/other/a.py")], []),
}
# Where each call lands, for a workspace WS: what the hook must say. "shell": the way of its command decides.
OUTSIDE = {
    "claude/permission-request-edit", "codex/apply-patch-move-and-delete", "opencode/read-relative",
    "pi/find-nested", "pi/read-at-prefix", "copilot/camel-apply-patch-string", "copilot/camel-legacy-json-string",
    "cursor/pretooluse-write", "cursor/before-mcp-execution", "amp/delegate-apply-patch", "cline/apply-patch",
    "cline/vscode-legacy-write", "droid/documented-camel-envelope", "droid/glob-list", "goose/edit-outside",
    "windsurf/pre-write-code",
    # commands whose text tells
    "claude/bash-redirect-outside", "claude/skill-shell-line", "codex/permission-request",
    "pi/bash", "cursor/pretooluse-shell", "qwen/shell-directory", "amp/delegate-shell", "cline/run-commands",
    "droid/execute", "kiro/cli2-execute-bash", "vscode/observed-shape-terminal",
}  # fmt: skip


def _all() -> list[str]:
    found = []
    for agent in sorted(os.listdir(CORPUS)):
        found += [f"{agent}/{name[:-5]}" for name in sorted(os.listdir(os.path.join(CORPUS, agent)))]
    return found


def _payload(name: str) -> dict:
    with open(os.path.join(CORPUS, f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)


def test_every_file_of_ours_is_expected():
    assert set(_all()) == set(EXPECTED)
    assert {name.partition("/")[0] for name in EXPECTED} == set(registry.ROWS)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_payload_decodes_to_its_uses(name):
    dialect = registry.dialect(registry.ROWS[name.partition("/")[0]])
    call = dialect.decode(_payload(name), lambda _: False)
    tool, cwd, uses, commands = EXPECTED[name]
    assert (call.agent, call.tool, call.cwd) == (dialect.NAME, tool, cwd)
    assert [(str(use.op), use.path) for use in call.uses] == uses
    assert list(call.commands) == commands
    assert call.event in dialect.EVENTS
    assert call.understood


@pytest.mark.parametrize("agent", registry.ROWS)
@pytest.mark.parametrize("name", _all())
def test_another_agents_payload_is_no_call_of_this_one(name, agent):
    if name.partition("/")[0] == agent:
        return
    dialect = registry.dialect(registry.ROWS[agent])
    with pytest.raises(WireError) as caught:
        dialect.decode(_payload(name), lambda _: False)
    assert caught.value.agent == agent


def _moved(value: object, product: Product) -> object:
    """The payload's paths moved into the test's own world: the project is the workspace, `other` lies outside."""
    if isinstance(value, str):
        return value.replace(WS, product.ws).replace("/home/dev", product.base)
    if isinstance(value, dict):
        return {key: _moved(item, product) for key, item in value.items()}
    if isinstance(value, list):
        return [_moved(item, product) for item in value]
    return value


@pytest.mark.parametrize("name", EXPECTED)
def test_the_hook_denies_what_lands_outside_and_only_that(product, name):
    agent = name.partition("/")[0]
    payload = _moved(_payload(name), product)
    product.write("ws/packages/core/report.txt", "x")
    product.write("ws/packages/core/data.csv", "x")
    product.write("ws/src/app.py", "x")
    done = dialects.ask(product, agent, payload)
    assert done.status == (2 if name in OUTSIDE and agent in dialects.STATUSES else 0)
    if "permission-request" in name:  # of other events than `dialects` knows
        assert b'"behavior":"deny"' in done.out
        assert b"ringfence deny [" in done.out
        return
    assert dialects.runs(agent, done) == (name not in OUTSIDE), done
    assert name not in OUTSIDE or dialects.reason(agent, done).startswith("ringfence deny [")


@pytest.mark.parametrize("agent", registry.ROWS)
def test_a_foreign_payload_gets_no_agents_json(product, agent):
    """A wrong-shaped object means "run the tool" to whoever asked; status 2 and a line on stderr blocks everywhere."""
    for name in _all():
        if name.partition("/")[0] == agent:
            continue
        payload = _payload(name)
        dialect = registry.dialect(registry.ROWS[agent])
        with pytest.raises(WireError) as caught:
            dialect.decode(payload, lambda _: False)
        assert isinstance(caught.value, ForeignError), name
    other = "codex/bash-inside" if agent != "codex" else "qwen/shell-directory"
    raw = json.dumps(_payload(other)).encode()
    done = product.run(
        "hook", agent, "--workspace", product.ws, stdin=raw
    )  # for Amp: none of its environment
    assert (done.status, done.out) == (2, b"")
    assert done.complaint.startswith("ringfence refused this call")
