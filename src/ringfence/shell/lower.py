"""The parser's typed JSON to our tree, refusing every shape it does not know.

shfmt (mvdan/sh) promises no stable field names, so an unknown field or node type is a refusal, never ignored.
The six guards below are the silent misparses found in shfmt 3.14.1 by fuzzing it against bash; each makes the
text unreadable rather than trusted.
"""

from __future__ import annotations

from ringfence.shell import tree as t
from ringfence.shell.quoting import ansi_c
from ringfence.shell.state import RESERVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Node = Mapping[str, Any]

MAX_DEPTH = 60  # nesting of statements and substitutions; bash itself is fine with more, people are not

_STMT = frozenset(
    ("Pos", "End", "Position", "Semicolon", "Cmd", "Redirs", "Negated", "Background", "Comments")
)
_WORD = frozenset(("Pos", "End", "Parts", "Type"))
_REDIR = frozenset(("Pos", "End", "OpPos", "Op", "N", "Word", "Hdoc"))
_PARAM = frozenset(
    (
        "Type", "Pos", "End", "Dollar", "Rbrace", "Short", "Excl", "Length", "Width", "IsSet", "Param", "Index",
        "Slice", "Repl", "Names", "Exp", "Flags", "Modifiers", "NestedParam",
    )
)  # fmt: skip
_ASSIGN = frozenset(("Pos", "End", "Append", "Naked", "Name", "Index", "Value", "Array"))


class UnreadableError(Exception):
    """Raised inside this module only; `lower` turns it into a `Refusal`."""

    def __init__(self, code: str, why: str, at: int = 0) -> None:
        super().__init__(why)
        self.refusal = t.Refusal(code, why, at)


def lower(root: Node, text: str, source: bytes, dialect: str = "bash") -> t.Script | t.Refusal:
    """`root` is shfmt's File node, `source` the bytes it read as `dialect`, `text` the same as text."""
    try:
        lowering = _Lowering(source, dialect)
        if b"\\\n" in source and b"#" in source:
            lowering.guard_comments(root)
        return t.Script(lowering.stmts(root.get("Stmts", ())), text)
    except UnreadableError as unreadable:
        return unreadable.refusal
    except (KeyError, TypeError, AttributeError, IndexError) as drift:
        # The parser is another program: whatever it answers, the door must refuse rather than fall over.
        return t.Refusal("opaque.parser-drift", f"the parser's answer has an unknown shape: {drift!r}")


