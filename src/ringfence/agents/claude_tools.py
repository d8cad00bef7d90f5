"""Claude Code's tools: which input field names a path or a command, and what is done to it.

Source: Claude Code 2.1.332 and the tool types of its SDK 0.3.332; old names are kept because sessions resume.
"""

from __future__ import annotations

from ringfence.model import Op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

READ, WRITE = Op.READ, Op.WRITE

# tool -> (field, op, required). A required field that is missing is a payload we do not understand: refused.
PATHS: Mapping[str, tuple[tuple[str, Op, bool], ...]] = {
    "Read": (("file_path", READ, True),),
    "Write": (("file_path", WRITE, True),),
    "Edit": (("file_path", WRITE, True),),
    "MultiEdit": (("file_path", WRITE, True),),
    "NotebookEdit": (("notebook_path", WRITE, True),),
    "NotebookRead": (("notebook_path", READ, True),),
    "LS": (("path", READ, True),),
    "Grep": (("path", READ, False),),
    "EnterWorktree": (("path", WRITE, False),),
    "Workflow": (("scriptPath", READ, False),),
    "Artifact": (("file_path", READ, False), ("file_paths", READ, False), ("out_dir", WRITE, False)),
    "Projects": (("local_path", READ, False),),
}

# tool -> field of the command text. Run by a shell that an engine can hold.
COMMANDS: Mapping[str, str] = {"Bash": "command", "Monitor": "command"}

# Code that runs where no engine of ours stands: never read, never allowed by reading.
CODE: Mapping[str, str] = {"PowerShell": "command", "REPL": "code"}

# Tools whose input names no path on this machine. Everything else is searched for path-like strings.
NO_PATHS = frozenset(
    (
        "Agent",
        "AskUserQuestion",
        "BashOutput",
        "CronCreate",
        "CronDelete",
        "CronList",
        "EnterPlanMode",
        "ExitPlanMode",
        "ExitWorktree",
        "KillBash",
        "KillShell",
        "ListMcpResourcesTool",
        "ScheduleWakeup",
        "SendMessage",
        "Skill",
        "SlashCommand",
        "Task",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "TaskStop",
        "TaskUpdate",
        "TeamCreate",
        "TeamDelete",
        "TodoRead",
        "TodoWrite",
        "ToolSearch",
        "WebFetch",
        "WebSearch",
    )
)

# Tools that look at files whatever field names them: path-like strings in them are reads, not writes.
READERS = frozenset(("LSP", "SendUserFile", "ReadMcpResourceTool", "ReadMcpResourceDirTool"))
