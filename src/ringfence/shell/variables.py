"""Variables that direct what a later program writes or runs, though no word of its own says so."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.state import TILDE, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ringfence.shell.state import State, Value
    from ringfence.shell.walk import Walk

# Some program may write there: whether it does is not for the text to tell, so a refusal is an `ask`.
_PLACES = frozenset(
    ("HISTFILE", "TMPDIR", "LESSHISTFILE", "SSLKEYLOGFILE", "PYTHONPYCACHEPREFIX", "CARGO_TARGET_DIR",
     "CARGO_HOME", "RUSTUP_HOME", "NPM_CONFIG_CACHE", "NPM_CONFIG_PREFIX", "GOBIN", "GOCACHE", "GOMODCACHE",
     "PIP_TARGET", "PIP_PREFIX", "PIP_CACHE_DIR", "UV_CACHE_DIR", "POETRY_CACHE_DIR", "DESTDIR", "SQLITE_HISTORY",
     "TAPE", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "NODE_REPL_HISTORY", "GCOV_PREFIX",
     "COVERAGE_FILE", "LLVM_PROFILE_FILE", "CCACHE_DIR", "MYSQL_HISTFILE", "PSQL_HISTORY", "PYTHON_HISTORY",
     "YARN_CACHE_FOLDER", "PLAYWRIGHT_BROWSERS_PATH", "JUPYTER_DATA_DIR", "MPLCONFIGDIR", "GNUPGHOME")
)  # fmt: skip
# A command line that a tool runs.
_COMMANDS = frozenset(
    ("CC", "CXX", "LD", "AR", "RUSTC_WRAPPER", "RUSTC", "CARGO_BUILD_RUSTC_WRAPPER", "LESSEDIT")
)
# Text that the shell expands again before it is shown.
_PROMPTS = frozenset(("PS0", "PS1", "PS2", "MAILPATH"))
# Nothing harmless is ever put there by a command.
_SCRIPTS = frozenset(("MAKEFILES", "GNUMAKEFLAGS", "EXINIT", "VIMINIT", "MYVIMRC", "GVIMINIT", "INPUTRC"))
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "fish", "false", "nologin"))
# In the home folder, where tools keep such things anyway and `caches = "private"` moves them.
_USUAL = ("/.cache", "/.cargo", "/.rustup", "/.npm", "/.local/share", "/.local/state", "/go", "/.gnupg")


def directs(walk: Walk, name: str, values: Iterable[Value], state: State) -> None:
    """Note what setting `name` would make some later program do. A value that is not known says nothing."""
    for value in values:
        if not isinstance(value, str) or not value or UNKNOWN in value:
            continue
        if name.upper() in _PLACES:
            _place(walk, name, value, state)
        elif name in _COMMANDS:
            walk.code(value, state.copy(), name, "sh", stdin="")
        elif name in _SCRIPTS:
            walk.unknown("opaque.environment", f"{name} is set")
        elif (
            (name in _PROMPTS and ("$(" in value or "`" in value))
            or (name == "SHELL" and value.rpartition("/")[2] not in _SHELLS)
            or (name == "LESS" and any(c in value for c in "+!oO"))
        ):
            walk.unknown("opaque.dynamic-code", f"{name} is set to code")


def _place(walk: Walk, name: str, value: str, state: State) -> None:
    for home in state.get("HOME"):
        if isinstance(home, str) and value.startswith(tuple(home + usual for usual in _USUAL)):
            return
    if not value.startswith(("~", TILDE + "+", "-")) and value != "off":
        walk.touch(Op.WRITE, value, state, name, soft=True)
