"""How the hook is wired by hand for the agents whose settings ringfence does not write. Cold.

They have a dialect alone: no `install`, no modes and lanes, no `launch`. None of them is run by our tests; what each
snippet rests on is said in its first line. `ringfence hook AGENT --help` prints it, docs/by-hand.md has all of them.
"""

from __future__ import annotations

from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class ByHand(Record):
    """`evidence` is where the contract is known from, `file` where the text goes."""

    evidence: str
    file: str
    text: str


BY_HAND: Mapping[str, ByHand] = {
    "amp": ByHand(
        "probed with `amp permissions test` of 0.0.1790142911, no live turn; not driven by our tests",
        "~/.config/amp/settings.json, and ~/.local/bin/ringfence-amp (chmod +x): `to` takes a path without arguments",
        """{"amp.permissions": [{"tool": "*", "action": "delegate", "to": "/home/YOU/.local/bin/ringfence-amp"}]}

#!/bin/sh
exec ringfence hook amp --workspace /DIR""",
    ),
    "cline": ByHand(
        "probed with Cline CLI 3.0.65; not driven by our tests",
        "~/.cline/hooks/PreToolUse (chmod +x). Cline runs the tool where a hook fails, so the script says no itself",
        """#!/bin/sh
if out=$(timeout 20 ringfence hook cline --workspace /DIR) && [ -n "$out" ]; then
  printf '%s' "$out"
else
  printf '{"cancel":true,"errorMessage":"ringfence gave no answer"}'
fi""",
    ),
    "droid": ByHand(
        "probed with Droid 0.225.2; not driven by our tests",
        "~/.factory/hooks.json; Droid takes it up when it starts, later edits need a review in /hooks",
        """{"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "timeout": 20,
  "command": "ringfence hook droid --workspace /DIR || { echo 'ringfence failed' >&2; exit 2; }"}]}]}""",
    ),
    "goose": ByHand(
        "read in Goose's source, never run",
        "~/.agents/plugins/ringfence/hooks/hooks.json, beside a plugin.json",
        """{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "timeout": 20, "on_failure": "block",
  "command": "ringfence hook goose --workspace /DIR"}]}]}}""",
    ),
    "kiro": ByHand(
        "Kiro's documentation alone, never run",
        "an agent file ~/.kiro/agents/NAME.json (CLI 2); CLI 3 reads files of its own in ~/.kiro/hooks",
        """{"hooks": {"preToolUse": [{"matcher": "*", "timeout_ms": 20000, "cache_ttl_seconds": 0,
  "command": "ringfence hook kiro --workspace /DIR || exit 2"}]}}

{"version": "v1", "hooks": [{"name": "ringfence", "trigger": "PreToolUse", "matcher": ".*", "timeout": 20,
  "enabled": true, "action": {"type": "command",
  "command": "ringfence hook kiro --workspace /DIR || exit 2"}}]}""",
    ),
    "vscode": ByHand(
        "VS Code's documentation alone, never run",
        "~/.copilot/hooks/ringfence.json, or .github/hooks/ringfence.json of a project",
        """{"hooks": {"PreToolUse": [{"type": "command", "timeout": 20,
  "command": "ringfence hook vscode --workspace /DIR || { echo 'ringfence failed' >&2; exit 2; }"}]}}""",
    ),
    "windsurf": ByHand(
        "Windsurf's documentation alone, never run",
        "~/.codeium/windsurf/hooks.json",
        """{"hooks": {
  "pre_run_command": [{"command": "ringfence hook windsurf --workspace /DIR || exit 2", "show_output": true}],
  "pre_write_code": [{"command": "ringfence hook windsurf --workspace /DIR || exit 2", "show_output": true}],
  "pre_read_code": [{"command": "ringfence hook windsurf --workspace /DIR || exit 2", "show_output": true}],
  "pre_mcp_tool_use": [{"command": "ringfence hook windsurf --workspace /DIR || exit 2", "show_output": true}]}}""",
    ),
}


def lines(agent: str) -> list[str]:
    """The whole advice as text; nothing for an agent that `install` wires."""
    found = BY_HAND.get(agent)
    if found is None:
        return []
    return [
        f"By hand ({found.evidence}).",
        "ringfence has no install, no render and no launch for this agent: put this into",
        f"{found.file}:",
        "",
        *found.text.splitlines(),
        "",
        f"Then try it: {agent} must not be able to write outside /DIR. Commands that cannot be led into the fenced",
        "shell are refused or asked about; `ringfence run --workspace /DIR -- PROGRAM` around the agent, and --fenced",
        "in the hook's words, let them run, held by the kernel.",
    ]
