"""What each agent's hook does not see, or cannot stop, and what holds it all the same. Cold.

`status`, `render` and docs/agents print these rows. "seen": tried on the released agent of the version that the
dialect names; everything else says where it is from. A hole without a row here is one that we do not know of.
"""

from __future__ import annotations

from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

KERNEL, HOOK, NONE = "kernel", "hook", "none"


class Hole(Record):
    """One hole.

    hook    what holds it where only the hook is installed: kernel, hook or none
    launch  what holds it under `ringfence launch`, for writes: the whole process stands in the fence there
    why     how it is held, or why it is not, and how that is known
    """

    what: str
    hook: str
    launch: str
    why: str


_SERVERS = Hole(
    "tool servers (MCP) and the agent's own process",
    HOOK,
    KERNEL,
    "every string of a call that looks like a path is judged; what a server then opens is its own affair",
)


def _ends(why: str, hook: str = HOOK) -> Hole:
    return Hole("a hook that is killed, missing or slower than the agent waits", hook, KERNEL, why)


_OPEN_ENDS = _ends(
    "the agent itself would run the tool (seen), so the installed line turns each of them into exit status 2 with a "
    "word; what remains is a hook that not even SIGKILL ends (a dead disk)"
)
_COMMAND_RULES = Hole(
    "the agent's own rules about command texts",
    NONE,
    NONE,
    "they see the line that starts the fenced shell, not the command in it; the fence does not rest on them",
)


def _unrun(how: str) -> Hole:
    """An agent that has a dialect alone: `launch` does not know it, so both columns say the same."""
    return Hole(
        "the whole dialect",
        HOOK,
        HOOK,
        f"{how}; it is not driven by our tests, and there is no launch for it",
    )


_OWN_SERVERS = _SERVERS._replace(launch=HOOK)


def _own_ends(why: str, hook: str = HOOK) -> Hole:
    return _ends(why, hook)._replace(launch=hook)


def _by_hand_commands(why: str) -> Hole:
    return Hole(
        "shell commands",
        HOOK,
        HOOK,
        f'{why}, so they are refused or asked about, unless the policy says minimum = "hook" or the agent runs in a '
        "fence (`ringfence run`, with --fenced in the hook's words)",
    )


