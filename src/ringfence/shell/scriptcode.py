"""JavaScript, Perl and Ruby one-liners: harmless ones are recognised, literal paths are read, the rest is not."""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.inline import words_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ringfence.shell.calls import Call
    from ringfence.shell.state import State

    Token = tuple[str, str]  # kind: "name", "str" (a literal without interpolation), "text" (with), "op"


def tokens_of(text: str, *, sigils: str, comment: str) -> list[Token] | None:  # noqa: PLR0915  # a lexer
    """A rough lexer; None if quotes do not close. `sigils` are characters that make a double-quoted text computed."""
    out: list[Token] = []
    i = 0
    while i < len(text):
        c = text[i]
        if c in " \t\r\n":
            i += 1
        elif text.startswith(comment, i) and (comment != "#" or not out or out[-1][1] != "$"):
            while i < len(text) and text[i] != "\n":
                i += 1
        elif comment == "//" and text.startswith("/*", i):
            end = text.find("*/", i + 2)
            if end < 0:
                return None
            i = end + 2
        elif c in "'\"`":
            j = i + 1
            value = ""
            computed = c == "`"
            while j < len(text) and text[j] != c:
                if text[j] == "\\":
                    follower = text[j + 1 : j + 2]
                    if follower in "\\'\"`/" and follower:
                        value += follower
                    else:
                        value += {"n": "\n", "t": "\t"}.get(follower, "?")
                        computed = computed or follower not in ("n", "t")
                    j += 2
                    continue
                if c == '"' and text[j] in sigils:
                    computed = True
                value += text[j]
                j += 1
            if j >= len(text):
                return None
            if c == "`" and "${" not in value and comment == "//":
                computed = False
            out.append(("text" if computed else "str", value))
            i = j + 1
        elif c.isalpha() or c in "_$@%":
            j = i + 1
            while j < len(text) and (text[j].isalnum() or text[j] == "_"):
                j += 1
            out.append(("name", text[i:j]))
            i = j
        elif c.isdigit():
            j = i
            while j < len(text) and (text[j].isalnum() or text[j] == "."):
                j += 1
            out.append(("op", text[i:j]))
            i = j
        else:
            out.append(("op", c))
            i += 1
    return out


_JS_DANGER = frozenset(
    ("import", "eval", "Function", "globalThis", "global", "Deno", "Bun", "constructor", "WebAssembly", "module",
     "prototype", "__proto__", "Reflect", "Proxy", "Worker", "binding", "chdir", "dlopen", "mainModule", "kill",
     "setUncaughtExceptionCaptureCallback", "getBuiltinModule", "createRequire")
)  # fmt: skip
_JS_SAFE_MODULES = frozenset(
    ("path", "util", "url", "os", "crypto", "querystring", "assert", "events", "http", "https", "zlib",
     "string_decoder",
     "buffer", "timers", "readline")
)  # fmt: skip
_FS_WRITES = {
    "writeFile": Op.WRITE, "appendFile": Op.WRITE, "mkdir": Op.CREATE, "rm": Op.DELETE, "unlink": Op.DELETE,
    "rmdir": Op.DELETE, "truncate": Op.WRITE, "chmod": Op.METADATA, "chown": Op.METADATA, "utimes": Op.METADATA,
    "createWriteStream": Op.WRITE, "mkdtemp": Op.CREATE,
}  # fmt: skip
_FS_READS = (
    "read",
    "exists",
    "stat",
    "lstat",
    "access",
    "realpath",
    "createReadStream",
    "opendir",
    "watch",
    "constants",
)