class _Lowering:
    def __init__(self, source: bytes, dialect: str) -> None:
        self.source = source
        self.dialect = dialect
        self.depth = 0

    # -- guards ---------------------------------------------------------------------------------------------
    def guard_comments(self, node: Any) -> None:
        """bash ends a comment at its newline even after a backslash; shfmt reads on."""
        if isinstance(node, dict):
            hashed = node.get("Hash")
            if hashed is not None and node.get("Text", "").rstrip("\n").endswith("\\"):
                raise UnreadableError(
                    "opaque.guard-comment", "a comment that ends in a backslash", _at(hashed)
                )
            for value in node.values():
                if isinstance(value, (dict, list)):
                    self.guard_comments(value)
        elif isinstance(node, list):
            for value in node:
                self.guard_comments(value)

    def span(self, node: Node) -> bytes:
        return self.source[node["Pos"]["Offset"] : node["End"]["Offset"]]

    # -- statements -----------------------------------------------------------------------------------------
    def stmts(self, nodes: Any) -> tuple[t.Stmt, ...]:
        return tuple(self.stmt(n) for n in nodes)

    def stmt(self, node: Node) -> t.Stmt:
        if not node.keys() <= _STMT:
            raise _unknown("statement", node, _STMT)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableError("opaque.parser-limit", f"nested deeper than {MAX_DEPTH}", _at(node["Pos"]))
        cmd = node.get("Cmd")
        made = t.Stmt(
            None if cmd is None else self.command(cmd),
            tuple(self.redirect(r) for r in node.get("Redirs", ())),
            bool(node.get("Negated", False)),
            bool(node.get("Background", False)),
            node["Pos"]["Offset"],
            node["End"]["Offset"],
        )
        self.depth -= 1
        return made

    def redirect(self, node: Node) -> t.Redirect:
        if not node.keys() <= _REDIR:
            raise _unknown("redirection", node, _REDIR)
        op = node["Op"]
        at = node["OpPos"]["Offset"]
        written = self.source[at : at + len(op)].decode("utf-8", "replace")
        # zsh spells "overwrite" with `!` as well as `|`, and the ampersand on either side.
        if written != op and written.replace("!", "|") not in (op, op.replace("&>", ">&")):
            raise UnreadableError("opaque.parser-drift", f"operator {op!r} is written {written!r}", at)
        word = self.word(node["Word"])
        end = node["Word"]["End"]["Offset"]
        if self.span(node["Word"]).isdigit() and self.source[end : end + 1] in (b"<", b">"):
            # bash takes the digits as the next redirection's number, and has no target left.
            raise UnreadableError("opaque.guard-descriptor", "a number between two redirections", at)
        if op in (">&", "<&") and len(word.parts) >= 1:
            first = word.parts[0]
            raw = self.span(node["Word"])
            if isinstance(first, t.Lit) and raw[:1] in b"-0123456789" and not _is_descriptor(raw):
                raise UnreadableError("opaque.guard-descriptor", f"{op}{raw.decode('utf-8', 'replace')}", at)
        body = node.get("Hdoc")
        literal = False
        if op in ("<<", "<<-"):
            delimiter = self.span(node["Word"])
            literal = any(c in delimiter for c in b"'\"\\$`")
        fd = node.get("N")
        return t.Redirect(
            op, "" if fd is None else fd["Value"], word, None if body is None else self.word(body), literal
        )

    def command(self, node: Node) -> t.Cmd:
        maker = _COMMANDS.get(node["Type"])
        if maker is None:
            raise UnreadableError(
                "opaque.guard-coproc" if node["Type"] == "CoprocClause" else "opaque.parser-drift",
                f"a {node['Type']} is not read",
                _at(node["Pos"]),
            )
        return maker(self, node)

    def call(self, node: Node) -> t.Cmd:
        words = node.get("Args", ())
        if words and self.span(words[0]) == b"in":
            raise UnreadableError("opaque.guard-word", "a reserved word as a command", _at(node["Pos"]))
        return t.Simple(
            tuple(self.assign(a) for a in node.get("Assigns", ())),
            tuple(self.word(w) for w in node.get("Args", ())),
        )

    def declare(self, node: Node) -> t.Cmd:
        for argument in node.get("Args", ()):
            index = argument.get("Index")
            if index is not None and any(c in self.span(argument).split(b"]")[0] for c in b" \t\n<>|&;()"):
                raise UnreadableError(
                    "opaque.guard-subscript", "an operator in a subscript", _at(argument["Pos"])
                )
        return t.Declare(node["Variant"]["Value"], tuple(self.assign(a) for a in node.get("Args", ())))

    def assign(self, node: Node) -> t.Assign:
        if not node.keys() <= _ASSIGN:
            raise _unknown("assignment", node, _ASSIGN)
        name = node.get("Name")
        value = node.get("Value")
        array = node.get("Array")
        index = node.get("Index")
        words: list[t.Word] | None = None
        if array is not None:
            words = []
            for element in array.get("Elems", ()):
                if element.get("Index") is not None:
                    words.extend(self.expression(element["Index"]))
                if element.get("Value") is not None:
                    words.append(self.word(element["Value"]))
        return t.Assign(
            "" if name is None else name["Value"],
            None if value is None else self.word(value),
            None if words is None else tuple(words),
            bool(node.get("Append", False)),
            None if index is None else t.Word(tuple(p for w in self.expression(index) for p in w.parts)),
            bool(node.get("Naked", False)),
        )

    def block(self, node: Node) -> t.Cmd:
        return t.Group(self.stmts(node.get("Stmts", ())), subshell=False)

    def subshell(self, node: Node) -> t.Cmd:
        return t.Group(self.stmts(node.get("Stmts", ())), subshell=True)

    def if_clause(self, node: Node) -> t.Cmd:
        arms = []
        here: Node | None = node
        while here is not None:
            arms.append((self.stmts(here.get("Cond", ())), self.stmts(here.get("Then", ()))))
            here = here.get("Else")
        return t.If(tuple(arms))

    def while_clause(self, node: Node) -> t.Cmd:
        return t.Loop(self.stmts(node.get("Cond", ())), self.stmts(node.get("Do", ())))

    def for_clause(self, node: Node) -> t.Cmd:
        loop = node["Loop"]
        body = self.stmts(node.get("Do", ()))
        if loop["Type"] == "CStyleLoop":
            words: list[t.Word] = []
            names: list[str] = []
            for key in ("Init", "Cond", "Post"):
                if loop.get(key) is not None:
                    words.extend(self.expression(loop[key]))
                    self.assigned(loop[key], names)
            return t.Loop((), body, tuple(words), tuple(names))
        if loop["Type"] != "WordIter":
            raise UnreadableError("opaque.parser-drift", f"a {loop['Type']} is not read", _at(node["Pos"]))
        items = loop.get("Items")
        has_in = loop.get("InPos") is not None and items is None
        words_of = tuple(self.word(w) for w in items) if items is not None else (() if has_in else None)
        return t.For(loop["Name"]["Value"], words_of, body, bool(node.get("Select", False)))

    def case_clause(self, node: Node) -> t.Cmd:
        return t.Case(
            self.word(node["Word"]),
            tuple(
                (
                    tuple(self.word(p) for p in item.get("Patterns", ())),
                    self.stmts(item.get("Stmts", ())),
                    item.get("Op", ";;"),
                )
                for item in node.get("Items", ())
            ),
        )

    def function(self, node: Node) -> t.Cmd:
        body = node["Body"].get("Cmd")
        if body is None or (self.dialect == "bash" and body["Type"] not in _COMPOUND):
            raise UnreadableError(
                "opaque.guard-function", "a function whose body is no compound command", _at(node["Pos"])
            )
        names = node.get("Names")
        if names:
            return t.Function(tuple(n["Value"] for n in names), self.stmt(node["Body"]))
        if node.get("Name") is None:  # zsh runs a function without a name on the spot
            return t.Group((self.stmt(node["Body"]),), subshell=False)
        return t.Function((node["Name"]["Value"],), self.stmt(node["Body"]))

    def binary(self, node: Node) -> t.Cmd:
        # Long lists lean to the left: unrolled, so that five thousand `;`-free commands are not a deep tree.
        op = node["Op"]
        first = node["X"].get("Cmd") or {}
        if first.get("Type") == "TimeClause" and first.get("Stmt") is None:
            raise UnreadableError("opaque.guard-word", "time without a command in a list", _at(node["Pos"]))
        chain = []
        left = node["X"]
        while True:
            inner = left.get("Cmd")
            if inner is None or inner.get("Type") != "BinaryCmd" or left.get("Redirs") or left.get("Negated"):
                break
            chain.append((inner["Op"], inner["Y"], left))
            left = inner["X"]
        made = self.stmt(left)
        for inner_op, right, whole in reversed(chain):
            made = t.Stmt(
                t.Binary(inner_op, made, self.stmt(right)),
                (),
                negated=False,
                background=False,
                start=whole["Pos"]["Offset"],
                end=whole["End"]["Offset"],
            )
        return t.Binary(op, made, self.stmt(node["Y"]))

    def test(self, node: Node) -> t.Cmd:
        names: list[str] = []
        self.assigned(node.get("X"), names)
        arithmetic = node.get("Type") == "ArithmCmd"
        return t.Test(tuple(self.expression(node.get("X"))), tuple(names), arithmetic)

    def let(self, node: Node) -> t.Cmd:
        if any(c in _unquoted(self.span(node)) for c in b"<>"):
            raise UnreadableError("opaque.guard-let", "a redirection inside let", _at(node["Pos"]))
        words: list[t.Word] = []
        names: list[str] = []
        for expression in node.get("Exprs", ()):
            words.extend(self.expression(expression))
            self.assigned(expression, names)
        return t.Test(tuple(words), tuple(names), arithmetic=True)

    def timed(self, node: Node) -> t.Cmd:
        body = node.get("Stmt")
        return t.Timed(None if body is None else self.stmt(body))

    # -- words ----------------------------------------------------------------------------------------------
    def word(self, node: Node) -> t.Word:
        if not node.keys() <= _WORD:
            raise _unknown("word", node, _WORD)
        return t.Word(
            tuple(self.part(p) for p in node.get("Parts", ())), node["Pos"]["Offset"], node["End"]["Offset"]
        )

    def part(self, node: Node) -> t.Part:
        kind = node["Type"]
        if kind == "Lit":
            return t.Lit(node.get("Value", ""))
        if kind == "SglQuoted":
            value = node.get("Value", "")
            if node.get("Dollar"):
                value = ansi_c(value)
                if any(c in value for c in RESERVED):
                    raise UnreadableError(
                        "opaque.guard-control", "control characters in a word", _at(node["Pos"])
                    )
            return t.Quoted(value)
        if kind == "DblQuoted":
            return t.Double(tuple(self.part(p) for p in node.get("Parts", ())))
        if kind == "ParamExp":
            return self.param(node)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableError("opaque.parser-limit", f"nested deeper than {MAX_DEPTH}", _at(node["Pos"]))
        made: t.Part
        if kind == "CmdSubst":
            if node.get("TempFile") or node.get("ReplyVar"):
                raise UnreadableError("opaque.parser-drift", "a substitution in a foreign shell's form")
            made = t.Command(self.stmts(node.get("Stmts", ())))
        elif kind == "ProcSubst":
            made = t.Process(node["Op"], self.stmts(node.get("Stmts", ())))
        elif kind == "ArithmExp":
            made = t.Arith(tuple(self.expression(node.get("X"))))
        elif kind == "ExtGlob":
            pattern = node["Pattern"]["Value"]
            if any(c in pattern for c in "$`'\"\n<>;&"):
                # The pattern comes as raw text: what bash would run or quote in it is not in the tree.
                raise UnreadableError(
                    "opaque.guard-extglob", "a pattern that is more than a pattern", _at(node["Pos"])
                )
            made = t.ExtGlob(node["Op"], pattern)
        else:
            raise UnreadableError("opaque.parser-drift", f"a {kind} is not read", _at(node["Pos"]))
        self.depth -= 1
        return made

    def param(self, node: Node) -> t.Param:
        if not node.keys() <= _PARAM:
            raise _unknown("parameter", node, _PARAM)
        nested: list[t.Word] = []
        strange = ""
        name = node.get("Param")
        if node.get("NestedParam") is not None:
            strange = "nested"
            nested.append(t.Word((self.part(node["NestedParam"]),)))
        if node.get("Flags") is not None:
            strange = "flags:" + str(node["Flags"].get("Value", ""))
        if node.get("Modifiers") or node.get("Width") or node.get("IsSet") or node.get("Names"):
            strange = "form"
        if name is None:
            strange = strange or "form"
        index = node.get("Index")
        index_word = None
        if index is not None:
            index_word = t.Word(tuple(p for w in self.expression(index) for p in w.parts))
            nested.append(index_word)
        op, word, other = "", None, None
        if node.get("Exp") is not None:
            op = node["Exp"]["Op"]
            if node["Exp"].get("Word") is not None:
                word = self.word(node["Exp"]["Word"])
                nested.append(word)
        elif node.get("Repl") is not None:
            repl = node["Repl"]
            op = "//" if repl.get("All") else "/"
            word = self.word(repl["Orig"]) if repl.get("Orig") is not None else t.Word(())
            other = self.word(repl["With"]) if repl.get("With") is not None else t.Word(())
            nested.extend((word, other))
        elif node.get("Slice") is not None:
            op = "slice"
            for key in ("Offset", "Length"):
                if node["Slice"].get(key) is not None:
                    nested.extend(self.expression(node["Slice"][key]))
        return t.Param(
            "" if name is None else name["Value"],
            op,
            word,
            other,
            index_word,
            bool(node.get("Excl", False)),
            bool(node.get("Length", False)),
            strange,
            tuple(nested),
        )

    # -- expressions (arithmetic and [[ ]]): every word in them ---------------------------------------------
    def expression(self, node: Any) -> list[t.Word]:
        found: list[t.Word] = []
        pending = [node]
        steps = 0
        while pending:
            here = pending.pop()
            steps += 1
            if here is None:
                continue
            kind = here.get("Type")
            if kind == "Word" or (kind is None and "Parts" in here):
                found.append(self.word(here))
            elif kind in _EXPRESSIONS:
                pending.extend(here.get(key) for key in ("Y", "X"))
                pending.extend(reversed(here.get("Patterns", ())))
            elif kind == "FlagsArithm":
                pending.append(here.get("X"))
            else:
                raise UnreadableError("opaque.parser-drift", f"a {kind} in an expression is not read")
        return found

    def assigned(self, node: Any, names: list[str]) -> None:
        """Names an arithmetic expression may set. Plain words are enough: `a[i]=1` names `a[i]`."""
        if not isinstance(node, dict):
            return
        op = node.get("Op", "")
        target = node.get("X")
        if isinstance(op, str) and (op.endswith("=") or op in ("++", "--")) and isinstance(target, dict):
            for part in target.get("Parts", ()):
                names.append(str(part.get("Value", "")).split("[", 1)[0])
                break
        for key in ("X", "Y"):
            self.assigned(node.get(key), names)


