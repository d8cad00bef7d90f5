"""What makes later words mean something else: variables that direct programs, and text that arithmetic would run."""

from __future__ import annotations

from ringfence.shell.notes import Notes
from ringfence.shell.state import hides_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ringfence.shell.state import State, Value

# Set to anything, these change what later words mean or which code a known name runs.
_TREACHEROUS = frozenset(
    ("PATH", "BASH_ENV", "ENV", "GLOBIGNORE", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "NODE_OPTIONS",
     "NODE_PATH", "PERL5OPT", "PERL5LIB", "RUBYOPT", "SHELLOPTS", "BASHOPTS", "TAR_OPTIONS", "RIPGREP_CONFIG_PATH",
     "LESSOPEN", "PROMPT_COMMAND", "PS4", "ZDOTDIR", "FPATH", "BASH_XTRACEFD", "JAVA_TOOL_OPTIONS", "MAKEFLAGS",
     "XDG_CONFIG_HOME", "DIRSTACK")
)  # fmt: skip
_TREACHEROUS_STEMS = ("LD_", "DYLD_", "BASH_FUNC_")


class Suspicion(Notes):
    """Notes, and what is suspected of variables."""

    ambient: dict[str, tuple[Value, ...]]  # variables as the text found them
    loaded: bool  # some variable's text holds a substitution, which arithmetic would run

    def arithmetic(self, state: State, texts: Iterable[str] = (), *, quoted: bool = False) -> None:
        """Arithmetic runs substitutions in the subscripts of a variable's *text*: `x='a[$(cmd)]'; $((x))`.

        Names stand for values that may be names again, so any known value that hides code counts, wherever it is;
        a value that is not known is taken for a number. `quoted`: within `$(( ))` quotes protect nothing.
        """
        if (
            self.loaded
            or any(hides_code(text) or (quoted and ("$(" in text or "`" in text)) for text in texts)
            or self._hidden(state)
        ):
            self.unknown("opaque.dynamic-code", "arithmetic on a value that holds a substitution")

    def _hidden(self, state: State) -> bool:
        """Code waits in some variable or parameter. What the environment brought was not written by this text."""
        if any(hides_code(text) for text in state.params or ()):
            return True
        for name, values in state.values.items():
            if self.ambient.get(name) == values:
                continue
            for value in values:
                if value is not None and any(
                    hides_code(v) for v in ((value,) if isinstance(value, str) else value)
                ):
                    return True
        return False

    def fed(self, text: str | None) -> None:
        """Text that a variable took in without its value being followed."""
        self.loaded = self.loaded or (text is not None and hides_code(text))

    def watch_variable(self, name: str, *, lasting: bool) -> None:
        """A variable that changes what names mean makes the rest unreadable."""
        if name in _TREACHEROUS or name.startswith(_TREACHEROUS_STEMS):
            self.unknown("opaque.environment", f"{name} is set")
        elif name.startswith("GIT_") and lasting:
            from ringfence.shell.gitwords import CODE_VARIABLES, HARMLESS_VARIABLES

            if name not in HARMLESS_VARIABLES and name not in CODE_VARIABLES:
                self.unknown("opaque.environment", f"{name} is set")
