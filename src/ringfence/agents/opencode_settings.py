"""OpenCode's plugin: a generated file in the plugin folder of a scope.

Source: OpenCode 1.18.33, run. Whatever `tool.execute.before` throws blocks the call and reaches the model; a plugin
that cannot be loaded leaves the session unprotected with one line in a log, so the file depends on nothing and is
proven by being run. `output.args` may be changed in place. Cold.
"""

from __future__ import annotations

import os
from typing import Any

from ringfence.agents import plugins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringfence.agents.wiring import Answered, Check, Found, Site, Wiring

NAME = "opencode"
SINCE = (1, 18, 33)
SINCE_WHY = ("a plugin contract that was tried", "was not tried")
SINCE_REQUIRED = False
VERSION_WORDS = ("--version",)
JUDGED = ("tool.execute.before",)
SCOPES = {
    "project": "WORKSPACE/.opencode/plugins/ringfence.js, read when OpenCode starts in that project",
    "user": "~/.config/opencode/plugins/ringfence.js ($XDG_CONFIG_HOME), read wherever it starts",
}
NOTES: Mapping[str, str] = dict.fromkeys(SCOPES, "--pure starts OpenCode without plugins")

BODY = """\
export const Ringfence = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const answer = await ask({
      agent: "opencode",
      cwd: directory,
      session: input.sessionID,
      call: input.callID,
      tool: input.tool,
      args: output.args,
    });
    if (answer.verdict !== "allow") throw new Error(answer.reason || "ringfence refused this call");
    if (answer.input !== undefined) replace(output.args, answer.input);
  },
});
"""

DRIVER = """\
const hooks = await plugin.Ringfence({ directory: cwd });
const output = { args };
try {
  await hooks["tool.execute.before"]({ tool, sessionID: "ringfence-canary", callID: "canary" }, output);
  said = { verdict: "allow", input: output.args };
} catch (error) {
  said = { verdict: "deny", reason: error.message };
}
"""


def settings_path(scope: str, workspace: str, home: str, env: Mapping[str, str] | None = None) -> str:
    """The file of a scope; nobody else writes to it."""
    if scope == "project":
        return os.path.join(workspace, ".opencode", "plugins", "ringfence.js")
    config = (env or {}).get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(config, "opencode", "plugins", "ringfence.js")


def layers(workspace: str, home: str, env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Our own files: no settings file is known to switch plugins off."""
    return tuple(settings_path(scope, workspace, home, env) for scope in SCOPES)


def off_switches(site: Site) -> tuple[str, ...]:
    """What in its environment makes it load no plugin."""
    return ("OPENCODE_PURE is set: no plugin is loaded",) if site.env.get("OPENCODE_PURE") else ()


def install_text(path: str, text: str | None, wiring: Wiring) -> str:
    """The plugin's text."""
    return plugins.install_text(NAME, BODY, path, text, wiring)


def uninstall_text(_path: str, text: str) -> str:
    """ "" for our file, which is to be removed."""
    return plugins.uninstall_text(NAME, text)


def inspect(path: str) -> Found:
    """What the plugin's file says."""
    return plugins.inspect(NAME, JUDGED[0], path, BODY)


def trust_file(_: Site) -> str:
    """OpenCode asks nobody for trust."""
    return ""


def trust(_site: Site, _give: bool) -> tuple[Check, ...]:
    """Nothing to give."""
    return ()


def trusted(_: Site) -> tuple[Check, ...]:
    """Nothing to ask."""
    return ()


def untrust_text(_: Site, text: str) -> str:
    """Nothing of ours stands there."""
    return text


def _call(tool: str, value: str) -> tuple[str, dict[str, Any]]:
    if tool == "write":
        return "write", {"filePath": value, "content": ""}
    return "bash", {"command": value, "description": "canary"}


def canary(tool: str, value: str, workspace: str) -> dict[str, Any]:
    """The payload of one call, as the plugin sends it: `tool` "write" with a path, or "shell" with a command."""
    name, args = _call(tool, value)
    return {
        "agent": NAME,
        "cwd": workspace,
        "session": "ringfence-canary",
        "call": "canary",
        "tool": name,
        "args": args,
    }


def denial(answer: Answered) -> str | None:
    """The reason, if the plugin takes this answer for a refusal."""
    return plugins.denial(answer)


def rewritten(answer: Answered) -> str:
    """The command that the answer puts in the place of the canary's; "" if none."""
    return plugins.rewritten(answer)


def drive(path: str, tool: str, value: str, site: Site) -> Answered | None:
    """The canary through the generated file itself; None where there is no Node."""
    name, args = _call(tool, value)
    return plugins.drive(path, DRIVER, {"tool": name, "args": args, "cwd": site.workspace}, site)
