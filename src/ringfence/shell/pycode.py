"""Python program text, by the interpreter's own parser: paths that are literals are read, the rest is refused.

`compile` with PyCF_ONLY_AST runs nothing, and costs no import of `ast`.
"""

from __future__ import annotations

from ringfence.model import Op
from ringfence.shell.state import DIGITS, RESERVED, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ringfence.shell.calls import Call
    from ringfence.shell.state import State

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST
_SAFE_MODULES = frozenset(
    ("sys", "json", "re", "math", "time", "datetime", "collections", "itertools", "functools", "string", "random",
     "hashlib", "base64", "textwrap", "pprint", "typing", "dataclasses", "enum", "statistics", "decimal", "fractions",
     "unicodedata", "struct", "csv", "argparse", "operator", "copy", "difflib", "html", "urllib", "http", "socket",
     "platform", "getpass", "locale", "uuid", "zlib", "traceback", "warnings", "contextlib", "abc", "calendar",
     "heapq", "bisect", "array", "secrets", "xml", "configparser", "tomllib", "email", "ssl", "select", "sysconfig",
     "site", "keyword", "token", "tokenize", "numbers", "types", "ipaddress", "binascii", "codecs", "errno", "stat",
     "fnmatch", "glob", "gettext", "cmath", "colorsys", "__future__", "timeit", "gc", "threading", "queue")
)  # fmt: skip
_MODELLED = frozenset(
    ("os", "pathlib", "shutil", "subprocess", "sqlite3", "zipfile", "tarfile", "io", "builtins")
)
_RUNS_CODE = frozenset(
    ("exec", "eval", "compile", "__import__", "getattr", "setattr", "globals", "locals", "vars", "breakpoint",
     "delattr", "__builtins__", "__loader__", "__spec__")
)  # fmt: skip
_OS_ONE = {
    "remove": Op.DELETE, "unlink": Op.DELETE, "rmdir": Op.DELETE, "removedirs": Op.DELETE, "mkdir": Op.CREATE,
    "makedirs": Op.CREATE, "chmod": Op.METADATA, "chown": Op.METADATA, "lchown": Op.METADATA, "truncate": Op.WRITE,
    "utime": Op.METADATA, "mkfifo": Op.CREATE, "mknod": Op.CREATE, "setxattr": Op.METADATA, "removexattr": Op.METADATA,
}  # fmt: skip
_OS_READS = frozenset(
    ("getcwd", "listdir", "walk", "scandir", "stat", "lstat", "environ", "getenv", "getpid", "getppid", "sep",
     "linesep",
     "name", "cpu_count", "fspath", "access", "readlink", "uname", "times", "path", "pathsep", "curdir", "pardir",
     "getuid", "getgid", "getlogin", "get_terminal_size", "isatty", "urandom", "strerror", "error", "PathLike",
     "R_OK", "W_OK", "X_OK", "F_OK", "getloadavg", "umask", "fsencode", "fsdecode", "cpu_count", "devnull", "extsep")
)  # fmt: skip
_PATH_ONE = {
    "write_text": Op.WRITE, "write_bytes": Op.WRITE, "touch": Op.WRITE, "mkdir": Op.CREATE, "unlink": Op.DELETE,
    "rmdir": Op.DELETE, "chmod": Op.METADATA, "lchmod": Op.METADATA,
}  # fmt: skip
_PATH_TWO = frozenset(("rename", "replace", "symlink_to", "hardlink_to", "link_to"))


