"""Commands whose printed text follows from their words: enough to know `$(dirname x)` or `echo code | sh`."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.quoting import ansi_c
from ringfence.shell.state import DIGITS, RESERVED, UNKNOWN, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.shell.calls import Call


def _echo(call: Call) -> str | None:
    words = list(call.args)
    newline, escapes = True, call.walk.dialect in ("sh", "zsh")
    while words and words[0][:1] == "-" and len(words[0]) > 1 and all(c in "neE" for c in words[0][1:]):
        flag = words.pop(0)
        newline = newline and "n" not in flag
        escapes = ("e" in flag or escapes) and "E" not in flag
    text = " ".join(words)
    if escapes and "\\" in text:
        return None
    return text + "\n" if newline else text


def _printf(call: Call) -> str | None:
    words = list(call.args)
    name = ""
    if words[:1] == ["-v"] and len(words) > 2:
        name = words[1]
        words = words[2:]
    elif words[:1] == ["--"]:
        words = words[1:]
    text = _format(words[0], words[1:]) if words else ""
    if text is not None and any(c in text for c in RESERVED if c not in (UNKNOWN, DIGITS)):
        text = None
    if UNKNOWN in name:
        call.walk.unknown("opaque.environment", f"printf -v {name}")
    if name:
        call.walk.fed(" ".join(words))
        call.walk.watch_variable(name, lasting=True)
        call.walk.code_variable(name, (UNKNOWN if text is None else text,), call.state)
        call.state.set(name.split("[", 1)[0], (UNKNOWN if text is None or "[" in name else text,))
        return ""
    return text


def _format(template: str, args: list[str]) -> str | None:
    """printf with %s, %d and %%; None for anything finer."""
    if UNKNOWN in template or any(f"\\{c}" in template for c in "0cuUx"):
        return None
    template = ansi_c(template.replace("\\'", "'")) if "\\" in template else template
    out = ""
    left = list(args)
    while True:
        used = False
        i = 0
        while i < len(template):
            c = template[i]
            if c != "%":
                out += c
                i += 1
                continue
            kind = template[i + 1 : i + 2]
            i += 2
            if kind == "%":
                out += "%"
                continue
            if kind not in ("s", "d") or not kind:
                return None
            used = True
            out += (left.pop(0) if left else "") if kind == "s" else (left.pop(0) if left else "0")
        if not used or not left or len(out) > 100_000:
            return out


def _pwd(call: Call) -> str | None:
    if len(call.state.cwds) != 1 or call.state.cwds[0] == UNKNOWN or "PWD" in call.extra:
        return None
    cwd = call.state.cwds[0]
    if any(w.startswith("-") and "P" in w for w in call.args):
        cwd = call.walk.disk.physical(cwd) or UNKNOWN
    return cwd + "\n"


def _dirname(call: Call) -> str | None:
    words = [w for w in call.args if w != "--"]
    if len(words) != 1 or words[0].startswith("-") or UNKNOWN in words[0]:
        return None
    path = words[0].rstrip("/")
    if not path:
        return "/\n" if words[0] else ".\n"
    head = path.rpartition("/")[0].rstrip("/")
    if not head:
        return "/\n" if path.startswith("/") else ".\n"
    return head + "\n"


def _basename(call: Call) -> str | None:
    words = [w for w in call.args if w != "--"]
    if not words or words[0].startswith("-") or UNKNOWN in words[0] or len(words) > 2:
        return None
    path = words[0].rstrip("/").rpartition("/")[2] or "/"
    if len(words) == 2 and path != words[1]:
        path = path.removesuffix(words[1])
    return path + "\n"


def _cat(call: Call) -> str | None:
    files = [w for w in call.args if not w.startswith("-") or w == "-"]
    if not files:
        return call.stdin if not call.args else None
    text: str | None = ""
    for name in files:
        call.walk.touch(Op.READ, name, call.state, "cat")
        more = call.stdin if name == "-" else call.walk.known_text([name], call.state)
        text = None if more is None or text is None or len(files) < len(call.args) else text + more
    return text


def _ls(call: Call) -> str | None:
    """`ls a.txt b.txt` prints its own operands, which is what pipes into xargs are made of."""
    files = [w for w in call.args if not w.startswith("-")]
    for name in files:
        call.walk.touch(Op.READ, name, call.state, "ls")
    plain = all(w in ("-1", "-d") for w in call.args if w.startswith("-"))
    if not plain or len(call.state.cwds) != 1 or call.state.touched:
        return None
    if not files:
        names = call.walk.disk.names(call.state.cwds[0])
        if names is None or "-d" in call.args or any(c in n for n in names for c in RESERVED + "\n"):
            return None
        return "".join(f"{name}\n" for name in names if not name.startswith("."))
    for name in files:
        if any(c in name for c in RESERVED + "\n"):
            return None
        where = fold(call.state.cwds[0], name)
        if not call.walk.disk.exists(where) or (call.walk.disk.is_dir(where) and "-d" not in call.args):
            return None
    return "".join(f"{name}\n" for name in sorted(files))


def _digits(call: Call) -> str | None:
    del call
    return DIGITS + "\n"


def _seq(call: Call) -> str | None:
    numbers = [w for w in call.args if w.lstrip("-").isdigit()]
    if len(numbers) != len(call.args) or len(numbers) not in (1, 2) or any(len(n) > 6 for n in numbers):
        return None
    low, high = (1, int(numbers[0])) if len(numbers) == 1 else (int(numbers[0]), int(numbers[1]))
    return None if high - low > 200 else "".join(f"{n}\n" for n in range(low, high + 1))


def _which(call: Call) -> str | None:
    """`$(which rm)` names rm, wherever it lies."""
    plain = len(call.args) == 1 and call.args[0].replace("-", "a").replace(".", "a").isalnum()
    return f"/usr/bin/{call.args[0]}\n" if plain else None


def _id(call: Call) -> str | None:
    return DIGITS + "\n" if call.args and call.args[0] in ("-u", "-g") else None


BUILTINS: dict[str, Callable[[Call], str | None]] = {
    "echo": _echo,
    "printf": _printf,
    "pwd": _pwd,
    "dirname": _dirname,
    "basename": _basename,
    "cat": _cat,
    "ls": _ls,
    "nproc": _digits,
    "seq": _seq,
    "which": _which,
    "id": _id,
}
