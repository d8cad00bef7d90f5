"""How the changes of a throwaway layer look to a person and to a program. Without rich: `try` is a hot door."""

from __future__ import annotations

from ringfence.model import Change, ChangeKind, Entry, JudgedChange, Verdict, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ringfence.model import Attempt, LayerLimit

    Paint = Callable[[str, str], str]

_CODES = {"green": "32", "yellow": "33", "red": "1;31", "dim": "2"}
_STYLES = {Verdict.ALLOW: "green", Verdict.ASK: "yellow", Verdict.DENY: "red"}
_WORDS = {
    ChangeKind.CREATED: "created",
    ChangeKind.CHANGED: "changed",
    ChangeKind.DELETED: "deleted",
    ChangeKind.RENAMED: "renamed",
    ChangeKind.METADATA: "metadata",
}


def plain(text: str, _style: str) -> str:
    """The paint of a pipe."""
    return text


def ansi(text: str, style: str) -> str:
    """The paint of a terminal."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def lines(
    changes: Sequence[JudgedChange], relative: Callable[[str], str], paint: Paint = plain
) -> Iterable[str]:
    """A table: verdict, what happened, size, path; why and by which rule where it is not allowed."""
    for one in changes:
        change, decision = one.change, one.decision
        word = word_of(change)
        path = shown(relative(change.path))
        if change.source:
            path = f"{shown(relative(change.source))} -> {path}"
        if "folder" in [entry.kind for entry in (change.after or change.before,) if entry]:
            path += "/"
        verdict = paint(f"{decision.verdict!s:5}", _STYLES[decision.verdict])
        yield f"  {verdict}  {word:<12} {sizes(change):>18}  {path}{details(change)}"
        if decision.verdict is not Verdict.ALLOW:
            yield f"         why:  {decision.message} [{decision.code}]"
            yield f"         rule: {decision.rule}"
            if decision.hint:
                yield f"         next: {decision.hint}"
        if one.why_not:
            yield paint(f"         not applied: {one.why_not}", "red")


def word_of(change: Change) -> str:
    """The kind in one word; a change of the mode alone is named so."""
    if change.kind is ChangeKind.METADATA and change.what == ("mode",):
        return "mode-changed"
    return _WORDS[change.kind]


def sizes(change: Change) -> str:
    """`12 -> 40` for files, "" for the rest."""
    pair = [
        str(entry.size)
        for entry in (change.before, change.after)
        if entry is not None and entry.kind == "file"
    ]
    if change.kind is ChangeKind.METADATA or change.kind is ChangeKind.RENAMED:
        pair = pair[-1:]
    return " -> ".join(pair)


def details(change: Change) -> str:
    """What differs beside the content, in words."""
    before, after = change.before, change.after
    said = []
    if before and after:
        if before.kind != after.kind:
            said.append(f"{before.kind} -> {after.kind}")
        if before.mode != after.mode and "mode" in change.what:
            said.append(f"mode {before.mode:04o} -> {after.mode:04o}")
        said += [word for word in change.what if word in ("owner", "attributes", "target")]
        if change.what == ("times",):
            said.append("times")
    elif after and after.kind not in ("file", "folder"):
        said.append(after.kind)
    elif before and before.kind not in ("file", "folder"):
        said.append(before.kind)
    return f"  ({', '.join(said)})" if said else ""


def attempt_lines(attempts: Sequence[Attempt], paint: Paint = plain) -> Iterable[str]:
    for one in attempts:
        decision = one.decision
        by = f"  (by {shown(one.program)})" if one.program else ""
        yield f"  {paint('deny ', 'red')}  {decision.op!s:<12} {'':>18}  {shown(decision.path)}{by}"
        yield f"         why:  {decision.message} [{decision.code}]"
        yield f"         rule: {decision.rule}"


def change_json(one: JudgedChange) -> dict[str, object]:
    """Schema-stable: fields are added, never renamed."""
    change, decision = one.change, one.decision
    return {
        "kind": word_of(change),
        "path": change.path,
        "from": change.source or None,
        "what": list(change.what),
        "before": _entry(change.before),
        "after": _entry(change.after),
        "verdict": str(decision.verdict),
        "code": decision.code,
        "rule": {"id": decision.rule.id, "source": decision.rule.source, "line": decision.rule.line or None},
        "message": decision.message,
        "hint": decision.hint,
        "applied": one.applied,
        "why_not": one.why_not or None,
    }


def attempt_json(one: Attempt) -> dict[str, object]:
    decision = one.decision
    return {
        "path": decision.path,
        "op": str(decision.op),
        "verdict": str(decision.verdict),
        "code": decision.code,
        "rule": {"id": decision.rule.id, "source": decision.rule.source, "line": decision.rule.line or None},
        "message": decision.message,
        "program": one.program or None,
    }


def limit_json(one: LayerLimit) -> dict[str, object]:
    return {"code": one.code, "path": one.path, "message": one.message}


def _entry(entry: Entry | None) -> dict[str, object] | None:
    if entry is None:
        return None
    return {
        "kind": entry.kind,
        "size": entry.size if entry.kind == "file" else None,
        "mode": f"{entry.mode:04o}",
        "uid": entry.uid,
        "gid": entry.gid,
    }
