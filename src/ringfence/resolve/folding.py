"""Names that a file system takes for one: the fold of each flavour. Pure text, no disk.

Both sides of every comparison go through the same fold, because resolving does not change case (macOS
realpath keeps the caller's). Where a fold is unsure it merges: right for protection, and for a grant it risks
no more than a look-alike *beside* the workspace. `surely_darwin` is the fold without that risk.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_IGNORED = dict.fromkeys(
    (
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
        0xAD,
        *range(0xFE00, 0xFE10),
    )
)
"""Code points that HFS+ ignores in a comparison (200C-200F, 202A-202E, 206A-206F, FEFF: TN1150, and git's
is_hfs_dotgit), and others that show as nothing (soft hyphen, 200B, 2060-2069, variation selectors)."""

_FIRMLINK = "/system/volumes/data"
"""Since macOS 10.15 the writable volume is visible here as a whole and through firmlinks (`/Users` is one),
which neither lstat nor realpath shows as links."""


def fold_none(path: str) -> str:
    """Linux: every byte counts. What remains: a folder with the casefold attribute (ext4, since 5.2)."""
    return path


def fold_darwin(path: str) -> str:
    """Without case, Unicode form, ligatures and ignorable code points; the data volume's own name dropped."""
    if not path.isascii():
        path = path.translate(_IGNORED)
    return surely_darwin(path)


def surely_darwin(path: str) -> str:
    """The fold that APFS itself makes on a volume that ignores case: NFD, full case folding, NFD.

    (Apple File System Reference, "j_drec_hashed_key_t": normalized, then folded.) Enough to *grant*.
    """
    if path.isascii():
        path = path.lower()
    else:
        from unicodedata import normalize

        path = normalize("NFD", normalize("NFD", path).casefold())
    if path.startswith(_FIRMLINK) and path[len(_FIRMLINK) : len(_FIRMLINK) + 1] in ("", "/"):
        path = path[len(_FIRMLINK) :] or "/"
    return path


def fold_windows(path: str) -> str:
    """Without case; separators as `/` and none at the end, so that one comparison by components serves all.

    NTFS compares by a table of single UTF-16 units ($UpCase): no Unicode form, no sharp s to ss. Its table is
    written at format time; Python's single-character mappings, up and down, merge at least as much.
    """
    path = path.replace("\\", "/").rstrip("/") or "/"
    if path.isascii():
        return path.lower()
    return "".join(map(_single, path))


def _single(char: str) -> str:
    upper = char.upper()
    if len(upper) == 1:
        char = upper
    lower = char.lower()
    return lower if len(lower) == 1 else char


FOLDS: Mapping[str, Callable[[str], str]] = {
    "linux": fold_none,
    "darwin": fold_darwin,
    "windows": fold_windows,
}
