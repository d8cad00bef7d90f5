"""Whether a rule of an untrusted project file only narrows. Pure, on physical paths.

The decision itself (longest root, on a tie the stricter) lives in `decide`; this is the same rule over the
trusted zones alone, used once when the policy is loaded.
"""

from __future__ import annotations

from ringfence.model import Access, Glob, Zone, ZoneKind
from ringfence.policy.globs import matching_roots
from ringfence.policy.paths import below
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ringfence.policy.texts import ZoneText

_RANK = {Access.NONE: 0, Access.READ: 1, Access.WRITE: 2}


class Bounds(Record):
    """`reads_anywhere`: what no rule names may be read. `system`: `sys.platform` (Linux folds no names)."""

    reads_anywhere: bool
    system: str


def access_at(path: str, zones: Sequence[Zone], globs: Sequence[Glob], bounds: Bounds) -> Access:
    """What the rules grant at `path`. Guards only take writing away, so they do not count here."""
    fold = _fold_for(bounds.system)
    at = fold(path)
    best = (-1, Access.READ if bounds.reads_anywhere else Access.NONE)
    claims = [(root, zone.access) for zone in zones if below(at, root := fold(zone.root))]
    claims += [
        (root, glob.access)
        for glob in globs
        if glob.kind is not ZoneKind.GUARD
        for root in matching_roots(_folded(glob, fold), at)
    ]
    for root, access in claims:
        depth = 0 if root == "/" else root.count("/")
        if depth > best[0] or (depth == best[0] and _RANK[access] < _RANK[best[1]]):
            best = (depth, access)
    return best[1]


def why_not(text: ZoneText, root: str, zones: Sequence[Zone], globs: Sequence[Glob], bounds: Bounds) -> str:
    """Why the zone would widen what the trusted `zones` and `globs` grant; "" if it only narrows."""
    if text.access == "write":
        return "it grants writing and the file is not trusted"
    if text.access == "none":
        return ""
    if access_at(root, zones, globs, bounds) is Access.NONE:
        return "it grants reading what could not be read and the file is not trusted"
    # A pattern may match below somebody's `none` rule; two patterns cannot be compared, so any one is enough.
    fold = _fold_for(bounds.system)
    at = fold(root)
    hidden = any(zone.access is Access.NONE and below(fold(zone.root), at) for zone in zones)
    hidden = hidden or any(
        glob.access is Access.NONE and (below(fold(glob.base), at) or below(at, fold(glob.base)))
        for glob in globs
    )
    if text.parts and hidden:
        return "it is a pattern over a tree with `none` rules of other files and the file is not trusted"
    return ""


def _fold_for(system: str) -> Callable[[str], str]:
    """Where case or Unicode form may not tell names apart, assume that it never does: left out is safe."""
    if system == "linux":
        return str
    import unicodedata

    return lambda text: unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


def _folded(glob: Glob, fold: Callable[[str], str]) -> Glob:
    return glob._replace(base=fold(glob.base), parts=tuple(map(fold, glob.parts)))
