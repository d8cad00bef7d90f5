"""A Seatbelt profile for macOS from the same confinement. Pure text, and UNPROVEN: it has never run on a Mac.

The language (SBPL) is undocumented; what is used here stands in profiles that Apple ships and in those of other
fences. The last rule that matches decides, so rules go from the outermost root to the innermost, on a tie the stricter
last, and our own configuration has the last word. A place is named twice, as the node itself and as what lies below it:
`subpath` alone is said to leave the node open in some releases. Names decide, existing or not, so what is absent is
held as well. Moving a parent of a closed place is an unlink of that parent, which is denied for each.

What it would not hold, as far as is known without a Mac: a hard link made before, helpers reached by Mach services, and
metadata of files outside only as far as `file-write*` covers it.
"""

from __future__ import annotations

from ringfence.model import Access, ZoneKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ringfence.model import Confinement, Zone

UNPROVEN = "unproven: this profile has never run on a Mac; nothing here may be relied on"

_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper")
_TERMINALS = r'(regex #"^/dev/ttys[0-9]+$")'
_SYSTEM = (
    "/usr", "/bin", "/sbin", "/System", "/Library", "/Applications", "/opt", "/dev", "/private/etc", "/private/var/db",
    "/private/var/select", "/nix",
)  # fmt: skip
_RANK = {Access.WRITE: 0, Access.READ: 1, Access.NONE: 2}


def profile(confinement: Confinement, own: Iterable[str] = ()) -> str:
    """The text for `sandbox-exec -f`. `own` are our configuration and state, denied last whatever was said before.

    Raises ValueError for a path that the language cannot hold (a control character, undecodable bytes).
    """
    lines = ["(version 1)", f"; {UNPROVEN}", "(allow default)", "(deny file-write*)"]
    lines += _allow_devices(confinement.files)
    if confinement.reads == "system":
        lines += [
            "(deny file-read*)",
            "(allow file-read-metadata)",
            f'(allow file-read* {_below(_SYSTEM)} (literal "/"))',
        ]
    zones = (*confinement.writable, *confinement.carve_outs, *confinement.masked, *confinement.absent)
    roots = [zone.root for zone in confinement.writable]
    ordered = sorted(
        dict.fromkeys(zones), key=lambda zone: (_depth(zone.root), zone.root, _RANK[zone.access])
    )
    for zone in ordered:
        lines += _zone(zone, confinement.reads)
    # After every grant, or a writable zone further in would open what holds a closed place.
    lines += [f"(deny file-write-unlink (literal {_quoted(path)}))" for path in _pinned(ordered, roots)]
    # The folders that hold a session's temp folder or its caches are ours too, and have them inside.
    inside = [zone.root for zone in confinement.writable if zone.kind in (ZoneKind.TEMP, ZoneKind.CACHE)]
    mine = [
        zone.root
        for zone in ordered
        if zone.kind is ZoneKind.OWN and not any(path.startswith(zone.root + "/") for path in inside)
    ]
    lines += [f"(deny file-write* {_below((path,))})" for path in dict.fromkeys((*mine, *own))]
    return "\n".join(lines) + "\n"


def _allow_devices(files: Iterable[str]) -> Iterator[str]:
    names = " ".join(f"(literal {_quoted(path)})" for path in dict.fromkeys((*_DEVICES, *files)))
    yield f"(allow file-write* {names} {_TERMINALS})"


def _zone(zone: Zone, reads: str) -> Iterator[str]:
    place = _below((zone.root,))
    comment = f" ; {zone.kind} {zone.rule.id}"
    if zone.access is Access.WRITE:
        yield f"(allow file-write* {place}){comment}"
        if reads == "system":
            yield f"(allow file-read* {place})"
    elif zone.access is Access.READ:
        yield f"(deny file-write* {place}){comment}"
    else:
        yield f"(deny file-read* file-write* {place}){comment}"


def _pinned(zones: Iterable[Zone], roots: list[str]) -> list[str]:
    """Every folder between a writable root and a closed place in it."""
    found: dict[str, None] = {}
    for zone in zones:
        if zone.access is Access.WRITE:
            continue
        for root in roots:
            prefix = root.rstrip("/") + "/"
            if zone.root.startswith(prefix):
                parts = zone.root[len(prefix) :].split("/")[:-1]
                found.update(
                    dict.fromkeys(prefix + "/".join(parts[: count + 1]) for count in range(len(parts)))
                )
    return list(found)


def _below(paths: Iterable[str]) -> str:
    return " ".join(f"(literal {_quoted(path)}) (subpath {_quoted(path)})" for path in paths)


def _quoted(path: str) -> str:
    if not path.isprintable() or any(0xD800 <= ord(char) <= 0xDFFF for char in path):
        raise ValueError(f"a Seatbelt profile cannot name {path!r}")
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _depth(path: str) -> int:
    return 0 if path == "/" else path.count("/")
