"""tar, unzip, curl: where members and downloads land."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.effects import apply, inside, use
from ringfence.shell.filetools import slots_of
from ringfence.shell.state import UNKNOWN, State, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.shell.calls import Call


def _tar(call: Call) -> str | None:
    slots = slots_of(call, "tar")
    if slots is None:
        return None
    walk, state = call.walk, call.state
    there = inside(call, slots.cwds) if slots.cwds else state
    extracts = bool(slots.present & {"-x", "--extract", "--get"}) and not slots.present & {
        "-O",
        "--to-stdout",
    }
    for role, word in slots.pairs:
        if role == "list":
            text = call.stdin if word == "-" else walk.known_text([word], state)
            if text is not None and any(line.lstrip().startswith("-") for line in text.split("\n")):
                walk.unknown("opaque.dynamic-argument", f"{call.name}: options in the list {word}")
            walk.touch(Op.READ, word, state, call.name)
        elif role == "move":
            walk.touch(Op.RENAME, word, there, call.name)
        elif role not in ("cwd", "code") and not (word == "-" and role in ("read", "write")):
            if ":" in word and "/" not in word.partition(":")[0] and role in ("read", "write"):
                continue  # host:file
            use(call, there if role == "write-into" else state, role, word, deep=False, sources=[])
        elif role == "code":
            walk.code(word, call.child_state(), "tar --to-command")
    for option, value in slots.values:
        if option == "--checkpoint-action" and value.startswith("exec="):
            walk.code(value[5:], call.child_state(), "tar --checkpoint-action")
    if not extracts:
        return None
    into = [v for o, v in slots.values if o == "--one-top-level"]
    walk.touch(Op.WRITE, ".", there, call.name, deep=True)
    for option, value in slots.values:
        if option in ("--transform", "--xform"):
            fields = value[2:].split(value[1:2]) if len(value) > 2 else []
            if len(fields) > 1 and fields[1]:
                walk.touch(Op.WRITE, fields[1] + "x", there, "tar --transform")
    del into
    if slots.present & {"-P", "--absolute-names", "--unlink-first", "--keep-directory-symlink"}:
        walk.unknown("opaque.archive-members", f"{call.name}: member names decide")
    _plant(call, there)
    return None


def _plant(call: Call, there: State) -> None:
    """An archive may hold links: what is later written through its folders is not known."""
    for cwd in there.cwds:
        folder = fold("/", cwd) if cwd != UNKNOWN else "/"
        for other in call.state.planted:
            if (folder + "/").startswith(other.rstrip("/") + "/") or (other + "/").startswith(
                folder.rstrip("/") + "/"
            ):
                call.walk.unknown(
                    "opaque.planted-link", f"{call.name}: an earlier archive may have put links there"
                )
        call.state.planted = tuple(dict.fromkeys((*call.state.planted, folder)))


def _unzip(call: Call) -> str | None:
    slots = slots_of(call, "unzip")
    if slots is None:
        return None
    for name in slots.operands[:1]:
        call.walk.touch(Op.READ, name, call.state, call.name)
    if slots.present & {"-l", "-t", "-p", "-c", "-z", "-Z", "-v"}:
        return None
    folder = next((v for o, v in slots.values if o == "-d"), ".")
    call.walk.touch(Op.WRITE, folder, call.state, call.name, deep=True)
    call.walk.unknown("opaque.archive-members", f"{call.name}: member names decide")
    return None


def _curl(call: Call) -> str | None:
    slots = slots_of(call, "curl")
    if slots is None:
        return None
    folder = next((v for o, v in slots.values if o == "--output-dir"), "")
    state = inside(call, (folder,)) if folder else call.state
    for option, value in slots.values:
        if option in ("-w", "--write-out") and "%output{" in value:
            name = value.partition("%output{")[2].partition("}")[0].removeprefix(">>")
            call.walk.touch(Op.WRITE, name, call.state, "curl -w")
    outputs = {v for o, v in slots.values if o in ("-o", "--output")}
    for name in outputs:
        if name != "-":
            call.walk.touch(Op.WRITE, name, state, call.name)
    if folder and slots.present & {"-O", "--remote-name", "--remote-name-all", "-J"}:
        call.walk.touch(Op.WRITE, ".", state, call.name)
    apply(call, slots._replace(doubt=False, pairs=tuple((r, w) for r, w in slots.pairs if w not in outputs)))
    return None


TOOLS: dict[str, Callable[[Call], str | None]] = {
    "tar": _tar,
    "gtar": _tar,
    "bsdtar": _tar,
    "unzip": _unzip,
    "curl": _curl,
}
