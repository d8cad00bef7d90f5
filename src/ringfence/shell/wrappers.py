"""Commands that run other commands."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.effects import apply, nested
from ringfence.shell.slots import NoSubcommand, read_slots
from ringfence.shell.state import TILDE, UNKNOWN
from ringfence.shell.table import entry_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.shell.calls import Call
    from ringfence.shell.slots import Slots

MAX_REPEATS = 64  # lines of xargs input taken one by one


def _slots(call: Call, name: str) -> Slots | None:
    entry = entry_of(name)
    assert entry is not None  # noqa: S101  # part of the shipped table
    slots = read_slots(entry, call.args)
    return None if isinstance(slots, NoSubcommand) else slots


def _env(call: Call) -> str | None:
    slots = _slots(call, "env")
    if slots is None:
        return None
    state = call.state
    if slots.cwds:
        from ringfence.shell.effects import inside

        state = inside(call, slots.cwds)
    extra = dict(call.extra)
    for word in slots.assigns:
        name, _, value = word.partition("=")
        call.walk.watch_variable(name, lasting=False)
        call.walk.code_variable(name, (value,), call.state)
        extra[name] = (value,)
    argv: list[str] = []
    for role, word in slots.pairs:
        if role == "words":
            if UNKNOWN in word or "$" in word:
                call.walk.unknown("opaque.dynamic-code", f"env -S {word}")
                return None
            argv += _split(word)
    for command in slots.commands:
        argv += command
    while argv and "=" in argv[0] and "/" not in argv[0].partition("=")[0]:
        name, _, value = argv.pop(0).partition("=")
        call.walk.watch_variable(name, lasting=False)
        extra[name] = (value,)
    if UNKNOWN in "".join(slots.assigns) and not argv:
        call.walk.unknown("opaque.dynamic-command", "env")
    inner = call.child_state()
    inner.cwds = state.cwds
    if slots.present & {"-i", "--ignore-environment", "-"}:
        inner.values = {"HOME": (None,)}
    inner.values.update(extra)
    inner.exported |= frozenset(extra)
    if not argv:
        return None
    out = call.walk.call(argv, inner, call.stdin, extra, functions=False).out
    call.state.adopt_disk(inner)
    return out


def _split(text: str) -> list[str]:
    """`env -S`: words with quotes, no expansions."""
    words: list[str] = []
    here: str | None = None
    quote = ""
    i = 0
    while i < len(text):
        c = text[i]
        if quote:
            if c == quote:
                quote = ""
            elif c == "\\" and quote == '"' and i + 1 < len(text):
                i += 1
                here = (here or "") + text[i]
            else:
                here = (here or "") + c
        elif c in "'\"":
            quote = c
            here = here or ""
        elif c == "\\" and i + 1 < len(text):
            i += 1
            here = (here or "") + text[i]
        elif c in " \t\n":
            if here is not None:
                words.append(here)
                here = None
        else:
            here = (here or "") + c
        i += 1
    return [*words, here] if here is not None else words


def _xargs(call: Call) -> str | None:
    slots = _slots(call, "xargs")
    if slots is None:
        return None
    for role, word in slots.pairs:
        if role == "list":
            call.walk.touch(Op.READ, word, call.state, "xargs")
    if slots.doubt:
        call.walk.unknown("opaque.dynamic-argument", "xargs: a word that may be an option")
    if not slots.commands:
        return None
    argv = list(slots.commands[0])
    known = call.stdin if not slots.present & {"-a", "--arg-file"} else None
    replace = next((v for o, v in slots.values if o in ("-I", "--replace", "-i")), "")
    if not replace and slots.present & {"-i", "--replace"}:
        replace = "{}"
    call.stdin = ""
    if known is None or UNKNOWN in known:
        if replace:
            nested(call, call.state, [w.replace(replace, UNKNOWN) for w in argv])
        else:
            nested(call, call.state, [*argv, UNKNOWN])
        return None
    if slots.present & {"-0", "--null", "-d", "--delimiter"} or any(c in known for c in "'\"\\"):
        # Finer splitting is not worth modelling: the words are as good as unknown.
        nested(call, call.state, [w.replace(replace, UNKNOWN) for w in argv] if replace else [*argv, UNKNOWN])
        return None
    if replace:
        lines = [line.strip() for line in known.split("\n") if line.strip()]
        if len(lines) > MAX_REPEATS:
            lines = [UNKNOWN]
        for line in lines:
            nested(call, call.state, [w.replace(replace, line) for w in argv])
        return None
    nested(call, call.state, [*argv, *known.split()])
    return None


def _parallel(call: Call) -> str | None:
    words = list(call.args)
    end = next((i for i, w in enumerate(words) if w in (":::", "::::", ":::+", "::::+")), len(words))
    inputs = words[end + 1 :] if end < len(words) and words[end] == ":::" else [UNKNOWN]
    if any(w.startswith(":::") for w in inputs):
        inputs = [UNKNOWN]
    call.args = words[:end]
    slots = _slots(call, "parallel")
    if slots is None:
        return None
    apply(call, slots._replace(commands=()))
    if not slots.commands:
        # Without a command its inputs are the commands.
        lines = inputs if end < len(words) else [UNKNOWN if call.stdin is None else call.stdin]
        for line in lines[:MAX_REPEATS]:
            call.walk.code(line, call.child_state(), "parallel")
        return None
    text = " ".join(slots.commands[0])
    for one in inputs[:MAX_REPEATS]:
        quoted = UNKNOWN if UNKNOWN in one else "'" + one.replace("'", "'\\''") + "'"
        whole = text.replace("{}", quoted) if "{" in text else f"{text} {quoted}"
        if "{" in text and "{}" not in text:
            whole = UNKNOWN
        if UNKNOWN in whole and " " in text and "{" not in text:
            nested(call, call.state, [*slots.commands[0], UNKNOWN])
        else:
            call.walk.code(whole, call.child_state(), "parallel")
    return None


def _sudo(call: Call) -> str | None:
    slots = _slots(call, "sudo")
    if slots is None:
        return None
    call.walk.unknown("opaque.privilege", call.name)
    apply(call, slots._replace(runs=""))
    return None


# Options of these that take a value in a word of their own; everything else with a dash is a flag.
_VALUED = {
    "unshare": (
        "-S",
        "-G",
        "-w",
        "--setuid",
        "--setgid",
        "--wd",
        "--root",
        "-R",
        "--map-user",
        "--map-group",
    ),
    "setpriv": (
        "--reuid",
        "--regid",
        "--groups",
        "--inh-caps",
        "--ambient-caps",
        "--bounding-set",
        "--pdeathsig",
    ),
    "systemd-run": ("-p", "--property", "-u", "--unit", "-E", "--setenv", "-d", "--uid", "--gid", "-M", "-H"),
    "setarch": (),
}


def _prefix(call: Call) -> str | None:
    """Wrappers that change what the command may do, not what its words say."""
    valued = _VALUED.get(call.name, ())
    words = list(call.args)
    while words and words[0].startswith("-"):
        flag = words.pop(0)
        if flag == "--":
            break
        if flag in valued and words:
            words.pop(0)
    if call.name == "setarch" and words:
        words.pop(0)
    if words:
        nested(call, call.state, words)
    if call.name not in ("arch", "setarch", "linux32", "linux64", "setpriv"):
        call.walk.unknown("opaque.system-command", call.name)
    return None


def _terminal(call: Call) -> str | None:
    """tmux and screen: the text runs in a server that no fence of ours holds."""
    for word in call.args:
        if " " in word or "/" in word:
            call.walk.code(word, call.child_state(), call.name)
    call.walk.unknown("opaque.system-command", call.name)
    return None


def _busybox(call: Call) -> str | None:
    if call.args and not call.args[0].startswith("-"):
        nested(call, call.state, list(call.args))
    return None


def _at(call: Call) -> str | None:
    if call.stdin is not None and UNKNOWN not in call.stdin:
        call.walk.code(call.stdin, call.child_state(), call.name)
    call.walk.unknown("opaque.system-command", call.name)
    return None


def _npx(call: Call) -> str | None:
    """The package is looked up as a command; its code may come from the network, as with any install."""
    words = list(call.args)
    if call.name == "pipx" and words[:1] == ["run"]:
        words.pop(0)
    while words and words[0].startswith("-"):
        flag = words.pop(0)
        if flag in ("-c", "--call") and words:
            call.walk.code(words.pop(0), call.child_state(), call.name)
            return None
        if flag in ("-p", "--package", "--from", "--with", "--python") and words:
            words.pop(0)
        if flag == "--":
            break
    if not words:
        return None
    name = words[0]
    at = name.find("@", 1)
    bare = (name[:at] if at > 0 else name).rpartition("/")[2]
    if UNKNOWN in name or TILDE in name or entry_of(bare) is None:
        call.walk.unknown("opaque.network-code", f"{call.name} {name}")
        return None
    nested(call, call.state, [bare, *words[1:]])
    return None


WRAPPERS: dict[str, Callable[[Call], str | None]] = {
    "env": _env,
    "genv": _env,
    "xargs": _xargs,
    "gxargs": _xargs,
    "parallel": _parallel,
    "sudo": _sudo,
    "doas": _sudo,
    "gosu": _sudo,
    "su-exec": _sudo,
    "unshare": _prefix,
    "setpriv": _prefix,
    "systemd-run": _prefix,
    "arch": _prefix,
    "setarch": _prefix,
    "linux32": _prefix,
    "linux64": _prefix,
    "tmux": _terminal,
    "screen": _terminal,
    "busybox": _busybox,
    "toybox": _busybox,
    "at": _at,
    "batch": _at,
    "npx": _npx,
    "pnpx": _npx,
    "bunx": _npx,
    "uvx": _npx,
    "pipx": _npx,
}
