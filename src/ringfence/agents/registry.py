"""The agents that ringfence speaks with: one row each. Only the named agent's module is ever imported. Hot."""

from __future__ import annotations

from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringfence.agents.dialect import Dialect


class Row(Record):
    """One agent.

    name     the word on the command line
    title    as people call it
    module   its dialect below `ringfence.agents`; its settings are `<module>_settings`
    program  what starts it, looked up on PATH
    root     the environment variable that names the folder it was started in; "": our own working directory is it
    last     (event, stdout) that denies where even the dialect module is broken; other events get exit status 2
    envelope variables of our own environment that carry a part of the call: the payload is then
             {"env": those, "cwd": our own, "stdin": what was read}
    """

    name: str
    title: str
    module: str
    program: str
    root: str = ""
    last: tuple[tuple[str, str], ...] = ()
    envelope: tuple[str, ...] = ()


ROWS: Mapping[str, Row] = {
    row.name: row
    for row in (
        Row(
            "claude",
            "Claude Code",
            "claude",
            "claude",
            "CLAUDE_PROJECT_DIR",
            # Exit status 2 is not documented to deny this event.
            (
                (
                    "PermissionRequest",
                    '{"hookSpecificOutput":{"hookEventName":"PermissionRequest",'
                    '"decision":{"behavior":"deny","message":"ringfence itself failed"}}}',
                ),
            ),
        ),
        Row("codex", "Codex CLI", "codex", "codex"),
        Row("gemini", "Gemini CLI", "gemini", "gemini", "GEMINI_PROJECT_DIR"),
        Row("opencode", "OpenCode", "opencode", "opencode"),
        Row("pi", "Pi", "pi", "pi"),
        Row("cursor", "Cursor", "cursor", "cursor-agent", "CURSOR_PROJECT_DIR"),
        Row("copilot", "Copilot CLI", "copilot", "copilot", "COPILOT_PROJECT_DIR"),
        Row("qwen", "Qwen Code", "qwen", "qwen", "QWEN_PROJECT_DIR"),
        # Hook alone, wired by hand (by_hand.py), and not driven by our tests.
        Row(
            "amp",
            "Amp",
            "amp",
            "amp",
            envelope=("AGENT", "AGENT_TOOL_NAME", "AMP_THREAD_ID"),
        ),
        # Cline reads no exit status, so its JSON is all that denies.
        Row(
            "cline",
            "Cline",
            "cline",
            "cline",
            last=tuple(
                (event, '{"cancel":true,"errorMessage":"ringfence itself failed"}')
                for event in ("", "tool_call", "PreToolUse")
            ),
        ),
        Row("droid", "Factory Droid", "droid", "droid", "FACTORY_PROJECT_DIR"),
        Row("goose", "Goose", "goose", "goose"),
        Row("kiro", "Kiro", "kiro", "kiro-cli"),
        Row("vscode", "VS Code agent mode", "vscode", "code"),
        Row("windsurf", "Windsurf", "windsurf", "windsurf"),
    )
}


def names() -> tuple[str, ...]:
    """The words that stand for an agent, in the order of the table."""
    return tuple(ROWS)


def dialect(row: Row) -> Dialect:
    """The agent's hot module, imported on demand. Raises ImportError for a row without a module."""
    made: Dialect = __import__(f"ringfence.agents.{row.module}", fromlist=("NAME",))
    return made
