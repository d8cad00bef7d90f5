"""Shell patterns: matching text, and finding names on disk through a callback."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # directory (absolute) -> its names, or None if it cannot be listed
    Lister = Callable[[str], tuple[str, ...] | None]
    IsDir = Callable[[str], bool]

MAX_NAMES = 2000
_MAX_STEPS = 200_000
_ACTIVE = frozenset("*?[")


class TooWideError(Exception):
    """A pattern that matches more than is worth judging, or takes too long to match."""


def is_active(pattern: str, extglob: bool = True) -> bool:
    i = 0
    while i < len(pattern):
        c = pattern[i]
        if c == "\\":
            i += 2
            continue
        if c in _ACTIVE or (extglob and c in "@!+" and pattern[i + 1 : i + 2] == "("):
            return True
        i += 1
    return False


def quote(text: str) -> str:
    """`text` as a pattern that matches only itself."""
    return "".join("\\" + c if c in "*?[]\\@!+(|)" else c for c in text)


def match(pattern: str, text: str) -> bool:
    """Whole-text match, extended globs included. Raises TooWideError for a pattern that runs away."""
    budget = [_MAX_STEPS]
    return any(end == len(text) for end in _ends(_compile(pattern), 0, text, 0, budget))


def prefixes(pattern: str, text: str) -> list[int]:
    """Lengths of all prefixes of `text` that match, ascending."""
    budget = [_MAX_STEPS]
    return sorted(set(_ends(_compile(pattern), 0, text, 0, budget)))


def _compile(pattern: str) -> list[tuple[str, object]]:
    out: list[tuple[str, object]] = []
    i = 0
    while i < len(pattern):
        c = pattern[i]
        follower = pattern[i + 1 : i + 2]
        if c == "\\" and follower:
            out.append(("c", follower))
            i += 2
            continue
        if c in "@!+*?" and follower == "(":
            end, arms = _group(pattern, i + 2)
            if end:
                out.append((c + "(", [_compile(arm) for arm in arms]))
                i = end
                continue
        if c == "*":
            if not out or out[-1][0] != "*":
                out.append(("*", None))
            i += 1
        elif c == "?":
            out.append(("?", None))
            i += 1
        elif c == "[":
            end, members = _bracket(pattern, i + 1)
            out.append(("[", members) if end else ("c", "["))
            i = end or i + 1
        else:
            out.append(("c", c))
            i += 1
    return out


def _group(pattern: str, i: int) -> tuple[int, list[str]]:
    depth, start, arms = 0, i, []
    while i < len(pattern):
        c = pattern[i]
        if c == "\\":
            i += 2
            continue
        if c == "(":
            depth += 1
        elif c == ")":
            if depth == 0:
                arms.append(pattern[start:i])
                return i + 1, arms
            depth -= 1
        elif c == "|" and depth == 0:
            arms.append(pattern[start:i])
            start = i + 1
        i += 1
    return 0, []


def _bracket(pattern: str, i: int) -> tuple[int, tuple[bool, list[tuple[str, str]]]]:
    """(index after `]` or 0 if there is none, (negated, ranges)). Unknown classes match anything: wider is safe."""
    negated = pattern[i : i + 1] in ("!", "^") and bool(pattern[i : i + 1])
    if negated:
        i += 1
    ranges: list[tuple[str, str]] = []
    first = True
    while i < len(pattern):
        c = pattern[i]
        if c == "]" and not first:
            return i + 1, (negated, ranges)
        first = False
        if c == "[" and pattern[i + 1 : i + 2] in (":", ".", "=") and pattern[i + 1 : i + 2]:
            end = pattern.find(pattern[i + 1] + "]", i + 2)
            if end < 0:
                return 0, (False, [])
            ranges.extend(_CLASSES.get(pattern[i + 2 : end], [("\0", "\U0010ffff")]))
            i = end + 2
            continue
        if c == "\\" and i + 1 < len(pattern):
            i += 1
            c = pattern[i]
        if pattern[i + 1 : i + 2] == "-" and pattern[i + 2 : i + 3] not in ("", "]"):
            ranges.append((c, pattern[i + 2]))
            i += 3
        else:
            ranges.append((c, c))
            i += 1
    return 0, (False, [])


_CLASSES = {
    "alpha": [("a", "z"), ("A", "Z"), ("\x80", "\U0010ffff")],
    "digit": [("0", "9")],
    "alnum": [("a", "z"), ("A", "Z"), ("0", "9"), ("\x80", "\U0010ffff")],
    "lower": [("a", "z"), ("\x80", "\U0010ffff")],
    "upper": [("A", "Z"), ("\x80", "\U0010ffff")],
    "space": [("\t", "\r"), (" ", " ")],
    "xdigit": [("0", "9"), ("a", "f"), ("A", "F")],
}


def _ends(items: list[tuple[str, object]], at: int, text: str, i: int, budget: list[int]) -> set[int]:
    budget[0] -= 1
    if budget[0] < 0:
        raise TooWideError
    here = {i}
    for kind, data in items[at:]:
        after: set[int] = set()
        for pos in here:
            if kind == "c":
                if text[pos : pos + 1] == data:
                    after.add(pos + 1)
            elif kind == "?":
                if pos < len(text):
                    after.add(pos + 1)
            elif kind == "*":
                after.update(range(pos, len(text) + 1))
            elif kind == "[":
                if pos < len(text) and _in_class(data, text[pos]):
                    after.add(pos + 1)
            else:
                after |= _extended(kind, data, text, pos, budget)
        budget[0] -= len(after)
        if budget[0] < 0:
            raise TooWideError
        here = after
        if not here:
            break
    return here


def _in_class(data: object, c: str) -> bool:
    members: tuple[bool, list[tuple[str, str]]] = data  # type: ignore[assignment]  # the form `_bracket` made
    return any(low <= c <= high for low, high in members[1]) != members[0]


def _extended(kind: str, arms: object, text: str, pos: int, budget: list[int]) -> set[int]:
    options: list[list[tuple[str, object]]] = arms  # type: ignore[assignment]  # see above
    once = set().union(*(_ends(arm, 0, text, pos, budget) for arm in options)) if options else set()
    if kind == "@(":
        return once
    if kind == "?(":
        return once | {pos}
    if kind == "!(":
        return {end for end in range(pos, len(text) + 1) if end not in once}
    seen = set(once)
    frontier = set(once)
    while frontier:
        found = set()
        for start in frontier:
            for arm in options:
                found |= _ends(arm, 0, text, start, budget)
        frontier = found - seen
        seen |= frontier
    return seen | {pos} if kind == "*(" else seen


def find(pattern: str, cwd: str, list_names: Lister, is_dir: IsDir, *, dots: bool, deep: bool) -> list[str]:
    """Names on disk that `pattern` (relative to `cwd`, or absolute) matches, spelled as the shell would.

    `dots`: leading dots need no literal dot. `deep`: `**` spans folders. Raises TooWideError past MAX_NAMES.
    """
    absolute = pattern.startswith("/")
    parts = [p for p in pattern.split("/") if p]
    trailing = pattern.endswith("/")
    found: list[tuple[str, str]] = [("/", "/") if absolute else ("", cwd)]
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        step: list[tuple[str, str]] = []
        for spelled, where in found:
            if not is_active(part):
                name = _literal(part)
                step.append((spelled + name, f"{where.rstrip('/')}/{name}"))
            elif deep and part == "**":
                _descend(spelled, where, step, list_names, is_dir, dots)
            else:
                for name in list_names(where) or ():
                    if name.startswith(".") and not (dots or part.startswith((".", "\\."))):
                        continue
                    if match(part, name):
                        step.append((spelled + name, f"{where.rstrip('/')}/{name}"))
            if len(step) > MAX_NAMES:
                raise TooWideError
        if not last or trailing:
            found = [(s + "/" if not s.endswith("/") and s else s, w) for s, w in step if is_dir(w)]
        else:
            found = step
    return [s for s, w in found if s and (not is_literal_tail(parts) or _exists(w, list_names))]


def is_literal_tail(parts: list[str]) -> bool:
    return bool(parts) and not is_active(parts[-1])


def _exists(path: str, list_names: Lister) -> bool:
    parent, _, name = path.rstrip("/").rpartition("/")
    return name in (list_names(parent or "/") or ()) or name in (".", "..")


def _descend(
    spelled: str, where: str, out: list[tuple[str, str]], list_names: Lister, is_dir: IsDir, dots: bool
) -> None:
    pending = [(spelled, where, 0)]
    while pending:
        s, w, depth = pending.pop()
        out.append((s, w))
        if len(out) > MAX_NAMES or depth > 40:
            raise TooWideError
        for name in list_names(w) or ():
            if name.startswith(".") and not dots:
                continue
            child = f"{w.rstrip('/')}/{name}"
            prefix = s if s.endswith("/") or not s else s + "/"
            if is_dir(child):
                pending.append((f"{prefix}{name}/", child, depth + 1))
            else:
                out.append((prefix + name, child))


def _literal(part: str) -> str:
    out = []
    i = 0
    while i < len(part):
        if part[i] == "\\" and i + 1 < len(part):
            i += 1
        out.append(part[i])
        i += 1
    return "".join(out)
