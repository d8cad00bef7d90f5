"""What an agent wraps around the command a model wrote, taken off again.

Seen with Claude Code 2.1.332: `source SNAPSHOT ... && eval 'COMMAND' < /dev/null && pwd -P >| FILE`, the command in
single quotes. Codex and others start `bash -lc COMMAND`, as words or as one text.
"""

from __future__ import annotations

from ringfence.records import Record


class Wrapped(Record):
    """`command` is the model's text. `state_file` is where the agent's own tail writes the cwd, "" without one."""

    command: str
    state_file: str
    dialect: str


_TAIL = " && pwd -P >| "
_SHELLS = ("bash", "sh", "zsh")


def unwrap(text: str, agent: str) -> Wrapped | None:
    """The inner command of a whole line, None if the line is not of the agent's own making.

    Only the exact form counts: a line that merely resembles it is judged as it stands.
    """
    if agent == "claude-code":
        return _claude(text)
    return _login_shell(text)


def unwrap_words(words: list[str]) -> Wrapped | None:
    """`["bash", "-lc", COMMAND]`, as Codex gives it."""
    if len(words) != 3 or words[1] not in ("-c", "-lc", "-ic", "-lic"):
        return None
    base = words[0].rpartition("/")[2]
    return Wrapped(words[2], "", base) if base in _SHELLS else None


def _claude(text: str) -> Wrapped | None:
    head, found, tail = text.rpartition(_TAIL)
    if not found or any(c in tail for c in " \t\n;&|<>()$`*?[]{}"):
        return None
    at = head.find("eval '")
    if at < 0 or not (at == 0 or head[:at].endswith(" && ")):
        return None
    quoted = _quoted(head, at + 5)
    if quoted is None:
        return None
    command, end = quoted
    if head[end:].strip() not in ("", "< /dev/null", "\\< /dev/null", "</dev/null"):
        return None
    dialect = "zsh" if "/shell-snapshots/snapshot-zsh-" in head[:at] else "bash"
    return Wrapped(command, tail.strip("'\""), dialect)


def _login_shell(text: str) -> Wrapped | None:
    for shell in _SHELLS:
        for flags in ("-lc", "-c"):
            for prefix in (f"{shell} {flags} ", f"/bin/{shell} {flags} ", f"/usr/bin/{shell} {flags} "):
                if text.startswith(prefix):
                    quoted = _quoted(text, len(prefix))
                    if quoted is not None and not text[quoted[1] :].strip():
                        return Wrapped(quoted[0], "", shell)
    return None


def _quoted(text: str, at: int) -> tuple[str, int] | None:
    """One shell word made of single quotes, `\\'` and `"'"` only: (its text, the offset after it)."""
    out = ""
    i = at
    while i < len(text) and text[i] not in " \t\n":
        if text[i] == "'":
            end = text.find("'", i + 1)
            if end < 0:
                return None
            out += text[i + 1 : end]
            i = end + 1
        elif text.startswith("\\'", i):
            out += "'"
            i += 2
        elif text.startswith('"\'"', i):
            out += "'"
            i += 3
        else:
            return None
    return (out, i) if i > at else None
