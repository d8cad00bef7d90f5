"""make: a variable given on its command line can send the recipes somewhere else."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.effects import apply
from ringfence.shell.filetools import slots_of
from ringfence.shell.state import TILDE, UNKNOWN
from ringfence.shell.variables import directs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ringfence.shell.calls import Call

# A destination by convention (GNU coding standards and what Makefiles call theirs).
_DESTINATIONS = ("DEST", "PREFIX", "OUT", "BUILD", "INSTALL", "TARGET_DIR", "DISTDIR", "BINDIR", "LIBDIR")

_CALLS = ("shell", "file", "eval", "call", "guile", "foreach")  # functions of make that run or write


def _make(call: Call) -> str | None:
    slots = slots_of(call, "make")
    if slots is None:
        return None
    operands = []
    for word in slots.operands:
        name, eq, value = word.partition("=")
        upper = name.rstrip(":+?!").upper()
        if eq and (
            name.endswith("!")
            or upper in ("SHELL", ".SHELLFLAGS", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS")
            or any(f"{bracket}{call_}" in value for bracket in ("$(", "${") for call_ in _CALLS)
        ):
            call.walk.unknown("opaque.dynamic-code", f"make {word}")
        if eq and upper in ("CC", "CXX", "LD", "AR"):
            directs(call.walk, upper, (value,), call.state)
        if eq and (value.startswith(("/", "~", TILDE)) or ".." in value.split("/")) and UNKNOWN not in value:
            if upper == "O" or upper.startswith(_DESTINATIONS) or upper.endswith("DIR"):
                call.walk.touch(Op.WRITE, value, call.state, f"make {name}=")
                continue
            if call.walk.disk.is_file(value):
                continue  # CC=/usr/bin/gcc: a program, not a place
        operands.append(word)
    apply(call, slots._replace(operands=tuple(operands), doubt=False))
    return None


TOOLS: dict[str, Callable[[Call], str | None]] = {"make": _make, "gmake": _make, "bmake": _make}
