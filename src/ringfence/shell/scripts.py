"""Programs as text: nested shells, interpreters, files that are run."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.effects import apply, outside_arguments
from ringfence.shell.slots import NoSubcommand, read_slots
from ringfence.shell.state import UNKNOWN, fold
from ringfence.shell.table import entry_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.calls import Call

SELF = UNKNOWN + "its own script"  # standard input of a command in a script that is read from standard input
_DIALECTS = {
    "bash": "bash",
    "rbash": "bash",
    "zsh": "zsh",
    "sh": "sh",
    "dash": "sh",
    "ash": "sh",
    "ksh": "ksh",
    "mksh": "ksh",
}


def shell(call: Call) -> str | None:
    """`bash -c TEXT [NAME ARG...]`, `bash FILE`, `bash -s`, text on stdin."""
    words = list(call.args)
    dialect = _DIALECTS.get(call.name, "bash")
    code = stdin = False
    while words and words[0][:1] in ("-", "+") and len(words[0]) > 1:
        word = words.pop(0)
        if UNKNOWN in word:
            call.walk.unknown("opaque.dynamic-argument", f"{call.name} {word}")
            return None
        if word == "--":
            break
        if word in ("--version", "--help", "--dump-strings") or (
            word[0] == "-" and "n" in word[1:] and word[1] != "-"
        ):
            for name in words[:1]:
                call.walk.touch(Op.READ, name, call.state, call.name)
            return None  # `-n` reads and runs nothing
        if word.startswith("--"):
            if word in ("--rcfile", "--init-file") and words:
                call.walk.unknown("opaque.runs-file", f"{call.name} {word} {words.pop(0)}")
            continue
        cluster = word[1:]
        code = code or ("c" in cluster and word[0] == "-")
        stdin = stdin or "s" in cluster
        for c in cluster:
            if c in "oO" and words:
                words.pop(0)
        if "i" in cluster or "l" in cluster:
            # Start-up files of the user's own shell: they run before, and belong to the user.
            continue
    inner = call.child_state()
    if code:
        if not words:
            return None
        inner.params = tuple(words[2:])
        if len(words) > 1:
            inner.values["0"] = (words[1],)
        out = call.walk.code(words[0], inner, f"{call.name} -c", dialect, call.stdin)
        call.state.adopt_disk(inner)
        return out
    if words and not stdin:
        if UNKNOWN in words[0]:
            call.walk.unknown("opaque.runs-file", f"{call.name} {words[0]}")
            return None
        text = call.stdin if words[0] in ("/dev/stdin", "-") else call.walk.known_text([words[0]], call.state)
        call.walk.touch(Op.READ, words[0], call.state, call.name)
        if text is None or UNKNOWN in text:
            outside_arguments(call, words[1:])
            call.walk.unknown("opaque.runs-file", f"{call.name} {words[0]}")
            return None
        inner.params = tuple(words[1:])
        out = call.walk.code(text, inner, f"{call.name} {words[0]}", dialect)
        call.state.adopt_disk(inner)
        return out
    inner.params = tuple(words)
    if call.stdin is None or UNKNOWN in call.stdin:
        call.walk.unknown("opaque.piped-to-shell", f"{call.name} reads its program from stdin")
        return None
    out = call.walk.code(call.stdin, inner, f"{call.name} stdin", dialect, SELF)
    call.state.adopt_disk(inner)
    return out


def reads_its_script(call: Call) -> bool:
    """A command inside a script that is itself fed on stdin, and that would eat the lines after it."""
    name = call.name
    operands = [w for w in call.args if not w.startswith("-") or w == "-"]
    if name in ("read", "mapfile", "readarray", "tr", "tee", "xargs", "ssh", "nc"):
        return True
    if name == "jq" and any(w in ("-n", "--null-input") for w in call.args):
        return False
    if name in ("sed", "awk", "gawk", "grep", "jq", "perl"):
        return len(operands) < 2
    return name in _FILTERS and (not operands or "-" in operands)


_FILTERS = frozenset(
    ("cat", "head", "tail", "sort", "uniq", "wc", "cut", "rev", "tac", "nl", "fold", "base64", "md5sum",
     "sha256sum", "od",
     "xxd", "less", "more", "patch", "bash", "sh", "dash", "zsh", "python", "python3", "node", "ruby", "dd",
     "bc", "mail")
)  # fmt: skip


def program_on_stdin(call: Call) -> None:
    """An interpreter without a file: its program is what it is fed."""
    if "--version" in call.args or "-v" in call.args or "--help" in call.args:
        return
    if call.stdin is None or UNKNOWN in call.stdin:
        call.walk.unknown("opaque.piped-to-shell", f"{call.name} reads its program from stdin")
        return
    from ringfence.shell.inline import inline_code

    inline_code(call, call.state, "other", call.stdin)


def python(call: Call) -> str | None:
    """`python -c`, `-m MODULE`, a file, or a program on stdin."""
    entry = entry_of("python")
    assert entry is not None  # noqa: S101  # part of the shipped table
    slots = read_slots(entry, call.args)
    if isinstance(slots, NoSubcommand):
        return None
    from ringfence.shell.pycode import python_code

    for role, word in slots.pairs:
        if role == "code:python":
            python_code(call, word, list(slots.operands))
            return None
        if role == "module":
            _module(call, word, list(slots.operands))
            return None
    if slots.doubt:
        call.walk.unknown("opaque.dynamic-argument", "python: a word that may be an option")
    if slots.present & {"--version", "-V", "-VV", "--help", "-h"}:
        return None
    if slots.operands and slots.operands[0] != "-":
        script, rest = slots.operands[0], list(slots.operands[1:])
        text = call.walk.known_text([script], call.state)
        call.walk.touch(Op.READ, script, call.state, "python")
        if text is not None:
            python_code(call, text, rest)
        elif script.rpartition("/")[2] in ("manage.py", "setup.py"):
            outside_arguments(call, rest)
        else:
            outside_arguments(call, rest)
            call.walk.unknown("opaque.runs-file", f"python {script}")
        return None
    if call.stdin is None or UNKNOWN in call.stdin:
        call.walk.unknown("opaque.piped-to-shell", "python reads its program from stdin")
        return None
    python_code(call, call.stdin, list(slots.operands[1:]))
    return None


def _module(call: Call, module: str, words: list[str]) -> None:
    entry = entry_of("python -m " + module)
    if entry is None:
        entry = entry_of(module) if module in _TOOLS else None
    if entry is None:
        call.walk.unknown("opaque.unlisted-command", f"python -m {module}")
        return
    slots = read_slots(entry, words)
    if isinstance(slots, NoSubcommand):
        call.walk.unknown("opaque.unlisted-subcommand", f"python -m {module} {slots.name}")
        return
    apply(call, slots)


_TOOLS = frozenset(
    ("black", "isort", "mypy", "ruff", "flake8", "pylint", "coverage", "tox", "nox", "pre_commit", "build", "poetry",
     "uvicorn", "flask", "django", "gunicorn", "celery", "alembic", "mkdocs", "sphinx")
)  # fmt: skip


def run_file(call: Call) -> str | None:
    """`./name`: a file of the project. Known only if this very text wrote or built it."""
    walk, state = call.walk, call.state
    walk.touch(Op.READ, call.path, state, "run", soft=True)
    full = fold(state.cwds[0], call.path) if len(state.cwds) == 1 and state.cwds[0] != UNKNOWN else ""
    if full in state.built:
        outside_arguments(call, call.args)
        return None
    text = state.files.get(full)
    if text is not None:
        first = text.split("\n", 1)[0]
        inner = call.child_state()
        inner.params = tuple(call.args)
        if not first.startswith("#!") or first.rpartition("/")[2].split()[-1:] in (
            ["sh"],
            ["bash"],
            ["dash"],
            ["zsh"],
        ):
            kind = first.rpartition("/")[2].split()[-1] if first.startswith("#!") else "bash"
            out = walk.code(text, inner, call.path, _DIALECTS.get(kind, "bash"))
            state.adopt_disk(inner)
            return out
        if "python" in first:
            from ringfence.shell.pycode import python_code

            python_code(call, text, call.args)
            return None
    outside_arguments(call, call.args)
    walk.unknown("opaque.runs-file", call.path)
    return None
