"""The files that an `apply_patch` text names, and the shell line that some models wrap one in. Hot.

The format is read as its readers do, whichever is the widest: Codex 0.171.0 trims each header line and keeps what
follows one blank, OpenCode 1.18.33 takes a header without that blank and trims the path. Both readings of a path with
blanks at its ends are judged, because the decision does so for every path. A line that could be a header for any of
them is one: an attack may not hide behind the strictness of another reader.
"""

from __future__ import annotations

from ringfence.agents.strings import trimmed
from ringfence.errors import WireError
from ringfence.model import Op, PathUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADERS: Mapping[str, Op] = {
    "add file:": Op.WRITE,
    "update file:": Op.WRITE,
    "move to:": Op.WRITE,
    "delete file:": Op.DELETE,
}
_OTHERS = ("begin patch", "end patch", "end of file", "environment id:")
_MARK = "***"
_MOST = 10_000  # files in one patch


FIELDS = ("patch", "input", "patchText")


def field_patch_uses(agent: str, tool: str, given: Mapping[str, object]) -> tuple[PathUse, ...]:
    """Of every field that may carry the patch: which one the agent takes where several stand is not known.

    Raises WireError as `patch_uses`, and where there is none.
    """
    texts = [given[field] for field in FIELDS if field in given]
    return tuple(use for text in texts or [None] for use in patch_uses(agent, tool, text))


def patch_uses(agent: str, tool: str, text: object) -> tuple[PathUse, ...]:
    """Raises WireError for a text that names no file, or holds a header that is not known."""
    if not isinstance(text, str):
        raise WireError(agent, f"the patch of {tool} is not a text")
    uses = []
    for raw in text.split("\n"):
        line = trimmed(raw)
        if not line.startswith(_MARK):
            continue
        words = line[len(_MARK) :]
        header, colon, path = words.partition(":")
        key = header.strip().lower() + colon
        op = _HEADERS.get(key)
        if op is not None:
            path = path.removeprefix(" ")
            if not trimmed(path):
                raise WireError(agent, f"the patch of {tool} has a `{_MARK}{header}:` without a path")
            uses.append(PathUse(op, path, f"{_MARK}{header}:"))
            if len(uses) > _MOST:
                raise WireError(agent, f"the patch of {tool} names more than {_MOST} files")
        elif raw.startswith(_MARK) and not words.strip().lower().startswith(_OTHERS):
            raise WireError(agent, f"the patch of {tool} has a header that is not known: {line[:60]!r}")
    if not uses:
        raise WireError(agent, f"the patch of {tool} names no file")
    return tuple(uses)


_PROGRAMS = ("apply_patch", "applypatch")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=@%:,")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def wrapped_patch(command: str) -> tuple[str, str] | None:
    """(folder, patch) of a shell line that is nothing but `apply_patch <<'EOF'` (or `cd FOLDER && …`); else None.

    Codex 0.171.0 applies such a line itself, in its own process, and starts no shell. Only forms that cannot mean
    anything else are taken: the document is quoted (or holds nothing that a shell expands), and nothing follows it.
    Anything wider stays a shell command, which runs in the fenced shell.
    """
    line, newline, rest = command.strip().partition("\n")
    if not newline:
        return None
    folder = ""
    words = line.strip()
    if words.startswith("cd "):
        where, both, words = words[3:].partition("&&")
        folder = _literal(where.strip())
        words = words.strip()
        if not both or not folder:
            return None
    program, less, word = words.partition("<<")
    if program.strip() not in _PROGRAMS or not less:
        return None
    word = word.strip()
    quoted = len(word) > 2 and word[0] == word[-1] and word[0] in "'\""
    end = word[1:-1] if quoted else word
    if not end or not _NAME.issuperset(end):
        return None
    lines = rest.split("\n")
    if lines[-1] != end or end in lines[:-1]:
        return None
    body = "\n".join(lines[:-1])
    if not quoted and any(c in body for c in "$`\\"):
        return None
    return folder, body


def _literal(word: str) -> str:
    """A shell word that stands for itself, without its quotes; "" for any other."""
    if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
        inner = word[1:-1]
        return "" if any(c in inner for c in "'\"$`\\!\n") else inner
    return word if word and _PLAIN.issuperset(word) and word[0] != "-" else ""
