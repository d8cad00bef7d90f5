"""The way a path takes, link by link, for `explain`. It explains; `locate` decides."""

from __future__ import annotations

import errno
import os

from ringfence.records import Record

MAX_HOPS = 40


class Hop(Record):
    """One link that the kernel follows: where it lies and what it says."""

    link: str
    target: str


class Trace(Record):
    """Every link on the way and the first name that does not exist ("" if all do)."""

    hops: tuple[Hop, ...]
    missing_from: str


def trace(path: str, follow_leaf: bool) -> Trace:
    """Walk absolute `path` with lstat and readlink; stops quietly where nothing more can be seen."""
    hops: list[Hop] = []
    todo = [part for part in path.split("/") if part and part != "."]
    todo.reverse()
    at = ""
    leaf_followed = follow_leaf or path.endswith(("/", "/.", "/.."))
    while todo:
        part = todo.pop()
        if part == "..":
            at = at.rpartition("/")[0]
            continue
        here = f"{at}/{part}"
        try:
            target = os.readlink(here.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
        except OSError as error:
            if error.errno == errno.EINVAL:  # no link
                at = here
                continue
            return Trace(tuple(hops), here)
        except ValueError:
            return Trace(tuple(hops), here)
        if not todo and not leaf_followed:
            return Trace(tuple(hops), "")
        hops.append(Hop(here, target))
        if len(hops) > MAX_HOPS:
            return Trace(tuple(hops), "")
        if target.startswith("/"):
            at = ""
        todo.extend(reversed([p for p in target.split("/") if p and p != "."]))
    return Trace(tuple(hops), "")
