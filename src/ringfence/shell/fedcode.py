"""Programs that take commands from standard input: line editors, database shells, transfer and plot tools."""

from __future__ import annotations

from ringfence.shell.state import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.calls import Call

_EDITORS = frozenset(("ed", "red", "ex", "vi", "vim", "nvim", "view"))
_DATABASES = frozenset(
    ("sqlite3", "duckdb", "psql", "mysql", "mariadb", "mongosh", "mongo", "sqlcmd", "cqlsh")
)
_INTERPRETERS = frozenset(("perl", "ruby"))
_OTHERS = frozenset(("gnuplot", "ftp", "lftp", "sftp", "telnet", "openssl", "smbclient", "mail"))
_PLAIN = frozenset("aicdpnlqQxHhPju=")  # editor commands of one letter that name no file and run nothing
_SAVES = ("w", "wq", "w!", "wq!", "q!", "x!", "qa", "wa", "wqa", "qa!", "noh")


def fed_program(call: Call, pairs: tuple[tuple[str, str], ...]) -> None:
    """Judge what `call` is fed, if it is a program that would run it. `pairs` are the roles of its words."""
    name = call.name
    coded = any(role.startswith("code") or role == "exec" for role, _ in pairs)
    if name in _EDITORS:
        if "-" not in call.args and not plain_edits(call.stdin):
            call.walk.unknown("opaque.inline-code", f"{name}: commands on its standard input")
    elif name in _DATABASES and not coded:
        if call.stdin is None or UNKNOWN in call.stdin:
            call.walk.unknown("opaque.piped-to-shell", f"{name} reads its program from stdin")
        else:
            from ringfence.shell.inline import inline_code

            inline_code(call, call.state, "sql", call.stdin)
    elif name in _INTERPRETERS and not coded and not _asks(call):
        from ringfence.shell.inline import inline_code

        inline_code(call, call.state, name, UNKNOWN if call.stdin is None else call.stdin)
    elif name in _OTHERS and _listens(call):
        call.walk.unknown("opaque.piped-to-shell", f"{name} reads commands from stdin")
    elif name in ("cpio", "gcpio", "bsdcpio") and _unpacks(call.args):
        call.walk.unknown("opaque.archive-members", f"{name}: member names decide")


def _unpacks(words: list[str]) -> bool:
    """cpio takes absolute member names as they are, unless told not to."""
    if "--no-absolute-filenames" in words:
        return False
    return any(w == "--extract" or (w.startswith("-") and w[1:2] != "-" and "i" in w) for w in words)


def _asks(call: Call) -> bool:
    return any(w in ("-v", "-V", "--version", "--help", "-h") or w.startswith("-V:") for w in call.args)


def _listens(call: Call) -> bool:
    """Whether the words leave the program to its standard input."""
    operands = [w for w in call.args if not w.startswith("-")]
    if call.name == "mail":
        return call.stdin is not None and any(line.startswith("~") for line in call.stdin.split("\n"))
    if call.name in ("openssl", "gnuplot"):
        return not operands
    return True


def plain_edits(text: str | None) -> bool:
    """Editor commands that only change and save the file at hand."""
    if text is None or UNKNOWN in text:
        return False
    inserting = False
    for line in text.split("\n"):
        if inserting:
            inserting = line != "."
            continue
        command = line.strip().lstrip(":").lstrip("0123456789,.$;%+-")
        if command in _SAVES or command == "":
            continue
        if len(command) == 1 and command in _PLAIN:
            inserting = command in "aic"
        elif not _substitution(command):
            return False
    return True


def _substitution(command: str) -> bool:
    """`s/old/new/g`, with nothing behind it that could be another command."""
    fields = command.split("/")
    return (
        len(fields) == 4
        and fields[0] == "s"
        and not any("\\" in f for f in fields)
        and all(c in "gpIi0123456789" for c in fields[3])
    )
