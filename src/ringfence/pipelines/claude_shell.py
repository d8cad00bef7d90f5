"""What CLAUDE_CODE_SHELL_PREFIX runs: one word, the line that Claude would have given its shell.

Source: Claude Code 2.1.332. The line of a Bash call ends in ` && pwd -P >| TEMP/claude-<4 hex>-cwd`; if that write
fails, the call fails. The file is made here (exclusive, no link followed) and granted by itself. Lines without that
tail are shell-form hooks and stdio servers; they are fenced as well: what must write outside uses the exec form of
a hook (`args`), which the prefix does not wrap.
"""

from __future__ import annotations

from _stat import S_ISREG
from posix import O_CLOEXEC, O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY, close, environ, geteuid, lstat, open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LEAD = " && pwd -P >| "
_HEX = frozenset("0123456789abcdef")
_NAMES = ("CLAUDE_CODE_TMPDIR", "TMPDIR")


def run(flags: Sequence[str], words: Sequence[str]) -> int:
    """`flags` stand in the launcher that `install` made; `words` are what Claude gave: one line."""
    from ringfence.errors import EXIT_BUG, EXIT_USAGE, FenceError
    from ringfence.pipelines.say import complain
    from ringfence.pipelines.shell import start
    from ringfence.pipelines.words import take_flags

    if len(words) != 1:
        complain("ringfence: this launcher takes one shell line, as CLAUDE_CODE_SHELL_PREFIX gives it")
        return EXIT_USAGE
    line = words[0]
    try:
        fence_flags, _, _ = take_flags(flags, {})
        own = cwd_file(line, _temp())
        # --norc: bash reads ~/.bashrc whenever its input is a socket, and Claude's outer bash has read it already.
        shell, lead = _shell(line)
        return start(
            fence_flags,
            [*lead, "-c", line],
            shell=shell,
            files=(own,) if own else (),
            said=said(line),
            judged=True,  # a Bash call has been through the hook; other lines are the user's own configuration
        )
    except FenceError as error:
        complain(f"ringfence: {error}")
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - the outermost door
        complain(f"ringfence: a bug of ringfence, nothing was run: {type(error).__name__}: {error}")
        return EXIT_BUG


def _temp() -> str:
    """The temp folder of Claude's own process, which is our parent's parent and left us its environment."""
    for name in _NAMES:
        value = environ.get(name.encode("ascii"), b"").decode("utf-8", "surrogateescape")
        if value:
            return value.rstrip("/") or "/"
    return "/tmp"  # noqa: S108 - where Claude puts the file; it is created exclusively


def _shell(line: str) -> tuple[str, list[str]]:
    """The shell that the line was written for: its snapshot's name says which."""
    if "/shell-snapshots/snapshot-zsh-" in line:
        given = environ.get(b"SHELL", b"").decode("utf-8", "surrogateescape")
        return (given if given.endswith("/zsh") else "/bin/zsh"), ["-f"]
    return "/bin/bash", ["--norc", "--noprofile"]


def said(line: str) -> str:
    """The command inside Claude's line: the word behind `eval`, without its quotes; the line if there is none."""
    _, found, rest = line.partition(" && eval ")
    if not found:
        return line.removeprefix("eval ")
    rest = rest.rpartition(_LEAD)[0] or rest
    rest = rest.removesuffix(" < /dev/null")
    return "".join(_unquoted(rest))


def _unquoted(text: str) -> Iterator[str]:
    """POSIX quotes taken off one word (2.2, "Quoting")."""
    quote = ""
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if quote:
            if char == quote:
                quote = ""
                continue
        elif char in {"'", '"'}:
            quote = char
            continue
        if char == "\\" and quote != "'" and at < len(text):
            char = text[at]
            at += 1
        yield char


def cwd_file(line: str, temp: str) -> str:
    """The file that the line's tail writes, created and ours; "" if there is no such tail or no such file.

    Only a name of exactly Claude's shape, directly in the temp folder, and only as a new file or one of this user
    with a single name: a line made up by a command can gain nothing but an empty file there.
    """
    _, lead, path = line.rpartition(_LEAD)
    if not lead:
        return ""
    if len(path) > 2 and path[0] == path[-1] == "'" and "'" not in path[1:-1]:
        path = path[1:-1]
    folder, _, name = path.rpartition("/")
    stem = name[len("claude-") : -len("-cwd")]
    if folder != temp or name != f"claude-{stem}-cwd" or not stem or not _HEX.issuperset(stem):
        return ""
    raw = path.encode("utf-8", "surrogateescape")
    try:
        close(open(raw, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600))
    except FileExistsError:
        st = lstat(raw)
        if not S_ISREG(st.st_mode) or st.st_uid != geteuid() or st.st_nlink != 1:
            return ""
    except OSError:
        return ""
    return path
