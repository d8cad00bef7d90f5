"""Patterns in policies: `**/` for any depth (twice at most), `*` and `?` within one component.

`**` at the very front means "below the file's own folder" in a project's file and "anywhere" in the user's
and the site's (their own folder is never what was meant). A match ends at a component and owns everything
below.
"""

from __future__ import annotations

from ringfence.policy.paths import PathTextError
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.model import Glob

WILD = "*?"
_MAX_PARTS = 16
_MAX_DEEP = 2


class Pattern(Record):
    """A zone's path text, taken apart. No parts: a plain path, all of it in `prefix`."""

    prefix: str
    deep: bool
    parts: tuple[str, ...]


def split(text: str) -> Pattern:
    """Split a zone's path text into its literal prefix and its pattern. Raises PathTextError.

    Only `text` is looked at: a wildcard in the *folder* that it is joined to is an ordinary character.
    """
    _refuse_lists(text)
    if not any(char in text for char in WILD):
        return Pattern(text, False, ())
    whole = text.split("/")
    while len(whole) > 1 and whole[-1] in ("", "**"):  # a match owns everything below it anyway
        whole.pop()
    first = next((i for i, part in enumerate(whole) if any(char in part for char in WILD)), len(whole))
    prefix = "/".join(whole[:first]) or ("/" if text.startswith("/") else ".")
    parts = [part for part in whole[first:] if part not in ("", ".")]
    deep = bool(parts) and parts[0] == "**"
    parts = parts[1:] if deep else parts
    if not parts:
        if first == len(whole):  # "build/**" is the tree "build"
            return Pattern(prefix, deep=False, parts=())
        raise PathTextError(f'"{text}" names a whole tree', 'write the tree itself, "." or "/"')
    if any("**" in part and part != "**" for part in parts):
        raise PathTextError(f'"**" must stand alone between slashes: "{text}"', 'write "src/**/x.pem"')
    if parts.count("**") + deep > _MAX_DEEP:
        raise PathTextError(f'"**" stands more than {_MAX_DEEP} times in "{text}"')
    if ".." in parts:
        raise PathTextError(f'".." may not follow a wildcard: "{text}"')
    if len(parts) > _MAX_PARTS:
        raise PathTextError(f'more than {_MAX_PARTS} components after the first wildcard: "{text}"')
    return Pattern(prefix, deep, tuple(parts))


def _refuse_lists(text: str) -> None:
    """Shell lists would be taken as ordinary characters and match nothing: a hole for their writer."""
    open_brace, comma, close_brace = text.find("{"), text.find(","), text.find("}")
    if 0 <= open_brace < comma < close_brace:
        raise PathTextError(f'braces are not expanded: "{text}"', "write one [[zone]] for each")
    if "[" in text and any(char in text for char in WILD):
        raise PathTextError(f'a pattern has no [...] sets: "{text}"', "write one [[zone]] for each")


def part_matches(pattern: str, name: str) -> bool:
    """One component: `*` any run of characters, `?` one. Leading dots are ordinary."""
    p = n = 0
    star = mark = -1
    while n < len(name):
        if p < len(pattern) and pattern[p] == "*":
            star, mark = p, n
            p += 1
        elif p < len(pattern) and pattern[p] in ("?", name[n]):
            p += 1
            n += 1
        elif star >= 0:
            mark += 1
            p, n = star + 1, mark
        else:
            return False
    return all(char == "*" for char in pattern[p:])


def matching_roots(glob: Glob, path: str) -> list[str]:
    """Every prefix of `path` (absolute, physical) that the pattern names, shortest first. Folds nothing."""
    base = glob.base.rstrip("/")
    if not path.startswith(base + "/"):
        return []
    names = path[len(base) + 1 :].split("/")
    parts = ("**", *glob.parts) if glob.deep else glob.parts
    ends = [end for end in sorted(_ends(parts, names)) if not glob.exact or end == len(names)]
    return [base + "/" + "/".join(names[:end]) for end in ends]


def _ends(parts: tuple[str, ...], names: list[str]) -> set[int]:
    """How many of `names` the pattern can use up. A set of places at a time: `**` costs no more."""
    places = {0}
    for part in parts:
        if part == "**":
            places = set(range(min(places), len(names) + 1)) if places else places
        else:
            places = {at + 1 for at in places if at < len(names) and part_matches(part, names[at])}
    return places
