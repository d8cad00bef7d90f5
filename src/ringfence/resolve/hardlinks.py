"""The other names of a hard-linked file, looked for below the roots. Bounded in time; not hot.

No path resolution shows that an inside name shares its inode with a protected file, and a bare "nlink > 1" refuses
ordinary files. So the names are looked for: all found inside = an ordinary file; one found under a protected root, or
not all found = refused. An engine cannot hold a link that existed before it started.
"""

from __future__ import annotations

from _stat import S_ISDIR
from time import monotonic

from ringfence.model import LinkNames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ringfence.model import Located

BUDGET = 0.25  # seconds for one file: a hook must answer long before the agent's timeout
_BATCH = 256  # entries between two looks at the clock


def other_names(site: Located, roots: Iterable[str], budget: float = BUDGET) -> LinkNames:
    """Every name of the object of `site` below `roots` (absolute, physical). Never follows a link, never crosses
    a mount. `complete` means that as many names as st_nlink were found.
    """
    import os

    stop_at = monotonic() + budget
    found: dict[str, None] = {site.path: None}
    timed_out = False
    seen: set[tuple[int, int]] = set()
    stack = [root for root in roots if _on_device(root, site.dev)]
    # Where it lies first: sibling names are the common case.
    stack.append(site.path.rpartition("/")[0] or "/")
    count = 0
    while stack and len(found) < site.links and not timed_out:
        folder = stack.pop()
        try:
            entries = os.scandir(os.fsencode(folder))
        except OSError:
            continue
        with entries:
            for entry in entries:
                count += 1
                if count % _BATCH == 0 and monotonic() > stop_at:
                    timed_out = True
                    break
                try:
                    if entry.is_dir(follow_symlinks=False):
                        st = entry.stat(follow_symlinks=False)
                        key = (st.st_dev, st.st_ino)
                        if st.st_dev == site.dev and key not in seen:
                            seen.add(key)
                            stack.append(_text(entry.path))
                    elif entry.inode() == site.ino and entry.stat(follow_symlinks=False).st_dev == site.dev:
                        found[_text(entry.path)] = None
                except OSError:
                    continue
    return LinkNames(tuple(found), len(found) >= site.links, timed_out)


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _on_device(root: str, dev: int) -> bool:
    import os

    try:
        st = os.lstat(root.encode("utf-8", "surrogateescape"))
    except OSError:
        return False
    return S_ISDIR(st.st_mode) and st.st_dev == dev
