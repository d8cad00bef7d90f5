"""Commands that change the shell itself: variables, parameters, options, control flow."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.directories import BUILTINS as DIRECTORIES
from ringfence.shell.output import BUILTINS as OUTPUT
from ringfence.shell.state import DIGITS, UNKNOWN, State, hides_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ringfence.shell.calls import Call
    from ringfence.shell.state import Value
    from ringfence.shell.tree import Assign, Declare
    from ringfence.shell.walk import Walk


def is_name(text: str) -> bool:
    return text.isascii() and text.replace("_", "a").isalnum() and not text[:1].isdigit()


def assign(walk: Walk, one: Assign, state: State, *, lasting: bool = True) -> None:
    """`name=value` in any form."""
    if one.subscript is not None:
        walk.arithmetic(state, walk.words.visit((one.subscript,), state), quoted=True)
    values: list[Value]
    if one.array is not None:
        walk.arithmetic(state)  # `([index]=value)`
        values = [tuple(choice) for choice in walk.words.arguments(one.array, state)]
    elif one.value is None:
        values = [""]
    else:
        values = list(walk.words.texts(one.value, state))
    if lasting or one.name not in ("IFS", "LC_ALL"):
        walk.watch_variable(one.name, lasting=lasting)
    if one.subscript is not None:
        for text in _texts(values):
            walk.fed(text)
        state.set(one.name, (UNKNOWN,))
        return
    walk.code_variable(one.name, values, state)
    if walk.integers:
        walk.arithmetic(state, _texts(values))
    if any("$(" in text or "`" in text for v in values for text in ((v,) if isinstance(v, str) else v or ())):
        walk.loaded = True
    if one.append:
        values = [_append(old, new) for old in state.get(one.name) for new in values]
    state.set(one.name, values)


def _texts(values: Iterable[Value]) -> list[str]:
    return [text for v in values for text in ((v,) if isinstance(v, str) else v or ())]


def _append(old: Value, new: Value) -> Value:
    if isinstance(old, tuple) and isinstance(new, tuple):
        return old + new
    if isinstance(old, tuple) or isinstance(new, tuple):
        return UNKNOWN
    return (old or "") + (new or "")


def declare(walk: Walk, cmd: Declare, state: State) -> None:
    """`export`, `declare`, `local`, `readonly`, `typeset`: every word is expanded before any is assigned."""
    flags = ""
    pending: list[tuple[str, tuple[Value, ...] | None]] = []
    for one in cmd.args:
        if one.name and not one.naked:
            scratch = state.copy()
            scratch.readonly = frozenset()
            assign(walk, one, scratch)
            pending.append((one.name, scratch.get(one.name)))
        elif one.name:
            pending.append((one.name, None))
        elif one.value is not None:
            for choice in walk.words.fields(one.value, state):
                for text in choice:
                    flags += _declared_word(walk, text, pending)
    _declared(walk, cmd.variant, flags, pending, state)


def _declared_word(walk: Walk, text: str, pending: list[tuple[str, tuple[Value, ...] | None]]) -> str:
    if text.startswith(("-", "+")):
        return text[1:] if text.startswith("-") else ""
    name, eq, value = text.partition("=")
    if is_name(name):
        if eq:
            walk.watch_variable(name, lasting=True)
        walk.loaded = walk.loaded or "$(" in value or "`" in value
        if eq:
            walk.code_variable(name, (value,), State("/", {}))
        pending.append((name, (value,) if eq else None))
    elif UNKNOWN in name:
        walk.unknown("opaque.environment", f"the variable named by {text}")
    elif hides_code(name):
        walk.unknown("opaque.dynamic-code", f"the variable named by {text}")
    return ""


def _declared(
    walk: Walk,
    variant: str,
    flags: str,
    pending: list[tuple[str, tuple[Value, ...] | None]],
    state: State,
) -> None:
    reference = "n" in flags and variant != "export"
    local = variant == "local" or (variant in ("declare", "typeset") and "g" not in flags)
    if "i" in flags:
        walk.integers = True
        walk.arithmetic(state, [text for _, values in pending for text in _texts(values or ())])
    for name, values in pending:
        if local and walk.locals:
            walk.locals[-1].setdefault(name, state.get(name))
        if reference:
            target = values[0] if values is not None and len(values) == 1 else None
            if isinstance(target, str) and is_name(target) and target not in state.references:
                state.references[name] = target
            else:
                walk.unknown("opaque.name-reference", f"the name reference {name}")
            continue
        if values is not None:
            changed = any(f in flags for f in "AilucU")
            state.set(name, (UNKNOWN,) if changed and values != ((),) else values)
        elif local and variant == "local":
            state.set(name, (None,))
        if variant == "export" or "x" in flags:
            state.exported |= {name}
        if variant == "readonly" or "r" in flags:
            state.readonly |= {name}


def _declare_call(call: Call) -> str | None:
    """`command export D=x`: the same as words."""
    flags = ""
    pending: list[tuple[str, tuple[Value, ...] | None]] = []
    for word in call.args:
        flags += _declared_word(call.walk, word, pending)
    _declared(call.walk, call.name, flags, pending, call.state)
    return "" if "p" not in flags else None


def _unset(call: Call) -> str | None:
    functions = False
    for word in call.args:
        if word.startswith("-"):
            functions = functions or "f" in word
        elif UNKNOWN in word:
            call.walk.unknown("opaque.environment", "unset of an unknown name")
        elif functions or (word not in call.state.values and word in call.state.functions):
            call.state.functions.pop(word, None)
        else:
            call.state.set(word.split("[", 1)[0], (None,) if "[" not in word else (UNKNOWN,))
    return ""


def _read(call: Call) -> str | None:
    names: list[str] = []
    array = ""
    delimiter = False
    words = iter(call.args)
    for word in words:
        if word.startswith("-") and len(word) > 1:
            if word[-1] in "dnNptui":
                value = next(words, "")
                delimiter = delimiter or (word[-1] == "d" and value != "\n")
            elif word[-1] == "a":
                array = next(words, "")
            elif any(c in word for c in "dnNu"):
                delimiter = True
        else:
            names.append(word.split("?", 1)[0])
    for name in (*names, array):
        if UNKNOWN in name:
            call.walk.unknown("opaque.environment", f"read into the variable named by {name}")
    text = call.stdin
    known = text is not None and UNKNOWN not in text and not delimiter
    separators = (
        list(call.variable("IFS")) if "IFS" in call.extra or "IFS" in call.state.values else [" \t\n"]
    )
    split_at = separators[0] if len(separators) == 1 else None
    if not isinstance(split_at, str) or UNKNOWN in split_at or (len(split_at) > 1 and split_at != " \t\n"):
        known = False
    if not isinstance(split_at, str) or split_at.strip(" \t\n") == "":
        split_at = None
    if array or not known or text is None:
        call.walk.fed(text)
        for name in [*names, array, "" if names else "REPLY"]:
            if name:
                call.walk.watch_variable(name, lasting=True)
                call.state.set(name, (UNKNOWN,))
        return ""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    for index, name in enumerate(names or ["REPLY"]):
        values: list[Value] = [""]
        for line in lines:
            if "\\" in line:
                call.walk.fed(line)
                values.append(UNKNOWN)
            elif separators == [""] or not names:
                values.append(line if index == 0 else "")
            elif index == len(names) - 1:
                rest = (line if split_at else line.strip()).split(split_at, index)
                values.append(rest[index] if len(rest) > index else "")
            else:
                fields = line.split(split_at)
                values.append(fields[index] if len(fields) > index else "")
        call.walk.watch_variable(name, lasting=True)
        call.walk.code_variable(name, values, call.state)
        # The empty value is what a loop's last, failing `read` leaves; a lone one reads the first line.
        call.state.set(name, values if len(lines) != 1 else values[1:])
    return ""


def _mapfile(call: Call) -> str | None:
    call.walk.fed(call.stdin)
    for word in call.args:
        if is_name(word):
            call.state.set(word, (UNKNOWN,))
    call.state.set("MAPFILE", (UNKNOWN,))
    if "-C" in call.args:
        call.walk.unknown("opaque.dynamic-code", "mapfile -C")
    return ""


def _getopts(call: Call) -> str | None:
    for name in [*call.args[1:2], "OPTARG"]:
        call.state.set(name, (UNKNOWN,))
    call.state.set("OPTIND", (DIGITS,))
    return ""


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
    "export": _declare_call,
    "declare": _declare_call,
    "typeset": _declare_call,
    "local": _declare_call,
    "readonly": _declare_call,
    "unset": _unset,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "getopts": _getopts,
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
