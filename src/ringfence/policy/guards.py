"""What is read-only inside every workspace unless a policy says otherwise: one literal table.

In it stands what lets a *later* program that no fence holds, or the next session, run the agent's code or
drop the fence, without anyone asking for it: what git runs by itself, what an agent loads when it starts,
what an editor runs when a folder is opened. Not in it: what only runs when someone asks (`Makefile`,
`package.json`, a launch entry), what asks again after a change (`.envrc`), and plain prompt files
(`CLAUDE.md`, `AGENTS.md`). Sources: git 2.39 to 2.53 (hooks, config, commondir, attributes, rebase `exec`
lines), the agents' own documentation as of late 2026.
"""

from __future__ import annotations

from ringfence.model import HELPER_GUARD, HELPERS
from ringfence.records import Choice, Record


class Hold(Choice):
    """Who holds a guard.

    ENGINE: hook and engine. TEXT: file tools and the commands that name the path; programs may write it,
    because everyday git does so itself (`rebase`, `worktree remove`) and no engine can tell git from another
    program.
    """

    ENGINE = "engine"
    TEXT = "text"


class Guard(Record):
    """One guard. `patterns` lie at any depth of a workspace: `*`, `?` in a component, `**` any depth."""

    id: str
    patterns: tuple[str, ...]
    why: str
    hold: Hold = Hold.ENGINE


GUARDS: tuple[Guard, ...] = (
    # --- git --------------------------------------------------------------------------------------------
    Guard("git-hooks", (".git/hooks",), "git runs them at the owner's next commit, switch or push"),
    Guard(
        "git-config",
        (".git/config",),
        "dozens of keys name programs that git runs (core.fsmonitor, filter.*, alias.*)",
        Hold.TEXT,
    ),
    Guard("git-config-worktree", (".git/config.worktree",), "read like .git/config once an extension is on"),
    Guard("git-commondir", (".git/commondir",), "moves config and hooks to a folder of the writer's choice"),
    Guard(
        "git-info-attributes",
        (".git/info/attributes",),
        "binds files to filter and merge programs, untracked",
    ),
    Guard(
        "git-rebase",
        (".git/rebase-merge", ".git/rebase-apply", ".git/sequencer", ".git/BISECT_*"),
        "a planted todo list with an exec line runs at the owner's next `rebase --continue`",
        Hold.TEXT,
    ),
    Guard(
        "git-modules",
        (
            ".git/modules/*/hooks",
            ".git/modules/*/config.worktree",
            ".git/modules/*/commondir",
            ".git/modules/*/info/attributes",
            ".git/modules/*/*/hooks",
            ".git/modules/**/modules/*/hooks",
        ),
        "a submodule's repository runs hooks as its parent does",
    ),
    Guard(
        "git-modules-config",
        (".git/modules/*/config", ".git/modules/*/*/config", ".git/modules/**/modules/*/config"),
        "as git-config, for a submodule's repository",
        Hold.TEXT,
    ),
    Guard(
        "git-worktrees",
        (".git/worktrees/*/commondir", ".git/worktrees/*/gitdir", ".git/worktrees/*/config.worktree"),
        "decides which config and hooks another worktree's git reads",
        Hold.TEXT,
    ),
    Guard(
        "git-pointer",
        (".git",),
        "the .git *file* of a worktree or submodule chooses the repository, and so its config and hooks",
    ),
    Guard(
        "husky", (".husky",), "git hooks of husky; its installer rewrites them, so programs may", Hold.TEXT
    ),
    # --- ringfence --------------------------------------------------------------------------------------
    Guard("own-config", ("ringfence.toml",), "the fence itself"),
    # --- agents -----------------------------------------------------------------------------------------
    Guard(
        "claude",
        (".claude/settings*.json", ".claude/hooks", ".claude/plugins", ".mcp.json"),
        "hooks, permissions and servers; Cursor, Copilot and VS Code read some of them too",
    ),
    Guard(
        "claude-prompts",
        (".claude/agents", ".claude/skills", ".claude/commands"),
        "their front matter may define hooks, and their `!` lines run when they are loaded",
    ),
    Guard("codex", (".codex",), "hooks, sandbox and approval settings, servers"),
    Guard("gemini", (".gemini",), "hooks, servers, extensions, commands with `!{...}` and the .env it loads"),
    Guard("qwen", (".qwen",), "as gemini"),
    Guard(
        "opencode",
        (
            ".opencode/plugin",
            ".opencode/plugins",
            ".opencode/tool",
            ".opencode/tools",
            ".opencode/command",
            ".opencode/commands",
            ".opencode/agent",
            ".opencode/agents",
            ".opencode/skill",
            ".opencode/skills",
            ".opencode/package.json",
            ".opencode/node_modules",
            ".opencode/opencode.json*",
            "opencode.json",
            "opencode.jsonc",
        ),
        "plug-ins, tools, servers and permissions that are loaded at start",
    ),
    Guard(
        "pi",
        (
            ".pi/extensions",
            ".pi/settings.json",
            ".pi/skills",
            ".pi/prompts",
            ".pi/npm",
            ".pi/git",
        ),
        "extensions and packages that are loaded at start",
    ),
    Guard("copilot", (".github/hooks", ".github/copilot", ".copilot"), "hooks and settings"),
    Guard("cline", (".cline/hooks", ".clinerules/hooks"), "executable hooks"),
    Guard(
        "droid",
        (".factory/hooks.json", ".factory/hooks", ".factory/settings*.json", ".factory/mcp.json"),
        "hooks",
    ),
    Guard("amp", (".amp/plugins", ".amp/settings.json*"), "plug-ins and permission rules"),
    Guard("goose", (".agents/plugins",), "plug-ins with hooks"),
    Guard(
        "cursor",
        (
            ".cursor/hooks.json",
            ".cursor/hooks",
            ".cursor/mcp.json",
            ".cursor/cli.json",
            ".cursor/environment.json",
        ),
        "hooks, servers, permissions",
    ),
    Guard(
        "windsurf", (".windsurf/hooks.json", ".windsurf/hooks", ".windsurf/mcp_config.json"), "hooks, servers"
    ),
    Guard("kiro", (".kiro/agents", ".kiro/hooks", ".kiro/settings"), "hooks, servers"),
    Guard(
        "vscode",
        (".vscode/settings.json", ".vscode/tasks.json", ".vscode/mcp.json", "*.code-workspace"),
        "settings switch approvals off and name programs; tasks may run when the folder is opened",
    ),
)

