"""Redirections: what they touch, what they feed a command, and what a command leaves of its input."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell import tree as t
from ringfence.shell.state import RESERVED, UNKNOWN, State, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.state import Outcome
    from ringfence.shell.walk import Walk


def fill(walk: Walk, targets: list[str], outcome: Outcome, *, appends: bool) -> None:
    """Remember a file whose whole content the text tells."""
    said = outcome.out
    for state in {id(s): s for s in (outcome.ok, outcome.bad)}.values():
        if len(state.cwds) != 1 or said is None or UNKNOWN in said or len(targets) != 1:
            continue
        if state.cwds[0] == UNKNOWN or any(c in targets[0] for c in RESERVED):
            continue
        path = fold(state.cwds[0], targets[0])
        parent = path.rpartition("/")[0] or "/"
        plain = walk.disk.physical(parent) == parent or parent in state.folders
        if not appends and plain and ".." not in targets[0].split("/") and walk.disk.readlink(path) is None:
            state.files[path] = said


def redirect(
    walk: Walk, redirects: tuple[t.Redirect, ...], state: State, stdin: str | None
) -> tuple[str | None, list[str], bool]:
    out: list[str] = []
    appends = False
    for redirect in redirects:
        op = redirect.op
        if op in ("<<", "<<-"):
            body = redirect.body or t.Word(())
            texts = walk.words.body(body, state, literal=redirect.literal)
            if op == "<<-":
                texts = ["\n".join(line.lstrip("\t") for line in text.split("\n")) for text in texts]
            if redirect.fd in ("", "0"):
                stdin = texts[0] if len(texts) == 1 else None
            continue
        if op == "<<<":
            texts = walk.words.texts(redirect.word, state)
            if redirect.fd in ("", "0"):
                stdin = texts[0] + "\n" if len(texts) == 1 else UNKNOWN
            continue
        if op in ("<&", ">&") and _is_dup(redirect.word):
            continue
        targets = walk.words.targets(redirect.word, state)
        for target in targets:
            if op == "<":
                walk.touch(Op.READ, target, state, "redirection <")
            elif op == "<&" or (op == ">&" and UNKNOWN in target):
                walk.unknown("opaque.dynamic-path", f"redirection {op}{target}")
            elif op == ">&" and _is_number(target):
                continue
            else:
                walk.touch(Op.WRITE, target, state, f"redirection {op}")
        if op == "<":
            if redirect.fd in ("", "0"):
                stdin = walk.known_text(targets, state)
                walk.stdin_file = targets[0] if len(targets) == 1 else UNKNOWN
        elif redirect.fd in ("", "1"):
            out = targets
            appends = op in (">>", "&>>", "<>")
    return stdin, out, appends


# Simple commands that leave standard input alone.
_LEAVES_STDIN = frozenset(
    ("echo", "printf", "cd", "pwd", ":", "true", "false", "test", "[", "export", "local", "set", "shopt",
     "mkdir", "touch",
     "rm", "cp", "mv", "ln", "chmod", "sleep", "date", "ls", "exit", "return", "break", "continue", "pushd",
     "popd", "trap")
)  # fmt: skip


def left_over(stmt: t.Stmt, stdin: str | None) -> str | None:
    """Standard input for what follows `stmt`: the same text only if `stmt` certainly read none of it."""
    own = any(r.op in ("<", "<<", "<<-", "<<<") for r in stmt.redirects)
    if stdin is None or UNKNOWN in stdin or stmt.background or own:
        return stdin
    cmd = stmt.cmd
    if cmd is None or isinstance(cmd, (t.Declare, t.Function, t.Test)):
        return stdin
    if isinstance(cmd, t.Simple):
        if not cmd.words:
            return stdin
        first = cmd.words[0].parts
        if len(first) == 1 and isinstance(first[0], t.Lit) and first[0].text in _LEAVES_STDIN:
            return stdin
    return UNKNOWN


def _is_dup(word: t.Word) -> bool:
    if len(word.parts) != 1 or not isinstance(word.parts[0], t.Lit):
        return False
    text = word.parts[0].text
    return text == "-" or _is_number(text.removesuffix("-"))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
