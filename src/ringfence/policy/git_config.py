"""Which keys of `.git/config` everyday git may write, and which can name code. Pure.

An allowlist of keys: git has dozens that name programs (core.fsmonitor, core.hooksPath, filter.*, alias.*,
remote.*.uploadpack, credential.helper, include.path, …) and gains more. Source: git-config(1), git 2.39 to 2.53. The
reader follows git's own scanner (config.c, git_parse_source) character by character: what git would read as another key
must never hide here, a comment that ends in a backslash, say.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PLAIN = {
    "user": ("name", "email", "useconfigonly"),
    "author": ("name", "email"),
    "committer": ("name", "email"),
    "init": ("defaultbranch",),
    "pull": ("rebase", "ff"),
    "commit": ("gpgsign", "verbose", "status", "cleanup"),
    "tag": ("gpgsign", "sort"),
    "diff": ("algorithm", "renames", "context", "colormoved", "mnemonicprefix", "noprefix", "submodule"),
    "merge": ("ff", "conflictstyle", "renames", "log", "stat"),
    "rebase": ("autostash", "autosquash", "updaterefs", "stat"),
    "rerere": ("enabled", "autoupdate"),
    "log": ("date", "decorate", "follow", "abbrevcommit"),
    "status": ("short", "branch", "showuntrackedfiles", "submodulesummary"),
    "gc": ("auto", "autodetach", "pruneexpire"),
    "index": ("version", "threads"),
    "maintenance": ("auto",),
    "push": ("default", "autosetupremote", "followtags"),
    "fetch": ("prune", "prunetags", "parallel"),
    "core": (
        "abbrev", "autocrlf", "bare", "bigfilethreshold", "compression", "eol", "filemode", "ignorecase",
        "logallrefupdates", "precomposeunicode", "protecthfs", "protectntfs", "quotepath", "repositoryformatversion",
        "safecrlf", "sparsecheckout", "sparsecheckoutcone", "splitindex", "symlinks", "trustctime", "untrackedcache",
        "whitespace",
    ),
    "extensions": ("objectformat", "partialclone", "refstorage", "preciousobjects", "noop"),
}  # fmt: skip
_BELOW = {
    "branch": ("remote", "merge", "rebase", "description", "pushremote"),
    "remote": ("url", "fetch", "pushurl", "prune", "mirror", "promisor", "partialclonefilter"),
    "submodule": ("url", "active", "branch", "ignore", "fetchrecursesubmodules"),
    "color": None,  # `color.branch.current` and its like: names of colours
    "advice": None,
    "column": None,
}
_FREE = ("color", "advice", "column")  # every key of these is a switch or a colour
_ADDRESSES = ("url", "pushurl")

Values = tuple[str, ...]


class _Scanner:
    """git's `get_next_char`: CR LF is one newline, and the end of the file reads as one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.ended = False

    def next(self) -> str:
        if self.at >= len(self.text):
            self.ended = True
            return "\n"
        char = self.text[self.at]
        self.at += 1
        if char == "\r" and self.text[self.at : self.at + 1] == "\n":
            self.at += 1
            return "\n"
        return char


class _NotGitError(ValueError):
    """git would refuse this text."""


def parse(content: bytes) -> Mapping[str, Values] | None:
    """Each full key (`section.sub.name`, section and name in lower case) with its values; None: git refuses it."""
    text = content.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    found: dict[str, list[str]] = {}
    section = ""
    source = _Scanner(text)
    comment = False
    try:
        while True:
            char = source.next()
            if char == "\n":
                if source.ended:
                    break
                comment = False
            elif comment or _is_space(char):
                continue
            elif char in "#;":
                comment = True
            elif char == "[":
                section = _section(source)
            elif char.isascii() and char.isalpha() and section:
                name, value = _variable(source, char)
                found.setdefault(f"{section}.{name}", []).append(value)
            else:
                return None
    except _NotGitError:
        return None
    return {key: tuple(values) for key, values in found.items()}


def _is_space(char: str) -> bool:
    return char in " \t\n\v\f\r"


def _is_key(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "-")