_COMMANDS = {
    "CallExpr": _Lowering.call,
    "DeclClause": _Lowering.declare,
    "Block": _Lowering.block,
    "Subshell": _Lowering.subshell,
    "IfClause": _Lowering.if_clause,
    "WhileClause": _Lowering.while_clause,
    "ForClause": _Lowering.for_clause,
    "CaseClause": _Lowering.case_clause,
    "FuncDecl": _Lowering.function,
    "BinaryCmd": _Lowering.binary,
    "TestClause": _Lowering.test,
    "ArithmCmd": _Lowering.test,
    "LetClause": _Lowering.let,
    "TimeClause": _Lowering.timed,
}
_EXPRESSIONS = frozenset(
    ("BinaryArithm", "UnaryArithm", "ParenArithm", "BinaryTest", "UnaryTest", "ParenTest", "TernaryArithm")
)


_COMPOUND = frozenset(
    ("Block", "Subshell", "IfClause", "WhileClause", "ForClause", "CaseClause", "TestClause", "ArithmCmd")
)


def _unquoted(span: bytes) -> bytes:
    """A span without what stands in quotes; an odd quote keeps everything after it."""
    for quote in (b"'", b'"'):
        parts = span.split(quote)
        if len(parts) % 2:
            span = b"".join(parts[::2])
    return span


def _at(position: Node) -> int:
    return int(position["Offset"])


def _unknown(what: str, node: Node, known: frozenset[str]) -> UnreadableError:
    extra = ", ".join(sorted(node.keys() - known))
    return UnreadableError("opaque.parser-drift", f"a {what} with unknown fields: {extra}", _at(node["Pos"]))


def _is_descriptor(raw: bytes) -> bool:
    """`-`, `3`, `3-`: what bash takes as the whole operand of a duplication."""
    digits = raw[:-1] if raw.endswith(b"-") else raw
    return digits == b"" or digits.isdigit()
