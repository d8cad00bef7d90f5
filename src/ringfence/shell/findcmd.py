"""find: what it would delete or hand to a command, taken from the disk as far as its tests can be read."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.effects import nested
from ringfence.shell.filetools import slots_of
from ringfence.shell.findtests import ACTIONS, File, parse_expression, reaches
from ringfence.shell.state import DIGITS, TILDE, UNKNOWN, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.calls import Call
    from ringfence.shell.slots import Slots

    Found = dict[tuple[str, ...], list[str]]  # action -> names it may be reached for

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
    follows = bool(slots.present & {"-L", "-follow"})
    acting = "-delete" in slots.present or bool(slots.commands)
    reached: list[Found | None] = [
        _matches(call, slots, s, follows=follows) if acting else {} for s in starts
    ]
    for start, found in zip(starts, reached, strict=True):
        walk.touch(Op.READ, start, state, "find")
        if "-delete" in slots.present:
            _delete(call, start, None if found is None else found.get(("-delete",), []), follows=follows)
    for argv in slots.commands:
        names: list[str] | None = []
        for found in reached:
            if found is None or names is None:
                names = None
            else:
                names = names + [n for action, more in found.items() if _runs(action, argv) for n in more]
        if slots.present & {"-execdir", "-okdir"}:
            _execute_there(call, list(argv), names)
        _execute(call, starts, list(argv), names)
    return None


def _runs(action: tuple[str, ...], argv: tuple[str, ...]) -> bool:
    return action[1 : 1 + len(argv)] == argv


def _delete(call: Call, start: str, found: list[str] | None, *, follows: bool) -> None:
    walk, state = call.walk, call.state
    if UNKNOWN in start or start.startswith(TILDE):
        walk.touch(Op.DELETE, start, state, "find -delete")
        return
    if not start.endswith("/") and not follows and _is_link(call, start):
        walk.touch(Op.DELETE, start, state, "find -delete", entry=True)
        return
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


def _execute_there(call: Call, argv: list[str], found: list[str] | None) -> None:
    """`-execdir`: in the folder of each name."""
    state = call.state.copy()
    base = state.cwds[0]
    if found is None or len(state.cwds) != 1:
        state.cwds = (UNKNOWN,)
        nested(call, state, [w.replace("{}", "./" + _BELOW) for w in argv])
        return
    for name in found[:64]:
        folder, slash, leaf = name.rstrip("/").rpartition("/")
        folder = folder or ("/" if slash else ".")
        state.cwds = (folder if folder.startswith("/") else f"{base}/{folder}",)
        nested(call, state, [w.replace("{}", f"./{leaf}") for w in argv])


def _execute(call: Call, starts: list[str], argv: list[str], found: list[str] | None) -> None:
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
    if argv[0] == "rm" and not any(w.startswith("-") and ("r" in w or "R" in w or "d" in w) for w in argv):
        cwd = call.state.cwds[0]
        found = [
            n
            for n in found
            if _is_link(call, n) or not call.walk.disk.is_dir(n if n[:1] == "/" else f"{cwd}/{n}")
        ]
    if not found:
        # Nothing matches now; something might by then.
        found = [f"{s.rstrip('/')}/{_BELOW}" for s in starts]
    if argv[-1:] == ["{}"] and not any("{}" in w for w in argv[:-1]):
        nested(call, call.state, [*argv[:-1], *found])
        return
    for name in found[:64]:
        nested(call, call.state, [w.replace("{}", name) for w in argv])


def _matches(call: Call, slots: Slots, start: str, *, follows: bool) -> Found | None:
    """For each action the names below `start` it may be reached for; None where that cannot be listed."""
    if len(call.state.cwds) != 1 or call.state.cwds[0] == UNKNOWN or call.state.touched:
        return None
    if UNKNOWN in start or start.startswith(TILDE):
        return None
    words = list(call.args)
    first = next(
        (i for i, w in enumerate(words) if w in ("(", "!") or (w[:1] == "-" and w not in ("-L", "-H", "-P"))),
        0,
    )
    expression = parse_expression(words[first:])
    low = _number([v for o, v in slots.values if o == "-mindepth"], 0)
    high = _number([v for o, v in slots.values if o == "-maxdepth"], 60)
    disk = call.walk.disk
    start = start.replace(DIGITS, "0")
    base = start if start.startswith("/") else f"{call.state.cwds[0]}/{start}"
    out: Found = {}
    pending = [(start, base, 0)]
    seen = 0
    while pending:
        spelled, where, depth = pending.pop()
        seen += 1
        link = disk.readlink(where) is not None
        entered = disk.is_dir(where) and (not link or follows or (depth == 0 and spelled.endswith("/")))
        file = File(spelled, spelled.rstrip("/").rpartition("/")[2] or spelled, entered, link and not follows)
        reached: set[tuple[str, ...]] = set()
        if expression is None:
            reached = {("-delete",), *(("-exec", *argv) for argv in slots.commands)}
        else:
            reaches(expression, file, reached)
        if depth >= low:
            for action in reached:
                if action[0] in ACTIONS and not (depth == 0 and action == ("-delete",)):
                    out.setdefault(action, []).append(clean(spelled))
        if seen > MAX_SEEN or any(len(names) > MAX_FOUND for names in out.values()):
            return None
        if entered and depth < high and ("-prune",) not in reached:
            for name in disk.names(where) or ():
                pending.append((f"{spelled.rstrip('/')}/{name}", f"{where.rstrip('/')}/{name}", depth + 1))
    return out


def _number(values: list[str], default: int) -> int:
    return int(values[0]) if values and values[0].isdigit() else default