def _section(source: _Scanner) -> str:
    name = ""
    while True:
        char = source.next()
        if source.ended:
            raise _NotGitError
        if char == "]":
            return name
        if _is_space(char):
            return _subsection(source, name, char)
        if not _is_key(char) and char != ".":
            raise _NotGitError
        name += char.lower()


def _subsection(source: _Scanner, name: str, char: str) -> str:
    while _is_space(char):
        if char == "\n":
            raise _NotGitError
        char = source.next()
    if char != '"':
        raise _NotGitError
    sub = ""
    while (char := source.next()) != '"':
        if char == "\\":
            char = source.next()
        if char == "\n":
            raise _NotGitError
        sub += char
    if source.next() != "]":
        raise _NotGitError
    return f"{name}.{sub}"


def _variable(source: _Scanner, first: str) -> tuple[str, str]:
    name = first.lower()
    while _is_key(char := source.next()) and not source.ended:
        name += char.lower()
    while char in " \t":
        char = source.next()
    if char == "\n":
        return name, "true"
    if char != "=":
        raise _NotGitError
    return name, _value(source)


def _value(source: _Scanner) -> str:
    out: list[str] = []
    kept = 0  # length without the blanks that may turn out to be trailing
    quoted = comment = False
    while True:
        char = source.next()
        if char == "\n":
            if quoted:
                raise _NotGitError
            return "".join(out[:kept])
        if comment:
            continue
        if _is_space(char) and not quoted:
            if out:
                out.append(char)
            continue
        if not quoted and char in "#;":
            comment = True
            continue
        if char == "\\":
            char = source.next()
            if char == "\n":
                continue
            if char not in 'tbn\\"':
                raise _NotGitError
            char = {"t": "\t", "b": "\b", "n": "\n"}.get(char, char)
        elif char == '"':
            quoted = not quoted
            continue
        out.append(char)
        kept = len(out)


def may_write(key: str, value: str, inside: Callable[[str], bool] | None = None) -> bool:
    """Whether everyday git may set `key` to `value` without anybody looking.

    `inside` says whether a local path lies in a tree that an agent may write: a repository there has the agent's hooks,
    and a push to it runs them. Without it every local path counts as such.
    """
    section, _, rest = key.partition(".")
    sub, _, name = rest.rpartition(".")
    if section in _FREE:
        return True
    names = _BELOW.get(section) if sub else _PLAIN.get(section)
    if not names or name not in names:
        return False
    if name in {"remote", "pushremote"}:
        # A name of a remote, or `.`; git takes an address here as well.
        return not any(c in value for c in "/:\\") and not value.startswith("-")
    if name not in _ADDRESSES:
        return True
    # `ext::sh -c …` and other `helper::address` forms name a program; a dash would be read as an option.
    if "::" in value or value.startswith("-"):
        return False
    local = _local_path(value)
    return local is None or (inside is not None and not inside(local))


def _local_path(address: str) -> str | None:
    """The path of an address that is on this machine; None for `scheme://…` and `host:path` (git-clone(1))."""
    if address.startswith("file://"):
        return address[len("file://") :]
    if "://" in address:
        return None
    host, colon, _ = address.partition(":")
    return None if colon and "/" not in host else address


def forbidden(
    before: Mapping[str, Values], after: Mapping[str, Values], inside: Callable[[str], bool] | None = None
) -> tuple[str, ...]:
    """The keys that a change set, removed or altered and that can name code. Both as `parse` gives them."""
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return tuple(
        sorted(
            key
            for key in changed
            if not all(may_write(key, value, inside) for value in (*after.get(key, ()), *before.get(key, ())))
        )
    )


def harmless(values: Mapping[str, Values], inside: Callable[[str], bool] | None = None) -> bytes:
    """A config text with only the keys that everyday git may write, for a repository that was made just now."""
    lines: list[str] = []
    section = ""
    for key, given in values.items():
        head, _, rest = key.partition(".")
        sub, _, name = rest.rpartition(".")
        kept = [value for value in given if may_write(key, value, inside)]
        if not kept:
            continue
        title = f'[{head} "{_escaped(sub)}"]' if sub else f"[{head}]"
        if title != section:
            section = title
            lines.append(title)
        lines += [f'\t{name} = "{_escaped(value)}"' for value in kept]
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def _escaped(text: str) -> str:
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return out.replace("\b", "\\b")
