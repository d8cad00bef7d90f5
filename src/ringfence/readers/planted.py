"""Links that an archive or a patch would make itself, and what its later members reach through them.

`d -> /etc` and then `d/passwd`: no such link is on the disk while the text is judged, so no resolver can see it
(zip slip by links: CVE-2025-4517's kind). Text only: what the texts join to is resolved like any other path.
"""

from __future__ import annotations

_MOST_HOPS = 40  # as many as the kernel follows on one path
_MOST_LINKS = 100_000  # remembered of one input; what a larger one plants is said to be unknown


class Planted:
    """The links of one input, by their names as the input wrote them."""

    __slots__ = ("_links", "is_full")

    def __init__(self) -> None:
        self._links: dict[tuple[str, ...], str] = {}
        self.is_full = False

    def add(self, name: str, target: str, *, hard: bool = False) -> None:
        """`name` now leads to `target`: for a symbolic link from the link's folder, for a hard one from the top."""
        parts = _parts(name)
        if not parts or not target:
            return
        if len(self._links) >= _MOST_LINKS:
            self.is_full = True
            return
        if not hard and not target.startswith("/"):
            lead = name.rpartition("/")[0]
            target = f"{lead}/{target}" if lead else target
        self._links[parts] = target

    def through(self, name: str) -> str:
        """Where `name` leads by the links planted so far; `name` itself if none is on its way."""
        if not self._links:
            return name
        text = name
        for _ in range(_MOST_HOPS):
            step = self._step(text)
            if step is None:
                return text
            text = step
        return text

    def _step(self, text: str) -> str | None:
        raw = text.split("/")
        for size in range(1, len(raw) + 1):
            if not raw[size - 1]:
                continue
            head = _parts("/".join(raw[:size]))
            target = self._links.get(head)
            if target is not None:
                rest = "/".join(raw[size:])
                return f"{target}/{rest}" if rest else target
        return None


def _parts(name: str) -> tuple[str, ...]:
    """Components as written, `.` and doubled slashes dropped, `..` folded where it only undoes a name before it."""
    out: list[str] = ["/"] if name.startswith("/") else []
    for part in name.split("/"):
        if part == ".." and out and out[-1] not in {"..", "/"}:
            out.pop()
        elif part and part != ".":
            out.append(part)
    return tuple(out)
