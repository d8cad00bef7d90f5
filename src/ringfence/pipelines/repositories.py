"""Which folders of a workspace git reads a config from, found without git and without following a link."""

from __future__ import annotations

from posix import close

from ringfence.pipelines import beneath

_CONFIG = "config"
_MOST_REPOSITORIES = 64
_DEEPEST = 3  # levels of names below `modules`: a submodule's name may hold slashes


def repositories(top: int, root: str) -> list[tuple[str, ...]]:
    """The ways from a workspace to the folders of its repository that git reads a config from, `.git` first.

    `.git` itself, what a `.git` file inside the workspace points at, a workspace that is a bare repository, and the
    submodules' folders. Links are not followed; repositories deeper in the tree are not looked for.
    """
    found: list[tuple[str, ...]] = [(".git",)]
    pointer = beneath.content(top, ".git")
    if pointer is not None and pointer.startswith(b"gitdir:"):
        found.extend(
            _pointed(top, root, pointer[len(b"gitdir:") :].strip().decode("utf-8", "surrogateescape"))
        )
    if beneath.entry(top, "HEAD") and beneath.entry(top, "objects") and beneath.entry(top, _CONFIG):
        found.append(())
    for base in list(found):
        found.extend(_modules(top, (*base, "modules"), _DEEPEST))
    return list(dict.fromkeys(found))[:_MOST_REPOSITORIES]


def _pointed(top: int, root: str, target: str) -> list[tuple[str, ...]]:
    parts = _below(root, "", target)
    if parts is None:
        return []
    found = [parts]
    folder = beneath.folder_at(top, parts)
    if folder >= 0:
        common = beneath.content(folder, "commondir")
        close(folder)
        if common is not None:
            text = common.strip().decode("utf-8", "surrogateescape")
            shared = _below(root, "/".join(parts), text)
            if shared is not None:
                found.append(shared)
    return found


def _below(root: str, at: str, target: str) -> tuple[str, ...] | None:
    """The way from `root` to `target`, as text; None if it leads out. A link on it is refused when it is walked."""
    prefix = root.rstrip("/") + "/"
    if target.startswith("/"):
        if not target.startswith(prefix):
            return None
        target, at = target[len(prefix) :], ""
    out: list[str] = []
    for part in f"{at}/{target}".split("/"):
        if part == "..":
            if not out:
                return None
            out.pop()
        elif part and part != ".":
            out.append(part)
    return tuple(out)


def _modules(top: int, parts: tuple[str, ...], deep: int) -> list[tuple[str, ...]]:
    folder = beneath.folder_at(top, parts)
    if folder < 0:
        return []
    found: list[tuple[str, ...]] = []
    try:
        for name in beneath.names(folder)[:_MOST_REPOSITORIES]:
            below = beneath.open_folder(name, folder)
            if below < 0:
                continue
            is_repository = beneath.entry(below, _CONFIG) is not None
            close(below)
            if is_repository:
                found.append((*parts, name))
                found.extend(_modules(top, (*parts, name, "modules"), deep - 1) if deep else [])
            elif deep:
                found.extend(_modules(top, (*parts, name), deep - 1))
    finally:
        close(folder)
    return found