def python_code(call: Call, text: str, arguments: list[str]) -> None:
    """Note what the program would touch. `arguments` are its sys.argv[1:], which it may use for anything."""
    walk = call.walk
    if UNKNOWN in text:
        walk.unknown("opaque.dynamic-code", "a python program that is not all in the text")
        return
    text = text.replace(DIGITS, "0")
    try:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = compile(text, "<command>", "exec", _ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as failure:
        walk.unknown("opaque.inline-code", f"python: {failure}")
        return
    try:
        _Reader(call, arguments).body(tree)
    except _StrangeError as strange:
        walk.unknown("opaque.inline-code", f"python: {strange}")
    except RecursionError:
        walk.unknown("opaque.inline-code", "python: nested too deeply")


class _StrangeError(Exception):
    """Code whose paths cannot be told."""


class _Reader:
    def __init__(self, call: Call, arguments: list[str]) -> None:
        self.call = call
        self.arguments = arguments
        self.state: State = call.state.copy()
        self.modules: dict[str, str] = {}  # local name -> dotted name
        self.texts: dict[str, str | None] = {}  # local name -> literal text, None once it is anything else

    def body(self, tree: Any) -> None:
        self.collect(tree)
        self.visit(tree)

    # -- names ----------------------------------------------------------------------------------------------
    def collect(self, tree: Any) -> None:
        """Imports and simple assignments first, in any order: a name assigned twice is not known."""
        for node in _walk(tree):
            kind = type(node).__name__
            if kind == "Import":
                for alias in node.names:
                    self.module(alias.name)
                    local = alias.asname or alias.name.split(".")[0]
                    self.modules[local] = alias.name if alias.asname else alias.name.split(".")[0]
            elif kind == "ImportFrom":
                self.module(node.module or "")
                for alias in node.names:
                    if alias.name == "*":
                        raise _StrangeError(f"from {node.module} import *")
                    self.modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            elif kind == "Name" and type(node.ctx).__name__ != "Load":
                self.texts[node.id] = None if node.id in self.texts else ""
            elif kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef", "arg"):
                self.texts[getattr(node, "name", getattr(node, "arg", ""))] = None
        for node in _walk(tree):
            if (
                type(node).__name__ == "Assign"
                and len(node.targets) == 1
                and type(node.targets[0]).__name__ == "Name"
            ):
                name = node.targets[0].id
                if self.texts.get(name) == "":
                    self.texts[name] = self.text(node.value)
        for name, value in list(self.texts.items()):
            if value == "":
                self.texts[name] = None
            if name in self.modules:
                raise _StrangeError(f"{name} is both imported and assigned")

    def module(self, name: str) -> None:
        top = name.split(".", maxsplit=1)[0]
        if top not in _SAFE_MODULES and top not in _MODELLED and name != "importlib.metadata":
            raise _StrangeError(f"import {name}")

    def dotted(self, node: Any) -> str:
        """`os.path.join` for such an expression, "" otherwise."""
        kind = type(node).__name__
        if kind == "Name":
            return self.modules.get(node.id, "" if node.id in self.texts else "builtins." + node.id)
        if kind == "Attribute":
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base and not base.startswith("builtins.") else ""
        return ""

    def text(self, node: Any) -> str | None:  # one arm an expression form
        """The text an expression certainly has."""
        kind = type(node).__name__
        if kind == "Constant":
            if isinstance(node.value, bytes):
                return node.value.decode("utf-8", "surrogateescape")
            return node.value if isinstance(node.value, str) else None
        if kind == "Name":
            return self.texts.get(node.id) or None
        if kind == "JoinedStr":
            parts = [self.text(v.value if type(v).__name__ == "FormattedValue" else v) for v in node.values]
            return None if any(p is None for p in parts) else "".join(p or "" for p in parts)
        if kind == "BinOp":
            left, right = self.text(node.left), self.text(node.right)
            if left is None or right is None:
                return None
            op = type(node.op).__name__
            if op == "Add":
                return left + right
            if op == "Div":
                return right if right.startswith("/") else f"{left}/{right}"
            return None
        if kind == "Subscript" and self.dotted(node.value) == "sys.argv":
            index = getattr(node.slice, "value", None)
            if isinstance(index, int) and 0 < index <= len(self.arguments):
                return self.arguments[index - 1]
            return None
        if kind == "Attribute" and node.attr == "parent":
            base = self.text(node.value)
            return (
                None
                if base is None
                else f"{base}/.."
                if base in ("", ".")
                else base.rpartition("/")[0] or "."
            )
        if kind == "Call":
            return self.called_text(node)
        return None

    def called_text(self, node: Any) -> str | None:
        name = self.dotted(node.func)
        if node.keywords:
            return None
        texts = [self.text(a) for a in node.args]
        if name in (
            "pathlib.Path",
            "pathlib.PurePath",
            "pathlib.PosixPath",
            "os.path.join",
            "os.fspath",
            "builtins.str",
        ):
            if not texts:
                return "." if name.startswith("pathlib") else None
            if any(t is None for t in texts):
                return None
            made = ""
            for piece in texts:
                made = (piece or "") if not made or (piece or "").startswith("/") else f"{made}/{piece}"
            return made
        if name == "os.path.expanduser" and texts and texts[0] is not None:
            return self.home(texts[0])
        if name == "pathlib.Path.home":
            return self.home("~")
        if name in ("os.getcwd", "pathlib.Path.cwd"):
            return "."
        if name in ("os.path.abspath", "os.path.normpath", "os.path.realpath") and texts:
            return texts[0]
        if (
            type(node.func).__name__ == "Attribute"
            and node.func.attr in ("resolve", "absolute")
            and not node.args
        ):
            return self.text(node.func.value)
        if type(node.func).__name__ == "Attribute" and node.func.attr == "expanduser":
            base = self.text(node.func.value)
            return None if base is None else self.home(base)
        return None

    def home(self, text: str) -> str | None:
        homes = self.state.get("HOME")
        if not text.startswith("~"):
            return text
        if (
            text[1:2] not in ("", "/")
            or len(homes) != 1
            or not isinstance(homes[0], str)
            or UNKNOWN in homes[0]
        ):
            return None
        return homes[0] + text[1:]

    # -- effects --------------------------------------------------------------------------------------------
    def visit(self, node: Any) -> None:
        kind = type(node).__name__
        if kind == "Call":
            self.called(node)
            return
        if kind == "Name" and type(node.ctx).__name__ == "Load":
            self.loose(node)
            return
        if kind == "Attribute":
            self.attribute(node)
            return
        if kind in ("Import", "ImportFrom"):
            return
        for child in _children(node):
            self.visit(child)

    def loose(self, node: Any) -> None:
        """A name used as a value: handing on `open` or `os` itself escapes our reading."""
        name = self.dotted(node)
        if name.startswith("builtins."):
            if name[9:] in _RUNS_CODE or name == "builtins.open":
                raise _StrangeError(name[9:])
        elif name.split(".")[0] in _MODELLED and not name.startswith("pathlib.P"):
            if name.split(".")[0] == "os" and name.split(".")[1:2] and name.split(".")[1] in _OS_READS:
                return
            raise _StrangeError(f"{name} handed on")

    def attribute(self, node: Any) -> None:
        if node.attr.startswith("__") and node.attr not in ("__version__", "__name__", "__doc__", "__file__"):
            raise _StrangeError(node.attr)
        name = self.dotted(node)
        if not name:
            if node.attr in ("system", "popen", "rmtree", "unlink", "write_text", "write_bytes"):
                raise _StrangeError(f".{node.attr} handed on")
            self.visit(node.value)
            return
        top, _, rest = name.partition(".")
        if top == "os" and rest.split(".")[0] in _OS_READS:
            return
        if top == "pathlib" and rest.split(".")[0] in ("Path", "PurePath", "PosixPath"):
            return
        if top == "subprocess" and rest.isupper():
            return
        if top == "sys" and rest.split(".")[0] in (
            "modules",
            "meta_path",
            "path_hooks",
            "settrace",
            "setprofile",
        ):
            raise _StrangeError(name)
        if top in _MODELLED and top != "io":
            raise _StrangeError(f"{name} handed on")

    def touch(self, op: Op, text: str | None, why: str, *, entry: bool = False) -> None:
        if text is None or any(c in text for c in RESERVED):
            raise _StrangeError(f"{why} of a computed path")
        if text.startswith("~"):
            text = "./" + text  # Python expands nothing by itself
        self.call.walk.touch(op, text, self.state, f"python {why}", entry=entry)

    def argument(self, node: Any, index: int, *keywords: str) -> Any:
        if len(node.args) > index:
            return node.args[index]
        return next((k.value for k in node.keywords if k.arg in keywords), None)

    def called(self, node: Any) -> None:  # a table of calls
        for child in (*node.args, *(k.value for k in node.keywords)):
            self.visit(child)
        if any(type(a).__name__ == "Starred" for a in node.args) or any(k.arg is None for k in node.keywords):
            starred = True
        else:
            starred = False
        name = self.dotted(node.func)
        if not name:
            self.method(node)
            return
        top, _, rest = name.partition(".")
        harmless = top == "builtins" and rest not in _RUNS_CODE and rest != "open"
        if starred and top in _MODELLED and name != "os.path.join" and not harmless:
            raise _StrangeError(f"{name} with starred arguments")
        if name in ("builtins.open", "io.open"):
            self.opened(node, self.text(self.argument(node, 0, "file")), self.argument(node, 1, "mode"))
        elif top == "builtins":
            if rest in _RUNS_CODE:
                raise _StrangeError(rest)
        elif top == "os":
            self.os_call(node, rest)
        elif top == "shutil":
            self.shutil_call(node, rest)
        elif top == "subprocess":
            self.subprocess_call(node, rest)
        elif top == "pathlib":
            if rest not in ("Path", "PurePath", "PosixPath", "Path.home", "Path.cwd"):
                raise _StrangeError(name)
        elif name == "sqlite3.connect":
            self.touch(Op.WRITE, self.text(self.argument(node, 0, "database")), "sqlite3.connect")
        elif name in ("zipfile.ZipFile", "tarfile.open"):
            self.opened(
                node, self.text(self.argument(node, 0, "file", "name")), self.argument(node, 1, "mode")
            )
        elif top == "io":
            return
        elif top in _MODELLED:
            raise _StrangeError(name)
        elif name == "urllib.request.urlretrieve":
            self.touch(Op.WRITE, self.text(self.argument(node, 1, "filename")), name)
        elif top == "threading" or name.startswith(
            ("gc.", "sys.set", "sys.modules", "timeit.", "types.Function", "types.Code")
        ):
            raise _StrangeError(name)

    def opened(self, node: Any, path: str | None, mode: Any) -> None:
        word = "r" if mode is None else self.text(mode)
        if word is None or any(c in word for c in "wax+"):
            self.touch(Op.WRITE, path, "open")
        elif path is not None:
            self.touch(Op.READ, path, "open")
        if any(k.arg == "opener" for k in node.keywords):
            raise _StrangeError("open with an opener")

    def os_call(self, node: Any, rest: str) -> None:
        first, second = self.argument(node, 0, "path", "src", "name"), self.argument(node, 1, "dst")
        if rest in _OS_ONE:
            if any(k.arg == "dir_fd" for k in node.keywords):
                raise _StrangeError(f"os.{rest} with dir_fd")
            self.touch(_OS_ONE[rest], self.text(first), f"os.{rest}")
        elif rest in ("rename", "renames", "replace"):
            self.touch(Op.RENAME, self.text(first), f"os.{rest}")
            self.touch(Op.RENAME, self.text(second), f"os.{rest}", entry=True)
        elif rest == "link":
            self.touch(Op.LINK, self.text(first), "os.link")
            self.touch(Op.CREATE, self.text(second), "os.link")
        elif rest in ("system", "popen"):
            self.code(self.text(self.argument(node, 0, "command", "cmd")), f"os.{rest}")
        elif rest == "chdir":
            text = self.text(first)
            if text is None:
                raise _StrangeError("os.chdir to a computed path")
            self.state.cwds = tuple(
                c if text.startswith("/") and not c else _join(c, text) for c in self.state.cwds
            )
        elif rest.split(".", maxsplit=1)[0] not in _OS_READS:
            raise _StrangeError(f"os.{rest}")

    def shutil_call(self, node: Any, rest: str) -> None:
        first, second = (
            self.text(self.argument(node, 0, "src", "path")),
            self.text(self.argument(node, 1, "dst")),
        )
        if rest == "rmtree":
            self.touch(Op.DELETE, first, "shutil.rmtree")
        elif rest in ("copy", "copy2", "copyfile", "copytree", "copymode", "copystat"):
            self.touch(Op.WRITE, second, f"shutil.{rest}")
            if rest in ("copy", "copy2") and first is not None and second is not None:
                base = first.rstrip("/").rpartition("/")[2]
                self.touch(Op.WRITE, f"{second}/{base}", f"shutil.{rest}")
        elif rest == "move":
            self.touch(Op.RENAME, first, "shutil.move")
            self.touch(Op.WRITE, second, "shutil.move")
        elif rest not in ("which", "disk_usage", "get_terminal_size", "get_archive_formats"):
            raise _StrangeError(f"shutil.{rest}")

    def subprocess_call(self, node: Any, rest: str) -> None:
        if rest not in ("run", "call", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput"):
            raise _StrangeError(f"subprocess.{rest}")
        if any(k.arg in ("env", "executable", "preexec_fn", "pass_fds") for k in node.keywords):
            raise _StrangeError("subprocess with its own environment")
        state = self.state.copy()
        cwd = next((k.value for k in node.keywords if k.arg == "cwd"), None)
        if cwd is not None:
            text = self.text(cwd)
            if text is None:
                raise _StrangeError("subprocess in a computed folder")
            state.cwds = tuple(_join(c, text) for c in state.cwds)
        words = self.argument(node, 0, "args")
        shell = any(k.arg == "shell" for k in node.keywords)
        if type(words).__name__ in ("List", "Tuple") and not shell:
            argv = [self.text(e) for e in words.elts]
            if any(a is None for a in argv):
                raise _StrangeError("a computed command")
            from ringfence.shell.effects import nested

            nested(self.call, state, [a for a in argv if a is not None])
            return
        text = self.text(words)
        if text is None or (not shell and not rest.startswith("get") and " " in text):
            raise _StrangeError("a computed command")
        self.code(text, f"subprocess.{rest}", state)

    def code(self, text: str | None, why: str, state: State | None = None) -> None:
        if text is None:
            raise _StrangeError(f"{why} of a computed command")
        inner = self.call.child_state()
        inner.cwds = (state or self.state).cwds
        self.call.walk.code(text, inner, f"python {why}", "sh")

    def method(self, node: Any) -> None:
        """`something.method(...)` on a value: pathlib's writers by their names."""
        func = node.func
        if type(func).__name__ != "Attribute":
            self.visit(func)
            return
        attr = func.attr
        base = self.text(func.value)
        if attr in _PATH_ONE and not (attr == "touch" and base is None):
            self.touch(_PATH_ONE[attr], base, attr)
        elif attr in _PATH_TWO and (len(node.args) == 1 or (base is not None and attr != "replace")):
            target = self.text(node.args[0]) if node.args else None
            if attr == "symlink_to":
                raise _StrangeError("symlink_to")
            if attr in ("hardlink_to", "link_to"):
                self.touch(Op.LINK, target, attr)
                self.touch(Op.CREATE, base, attr)
            else:
                self.touch(Op.RENAME, base, attr)
                self.touch(Op.RENAME, target, attr, entry=True)
        elif attr == "open":
            mode = (
                node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "mode"), None)
            )
            self.opened(node, base, mode)
        elif attr in (
            "extractall",
            "extract",
            "system",
            "popen",
            "rmtree",
            "spawn",
            "retrieve",
            "executescript",
            "savefig",
        ):
            raise _StrangeError(f".{attr}")
        if attr.startswith("__"):
            raise _StrangeError(attr)
        self.visit(func.value)


def _join(cwd: str, path: str) -> str:
    return path if path.startswith("/") else cwd if cwd == UNKNOWN else f"{cwd}/{path}"


def _children(node: Any) -> list[Any]:
    out: list[Any] = []
    for field in getattr(node, "_fields", ()):
        value = getattr(node, field, None)
        if isinstance(value, list):
            out.extend(v for v in value if hasattr(v, "_fields"))
        elif hasattr(value, "_fields"):
            out.append(value)
    return out


def _walk(node: Any) -> list[Any]:
    out: list[Any] = []
    pending = [node]
    while pending:
        here = pending.pop()
        out.append(here)
        pending.extend(reversed(_children(here)))
    return out
