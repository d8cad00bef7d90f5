"""Commands that change the shell itself: variables, parameters, options, control flow."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.assigning import BUILTINS as ASSIGNING
from ringfence.shell.directories import BUILTINS as DIRECTORIES
from ringfence.shell.output import BUILTINS as OUTPUT
from ringfence.shell.state import DIGITS, UNKNOWN, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.shell.calls import Call


_SHORT = {"e": "errexit", "f": "noglob", "P": "physical", "u": "nounset"}


def _set(call: Call) -> str | None:
    state = call.state
    words = list(call.args)
    while words:
        word = words.pop(0)
        if word in ("--", "-"):
            state.params = None if any(UNKNOWN in w for w in words) else tuple(words)
            return ""
        if word[:1] in ("-", "+") and len(word) > 1:
            for c in word[1:]:
                name = (words.pop(0) if words else "") if c == "o" else _SHORT.get(c, "")
                if name:
                    state.options = state.options | {name} if word[0] == "-" else state.options - {name}
            continue
        if UNKNOWN in word:
            state.params = None
            return ""
        state.params = (word, *words)
        return ""
    return None if not call.args else ""


def _shopt(call: Call) -> str | None:
    names = {w for w in call.args if not w.startswith("-")}
    if any(w.startswith("-") and "s" in w for w in call.args):
        call.state.options |= names
    elif any(w.startswith("-") and "u" in w for w in call.args):
        call.state.options -= names
    if "expand_aliases" in names or any(UNKNOWN in n for n in names):
        call.walk.unknown("opaque.alias", "shopt " + " ".join(call.args))
    return ""


def _setopt(call: Call) -> str | None:
    for word in call.args:
        name = word.lower().replace("_", "")
        table = {
            "nullglob": "nullglob",
            "globdots": "dotglob",
            "extendedglob": "extglob",
            "errexit": "errexit",
        }
        if name in table:
            call.state.options |= {table[name]}
        elif name in ("aliases", "shwordsplit", "globsubst", "autocd", "cdablevars"):
            call.walk.unknown("opaque.alias", f"setopt {word}")
    return ""


def _shift(call: Call) -> str | None:
    count = call.args[0] if call.args else "1"
    params = call.state.params
    if params is None or not count.isdigit():
        call.state.params = None
    elif int(count) <= len(params):
        call.state.params = params[int(count) :]
    return ""


def _eval(call: Call) -> str | None:
    words = call.args[1:] if call.args[:1] == ["--"] else call.args
    out = call.walk.code(" ".join(words), call.state, "eval", stdin=call.stdin)
    if any(UNKNOWN in w for w in words):
        forget(call.state)
    return out


def forget(state: State) -> None:
    """Unknown code ran in this very shell: it may have changed anything."""
    for name in state.values:
        state.values[name] = (UNKNOWN,)
    state.cwds = (UNKNOWN,)
    state.oldpwd = (UNKNOWN,)
    state.params = None
    state.stack = None
    state.files = {}


_ACTIVATORS = ("venv", ".venv", "env", ".env", "virtualenv")


def _source(call: Call) -> str | None:
    words = call.args[1:] if call.args[:1] == ["--"] else call.args
    if not words:
        return ""
    name = words[0]
    text = call.walk.known_text([name], call.state)
    if text is not None and "/" in name:
        outer = call.state.params
        if len(words) > 1:
            call.state.params = tuple(words[1:])
        out = call.walk.code(text, call.state, f"source {name}", stdin=call.stdin)
        call.state.params = outer
        return out
    parts = name.split("/")
    if parts[-1] == "activate" and parts[-2:-1] == ["bin"] and parts[-3:-2] and parts[-3] in _ACTIVATORS:
        # What `python -m venv` wrote; an agent that rewrote it is the engine's business, as with `make`.
        call.state.set("VIRTUAL_ENV", [_join(cwd, "/".join(parts[:-2])) for cwd in call.state.cwds])
        return ""
    call.walk.unknown("opaque.sources-file", f"{call.name} {name}")
    forget(call.state)
    return None


def _join(cwd: str, path: str) -> str:
    return path if path.startswith("/") else f"{cwd}/{path}"


def _trap(call: Call) -> str | None:
    words = call.args[1:] if call.args[:1] == ["--"] else call.args
    if len(words) < 2 or words[0] in ("-", "-p", "-l", ""):
        return ""
    after = call.state.copy()
    call.walk.code(words[0], after, "trap")
    call.walk.traps.append(words[0])
    if any(w not in ("EXIT", "0") for w in words[1:]):
        call.walk.loose_traps.append(words[0])
        call.walk.interrupted(call.state, after)
    return ""


def _exit(call: Call) -> str | None:
    number = call.args[0] if call.args else "0"
    if len(call.args) <= 1 and (number.lstrip("-").isdigit() or number == DIGITS):
        call.state.dead = "exit"
    return ""


def _return(call: Call) -> str | None:
    if call.walk.returns and len(call.args) <= 1:
        call.walk.returns[-1].append(call.state.copy())
        call.state.dead = "return"
    return ""


def _break(call: Call) -> str | None:
    if call.walk.breaks and len(call.args) <= 1:
        for level in call.walk.breaks:
            level.append(call.state.copy())
        call.state.dead = "break"
    return ""


def _exec(call: Call) -> str | None:
    words = list(call.args)
    while words and words[0].startswith("-"):
        flag = words.pop(0)
        if flag == "--":
            break
        if flag == "-a" and words:
            words.pop(0)
    if words:
        call.walk.call(words, call.state, call.stdin, call.extra, functions=False)
        call.state.dead = "exit"
    return None


def _command(call: Call) -> str | None:
    words = list(call.args)
    while words and words[0].startswith("-"):
        flag = words.pop(0)
        if flag == "--":
            break
        if "v" in flag or "V" in flag:
            return None
    if not words:
        return ""
    outcome = call.walk.call(words, call.state, call.stdin, call.extra, functions=False)
    call.ok, call.bad = outcome.ok, outcome.bad
    return outcome.out


def _alias(call: Call) -> str | None:
    if any("=" in w or UNKNOWN in w for w in call.args):
        call.walk.unknown("opaque.alias", "alias " + " ".join(call.args))
    return ""


def _hash(call: Call) -> str | None:
    if any(w.startswith("-p") for w in call.args):
        call.walk.unknown("opaque.alias", "hash -p")
    return ""


def _enable(call: Call) -> str | None:
    if any(w.startswith("-") and ("n" in w or "f" in w or "d" in w) for w in call.args):
        call.walk.unknown("opaque.alias", "enable " + " ".join(call.args))
    return ""


def _complete(call: Call) -> str | None:
    """`compgen`, `complete`: -C runs a command, -F a function, and -W expands its words once more."""
    walk = call.walk
    for flag, word in zip(call.args, [*call.args[1:], ""], strict=True):
        if not flag.startswith("-") or flag.startswith("--"):
            continue
        kind = flag[-1]
        if kind == "C":
            walk.code(word, call.state.copy(), f"{call.name} -C", stdin=call.stdin)
        elif kind == "F" and word in call.state.functions:
            walk.call([word], call.state.copy(), call.stdin, call.extra)
        elif kind == "W":
            walk.code(f"cat <<WORDS_END\n{word}\nWORDS_END", call.state.copy(), f"{call.name} -W")
    return None


def _bind(call: Call) -> str | None:
    for word in call.args:
        if not word.startswith("-") and ":" in word and any(w.startswith("-x") for w in call.args):
            call.walk.code(word.partition(":")[2].strip().strip("'\""), call.state.copy(), "bind -x")
        elif word.startswith("-f"):
            call.walk.unknown("opaque.runs-file", "bind -f")
    return ""


def _history(call: Call) -> str | None:
    """`history -w`, `-a`: the named file, or HISTFILE if this text set it. `fc -e` runs an editor."""
    flags = [w for w in call.args if w.startswith("-")]
    names = [w for w in call.args if not w.startswith("-")]
    if call.name == "fc":
        for flag, word in zip(call.args, call.args[1:], strict=False):
            if flag == "-e" and word != "-":
                call.walk.code(word, call.state.copy(), "fc -e")
        if not any("l" in f or "n" in f for f in flags):
            call.walk.unknown("opaque.dynamic-code", "fc runs an earlier command")
        return None
    if any("s" in f or "p" in f or "d" in f for f in flags):
        return None
    if any("w" in f or "a" in f for f in flags):
        own = call.extra["HISTFILE"] if "HISTFILE" in call.extra else call.state.values.get("HISTFILE", ())
        for value in names[:1] or own:
            if value is not None:
                call.walk.touch(Op.WRITE, value if isinstance(value, str) else UNKNOWN, call.state, "history")
    else:
        for name in names[:1] if flags else ():
            call.walk.touch(Op.READ, name, call.state, "history")
    return None


def _autoload(call: Call) -> str | None:
    call.walk.unknown("opaque.alias", f"{call.name} " + " ".join(call.args))
    return ""


def _silent(call: Call) -> str | None:
    del call
    return ""


def _test(call: Call) -> str | None:
    """`-v NAME` evaluates the name's subscript; the comparisons of ksh and zsh are arithmetic."""
    for flag, word in zip(call.args, call.args[1:], strict=False):
        if flag == "-v" and UNKNOWN in word:
            call.walk.unknown("opaque.dynamic-code", f"{call.name} -v {word}")
    if call.walk.dialect in ("zsh", "ksh"):
        call.walk.arithmetic(call.state, call.args)
    return ""


BUILTINS: dict[str, Callable[[Call], str | None]] = {
    **DIRECTORIES,
    **OUTPUT,
    **ASSIGNING,
    "set": _set,
    "shopt": _shopt,
    "setopt": _setopt,
    "shift": _shift,
    "eval": _eval,
    "source": _source,
    ".": _source,
    "trap": _trap,
    "exit": _exit,
    "logout": _exit,
    "return": _return,
    "break": _break,
    "continue": _break,
    "exec": _exec,
    "command": _command,
    "builtin": _command,
    "noglob": _command,
    "nocorrect": _command,
    "alias": _alias,
    "hash": _hash,
    "enable": _enable,
    "compgen": _complete,
    "complete": _complete,
    "bind": _bind,
    "history": _history,
    "fc": _history,
    "autoload": _autoload,
    "zmodload": _autoload,
    "emulate": _autoload,
    "true": _silent,
    "false": _silent,
    ":": _silent,
    "test": _test,
    "[": _test,
    "wait": _silent,
    "sleep": _silent,
    "kill": _silent,
    "umask": _silent,
    "ulimit": _silent,
    "unalias": _silent,
    "disown": _silent,
}