HOLES: Mapping[str, tuple[Hole, ...]] = {
    "claude": (
        Hole("`@file` in a prompt", NONE, NONE, "a read that no hook sees; only a zone without access keeps it out"),
        Hole(
            "lines that a person starts with `!`",
            NONE,
            KERNEL,
            "no hook sees them; whether the shell prefix is put before them was not tried",
        ),
        Hole(
            "shell lines inside a skill or a command file",
            KERNEL,
            KERNEL,
            "they come as PreSkillShellCommand and run behind the shell prefix (seen)",
        ),
        Hole(
            "`--bare`, `--safe-mode`, `disableAllHooks`",
            NONE,
            KERNEL,
            "they switch every hook off; `status` names those in settings, `launch` does not pass them on",
        ),
        _ends("`onFailure: block` closes it (seen), but for text on stdout that is not JSON; we print nothing else"),
        _SERVERS,
    ),
    "codex": (
        Hole(
            "`write_stdin`: text typed into a shell that runs already",
            KERNEL,
            KERNEL,
            "no hook sees it, but the shell was started by a rewritten call and stands in the fence itself (seen)",
        ),
        Hole(
            "`apply_patch <<'EOF'` inside a shell call",
            HOOK,
            KERNEL,
            "Codex applies it in its own process and starts no shell (seen), so it is judged as an edit",
        ),
        Hole(
            "a hook that is not trusted",
            NONE,
            KERNEL,
            "it is skipped without a word (seen); `install` has it trusted, and `status` says whether it still is",
        ),
        Hole(
            "`--disable hooks`, `--ignore-user-config`",
            NONE,
            KERNEL,
            "they switch every hook off; `launch` does not pass them on",
        ),
        _COMMAND_RULES,
        _OPEN_ENDS,
        _SERVERS,
    ),
    "gemini": (
        Hole(
            "file tools on paths outside",
            HOOK,
            KERNEL,
            "Gemini refuses most of them before it asks the hook (seen); `glob` is not among them, so it is judged",
        ),
        Hole(
            "sub-agents (`invoke_agent`)",
            HOOK,
            KERNEL,
            "their calls come to the same hook with the session of their parent (seen); commands are rewritten",
        ),
        Hole("`@file` and `!` lines of a prompt", NONE, KERNEL, "whether a hook sees them was not tried"),
        Hole(
            "`hooksConfig.enabled`, `/hooks`, an untrusted folder",
            NONE,
            KERNEL,
            "each switches project hooks off; `status` says so, and the settings files are guarded",
        ),
        _COMMAND_RULES,
        _OPEN_ENDS,
        _SERVERS,
    ),
    "opencode": (
        Hole(
            "a plugin that does not load",
            NONE,
            KERNEL,
            "only the log says so (seen); `install` and `status` load the generated file and call it",
        ),
        Hole("`--pure`", NONE, KERNEL, "it loads no plugin; `launch` does not pass it on"),
        Hole("lines that a person starts with `!`", NONE, KERNEL, "whether the plugin sees them was not tried"),
        _COMMAND_RULES,
        _ends("the plugin blocks (seen): it waits 20 s, then refuses the call"),
        _SERVERS,
    ),
    "pi": (
        Hole("`-ne`, `--no-extensions`", NONE, KERNEL, "they load no extension; `launch` does not pass them on"),
        Hole(
            "lines that a person starts with `!`",
            NONE,
            KERNEL,
            "they come as `user_bash`, which the hook can judge and the generated extension does not ask about",
        ),
        Hole(
            "`codemode` scripts",
            KERNEL,
            KERNEL,
            "they run in a machine of their own that can only call tools, and those calls come to the hook; the "
            "commands among them are rewritten",
        ),
        _ends("the extension blocks (seen): it waits 20 s, then refuses the call"),
        _SERVERS,
    ),
    "cursor": (
        Hole("the whole dialect", HOOK, HOOK, "from documentation and third-party captures; Cursor was never run here"),
        Hole(
            "a question from `preToolUse`",
            HOOK,
            HOOK,
            "Cursor does not enforce it, so a question is answered as a denial",
        ),
        _ends("`failClosed` closes it, as documented; the installed line closes it too"),
        _SERVERS,
    ),
    "copilot": (
        Hole(
            "questions about our own program's path",
            HOOK,
            KERNEL,
            "Copilot asks about it in each rewritten command (seen): a person says yes, and for a session that is "
            "installed as unattended the hook approves the fenced command",
        ),
        Hole("`sql`", HOOK, KERNEL, "SQL that reaches a file of its own choice is not understood and never allowed"),
        Hole("`disableAllHooks`", NONE, KERNEL, "it switches every hook off"),
        _COMMAND_RULES,
        _ends(
            "a crash and a missing program block (seen), a timeout does not, so the installed command ends itself first"
        ),
        _SERVERS,
    ),
    "qwen": (
        Hole(
            "shell commands",
            HOOK,
            KERNEL,
            "a rewritten input is read and not applied (seen), so without `launch` they are refused, unless the "
            'policy says minimum = "hook"',
        ),
        Hole("`--bare`, `--safe-mode`, `disableAllHooks`", NONE, KERNEL, "they switch every hook off"),
        _OPEN_ENDS,
        _SERVERS,
    ),
    "amp": (
        _unrun("probed with `amp permissions test` of 0.0.1790142911 and never in a live turn"),
        _by_hand_commands("a delegate can change no input"),
        Hole("rules before ours, `--settings-file`", NONE, NONE, "the first matching rule decides"),
        _own_ends("an unknown status, a signal and a missing program refuse, as probed; status 1 asks"),
        _OWN_SERVERS,
    ),
    "cline": (
        _unrun("probed with Cline CLI 3.0.65"),
        _by_hand_commands("whether `overrideInput` changes a command was not seen"),
        Hole("a refusal ends the whole run", HOOK, HOOK, "`cancel` is the only answer that stops a tool, as probed"),
        Hole("`--hooks-dir`, `--config`", NONE, NONE, "they can lead the agent away from the hook"),
        _own_ends("Cline runs the tool; the script that is wired by hand says no, unless it is killed too", NONE),
        _OWN_SERVERS,
    ),
    "droid": (
        _unrun("probed with Droid 0.225.2"),
        Hole(
            "commands outside `auto-high`",
            HOOK,
            HOOK,
            "a changed command needs an `allow`, which skips Droid's own question, so in every other permission mode "
            'commands are refused, unless the policy says minimum = "hook" or the agent runs in a fence',
        ),
        Hole("`hooksDisabled`, `--settings`", NONE, NONE, "they switch the hook off"),
        _own_ends("Droid runs the tool, as probed; the line wired by hand ends with status 2 instead", NONE),
        _OWN_SERVERS,
    ),
    "goose": (
        _unrun("read in its source"),
        _by_hand_commands("Goose takes no changed input"),
        Hole("`disabledPlugins`", NONE, NONE, "it switches the hook off"),
        _own_ends("`on_failure: block` closes it, as its source says"),
        _OWN_SERVERS,
    ),
    "kiro": (
        _unrun("known from documentation alone"),
        _by_hand_commands("Kiro takes no changed input"),
        Hole("hooks of the 0.x IDE", NONE, NONE, "they are given no tool data, so everything is refused or nothing"),
        _own_ends("Kiro warns and runs the tool, as documented; the line wired by hand ends with status 2", NONE),
        _OWN_SERVERS,
    ),
    "vscode": (
        _unrun("known from documentation and captures of others"),
        _by_hand_commands("a changed input is dropped where it fits no schema, as documented"),
        Hole("`chat.hookFilesLocations`, an organisation's policy", NONE, NONE, "they switch the hook off"),
        _own_ends("what VS Code does then is not documented; the line wired by hand ends with status 2", NONE),
        _OWN_SERVERS,
    ),
    "windsurf": (
        _unrun("known from documentation alone"),
        _by_hand_commands("Windsurf takes no changed input"),
        Hole("relative paths of its file tools", HOOK, HOOK, "documented as absolute; else judged from `/`"),
        _own_ends("Windsurf runs the tool, as documented; the line wired by hand ends with status 2", NONE),
        _OWN_SERVERS,
    ),
}  # fmt: skip


def lines(agent: str) -> list[str]:
    """The rows as text, for a terminal."""
    found = []
    for hole in HOLES.get(agent, ()):
        held = hole.hook if hole.launch == hole.hook else f"{hole.hook}, under launch {hole.launch}"
        found.append(f"{hole.what} [{held}]: {hole.why}")
    return found
