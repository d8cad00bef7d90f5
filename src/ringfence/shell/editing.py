"""sed and patch: files edited in place, and what a script or a patch names."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.effects import inside
from ringfence.shell.filetools import absolute_name, slots_of
from ringfence.shell.patchtext import patched_names
from ringfence.shell.state import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.shell.calls import Call


def _sed(call: Call) -> str | None:
    from ringfence.shell.sedcode import sed_script

    slots = slots_of(call, "sed")
    if slots is None:
        return None
    walk, state = call.walk, call.state
    scripts = [w for r, w in slots.pairs if r == "code:sed"]
    suffix = ""
    for option, value in slots.values:
        if option in ("-f", "--file"):
            text = call.stdin if value in ("-", "/dev/stdin") else walk.known_text([value], state)
            if text is None and value not in ("-", "/dev/stdin") and len(state.cwds) == 1:
                name = absolute_name(state, value)
                text = walk.disk.read_text(name) if name not in (UNKNOWN, *state.touched) else None
            scripts.append(UNKNOWN if text is None else text)
        elif option in ("-i", "--in-place"):
            suffix = value
    sed_script(call, "\n".join(scripts))
    for role, word in slots.pairs:
        if suffix and role == "write":
            _backup(call, word, suffix)
    edits = bool(slots.present & {"-i", "--in-place", "-I"})
    follows = "--follow-symlinks" in slots.present
    for role, word in slots.pairs:
        if role == "write" and edits:
            walk.touch(Op.WRITE if follows else Op.RENAME, word, state, call.name, entry=not follows)
        elif role in ("read", "write"):
            walk.touch(Op.READ, word, state, call.name)
    return None


def _backup(call: Call, word: str, suffix: str) -> None:
    """`sed -iSUFFIX`: beside the file, or with a slash wherever it says; a `*` in it stands for the file's name."""
    folder, slash, base = word.rpartition("/")
    name = suffix.replace("*", base) if "*" in suffix else base + suffix
    if UNKNOWN in word or UNKNOWN in suffix:
        name, folder, slash = UNKNOWN, "", ""
    call.walk.touch(Op.CREATE, f"{folder}{slash}{name}", call.state, "sed backup")
    if "/" in name and folder:
        call.walk.touch(Op.CREATE, name, call.state, "sed backup")


def _patch(call: Call) -> str | None:
    slots = slots_of(call, "patch")
    if slots is None:
        return None
    walk = call.walk
    state = inside(call, slots.cwds) if slots.cwds else call.state
    for role, word in slots.pairs:
        if role == "write" and word != "-":
            walk.touch(Op.WRITE, word, state, call.name)
    named = bool(slots.operands) or any(o in ("-o", "--output") for o, _ in slots.values)
    source = next((v for o, v in slots.values if o in ("-i", "--input")), "")
    if len(slots.operands) > 1:
        source = slots.operands[-1]
    if named or slots.present & {"--dry-run"}:
        return None
    walk.touch(Op.WRITE, ".", state, call.name)
    text = patch_source(call, source)
    strip = next((v for o, v in slots.values if o in ("-p", "--strip")), "")
    names = None if text is None else patched_names(text, int(strip) if strip.isdigit() else -1)
    if names is None:
        walk.unknown("opaque.paths-from-file", f"{call.name}: names from the patch")
        return None
    for name in names:
        walk.touch(Op.RENAME, name, state, call.name, entry=True)
        walk.touch(Op.WRITE, name, state, call.name)
    return None


def patch_source(call: Call, name: str) -> str | None:
    """The text of a patch: a file on disk that this text did not touch, or what the command is fed."""
    walk, state = call.walk, call.state
    if not name or name == "-":
        if call.stdin is not None:
            return None if UNKNOWN in call.stdin else call.stdin
        name = walk.stdin_file
    if not name:
        return None
    known = walk.known_text([name], state)
    if known is not None:
        return known
    whole = absolute_name(state, name)
    if whole in (UNKNOWN, *state.touched):
        return None
    return walk.disk.read_text(whole)


TOOLS: dict[str, Callable[[Call], str | None]] = {
    "sed": _sed,
    "gsed": _sed,
    "patch": _patch,
    "gpatch": _patch,
}