def javascript_code(call: Call, state: State, text: str) -> None:
    tokens = tokens_of(text, sigils="", comment="//")
    if tokens is None:
        call.walk.unknown("opaque.inline-code", "javascript that is not understood")
        return
    aliases: dict[str, str] = {}
    i = 0
    while i < len(tokens):
        kind, word = tokens[i]
        if kind == "text":
            call.walk.unknown("opaque.inline-code", "javascript: a computed text")
            return
        if kind == "name" and word in _JS_DANGER:
            call.walk.unknown("opaque.inline-code", f"javascript: {word}")
            return
        if (
            kind == "op"
            and word == "["
            and i
            and (tokens[i - 1][0] == "name" or tokens[i - 1][1] in (")", "]"))
        ):
            before = tokens[i - 1][1]
            if before in ("process", "require", *aliases) or before == ")":
                call.walk.unknown("opaque.inline-code", "javascript: a computed member")
                return
        if kind == "name" and word == "require":
            if [t[1] for t in tokens[i + 1 : i + 2]] != ["("] or tokens[i + 2][0] != "str":
                call.walk.unknown("opaque.inline-code", "javascript: a computed module")
                return
            module = tokens[i + 2][1].removeprefix("node:")
            if module in ("fs", "fs/promises", "child_process"):
                j = i + 4
                if tokens[j : j + 1] and tokens[j][1] == ".":
                    if not _js_member(call, state, module, tokens, j + 1):
                        return
                elif i >= 2 and tokens[i - 1][1] == "=" and tokens[i - 2][0] == "name":
                    aliases[tokens[i - 2][1]] = module
                else:
                    call.walk.unknown("opaque.inline-code", f"javascript: {module}")
                    return
            elif module not in _JS_SAFE_MODULES and not module.endswith(".json"):
                call.walk.unknown("opaque.inline-code", f"javascript: require {module}")
                return
            i += 4
            continue
        if kind == "name" and word in aliases and not (i and tokens[i - 1][1] == "."):
            follower = tokens[i + 1][1] if i + 1 < len(tokens) else ""
            if follower == "." and not _js_member(call, state, aliases[word], tokens, i + 2):
                return
            if follower not in (".", "="):
                call.walk.unknown("opaque.inline-code", f"javascript: {word}")
                return
        i += 1


def _js_member(call: Call, state: State, module: str, tokens: list[Token], i: int) -> bool:
    """One `fs.member(...)`; False if it cannot be read."""
    name = tokens[i][1] if i < len(tokens) else ""
    if name == "promises" and tokens[i + 1 : i + 2] and tokens[i + 1][1] == ".":
        return _js_member(call, state, module, tokens, i + 2)
    plain = name.removesuffix("Sync")
    literals = _literals(tokens, i + 1)
    if module == "child_process":
        if plain == "exec" and literals and tokens[i + 2][0] == "str":
            call.walk.code(literals[0], call.child_state(), "javascript exec")
            return True
    elif plain in _FS_WRITES and literals:
        call.walk.touch(_FS_WRITES[plain], literals[0], state, f"javascript {name}")
        return True
    elif plain in ("copyFile", "rename", "link", "symlink", "cp") and len(literals) > 1:
        if plain != "symlink":
            first = {"rename": Op.RENAME, "link": Op.LINK}.get(plain, Op.READ)
            call.walk.touch(first, literals[0], state, f"javascript {name}")
            call.walk.touch(Op.WRITE, literals[1], state, f"javascript {name}")
            return True
    elif plain.startswith(_FS_READS):
        return True
    call.walk.unknown("opaque.inline-code", f"javascript: {module}.{name}")
    return False


def _literals(tokens: list[Token], i: int) -> list[str]:
    """The leading literal arguments of a call that opens at `i`."""
    out: list[str] = []
    if not tokens[i : i + 1] or tokens[i][1] != "(":
        return out
    i += 1
    while i + 1 < len(tokens) and tokens[i][0] == "str" and tokens[i + 1][1] in (",", ")"):
        out.append(tokens[i][1])
        if tokens[i + 1][1] == ")":
            break
        i += 2
    return out


_PERL_DANGER = (
    "open", "sysopen", "opendir", "unlink", "rename", "mkdir", "rmdir", "link", "symlink", "chmod", "chown", "truncate",
    "utime", "system", "exec", "qx", "require", "do", "eval", "syscall", "fork", "dbmopen", "binmode", "use", "glob",
    "socket", "File", "IO", "POSIX", "ee", "CORE", "pipe", "chdir", "chroot", "mknod", "mkfifo",
)  # fmt: skip
_PERL_MODULES = frozenset(
    ("strict", "warnings", "utf8", "List::Util", "Data::Dumper", "JSON::PP", "Encode", "Time::Local")
)
_PERL_WRITES = {"unlink": Op.DELETE, "rmdir": Op.DELETE, "mkdir": Op.CREATE, "truncate": Op.WRITE}


