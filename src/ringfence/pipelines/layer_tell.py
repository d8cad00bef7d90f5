"""Saying what a program on a layer did: one list for a person, one document for a program."""

from __future__ import annotations

from posix import WEXITSTATUS, WIFSIGNALED, WTERMSIG, isatty

from ringfence.errors import OutputError
from ringfence.model import ChangeKind, Verdict, shown
from ringfence.pipelines.say import write_all
from ringfence.render import changes as render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import JudgedChange
    from ringfence.pipelines.trying import Tried


def tell(tried: Tried, *, as_json: bool, diff: str) -> None:
    """The whole report on standard output."""
    if as_json:
        _say(_document(tried, diff) + "\n")
        return
    paint = paint_here()
    out = [f"ringfence try: {ended(tried.status)}; {_counts(tried.changes)}"]
    out += render.lines(tried.changes, _near, paint)
    if tried.attempts:
        out.append("refused while it ran:")
        out += render.attempt_lines(tried.attempts, paint)
    if tried.limits:
        out.append("met a limit of the layer, so a direct run may differ:")
        out += [f"  {shown(one.path)}: {one.message} [{one.code}]" for one in tried.limits]
    out += [f"  COULD NOT BE READ BACK: {shown(path)}: {why}" for path, why in tried.unread]
    if tried.full:
        out.append(full_line(tried.medium.on, tried.medium.size))
    out += [f"note: {note}" for note in tried.notes]
    _say("\n".join(out) + "\n" + (diff or ""))


def tell_kept(tried: Tried) -> None:
    """What became of each change on the real tree: the count, and every one that is not there."""
    applied = [one for one in tried.changes if one.applied]
    failed = [one for one in tried.changes if one.why_not]
    refused = len(tried.changes) - len(applied) - len(failed)
    out = [
        f"ringfence try: applied {len(applied)} of {len(tried.changes)} changes, {refused} refused by the policy"
    ]
    out += [f"  NOT applied: {shown(one.change.path)}: {one.why_not}" for one in failed]
    if tried.status:
        out.append(f"  (although {ended(tried.status)})")
    _say("\n".join(out) + "\n")


def full_line(on: str, size: int) -> str:
    """For a person whose program met ENOSPC."""
    from ringfence.pipelines.layers import shown_size

    where = f"{shown_size(size)} in memory" if on == "memory" else "the disk that holds it"
    return (
        f"THE LAYER WAS FULL ({where}): the program met ENOSPC, and the list is what it managed to write; "
        "give more with --size, or --on disk"
    )


def ended(status: int) -> str:
    if WIFSIGNALED(status):
        return f"the program was killed by signal {WTERMSIG(status)}"
    return f"the program exited with status {WEXITSTATUS(status)}"


def paint_here() -> render.Paint:
    from ringfence.pipelines.compose import process_environment

    return render.ansi if isatty(1) and not process_environment().get("NO_COLOR") else render.plain


def _counts(changes: tuple[JudgedChange, ...]) -> str:
    if not changes:
        return "it changed nothing"
    parts = []
    for kind in ChangeKind:
        number = sum(1 for one in changes if one.change.kind is kind)
        if number:
            parts.append(f"{number} {kind}")
    refused = sum(1 for one in changes if one.decision.verdict is not Verdict.ALLOW)
    return ", ".join(parts) + (f"; {refused} not allowed" if refused else "")


def _near(path: str) -> str:
    """Relative to the working folder where it lies below it."""
    from ringfence.pipelines.compose import process_cwd

    try:
        base = process_cwd().rstrip("/") + "/"
    except OSError:
        return path
    return path.removeprefix(base)


def _document(tried: Tried, diff: str) -> str:
    from ringfence.jsonscan import dumps

    value: dict[str, object] = {
        "version": 1,
        "program": list(tried.program),
        "status": None if WIFSIGNALED(tried.status) else WEXITSTATUS(tried.status),
        "signal": WTERMSIG(tried.status) if WIFSIGNALED(tried.status) else None,
        "layer": {"on": tried.medium.on, "size": tried.medium.size, "used": tried.used, "full": tried.full},
        "kept": tried.kept,
        "changes": [render.change_json(one) for one in tried.changes],
        "refused": [render.attempt_json(one) for one in tried.attempts],
        "limits": [render.limit_json(one) for one in tried.limits],
        "unread": [{"path": path, "why": why} for path, why in tried.unread],
        "ended": tried.left,
        "notes": list(tried.notes),
    }
    if diff:
        value["diff"] = diff
    return dumps(value)


def _say(text: str) -> None:
    try:
        write_all(1, text.encode("utf-8", "surrogateescape"))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(
            f"standard output cannot be written: {error.strerror}", "the list above is not whole"
        ) from None


__all__ = ["ended", "full_line", "paint_here", "tell", "tell_kept"]