# Guards that no pattern names: their paths come from the machine (compile.py, git_layout.py).
GIT_HOOKS_PATH = Guard("git-hooks-path", (), "the folder that core.hooksPath names, as it stood at load")
OWN_INSTALLATION = Guard("own-installation", (), "the program and the interpreter that hold the fence")
OWN_POLICY = Guard("own-policy", (), "a policy file in use that lies inside a workspace under another name")
USER_SETTINGS = Guard(
    "user-settings",
    (
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".config/fish",
        ".config/environment.d",
        ".config/systemd/user",
        ".config/autostart",
        ".pam_environment",
        ".ssh",
        ".claude/settings*.json",
        ".claude/hooks",
        ".claude/plugins",
        ".claude/agents",
        ".claude/skills",
        ".claude/commands",
        ".claude.json",
        ".codex",
        ".gemini",
        ".qwen",
        ".config/opencode",
        ".pi/agent",
        ".copilot",
        ".cline",
        "Documents/Cline/Hooks",
        ".factory",
        ".config/amp",
        ".config/goose",
        ".agents/plugins",
        ".cursor",
        ".codeium/windsurf",
        ".kiro",
        ".config/Code/User",
        ".gitconfig",
        ".config/git",
    ),
    "the user's own agent and git settings, where a workspace or a write zone holds the home folder",
)
PLACED: tuple[Guard, ...] = (GIT_HOOKS_PATH, OWN_INSTALLATION, OWN_POLICY, USER_SETTINGS)

HELPER_IDS: tuple[str, ...] = tuple(HELPER_GUARD + name for name in HELPERS)
"""Not places in a tree but sockets outside it, which the mounts engine hides (enforce/control_sockets.py)."""

GUARD_IDS: tuple[str, ...] = (*(guard.id for guard in (*GUARDS, *PLACED)), *HELPER_IDS)
TEXT_ONLY: frozenset[str] = frozenset(guard.id for guard in GUARDS if guard.hold is Hold.TEXT)

# A guard that holds only where the name is not a directory: `.git` itself is a folder in an ordinary
# checkout.
FILES_ONLY: frozenset[str] = frozenset({"git-pointer"})
