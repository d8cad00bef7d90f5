"""From a command's name to what handles it: builtin, own module, or the table."""

from __future__ import annotations

from ringfence.shell.builtins import BUILTINS
from ringfence.shell.calls import Call
from ringfence.shell.effects import run_entry
from ringfence.shell.state import DIGITS, TILDE, UNKNOWN, State, fold
from ringfence.shell.table import entry_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ringfence.shell.state import Outcome, Value
    from ringfence.shell.walk import Walk

_SYSTEM = frozenset(
    (
        "/bin",
        "/sbin",
        "/usr/bin",
        "/usr/sbin",
        "/usr/local/bin",
        "/usr/local/sbin",
        "/opt/homebrew/bin",
        "/snap/bin",
    )
)
# These evaluate a subscript in a word of theirs as arithmetic, substitutions included.
_SUBSCRIPTED = frozenset(
    ("declare", "typeset", "local", "export", "readonly", "unset", "read", "printf", "test", "[", "let",
     "wait", "mapfile",
     "readarray", "getopts")
)  # fmt: skip
_TOOLS = frozenset(("bin", ".bin", "Scripts"))
_PROJECTS = frozenset(("gradlew", "mvnw", "manage.py", "artisan"))


def run_program(
    walk: Walk, argv: list[str], state: State, stdin: str | None, extra: Mapping[str, tuple[Value, ...]]
) -> Outcome:
    from ringfence.shell.state import Outcome

    path, args = argv[0], argv[1:]
    if UNKNOWN in path or DIGITS in path or path.startswith(TILDE):
        walk.unknown("opaque.dynamic-command", path)
        return Outcome(state, state, None)
    for variable in extra:
        walk.watch_variable(variable, lasting=False)
    name: str | None = path if "/" not in path else _tool_name(path, state)
    call = Call(walk, state, path, name or path, args, stdin, extra)
    if name is None:
        from ringfence.shell.scripts import run_file

        said = run_file(call)
        return Outcome(state, state, said)
    walk.commands.setdefault(name, None)
    if stdin is not None and stdin.startswith(UNKNOWN + "i"):
        from ringfence.shell.scripts import reads_its_script

        if reads_its_script(call):
            walk.unknown("opaque.dynamic-code", f"{name} reads from the script that it stands in")
    if name in _SUBSCRIPTED and any("[" in w and ("$(" in w or "`" in w) for w in args):
        walk.unknown("opaque.dynamic-code", f"{name}: a subscript that holds a substitution")
    handler = (
        BUILTINS.get(name)
        if "/" not in path
        or name
        in (
            "echo",
            "printf",
            "cat",
            "ls",
            "dirname",
            "basename",
            "test",
            "[",
            "true",
            "false",
            "sleep",
            "kill",
        )
        else None
    )
    if handler is None:
        handler = _special(name)
    if handler is not None:
        said = handler(call)
        return Outcome(call.ok or state, call.bad or state, said)
    entry = entry_of(name)
    if entry is None:
        walk.unknown("opaque.unlisted-command", name)
        return Outcome(state, state, None)
    return Outcome(state, state, run_entry(call, entry))


def _tool_name(path: str, state: State) -> str | None:
    """The command a path names: a system program or an installed development tool; None for a file to run."""
    folder, _, base = path.rpartition("/")
    if folder in _SYSTEM:
        return base
    full = fold(state.cwds[0], path) if len(state.cwds) == 1 else ""
    if full in state.built or full in state.files:
        return None
    parts = folder.split("/")
    if parts[-1] in _TOOLS and any(
        p in (".venv", "venv", "env", "node_modules", ".tox", ".nox") for p in parts
    ):
        return base
    return base if base in _PROJECTS and not path.startswith("../") else None


def _special(name: str) -> Callable[[Call], str | None] | None:
    """Handlers in modules of their own, imported when first met."""
    where = _SPECIAL.get(name)
    if where is None and name.startswith("python") and name[6:].replace(".", "").isdigit():
        where = _python
    return where() if where is not None else None


def _git() -> Callable[[Call], str | None]:
    from ringfence.shell.gitcmd import git

    return git


def _wrapper(name: str) -> Callable[[], Callable[[Call], str | None]]:
    def get() -> Callable[[Call], str | None]:
        from ringfence.shell.wrappers import WRAPPERS

        return WRAPPERS[name]

    return get


def _file_tool(name: str) -> Callable[[], Callable[[Call], str | None]]:
    def get() -> Callable[[Call], str | None]:
        from ringfence.shell.filetools import TOOLS

        return TOOLS[name]

    return get


def _editing(name: str) -> Callable[[], Callable[[Call], str | None]]:
    def get() -> Callable[[Call], str | None]:
        from ringfence.shell.editing import TOOLS

        return TOOLS[name]

    return get


def _archive(name: str) -> Callable[[], Callable[[Call], str | None]]:
    def get() -> Callable[[Call], str | None]:
        from ringfence.shell.archives import TOOLS

        return TOOLS[name]

    return get


def _find() -> Callable[[Call], str | None]:
    from ringfence.shell.findcmd import find

    return find


def _shell() -> Callable[[Call], str | None]:
    from ringfence.shell.scripts import shell

    return shell


def _python() -> Callable[[Call], str | None]:
    from ringfence.shell.scripts import python

    return python


def _project(name: str) -> Callable[[], Callable[[Call], str | None]]:
    def get() -> Callable[[Call], str | None]:
        from ringfence.shell.projecttools import TOOLS

        return TOOLS[name]

    return get


_SPECIAL: dict[str, Callable[[], Callable[[Call], str | None]]] = {
    "git": _git,
    "find": _find,
    "gfind": _find,
    **dict.fromkeys(("bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "rbash"), _shell),
    **dict.fromkeys(("python", "python3", "python2", "pypy", "pypy3"), _python),
    **{
        name: _wrapper(name)
        for name in (
            "env", "genv", "xargs", "gxargs", "parallel", "sudo", "doas", "gosu", "su-exec", "unshare", "setpriv",
            "systemd-run", "tmux", "screen", "busybox", "toybox", "at", "batch", "npx", "pnpx", "bunx", "uvx", "pipx",
            "arch", "setarch", "linux32", "linux64",
        )
    },
    **{
        name: _file_tool(name)
        for name in (
            "ln", "gln", "mkdir", "gmkdir", "mktemp", "gmktemp", "touch", "gtouch", "tee", "gtee", "cp", "gcp",
            "mv", "gmv", "install", "ginstall",
        )
    },
    **{name: _editing(name) for name in ("sed", "gsed", "patch", "gpatch")},
    **{name: _archive(name) for name in ("tar", "gtar", "bsdtar", "unzip", "curl")},
    **{name: _project(name) for name in ("make", "gmake", "bmake")},
}  # fmt: skip
