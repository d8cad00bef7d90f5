"""Claude Code's tools: which input field names a path or a command, and what is done to it.

Source: Claude Code 2.1.332 and the tool types of its SDK 0.3.332; old names are kept because sessions resume.
"""

from __future__ import annotations

from ringfence.agents.fields import MANY, MAY, ONE
from ringfence.model import Op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

READ, WRITE = Op.READ, Op.WRITE

# tool -> (field, op, how it is read; see fields.py)
PATHS: Mapping[str, tuple[tuple[str, Op, str], ...]] = {
    "Read": (("file_path", READ, ONE),),
    "Write": (("file_path", WRITE, ONE),),
    "Edit": (("file_path", WRITE, ONE),),
    "MultiEdit": (("file_path", WRITE, ONE),),
    "NotebookEdit": (("notebook_path", WRITE, ONE),),
    "NotebookRead": (("notebook_path", READ, ONE),),
    "LS": (("path", READ, ONE),),
    "Grep": (("path", READ, MAY),),
    "EnterWorktree": (("path", WRITE, MAY),),
    "Workflow": (("scriptPath", READ, MAY),),
    "Artifact": (("file_path", READ, MAY), ("file_paths", READ, MANY), ("out_dir", WRITE, MAY)),
    "Projects": (("local_path", READ, MAY),),
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
