"""Whether a rule of an untrusted project file only narrows. Pure, on physical paths.

The decision itself (longest root, on a tie the stricter) lives in `decide`; this is the same rule over the
trusted zones alone, used once when the policy is loaded.
"""

from __future__ import annotations

from ringfence.model import Access, Glob, Zone, ZoneKind
from ringfence.policy.globs import matching_roots
from ringfence.policy.paths import below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ringfence.policy.texts import ZoneText

_RANK = {Access.NONE: 0, Access.READ: 1, Access.WRITE: 2}


def access_at(path: str, zones: Sequence[Zone], globs: Sequence[Glob], *, reads_anywhere: bool) -> Access:
    """What the rules grant at `path`. Guards only take writing away, so they do not count here."""
    best = (-1, Access.READ if reads_anywhere else Access.NONE)
    claims = [(zone.root, zone.access) for zone in zones if below(path, zone.root)]
    claims += [
        (root, glob.access)
        for glob in globs
        if glob.kind is not ZoneKind.GUARD
        for root in matching_roots(glob, path)
    ]
    for root, access in claims:
        depth = 0 if root == "/" else root.count("/")
        if depth > best[0] or (depth == best[0] and _RANK[access] < _RANK[best[1]]):
            best = (depth, access)
    return best[1]


def why_not(
    text: ZoneText, root: str, zones: Sequence[Zone], globs: Sequence[Glob], *, reads_anywhere: bool
) -> str:
    """Why the zone would widen what the trusted `zones` and `globs` grant; "" if it only narrows."""
    if text.access == "write":
        return "it grants writing and the file is not trusted"
    if text.access == "none":
        return ""
    if access_at(root, zones, globs, reads_anywhere=reads_anywhere) is Access.NONE:
        return "it grants reading what could not be read and the file is not trusted"
    # A pattern may match below somebody's `none` rule; two patterns cannot be compared, so any one is enough.
    hidden = any(zone.access is Access.NONE and below(zone.root, root) for zone in zones)
    hidden = hidden or any(
        glob.access is Access.NONE and (below(glob.base, root) or below(root, glob.base)) for glob in globs
    )
    if text.parts and hidden:
        return "it is a pattern over a tree with `none` rules of other files and the file is not trusted"
    return ""
