"""find: what it would delete or hand to a command, taken from the disk as far as its tests are simple."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell import globs
from ringfence.shell.effects import nested
from ringfence.shell.filetools import slots_of
from ringfence.shell.state import DIGITS, TILDE, UNKNOWN, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.calls import Call
    from ringfence.shell.slots import Slots

MAX_FOUND = 400
MAX_SEEN = 4000
_BELOW = "ringfence-below"  # stands for a name that cannot be listed


def find(call: Call) -> str | None:
    slots = slots_of(call, "find")
    if slots is None:
        return None
    walk, state = call.walk, call.state
    starts = list(slots.operands) or ["."]
    for role, word in slots.pairs:
        if role == "write":
            walk.touch(Op.WRITE, word, state, "find")
        elif role == "list":
            walk.unknown("opaque.paths-from-file", f"find: starts from {word}")
    deletes = "-delete" in slots.present
    follows = bool(slots.present & {"-L", "-follow"})
    for start in starts:
        walk.touch(Op.READ, start, state, "find")
        if deletes:
            _delete(call, slots, start, follows=follows)
    for argv in slots.commands:
        _execute(call, slots, starts, list(argv), follows=follows)
    return None


def _delete(call: Call, slots: Slots, start: str, *, follows: bool) -> None:
    walk, state = call.walk, call.state
    if UNKNOWN in start or start.startswith(TILDE):
        walk.touch(Op.DELETE, start, state, "find -delete")
        return
    if not start.endswith("/") and not follows and _is_link(call, start):
        walk.touch(Op.DELETE, start, state, "find -delete", entry=True)
        return
    found = _matches(call, slots, start, follows=follows)
    walk.touch(Op.WRITE, start, state, "find -delete")
    if found is None:
        walk.touch(Op.WRITE, start, state, "find -delete", deep=True)
        return
    for name in found:
        walk.touch(Op.DELETE, name, state, "find -delete", entry=True)


def _is_link(call: Call, path: str) -> bool:
    return any(
        cwd != UNKNOWN and call.walk.disk.readlink(f"{cwd}/{path}" if path[:1] != "/" else path) is not None
        for cwd in call.state.cwds
    )


def _execute(call: Call, slots: Slots, starts: list[str], argv: list[str], *, follows: bool) -> None:
    found: list[str] | None = []
    for start in starts:
        more = None if UNKNOWN in start else _matches(call, slots, start, follows=follows)
        if more is None:
            found = None
            break
        if found is not None:
            found.extend(more)
    if not any("{}" in w for w in argv):
        nested(call, call.state, argv)
        return
    if found is None or len(found) > MAX_FOUND:
        for start in starts:
            if UNKNOWN in start:
                nested(call, call.state, [w.replace("{}", UNKNOWN) for w in argv])
                continue
            nested(call, call.state, [w.replace("{}", f"{start}/{_BELOW}") for w in argv])
            call.walk.touch(Op.WRITE, start, call.state, "find -exec", deep=True, soft=True)
        return
    if not found:
        # Nothing matches now; something might by then.
        found = [f"{s.rstrip('/')}/{_BELOW}" for s in starts]
    if argv[-1:] == ["{}"] and not any("{}" in w for w in argv[:-1]):
        nested(call, call.state, [*argv[:-1], *found])
        return
    for name in found[:64]:
        nested(call, call.state, [w.replace("{}", name) for w in argv])


def _matches(call: Call, slots: Slots, start: str, *, follows: bool) -> list[str] | None:
    """Names below `start` that may match; every test but -name, -type and the depths is taken as passed."""
    if (
        len(call.state.cwds) != 1
        or call.state.cwds[0] == UNKNOWN
        or call.state.touched
        or start.startswith(TILDE)
    ):
        return None
    simple = not any(w in ("-o", "-or", "!", "-not", "(", "\\(", "-prune") for w in call.args)
    names = [v for o, v in slots.values if o in ("-name", "-iname")] if simple else []
    kinds = [v for o, v in slots.values if o == "-type"] if simple else []
    low = _number([v for o, v in slots.values if o == "-mindepth"], 0)
    high = _number([v for o, v in slots.values if o == "-maxdepth"], 60)
    disk = call.walk.disk
    fold_case = any(o == "-iname" for o, _ in slots.values)
    start = start.replace(DIGITS, "0")
    base = start if start.startswith("/") else f"{call.state.cwds[0]}/{start}"
    out: list[str] = []
    pending = [(start, base, 0)]
    seen = 0
    while pending:
        spelled, where, depth = pending.pop()
        seen += 1
        if seen > MAX_SEEN:
            return None
        leaf = spelled.rstrip("/").rpartition("/")[2] or spelled
        link = disk.readlink(where) is not None
        folder = disk.is_dir(where) and (not link or follows or depth == 0)
        if (
            depth >= low
            and _fits(leaf, names, kinds, link=link and not follows, folder=folder, fold_case=fold_case)
            and (depth > 0 or not slots.present & {"-delete"})
        ):
            out.append(clean(spelled))
        if len(out) > MAX_FOUND:
            return None
        if (
            folder
            and depth < high
            and (not link or follows or (depth == 0 and spelled.endswith("/")) or depth == 0)
        ):
            if depth == 0 and link and not follows and not spelled.endswith("/"):
                continue
            for name in disk.names(where) or ():
                pending.append(
                    (
                        f"{spelled.rstrip('/') or ''}/{name}" if spelled != "/" else f"/{name}",
                        f"{where.rstrip('/')}/{name}",
                        depth + 1,
                    )
                )

    return out


def _fits(
    leaf: str, names: list[str], kinds: list[str], *, link: bool, folder: bool, fold_case: bool
) -> bool:
    for pattern in names:
        if UNKNOWN in pattern:
            continue
        try:
            one, other = (pattern.lower(), leaf.lower()) if fold_case else (pattern, leaf)
            if not globs.match(one, other):
                return False
        except globs.TooWideError:
            continue
    for kind in kinds:
        if kind == "f" and (folder or link):
            return False
        if kind == "d" and (not folder or link):
            return False
        if kind == "l" and not link:
            return False
    return True


def _number(values: list[str], default: int) -> int:
    return int(values[0]) if values and values[0].isdigit() else default
