"""What a cold settings module `agents/<name>_settings.py` offers (docs/install.md). Only for type checkers.

`install`, `uninstall` and `status` know agents by nothing else, so that one more agent is one module and its row.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from ringfence.agents.wiring import Answered, Check, Found, Site, Wiring

    class Settings(Protocol):
        """One agent's settings: where they lie, what we write there, whom the agent trusts, the canary."""

        NAME: str
        JUDGED: tuple[str, ...]  # the events or hooks that have to call us
        SCOPES: Mapping[str, str]  # scope -> where it is and when the agent reads it
        NOTES: Mapping[str, str]  # scope -> what the person has to know besides
        SINCE: tuple[int, ...]  # the first version whose contract is known; () if none was run
        SINCE_WHY: tuple[str, str]  # (what rests on it, what an older one does)
        SINCE_REQUIRED: bool  # whether an older one is known not to hold
        VERSION_WORDS: tuple[str, ...]

        def settings_path(
            self, scope: str, workspace: str, home: str, env: Mapping[str, str] | None = None, /
        ) -> str:
            """The file that a scope's entries go into."""

        def layers(
            self, workspace: str, home: str, env: Mapping[str, str] | None = None, /
        ) -> tuple[str, ...]:
            """Every settings file that could switch our hooks off."""

        def off_switches(self, site: Site, /) -> tuple[str, ...]:
            """Whatever else makes the agent run no hooks now, in words."""

        def install_text(self, path: str, text: str | None, wiring: Wiring, /) -> str:
            """The file's new text: our older entries replaced, all others byte for byte; twice changes nothing."""

        def uninstall_text(self, path: str, text: str, /) -> str:
            """The text without our entries; "" means that the file is to go."""

        def inspect(self, path: str, /) -> Found:
            """What one settings file says about us."""

        def trust_file(self, site: Site, /) -> str:
            """The file in which the agent keeps whom it trusts; "" if `trust` never changes one."""

        def trust(self, site: Site, give: bool, /) -> tuple[Check, ...]:
            """Have the agent trust our entries. `give`: its owner says that the whole folder may be trusted."""

        def trusted(self, site: Site, /) -> tuple[Check, ...]:
            """The same, asking only."""

        def untrust_text(self, site: Site, text: str, /) -> str:
            """The trust file's text without what `trust` put there."""

        def canary(self, tool: str, value: str, workspace: str, /) -> dict[str, Any]:
            """The payload of one call: `tool` "write" with a path, or "shell" with a command."""

        def denial(self, answer: Answered, /) -> str | None:
            """The reason, if the agent takes this answer for a refusal."""

        def rewritten(self, answer: Answered, /) -> str:
            """The command that the answer puts in the place of the canary's; "" if none."""
