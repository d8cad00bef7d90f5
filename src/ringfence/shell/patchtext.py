"""Which files a unified diff would change."""

from __future__ import annotations


def patched_names(text: str, strip: int) -> list[str] | None:
    """Names after removing `strip` leading components (-1: the bare names too, patch decides). None: not a patch."""
    names: dict[str, None] = {}
    for line in text.split("\n"):
        for mark in ("--- ", "+++ ", "rename from ", "rename to ", "copy to ", "Index: ", "*** "):
            if not line.startswith(mark):
                continue
            name = line[len(mark) :].split("\t", 1)[0].strip()
            if name.startswith('"') or "\\" in name:
                return None
            if name == "/dev/null" or not name or name.endswith(" ****"):
                continue
            if mark in ("rename from ", "rename to ", "copy to "):
                names[name] = None
                continue
            parts = name.split("/")
            if strip >= 0:
                if strip < len(parts):
                    names["/".join(parts[strip:])] = None
            else:
                names[name] = None
                names[parts[-1]] = None
    return list(names) or None
