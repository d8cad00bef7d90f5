"""`cd`, `pushd`, `popd`: where the shell stands. `cd` folds `..` as text, system calls do not; both are modelled."""

from __future__ import annotations

from ringfence.shell.state import DIGITS, TILDE, UNKNOWN, fold, limit_cwds, union

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.shell.calls import Call


def _cd(call: Call) -> str | None:
    physical = "physical" in call.state.options
    words = list(call.args)
    while words and words[0].startswith("-") and words[0] != "-":
        flag = words.pop(0)
        if flag == "--":
            break
        if flag[1:].isdigit() and call.walk.dialect == "zsh":
            words.insert(0, UNKNOWN)
            break
        physical = "P" in flag or (physical and "L" not in flag)
    if len(words) == 2 and call.walk.dialect == "zsh":
        _move(
            call,
            [cwd.replace(words[0], words[1], 1) for cwd in call.state.cwds],
            physical=physical,
            sure=False,
        )
        return ""
    if len(words) > 1:
        return ""  # bash and dash refuse, nothing moves
    if not words:
        homes = call.variable("HOME")
        if homes == (None,):
            _fail(call)
            return ""
        _go(call, [h for h in homes if isinstance(h, str)], physical=physical)
        return ""
    if words[0] == "-":
        _move(call, list(call.state.oldpwd), physical=physical, sure=False)
        return None
    _go(call, [words[0]], physical=physical)
    return None if call.variable("CDPATH") not in ((UNKNOWN,), (None,), ("",)) else ""


def _go(call: Call, names: list[str], *, physical: bool) -> None:
    state, disk = call.state, call.walk.disk
    found: list[str] = []
    sure = True
    for name in names:
        if UNKNOWN in name or name.startswith(TILDE):
            found.append(UNKNOWN)
            sure = False
            continue
        plain = name.replace(DIGITS, "0")
        for cwd in state.cwds:
            if cwd == UNKNOWN and not plain.startswith("/"):
                found.append(UNKNOWN)
                sure = False
                continue
            for base in _bases(call, cwd, plain):
                target = fold(base, plain)
                if not disk.is_dir(target) and target not in state.folders:
                    sure = False
                    if base != cwd:
                        continue
                if physical and ".." in plain.split("/"):
                    # The kernel takes `..` from where a link leads: nothing may be folded before.
                    target = plain if plain.startswith("/") else f"{base}/{plain}"
                found.append(target)
            if plain.startswith("/"):
                break
    _move(call, found, physical=physical, sure=sure)


def _bases(call: Call, cwd: str, name: str) -> list[str]:
    """Folders that `cd name` may start from: CDPATH comes first, and wins over the cwd."""
    if name.startswith("/") or name.split("/", 1)[0] in (".", ".."):
        return [cwd]
    bases = []
    for value in call.extra.get("CDPATH", call.state.values.get("CDPATH", ())):
        if isinstance(value, str) and value:
            if UNKNOWN in value:
                call.walk.unknown("opaque.unknown-cwd", "CDPATH")
                continue
            bases += [fold(cwd, part) for part in value.split(":") if part not in ("", ".")]
    return [*bases, cwd]


def _move(call: Call, found: list[str], *, physical: bool, sure: bool) -> None:
    state = call.state
    where: list[str] = []
    for target in found:
        changed = target not in state.folders and any(
            target == t or target.startswith(t + "/") for t in state.touched if t not in state.folders
        )
        sure = sure and not changed and target != UNKNOWN
        if physical and target != UNKNOWN:
            real = None if changed else call.walk.disk.physical(target)
            where.append(UNKNOWN if real is None else real)
        else:
            where.append(target)
    old = state.cwds
    failed = state.copy()
    if sure:
        failed.dead = "never"
    state.oldpwd = limit_cwds(union(old, state.oldpwd) if not sure else old)
    state.cwds = limit_cwds(tuple(dict.fromkeys(where)))
    state.values.pop("PWD", None)
    state.values.pop("OLDPWD", None)
    call.ok, call.bad = state, failed


def _fail(call: Call) -> None:
    """`cd` without HOME: what follows an `&&` never runs."""
    never = call.state.copy()
    never.dead = "never"
    call.ok, call.bad = never, call.state


def _pushd(call: Call) -> str | None:
    state = call.state
    words = [w for w in call.args if w not in ("-n", "--", "-q")]
    old = state.cwds
    if not words:
        if not state.stack:
            _move(call, [UNKNOWN], physical=False, sure=False)
        else:
            _move(call, list(state.stack[0]), physical=False, sure=True)
            state.stack = (old, *state.stack[1:])
        return None
    if words[0][:1] in ("+", "-") and words[0][1:].isdigit():
        _move(call, [UNKNOWN], physical=False, sure=False)
        state.stack = None
        return None
    stack = state.stack
    _go(call, [words[0]], physical=False)
    if stack is not None:
        state.stack = (old, *stack)
    return None


def _popd(call: Call) -> str | None:
    state = call.state
    if any(w[:1] in ("+", "-") for w in call.args) or not state.stack:
        _move(call, [UNKNOWN], physical=False, sure=False)
        state.stack = None
        return None
    where, state.stack = state.stack[0], state.stack[1:]
    _move(call, list(where), physical=False, sure=UNKNOWN not in where)
    return None


BUILTINS: dict[str, Callable[[Call], str | None]] = {
    "cd": _cd,
    "chdir": _cd,
    "pushd": _pushd,
    "popd": _popd,
}