def perl_code(call: Call, state: State, text: str) -> None:
    """Pure text work passes, `unlink "x"` and a literal `open` are read, all else that may reach a file is not."""
    for word in call.args:
        if word.startswith(("-M", "-m")) and word[2:].lstrip("-").split("=", 1)[0] not in _PERL_MODULES:
            call.walk.unknown("opaque.inline-code", f"perl {word}")
    body = text
    for harmless in (
        "use strict",
        "use warnings",
        "use utf8",
        "use List::Util",
        "use Data::Dumper",
        "use JSON::PP",
    ):
        body = body.replace(harmless, "")
    if "`" not in body and not words_in(body, _PERL_DANGER) and not _perl_executes(body):
        return
    tokens = tokens_of(body, sigils="$@", comment="#")
    if tokens is not None and "`" not in body and _perl_literal(call, state, tokens):
        return
    call.walk.unknown("opaque.inline-code", "perl that may reach files")


def _perl_executes(text: str) -> bool:
    """`s///e`, `<$f>` of a computed handle and two-argument forms hide in operators."""
    at = text.find("s/")
    while at >= 0:
        fields = text[at + 2 :].split("/")
        if len(fields) > 2 and "e" in fields[2].split(";", 1)[0].split(" ", 1)[0].split("'", 1)[0][:6]:
            return True
        at = text.find("s/", at + 1)
    return any(f"s{c}" in text for c in "{|#!,")


def _perl_literal(call: Call, state: State, tokens: list[Token]) -> bool:
    i = 0
    while i < len(tokens):
        kind, word = tokens[i]
        if kind == "name" and word in _PERL_DANGER:
            j = i + 1
            if tokens[j : j + 1] and tokens[j][1] == "(":
                j += 1
            literals = []
            while j < len(tokens) and tokens[j][0] == "str":
                literals.append(tokens[j][1])
                j += 1
                if j < len(tokens) and tokens[j][1] == ",":
                    j += 1
                    continue
                break
            closed = j >= len(tokens) or tokens[j][1] in (";", ")", "}", "or")
            if word in _PERL_WRITES and literals and closed:
                for name in literals[: 1 if word in ("mkdir", "truncate") else None]:
                    call.walk.touch(_PERL_WRITES[word], name, state, f"perl {word}")
            elif word in ("system", "exec", "qx") and len(literals) == 1 and closed:
                call.walk.code(literals[0], call.child_state(), f"perl {word}")
            elif word == "rename" and len(literals) == 2 and closed:
                call.walk.touch(Op.RENAME, literals[0], state, "perl rename")
                call.walk.touch(Op.RENAME, literals[1], state, "perl rename", entry=True)
            elif word == "open":
                if not _perl_open(call, state, tokens, i + 1):
                    return False
            else:
                return False
        elif kind == "text" and word and tokens[i - 1 : i] and tokens[i - 1][1] in ("unlink", "open"):
            return False
        i += 1
    return True


def _perl_open(call: Call, state: State, tokens: list[Token], i: int) -> bool:
    literals: list[str] = []
    j = i
    while j < len(tokens) and tokens[j][1] not in (";", ")", "or", "|"):
        if tokens[j][0] == "str":
            literals.append(tokens[j][1])
        elif tokens[j][0] == "text" or (
            tokens[j][0] == "name" and tokens[j][1] not in ("my", "our", "local") and tokens[j - 1][1] == ","
        ):
            return False
        j += 1
    if len(literals) == 1:
        mode = literals[0].strip()
        if "|" in mode:
            return False
        name = mode.lstrip("+<> ")
        call.walk.touch(Op.WRITE if ">" in mode or "+" in mode else Op.READ, name, state, "perl open")
        return True
    if len(literals) == 2 and "|" not in literals[0] and "-" not in literals[0]:
        writes = ">" in literals[0] or "+" in literals[0]
        call.walk.touch(Op.WRITE if writes else Op.READ, literals[1], state, "perl open")
        return True
    return False


_RUBY_DANGER = (
    "File", "Dir", "FileUtils", "IO", "Kernel", "Process", "Pathname", "system", "exec", "spawn", "open", "require",
    "load", "eval", "send", "public_send", "instance_eval", "class_eval", "define_method", "method", "const_get",
    "Object", "ObjectSpace", "binding", "autoload", "fork", "popen", "syscall", "Tempfile", "__send__", "Open3",
)  # fmt: skip


def ruby_code(call: Call, text: str) -> None:
    if "`" in text or "%x" in text or words_in(text, _RUBY_DANGER):
        call.walk.unknown("opaque.inline-code", "ruby that may reach files")
