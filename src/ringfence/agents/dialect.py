"""What a hot dialect module `agents/<name>.py` offers (docs/adr/0014). Only for type checkers: nothing is loaded.

The hook pipeline knows agents by nothing else, so that one more agent is one module and one row of the registry.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Protocol

    from ringfence.model import Access, Reply, ToolCall, Verdict

    class Dialect(Protocol):
        """One agent's hook: payload to ToolCall, verdict to the answer that the agent obeys."""

        NAME: str
        EVENTS: frozenset[str]  # a tool call that can still be stopped
        AFTER_EVENTS: frozenset[str]  # carries a tool's input, but that call is over
        SESSION_EVENTS: frozenset[str]
        END_EVENT: str  # the session event after which its temp folder is removed; "": none
        ROUTES: tuple[str, ...]  # how a shell call can get into the fenced shell: "prefix", "rewrite"

        def decode(self, payload: object, exists: Callable[[str], bool], /) -> ToolCall:
            """Raises WireError, naming the field, for anything that is not this agent's payload."""

        def route(self, call: ToolCall, launcher: str, env: Mapping[str, str], /) -> str:
            """How this call's command gets there: "prefix" (the agent's own setting, in force), "rewrite" (by our
            answer), "met" (another event of the same call has seen to it), "none"."""

        def encode(
            self,
            call: ToolCall,
            verdict: Verdict,
            reason: str,
            *,
            command: str = "",
            warning: str = "",
            payload: Mapping[str, object] | None = None,
        ) -> Reply:
            """The answer. `command`: the fenced form of the call's command, only where `route` said "rewrite"."""

        def refuse(self, event: str, reason: str, /) -> Reply:
            """A denial for our own failures: the shape that blocks whatever else is wrong. `event` may be ""."""

        def is_unattended(self, call: ToolCall, env: Mapping[str, str], /) -> bool:
            """Whether nobody is there to answer a question."""

        def auto_approves(self, call: ToolCall, /) -> bool:
            """Whether the session is known to approve its own tool calls."""

        def scratch(
            self, payload: Mapping[str, object], env: Mapping[str, str], uid: int, /
        ) -> tuple[tuple[str, str, Access], ...]:
            """(base, the way from there, access): folders outside the workspace that the agent's own tools need."""
