"""Roots of zones: resolved once, remembered for the snapshot, never hanging on a link an agent can move."""

from __future__ import annotations

import os

from ringfence.errors import PolicyError
from ringfence.model import Located
from ringfence.policy.paths import below
from ringfence.policy.texts import RootSeen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ringfence.model import Site
    from ringfence.policy.texts import PathText

_MAX_HOPS = 40  # links followed in one path; Linux's own limit (path_resolution(7))


class Locator:
    """The resolver that was handed in, with a memory of every answer that shaped the policy."""

    def __init__(self, locate: Callable[[str], Site]) -> None:
        self._locate = locate
        self._seen: dict[str, Site] = {}

    def locate(self, spelled: str) -> Site:
        if spelled not in self._seen:
            self._seen[spelled] = self._locate(spelled)
        return self._seen[spelled]

    @property
    def seen(self) -> tuple[RootSeen, ...]:
        return tuple(
            RootSeen(spelled, site.path, site.is_dir)
            if isinstance(site, Located)
            else RootSeen(spelled, "", is_dir=False)
            for spelled, site in self._seen.items()
        )


def locate_root(text: PathText, what: str, locator: Locator) -> Located:
    """The physical root that a policy's path means. Raises PolicyError if it means none."""
    site = locator.locate(text.spelled)
    if not isinstance(site, Located):
        raise fail(text, f'{what} "{text.text}" cannot be resolved: {site.why}')
    if site.magic or below(site.path, "/proc"):
        raise fail(text, f'{what} "{text.text}" lies in /proc, which means something else to every process')
    return site


def existing_folder(text: PathText, what: str, locator: Locator) -> Located:
    """As locate_root, for a root that must be a folder that exists; names the nearest one if it does not."""
    site = locate_root(text, what, locator)
    if not site.exists:
        raise fail(text, f'{what} "{text.text}" does not exist', _nearest_sibling(site.path))
    if not site.is_dir:
        raise fail(
            text, f'{what} "{text.text}" is not a folder', f"name the folder: {os.path.dirname(site.path)}"
        )
    return site


def fail(text: PathText, message: str, hint: str = "") -> PolicyError:
    return PolicyError(message, text.place.source, text.place.line, text.place.column, hint)


def _nearest_sibling(path: str) -> str:
    parent = os.path.dirname(path)
    try:
        names = [entry.name for entry in os.scandir(parent) if entry.is_dir()]
    except OSError:
        while not os.path.isdir(parent):
            parent = os.path.dirname(parent)
        return f"the part that exists is {parent}"
    import difflib

    close = difflib.get_close_matches(os.path.basename(path), names, n=1, cutoff=0.5)
    return (
        f"did you mean {os.path.join(parent, close[0])}?"
        if close
        else f"create it, or correct the name; it would lie in {parent}"
    )


def links_on_the_way(spelled: str) -> list[str]:
    """The physical place of every link that the kernel follows on the way to `spelled`, the leaf's included.

    Only looks; a link that changes meanwhile is caught where the root is compared again (snapshot.py).
    """
    met: list[str] = []
    todo = [part for part in reversed(spelled.split("/")) if part not in ("", ".")]
    at = "/"
    while todo:
        part = todo.pop()
        if part == "..":
            at = os.path.dirname(at)
            continue
        step = os.path.join(at, part)
        try:
            target = os.readlink(step)
        except OSError:
            at = step  # no link, or nothing there
            continue
        met.append(step)
        if len(met) > _MAX_HOPS:
            return met
        if target.startswith("/"):
            at = "/"
        todo += [part for part in reversed(target.split("/")) if part not in ("", ".")]
    return met


def refuse_movable_links(text: PathText, what: str, root: str, writable: Iterable[str]) -> None:
    """A grant must not hang on a link that its own receiver could point elsewhere. Raises PolicyError."""
    for link in links_on_the_way(text.spelled):
        for tree in writable:
            if below(link, tree) and link != tree and not below(root, tree):
                raise fail(
                    text,
                    f'{what} "{text.text}" runs through the link {link}, which lies in {tree}'
                    " and leads out of it: an agent could point it elsewhere",
                    f"name the folder itself: {root}",
                )
