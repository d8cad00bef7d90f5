"""What the reviewer lane's programs may write: the one place that decides it.

The tree is read-only for them, by the engine; temp folder and caches stay writable, so a test suite has a place for
what it makes. Hot: `shell` loads it only for this lane.
"""

from __future__ import annotations

from ringfence.model import Access, Audience, ZoneKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Policy, Zone

_PRIVATE = (ZoneKind.TEMP, ZoneKind.CACHE, ZoneKind.SCRATCH)


def read_only(policy: Policy) -> Policy:
    """The policy of a reviewer: no root, and nothing in one or beside it for git, may be written."""
    return policy._replace(
        zones=tuple(
            zone._replace(access=Access.READ) if _lands(zone, policy) else zone for zone in policy.zones
        )
    )


def _lands(zone: Zone, policy: Policy) -> bool:
    """Whether what is written there is the project's own state."""
    if zone.access is not Access.WRITE or zone.kind in _PRIVATE:
        return False
    if zone.kind is ZoneKind.WORKSPACE or zone.audience is not Audience.ALL:
        return True
    return any(zone.root == root or zone.root.startswith(root.rstrip("/") + "/") for root in policy.workspace)
