"""What a walk finds: uses and unknowns, and the bookkeeping of what the text itself did to the disk."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell import globs
from ringfence.shell.reading import Unknown, Use
from ringfence.shell.state import DIGITS, NOTHING, RESERVED, TILDE, UNKNOWN, clean, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.disk import Disk
    from ringfence.shell.state import State

MAX_TOUCHED = 4096  # names that a text changed, as far as they are remembered


class Notes:
    """The findings of one walk. `span` is the statement at hand, in bytes of the outer text."""

    dialect: str

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.uses: dict[Use, None] = {}
        self.unknowns: dict[Unknown, None] = {}
        self.span = (0, 0)

    # -- findings -------------------------------------------------------------------------------------------
    def unknown(self, code: str, why: str) -> None:
        why = _show(why)
        self.unknowns.setdefault(Unknown(code, why, *self.span))

    def touch(
        self,
        op: Op,
        text: str,
        state: State,
        why: str,
        *,
        deep: bool = False,
        soft: bool = False,
        entry: bool = False,
    ) -> None:
        """Note one use of an expanded word."""
        if text in ("", NOTHING) or is_sink(text):
            return  # the shell or the tool fails on an empty name
        if UNKNOWN in text:
            if op is not Op.READ:
                self.unknown("opaque.dynamic-path", f"{why}: {text}")
            return
        text = text.replace(DIGITS, "0")
        if text.startswith(TILDE):
            self._note(op, "~" + text[1:], state.cwds[0], why, deep=deep, soft=soft, entry=entry)
            return
        if any(c in text for c in RESERVED):
            self.unknown("opaque.dynamic-path", f"{why}: {text}")
            return
        if text.startswith("~"):
            text = "./" + text  # a file of that name: the shell had its chance to expand it
        for cwd in state.cwds:
            if cwd == UNKNOWN and not text.startswith("/"):
                if op is not Op.READ:
                    self.unknown("opaque.unknown-cwd", f"{why}: {text}")
                continue
            path = text
            if op is not Op.READ:
                whole = text if text.startswith("/") else f"{cwd}/{text}"
                if state.links or state.mirrors:
                    path = (
                        self._through_links(whole, state, entry=entry or op in (Op.DELETE, Op.RENAME)) or text
                    )
                if path == UNKNOWN:
                    self.unknown("opaque.planted-link", f"{why}: {text}")
                    continue
                here = fold("/", path if path.startswith("/") else whole)
                if state.planted and not entry and op not in (Op.DELETE, Op.RENAME):
                    for folder in state.planted:
                        if here.startswith(folder.rstrip("/") + "/") and "/" in here[len(folder) :].strip(
                            "/"
                        ):
                            self.unknown(
                                "opaque.planted-link", f"{why}: an archive may have put a link at {text}"
                            )
                if not soft:
                    if state.files and op is not Op.METADATA:
                        self._forget_files(op, here, whole, state, deep=deep)
                    state.built -= {here}
                    if op in (Op.DELETE, Op.RENAME) and state.folders:
                        state.folders = frozenset(
                            f for f in state.folders if f != here and not f.startswith(here + "/")
                        )
                    if len(state.touched) < MAX_TOUCHED and here not in state.touched:
                        state.touched = (*state.touched, here)
            self._note(op, path, cwd, why, deep=deep, soft=soft, entry=entry)
            if text.startswith("/"):
                break

    def _note(self, op: Op, path: str, cwd: str, why: str, *, deep: bool, soft: bool, entry: bool) -> None:
        self.uses.setdefault(Use(op, path, cwd, why, *self.span, deep=deep, soft=soft, entry=entry))

    def _forget_files(self, op: Op, here: str, whole: str, state: State, *, deep: bool) -> None:
        """Known contents that this write may have changed: its own, what lies below, and all if it has another name."""
        parent = here.rpartition("/")[0] or "/"
        aliased = op is Op.LINK or self.disk.readlink(whole) is not None
        if aliased or self.disk.physical(parent) not in (None, parent):
            state.files = {}
            return
        state.files.pop(here, None)
        if deep or op in (Op.DELETE, Op.RENAME):
            prefix = here.rstrip("/") + "/"
            state.files = {k: v for k, v in state.files.items() if not k.startswith(prefix)}

    def _through_links(self, whole: str, state: State, *, entry: bool) -> str | None:
        """`whole` rewritten through links that this text made; None: none of them is on the way."""
        changed = False
        for _ in range(20):
            parts = [p for p in whole.split("/") if p not in ("", ".")]
            here = ""
            for index, part in enumerate(parts):
                last = index == len(parts) - 1
                if part == "..":
                    here = here.rpartition("/")[0]
                    continue
                here = f"{here}/{part}"
                if last and entry and not whole.endswith("/"):
                    continue
                target = state.links.get(here)
                if target is None:
                    target = self._mirrored(here, state)
                if target is None:
                    continue
                if target == UNKNOWN:
                    return UNKNOWN
                rest = "/".join(parts[index + 1 :])
                parent = here.rpartition("/")[0]
                whole = (target if target.startswith("/") else f"{parent}/{target}") + (
                    "/" + rest if rest else ""
                )
                changed = True
                break
            else:
                return whole if changed else None
        return UNKNOWN

    def _mirrored(self, here: str, state: State) -> str | None:
        for copy, original in state.mirrors:
            if here == copy or here.startswith(copy + "/"):
                target = self.disk.readlink(original + here[len(copy) :])
                if target is not None:
                    return clean(target)
        return None

    # -- names on disk --------------------------------------------------------------------------------------
    def matches(self, pattern: str, text: str, state: State) -> list[str]:
        """What a glob becomes: names on disk and links made here; the text itself if there are none."""
        found: dict[str, None] = {}
        try:
            for cwd in state.cwds:
                if cwd == UNKNOWN and not pattern.startswith("/"):
                    return [UNKNOWN]
                names = globs.find(
                    pattern,
                    cwd,
                    lambda d: self._names(d, state),
                    lambda p: self._is_dir(p, state),
                    dots="dotglob" in state.options,
                    deep="globstar" in state.options or self.dialect == "zsh",
                )
                found.update((clean(n), None) for n in names)
        except globs.TooWideError:
            return [UNKNOWN]
        if found:
            return list(found)
        return [] if "nullglob" in state.options else [text]

    def _names(self, folder: str, state: State) -> tuple[str, ...] | None:
        names = self.disk.names(folder)
        if state.links:
            prefix = folder.rstrip("/") + "/"
            made = [
                p[len(prefix) :] for p in state.links if p.startswith(prefix) and "/" not in p[len(prefix) :]
            ]
            return tuple(sorted({*(names or ()), *made}))
        return names

    def _is_dir(self, path: str, state: State) -> bool:
        return self.disk.is_dir(path) or path.rstrip("/") in state.links

    def known_text(self, targets: list[str], state: State) -> str | None:
        """What a file holds, if this very text wrote all of it."""
        if len(targets) != 1 or len(state.cwds) != 1:
            return None
        if targets[0] == "/dev/null":
            return ""
        if state.cwds[0] == UNKNOWN or any(c in targets[0] for c in RESERVED):
            return None
        return state.files.get(fold(state.cwds[0], targets[0]))


def is_sink(text: str) -> bool:
    """Names that swallow what is written, as far as a command's text is concerned."""
    if not text.startswith("/dev/"):
        return False
    name = text[5:]
    return name in ("null", "stdout", "stderr", "tty") or (name.startswith("fd/") and name[3:].isdigit())


def _show(text: str) -> str:
    return (
        text.replace(UNKNOWN, "…")
        .replace(DIGITS, "#")
        .replace("\2", " ")
        .replace(NOTHING, "")
        .replace(TILDE, "~")
    )[:200]
