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
    """

    name: str
    title: str
    module: str
    program: str
    root: str = ""
    last: tuple[tuple[str, str], ...] = ()


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
    )
}


def names() -> tuple[str, ...]:
    """The words that stand for an agent, in the order of the table."""
    return tuple(ROWS)


def dialect(row: Row) -> Dialect:
    """The agent's hot module, imported on demand. Raises ImportError for a row without a module."""
    made: Dialect = __import__(f"ringfence.agents.{row.module}", fromlist=("NAME",))
    return made
