"""Commands and words that give variables their values."""

from __future__ import annotations

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


BUILTINS: dict[str, Callable[[Call], str | None]] = {
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
}
