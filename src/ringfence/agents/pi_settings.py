"""Pi's extension: a generated file in the extensions folder of a scope, and the project trust that lets it load.

Source: Pi 1.6.0, run and read. `tool_call` may block, and may change the input in place; what a handler throws blocks.
`shellCommandPrefix` is a line put before the command's text (`PREFIX\\nCOMMAND`, core/tools/bash.js), so it cannot put
the command inside anything, and a project that is not trusted does not have it: the extension rewrites the input
instead, which needs no second setting and cannot be on while the judge is off. Cold.
"""

from __future__ import annotations

import os
from typing import Any

from ringfence.agents import jsonedit, plugins
from ringfence.agents.wiring import Answered, Check, Found, Site, Wiring, read_text, write_text
from ringfence.errors import FenceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "pi"
SINCE = (1, 6, 0)
SINCE_WHY = ("an extension contract that was tried", "was not tried")
SINCE_REQUIRED = False
VERSION_WORDS = ("--version",)
JUDGED = ("tool_call",)
SCOPES = {
    "project": "WORKSPACE/.pi/extensions/ringfence.js, read where the project is trusted",
    "user": "~/.pi/agent/extensions/ringfence.js ($PI_CODING_AGENT_DIR), read wherever it starts",
}
NOTES: Mapping[str, str] = dict.fromkeys(
    SCOPES,
    "-ne and --no-extensions start Pi without extensions; lines that a person starts with ! are not judged",
)

BODY = """\
export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    const answer = await ask({
      agent: "pi",
      cwd: ctx.cwd,
      mode: ctx.mode,
      session: ctx.sessionManager?.getSessionId?.(),
      event: {
        type: event.type,
        toolName: event.toolName,
        toolCallId: event.toolCallId,
        parentToolCallId: event.parentToolCallId,
        input: event.input,
      },
    });
    const reason = answer.reason || "ringfence refused this call";
    if (answer.verdict === "ask" && ctx.hasUI && (await ctx.ui.confirm("ringfence", reason)) === true) return;
    if (answer.verdict !== "allow") return { block: true, reason };
    if (answer.input !== undefined) replace(event.input, answer.input);
  });
}
"""

DRIVER = """\
let judge;
plugin.default({ on: (name, handler) => { if (name === "tool_call") judge = handler; } });
const event = { type: "tool_call", toolName: tool, toolCallId: "canary", input: args };
const answer = await judge(event, { cwd, mode: "print", hasUI: false });
said = answer?.block ? { verdict: "deny", reason: answer.reason } : { verdict: "allow", input: event.input };
"""


def _folder(home: str, env: Mapping[str, str] | None) -> str:
    return (env or {}).get("PI_CODING_AGENT_DIR") or os.path.join(home, ".pi", "agent")


def settings_path(scope: str, workspace: str, home: str, env: Mapping[str, str] | None = None) -> str:
    """The file of a scope; nobody else writes to it."""
    folder = _folder(home, env) if scope == "user" else os.path.join(workspace, ".pi")
    return os.path.join(folder, "extensions", "ringfence.js")


def layers(workspace: str, home: str, env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Our own files: no settings file is known to switch extensions off."""
    return tuple(settings_path(scope, workspace, home, env) for scope in SCOPES)


def off_switches(_: Site) -> tuple[str, ...]:
    """None is known in its environment."""
    return ()


def install_text(path: str, text: str | None, wiring: Wiring) -> str:
    """The extension's text."""
    return plugins.install_text(NAME, BODY, path, text, wiring)


def uninstall_text(_path: str, text: str) -> str:
    """ "" for our file, which is to be removed."""
    return plugins.uninstall_text(NAME, text)


def inspect(path: str) -> Found:
    """What the extension's file says."""
    return plugins.inspect(NAME, JUDGED[0], path, BODY)


# --- trust -------------------------------------------------------------------------------------------


def trust_file(site: Site) -> str:
    """Which projects are trusted."""
    return os.path.join(_folder(site.home, site.env), "trust.json")


def trust(site: Site, give: bool) -> tuple[Check, ...]:
    """Look at the project's trust; record it where `give` says that its owner asked for it."""
    found = trusted(site)
    if not give or all(check.ok for check in found):
        return found
    path = trust_file(site)
    try:
        new = jsonedit.put(read_text(path) or "{}\n", (site.workspace,), True)
    except jsonedit.JsonTextError as error:
        raise FenceError(f"{path}: not JSON: {error}", "mend the file first") from None
    write_text(path, new)
    return trusted(site)


def trusted(site: Site) -> tuple[Check, ...]:
    """Whether Pi loads the project's extensions without being asked (the nearest entry counts)."""
    if site.scope == "user":
        return ()
    name = "the project is trusted"
    path = trust_file(site)
    try:
        known, _ = jsonedit.parse(read_text(path) or "{}")
    except jsonedit.JsonTextError as error:
        return (Check(name, False, "none", f"{path}: not JSON: {error}"),)
    at = site.workspace
    while isinstance(known, dict):
        if isinstance(known.get(at), bool):
            if known[at]:
                return (Check(name, True, "hook", f"{path} trusts {at}"),)
            break
        if at == "/":
            break
        at = os.path.dirname(at)
    why = (
        f"Pi loads no project extension that {path} does not trust: trust it in Pi, start it with --approve, "
        "or install with --trust, or with --scope user"
    )
    return (Check(name, False, "none", why),)


def untrust_text(site: Site, text: str) -> str:
    """trust.json without the workspace."""
    try:
        return jsonedit.drop(text, (site.workspace,))
    except jsonedit.JsonTextError:
        return text


# --- the canary --------------------------------------------------------------------------------------


def _call(tool: str, value: str) -> tuple[str, dict[str, Any]]:
    return ("write", {"path": value, "content": ""}) if tool == "write" else ("bash", {"command": value})


def canary(tool: str, value: str, workspace: str) -> dict[str, Any]:
    """The payload of one call, as the extension sends it: `tool` "write" with a path, or "shell" with a command."""
    name, given = _call(tool, value)
    event = {"type": "tool_call", "toolName": name, "toolCallId": "canary", "input": given}
    return {"agent": NAME, "cwd": workspace, "mode": "print", "event": event}


def denial(answer: Answered) -> str | None:
    """The reason, if the extension takes this answer for a refusal."""
    return plugins.denial(answer)


def rewritten(answer: Answered) -> str:
    """The command that the answer puts in the place of the canary's; "" if none."""
    return plugins.rewritten(answer)


def drive(path: str, tool: str, value: str, site: Site) -> Answered | None:
    """The canary through the generated file itself; None where there is no Node."""
    name, args = _call(tool, value)
    return plugins.drive(path, DRIVER, {"tool": name, "args": args, "cwd": site.workspace}, site)
