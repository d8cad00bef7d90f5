"""Program text in other languages than the shell: read as far as small scanners can, else unreadable."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.state import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.calls import Call
    from ringfence.shell.state import State

_JAVASCRIPT = frozenset(("node", "nodejs", "deno", "bun", "tsx", "ts-node"))


def inline_code(call: Call, state: State, language: str, text: str) -> None:
    """Note what the program `text` would touch."""
    if language == "jq":
        return
    if language == "awk":
        from ringfence.shell.awkcode import awk_program

        words = list(call.args)
        assigned: dict[str, str] = {}
        for index, word in enumerate(words[:-1]):
            if word == "-v":
                name, _, value = words[index + 1].partition("=")
                assigned[name] = value
        rest = words[words.index(text) + 1 :] if text in words else []
        awk_program(call, text, rest, assigned)
        return
    if language == "sed":
        from ringfence.shell.sedcode import sed_script

        sed_script(call, text)
        return
    if UNKNOWN in text:
        call.walk.unknown("opaque.dynamic-code", f"{call.name}: a program that is not all in the text")
        return
    if language == "python":
        from ringfence.shell.pycode import python_code

        python_code(call, text, [])
    elif language == "sql":
        _sql(call, state, text)
    elif language == "vim":
        _vim(call, state, text)
    elif language == "perl":
        from ringfence.shell.scriptcode import perl_code

        perl_code(call, state, text)
    elif language == "ruby":
        from ringfence.shell.scriptcode import ruby_code

        ruby_code(call, text)
    elif language == "other" and call.name in _JAVASCRIPT:
        from ringfence.shell.scriptcode import javascript_code

        javascript_code(call, state, text)
    elif language == "make" and "$" not in text:
        return
    else:
        call.walk.unknown("opaque.inline-code", f"{call.name} program text")


def _sql(call: Call, state: State, text: str) -> None:
    """SQLite and friends: dot commands, ATTACH and VACUUM INTO open files; `.shell` runs one."""
    writes = (
        "output",
        "once",
        "backup",
        "save",
        "log",
        "clone",
        "archive",
        "excel",
        "open",
        "restore",
        "cd",
        "trace",
    )
    for line in text.split("\n"):
        words = line.split()
        if not words:
            continue
        if words[0].startswith(".") and len(words[0]) > 1:
            name = words[0][1:].lower()
            if name.startswith(("sh", "sy")):
                call.walk.code(
                    line.split(None, 1)[1] if len(words) > 1 else "", call.child_state(), "sqlite .shell"
                )
            elif any(w.startswith(name) for w in writes) and len(words) > 1:
                target = words[-1].strip("'\"")
                if target.startswith("|"):
                    call.walk.code(target[1:], call.child_state(), "sqlite .output")
                elif target not in ("stdout", "off", "stderr"):
                    call.walk.touch(Op.WRITE, target, state, f"sqlite .{name}")
            elif any(w.startswith(name) for w in ("read", "load", "import")):
                call.walk.unknown("opaque.inline-code", f"sqlite {words[0]}")
    lowered = text.lower()
    opens = words_in(lowered, ("writefile", "load_extension", "edit"))
    if opens or (call.name != "sqlite3" and ("\\" in text or words_in(lowered, ("readfile", "copy")))):
        call.walk.unknown("opaque.inline-code", f"{call.name} program text")
    for key in ("attach", "into"):
        at = lowered.find(key)
        while at >= 0:
            rest = text[at + len(key) :].strip()
            if key == "attach":
                rest = rest[8:].strip() if rest.lower().startswith("database") else rest
            quote = rest[:1]
            if quote in ("'", '"') and rest.find(quote, 1) > 0:
                call.walk.touch(Op.WRITE, rest[1 : rest.find(quote, 1)], state, f"sql {key}")
            elif key == "attach":
                call.walk.unknown("opaque.inline-code", "sql attach of a computed name")
            at = lowered.find(key, at + 1)


def words_in(text: str, words: tuple[str, ...]) -> bool:
    """Any of the words stands in `text` with no letter beside it."""
    for word in words:
        at = text.find(word)
        while at >= 0:
            before, after = text[at - 1 : at] if at else "", text[at + len(word) : at + len(word) + 1]
            if not (before.isalnum() or before == "_") and not (after.isalnum() or after == "_"):
                return True
            at = text.find(word, at + 1)
    return False


_VIM_QUIET = frozenset(
    ("q", "q!", "qa", "qa!", "set", "noh", "syntax", "norm", "normal", "g", "s", "%s", "d", "x")
)


def _vim(call: Call, state: State, text: str) -> None:
    command, _, rest = text.strip().lstrip(":").partition(" ")
    if command.startswith(("!", "%!")):
        call.walk.code(text.strip().lstrip(":%!"), call.child_state(), call.name)
    elif command.rstrip("!") in (
        "w",
        "write",
        "wq",
        "sav",
        "saveas",
        "up",
        "update",
        "wa",
        "wall",
        "x",
        "r!",
    ):
        if rest.strip().startswith("!"):
            call.walk.code(rest.strip()[1:], call.child_state(), call.name)
        elif rest.strip():
            call.walk.touch(Op.WRITE, rest.strip().removeprefix(">> "), state, f"{call.name} :{command}")
    elif command not in _VIM_QUIET or "|" in text:
        call.walk.unknown("opaque.inline-code", f"{call.name}: {text}")
