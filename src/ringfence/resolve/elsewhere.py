"""The resolver for systems without /proc/self/fd: macOS and Windows. Same names as the Linux door.

Unproven on the systems themselves: held by pyfakefs and by reasoning (docs/threat-model.md).
"""

from __future__ import annotations

import sys

from ringfence.resolve.folding import fold_darwin, fold_windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.model import Site, Unresolved


class ProcUnavailableError(OSError):
    """Never raised here; the Linux door raises it where /proc is missing."""


def is_plain_file(path: str) -> bool:
    """Names have more than one spelling here, so there is no short cut."""
    del path
    return False


if sys.platform == "win32":
    FOLD: Callable[[str], str] | None = fold_windows

    def absolute(raw: str, cwd: str, home: str | None) -> str | Unresolved:
        from ringfence.resolve.windows import absolute_windows

        return absolute_windows(raw, cwd, home)

    def locate(path: str, follow_leaf: bool) -> Site:
        from ringfence.resolve.windows import locate_windows

        return locate_windows(path, follow_leaf)
else:
    FOLD = fold_darwin

    def absolute(raw: str, cwd: str, home: str | None) -> str | Unresolved:
        from ringfence.resolve.spell import absolute as posix_absolute

        return posix_absolute(raw, cwd, home)

    def locate(path: str, follow_leaf: bool) -> Site:
        from ringfence.resolve.walk import locate_walk

        return locate_walk(path, follow_leaf, flavour="darwin")
