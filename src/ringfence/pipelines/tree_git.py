"""What a repository's config makes git run. Read by the reader that vets it for the fence (policy.git_config)."""

from __future__ import annotations

from ringfence.model import shown
from ringfence.pipelines.tree_words import weakness
from ringfence.policy.evidence import read_bytes
from ringfence.policy.git_config import may_write, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ringfence.proposals import Weakness

_FILES = ("config", "config.worktree")
_HOOKS = ("/.git/hooks/", "/hooks/")
# Keys that name a program whatever stands in them (git-config(1)); the rest that is no everyday key is only a warning.
_CODE = frozenset(
    (
        "core.hookspath", "core.sshcommand", "core.editor", "core.pager", "core.askpass", "core.gitproxy",
        "core.alternaterefscommand", "sequence.editor", "diff.external", "uploadpack.packobjectshook",
        "credential.helper", "gpg.program", "gpg.ssh.program", "gpg.x509.program", "gpg.ssh.defaultkeycommand",
        "include.path", "web.browser", "sendemail.smtpserver", "sendemail.tocmd", "sendemail.cccmd",
        "interactive.difffilter", "receive.procreceiverefs",
    )
)  # fmt: skip
_CODE_BELOW = {
    "filter": ("clean", "smudge", "process"),
    "diff": ("command", "textconv"),
    "merge": ("driver",),
    "alias": None,
    "pager": None,
    "difftool": ("cmd", "path"),
    "mergetool": ("cmd", "path"),
    "browser": ("cmd", "path"),
    "man": ("cmd", "path"),
    "remote": ("uploadpack", "receivepack", "vcs", "proxy"),
    "submodule": ("update",),
    "includeif": ("path",),
    "credential": ("helper",),
    "trailer": ("cmd", "command"),
    "guitool": ("cmd",),
    "hook": ("command",),
}
_SWITCHES = frozenset(("true", "false", "yes", "no", "on", "off", "1", "0", ""))


def is_hook(path: str) -> bool:
    """Whether git would run this file as a hook: below `.git/hooks` or a module's `hooks`, and no sample."""
    head, found, name = path.rpartition("/hooks/")
    return bool(found) and "/" not in name and not name.endswith(".sample") and "/.git" in head + "/"


def config_findings(folder: str, inside: Callable[[str], bool]) -> Iterator[Weakness]:
    """The keys that name code in a repository's config, if `folder` is a repository's own (`.git`, bare, module)."""
    if read_quietly(f"{folder}/HEAD") is None:
        return
    for name in _FILES:
        path = f"{folder}/{name}"
        content = read_quietly(path)
        if content is None:
            continue
        values = parse(content)
        if values is None:
            yield weakness("tree.git-config-broken", path, "git would refuse this text")
            continue
        for key, given in values.items():
            for value in given:
                code = _judge(key, value, inside)
                if code:
                    yield weakness(code, path, f"{key} = {shown(value)}")


def _judge(key: str, value: str, inside: Callable[[str], bool]) -> str:
    if may_write(key, value, inside):
        return ""
    if key == "core.fsmonitor":
        return "" if value.lower() in _SWITCHES else "tree.git-config"
    if key in _CODE:
        return "tree.git-config" if value else ""
    section, _, rest = key.partition(".")
    names = _CODE_BELOW.get(section, ())
    last = rest.rpartition(".")[2]
    if names is None or last in names:
        if section == "submodule" and not value.startswith("!"):
            return "tree.git-config-key"
        return "tree.git-config"
    return "tree.git-config-key"


def read_quietly(path: str) -> bytes | None:
    """The content of a small regular file, None for anything else."""
    try:
        found = read_bytes(path)
    except (OSError, ValueError):
        return None
    return None if found is None else found[0]
