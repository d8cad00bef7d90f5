"""What a launcher of `ringfence shell --install-as` runs: the flags it carries, then the words it was given."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def run(flags: Sequence[str], words: Sequence[str]) -> int:
    from ringfence.pipelines.shell import run as run_shell

    return run_shell([*flags, "--", *words])
