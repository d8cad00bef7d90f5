"""git's vocabulary: what its variables and configuration keys can do."""

from __future__ import annotations

HARMLESS_VARIABLES = frozenset(
    ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
     "GIT_COMMITTER_DATE", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_MERGE_AUTOEDIT", "GIT_LITERAL_PATHSPECS",
     "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_CEILING_DIRECTORIES",
     "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_ADVICE", "GIT_LFS_SKIP_SMUDGE", "GIT_NO_REPLACE_OBJECTS",
     "GIT_REFLOG_ACTION", "GIT_CONFIG_NOSYSTEM", "GIT_DEFAULT_HASH", "GIT_FLUSH", "GIT_SKIP_TESTS")
)  # fmt: skip

# Their value is a command; read like one.
CODE_VARIABLES = frozenset(
    ("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "EDITOR", "VISUAL", "GIT_PAGER", "PAGER", "GIT_SSH_COMMAND", "GIT_SSH",
     "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND", "MANPAGER", "BROWSER", "RSYNC_RSH")
)  # fmt: skip

_CODE_KEYS = frozenset(
    ("core.pager", "core.editor", "sequence.editor", "core.sshcommand", "core.fsmonitor", "diff.external",
     "core.askpass", "core.gitproxy", "interactive.difffilter", "gpg.program", "web.browser",
     "uploadpack.packobjectshook")
)  # fmt: skip
_CODE_TAILS = frozenset(
    ("textconv", "command", "clean", "smudge", "process", "driver", "cmd", "helper", "program", "uploadpack",
     "receivepack", "editor", "pager", "external")
)  # fmt: skip
_HARMLESS_SECTIONS = frozenset(
    ("user", "author", "committer", "color", "advice", "init", "branch", "pull", "push", "fetch", "commit", "log",
     "status", "column", "help", "rerere", "apply", "format", "i18n", "gui", "tag", "blame", "diff", "merge", "rebase",
     "http", "safe", "protocol", "maintenance", "gc", "versionsort", "stash", "index", "pack", "feature", "core",
     "submodule", "advice", "grep", "notes", "checkout", "sendemail", "worktree", "am", "transfer", "lfs", "credential")
)  # fmt: skip
_DANGEROUS_KEYS = frozenset(
    ("core.hookspath", "core.worktree", "core.attributesfile", "core.excludesfile", "core.bare",
     "core.repositoryformatversion",
     "core.gitproxy", "init.templatedir", "commit.template", "http.cookiefile", "http.savecookies", "help.browser",
     "core.alternaterefscommand", "protocol.ext.allow", "protocol.allow", "push.recursesubmodules")
)  # fmt: skip


def key_kind(key: str) -> str:
    """ "code" (its value runs), "danger" (it moves what git reads or writes), "harmless" or "unknown"."""
    lowered = key.lower()
    section, _, rest = lowered.partition(".")
    tail = rest.rpartition(".")[2]
    if (
        lowered in _CODE_KEYS
        or tail in _CODE_TAILS
        or section in ("alias", "filter", "difftool", "mergetool", "man", "browser")
    ):
        return "code"
    if lowered in _DANGEROUS_KEYS or section in ("include", "includeif", "url", "extensions"):
        return "danger"
    if section == "remote" and tail in ("url", "pushurl", "fetch", "push", "prune", "tagopt", "mirror"):
        return "harmless"
    if section == "branch" or section in _HARMLESS_SECTIONS:
        return "harmless"
    return "unknown"


def may_store(key: str) -> bool:
    """Keys that `git config` may write into an ordinary checkout's own file: none of them can name code or a place."""
    lowered = key.lower()
    section, _, rest = lowered.partition(".")
    tail = rest.rpartition(".")[2]
    if section in ("user", "author", "committer", "color", "advice", "branch"):
        return key_kind(key) == "harmless"
    if section == "remote":
        return tail in ("url", "pushurl", "fetch", "prune", "tagopt")
    return lowered in (
        "init.defaultbranch", "pull.rebase", "pull.ff", "push.default", "push.autosetupremote", "rebase.autostash",
        "rebase.autosquash", "merge.ff", "merge.conflictstyle", "commit.gpgsign", "tag.gpgsign", "core.autocrlf",
        "core.filemode", "core.ignorecase", "core.eol", "core.quotepath", "diff.algorithm", "fetch.prune", "gc.auto",
        "log.date", "status.short", "core.precomposeunicode", "core.safecrlf", "core.abbrev", "rerere.enabled",
    )  # fmt: skip


def config_value(text: str, wanted: str) -> list[str]:
    """Values of one key in a configuration file's text. Sections compare without case, subsections with it."""
    section = ""
    out: list[str] = []
    for raw in text.split("\n"):
        line = raw.strip()
        if line.startswith("["):
            head = line[1:].partition("]")[0]
            name, _, sub = head.partition(" ")
            sub = sub.strip().strip('"')
            section = f"{name.lower()}.{sub}" if sub else name.lower()
            line = line.partition("]")[2].strip()
        if not line or line[0] in "#;":
            continue
        key, _, value = line.partition("=")
        if f"{section}.{key.strip().lower()}" == wanted:
            out.append(value.strip().strip('"'))
    return out
