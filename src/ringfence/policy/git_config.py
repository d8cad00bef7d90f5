"""Which keys of `.git/config` everyday git may write, and which can name code. Pure.

An allowlist: git has dozens of keys that name programs (core.fsmonitor, core.hooksPath, filter.*, alias.*,
remote.*.uploadpack, credential.helper, …) and gains more. Source: git-config(1), git 2.39 to 2.53.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SECTIONS = frozenset(
    ("user", "author", "committer", "color", "column", "init", "advice", "pull", "push", "fetch")
)
_CORE = frozenset(
    (
        "abbrev", "autocrlf", "bare", "bigfilethreshold", "compression", "eol", "filemode",
        "ignorecase", "logallrefupdates", "precomposeunicode", "protecthfs", "protectntfs",
        "quotepath", "repositoryformatversion", "safecrlf", "sparsecheckout", "sparsecheckoutcone",
        "splitindex", "symlinks", "trustctime", "untrackedcache", "whitespace",
    )
)  # fmt: skip
_BRANCH = frozenset(("remote", "merge", "rebase", "description", "pushremote"))
_REMOTE = frozenset(
    ("url", "fetch", "pushurl", "prune", "tagopt", "mirror", "promisor", "partialclonefilter")
)
_SUBMODULE = frozenset(("url", "active", "branch", "ignore", "fetchrecursesubmodules"))
_EXTENSIONS = frozenset(("objectformat", "partialclone", "refstorage", "preciousobjects", "noop"))

Values = tuple[str, ...]


def parse(content: bytes) -> Mapping[str, Values] | None:
    """Each full key (`section.sub.name`, section and name in lower case) with its values; None: git refuses it."""
    found: dict[str, list[str]] = {}
    section = ""
    lines = content.decode("utf-8", "surrogateescape").replace("\r\n", "\n").split("\n")
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        at += 1
        if line.startswith("["):
            head = _section(line)
            if head is None:
                return None
            section, line = head
        if not line or line[0] in "#;":
            continue
        if not section:
            return None
        while (len(line) - len(line.rstrip("\\"))) % 2 and at < len(lines):
            line = line[:-1] + lines[at]
            at += 1
        name, equals, value = line.partition("=")
        name = name.strip().lower()
        if not name or not all(c.isalnum() or c == "-" for c in name):
            return None
        plain = _value(value.strip()) if equals else "true"
        if plain is None:
            return None
        found.setdefault(f"{section}.{name}", []).append(plain)
    return {key: tuple(values) for key, values in found.items()}


def _section(line: str) -> tuple[str, str] | None:
    """(`section` or `section.sub`, the rest of the line) of a line that starts with `[`."""
    at = 1
    while at < len(line) and line[at] not in ' \t"]':
        at += 1
    name = line[1:at].lower()
    while at < len(line) and line[at] in " \t":
        at += 1
    sub = ""
    if at < len(line) and line[at] == '"':
        at += 1
        while at < len(line) and line[at] != '"':
            if line[at] == "\\":
                at += 1
            sub += line[at : at + 1]
            at += 1
        at += 1
    if at >= len(line) or line[at] != "]" or not name:
        return None
    return (f"{name}.{sub}" if sub else name), line[at + 1 :].strip()


def _value(text: str) -> str | None:
    out = []
    quoted = False
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
            letter = text[at : at + 1]
            if letter not in ("n", "t", "b", "\\", '"'):
                return None
            out.append({"n": "\n", "t": "\t", "b": "\b"}.get(letter, letter))
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            out.append(char)
        at += 1
    return None if quoted else "".join(out).rstrip()


def may_write(key: str, value: str) -> bool:
    """Whether everyday git may set `key` to `value` without anybody looking."""
    section, _, rest = key.partition(".")
    sub, _, name = rest.rpartition(".")
    if (section == "remote" and name in ("url", "pushurl")) or (section == "submodule" and name == "url"):
        # `ext::sh -c …` and other `helper::address` forms name a program.
        return bool(sub) and "::" not in value and not value.startswith("-")
    if section == "core":
        return not sub and name in _CORE
    if section == "extensions":
        return not sub and name in _EXTENSIONS
    if section == "branch":
        return bool(sub) and name in _BRANCH
    if section == "remote":
        return bool(sub) and name in _REMOTE
    if section == "submodule":
        return name in _SUBMODULE
    return section in _SECTIONS and name not in ("signingkey", "recursesubmodulescommand")


def forbidden(before: Mapping[str, Values], after: Mapping[str, Values]) -> tuple[str, ...]:
    """The keys that a change set, removed or altered and that can name code. Both as `parse` gives them."""
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return tuple(
        sorted(
            key
            for key in changed
            if not all(may_write(key, value) for value in (*after.get(key, ()), *before.get(key, ())))
        )
    )
