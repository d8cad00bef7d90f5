"""The command table's interpreter: argument words to (role, word) pairs. It knows grammar, not meaning."""

from __future__ import annotations

from ringfence.records import Record
from ringfence.shell.state import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Entry = Mapping[str, Any]

# Roles whose appearance in an option list means that an unknown word could be one of them.
ACTING = frozenset(
    ("write", "append", "create", "delete", "move", "dest", "write-into", "delete-under", "prefix", "sibling",
     "exec", "code", "list", "chroot", "cmd", "replace", "unknown", "module", "remote-dest")
)  # fmt: skip


class Slots(Record):
    """What the words are. `doubt`: an unknown word may have been an option that acts."""

    pairs: tuple[tuple[str, str], ...]
    present: frozenset[str]
    operands: tuple[str, ...]
    effects: tuple[str, ...]
    runs: str
    doubt: bool
    commands: tuple[tuple[str, ...], ...]
    cwds: tuple[str, ...]  # values of options with role `cwd`, in order
    assigns: tuple[str, ...]
    values: tuple[tuple[str, str], ...]  # (option, value), also for plain values


class NoSubcommand(Record):
    """The first operand names no listed subcommand; `verdict` is the entry's `unknown_sub`."""

    name: str
    verdict: str


def read_slots(entry: Entry, words: Sequence[str], *, macos: bool = False) -> Slots | NoSubcommand:
    """Interpret `words` (without the command's name) by `entry`."""
    style = entry.get("style", "gnu")
    options: dict[str, str] = dict(entry.get("opts", {}))
    if macos:
        options.update(entry.get("bsd", {}))
    if "sub" in entry:
        head = _Scan(entry, options, "posix", stop_at_operand=True)
        head.run(words)
        rest = words[head.index :]
        if not rest:
            if "args" in entry:
                return _bind(entry, head)
            return NoSubcommand("", entry.get("unknown_sub", "unknown"))
        chosen, used = _subcommand(entry, rest)
        if chosen is None:
            if UNKNOWN in rest[0]:
                return NoSubcommand(rest[0], "unknown")
            return NoSubcommand(rest[0], entry.get("unknown_sub", "unknown"))
        merged = {**options, **chosen.get("opts", {})}
        tail = _Scan(chosen, merged, chosen.get("style", "gnu"))
        tail.run(rest[used:])
        return _merge(head, _bind(chosen, tail), entry)
    scan = _Scan(entry, options, style)
    scan.run(words)
    return _bind(entry, scan)


def _subcommand(entry: Entry, words: Sequence[str]) -> tuple[Entry | None, int]:
    pair = " ".join(words[:2])
    for sub in entry["sub"]:
        if pair in sub["names"] and " " in pair:
            return sub, 2
    for sub in entry["sub"]:
        if words[0] in sub["names"]:
            return sub, 1
    return None, 0


def _merge(head: _Scan, tail: Slots, entry: Entry) -> Slots:
    return tail._replace(
        pairs=(*head.pairs, *tail.pairs),
        present=tail.present | head.present,
        cwds=(*head.cwds, *tail.cwds),
        doubt=tail.doubt or head.doubt,
        runs=tail.runs or entry.get("runs", ""),
        values=(*head.values, *tail.values),
    )


class _Scan:
    """One pass over the words: options taken out, operands kept."""

    def __init__(
        self, entry: Entry, options: Mapping[str, str], style: str, *, stop_at_operand: bool = False
    ) -> None:
        self.entry = entry
        self.options = options
        self.style = style
        self.stop = stop_at_operand or style == "posix"
        self.index = 0
        self.operands: list[str] = []
        self.pairs: list[tuple[str, str]] = []
        self.values: list[tuple[str, str]] = []
        self.present: set[str] = set()
        self.cwds: list[str] = []
        self.commands: list[tuple[str, ...]] = []
        self.doubt = False
        self.acts = any(r.lstrip("?").split(":")[0] in ACTING for r in options.values()) or any(
            effect or slot.rstrip("?*+") in ACTING
            for rule in entry.get("when", ())
            for effect, slot in [
                *((e, "") for e in rule.get("effects", ())),
                *(("", s) for s in rule.get("args", ())),
            ]
        )

    def run(self, words: Sequence[str]) -> None:
        self.words = words
        if self.style == "kv":
            self._kv()
            return
        if self.style == "tar" and words and not words[0].startswith("-") and words[0] != "":
            self._bundle(words[0])
        expression = False
        while self.index < len(words):
            word = words[self.index]
            if word == "--" and self.style not in ("find", "long1"):
                self.index += 1
                self.operands.extend(words[self.index :])
                self.index = len(words)
                return
            if self.style == "find" and word in ("(", "!", ")", ","):
                expression = True
                self.index += 1
                continue
            if not word.startswith("-") or word == "-":
                if word.startswith(UNKNOWN) and self.acts:
                    self.doubt = True
                if self.stop:
                    self.operands.extend(words[self.index :])
                    if self.style == "posix" and not self._only_head():
                        self.index = len(words)
                    return
                if not expression:
                    self.operands.append(word)
                self.index += 1
                continue
            if self._is_value(word):
                self.operands.append(word)
                self.index += 1
                continue
            if UNKNOWN in word and "=" not in word and self.acts:
                self.doubt = True
            expression = expression or (self.style == "find" and word not in ("-L", "-H", "-P"))
            self.index += 1
            if self.style in ("long1", "find"):
                self._long1(word)
            elif word.startswith("--"):
                self._long(word)
            else:
                self._cluster(word)

    def _only_head(self) -> bool:
        return "sub" in self.entry

    def _is_value(self, word: str) -> bool:
        """`chmod -x f`, `chattr -i f`: a mode that looks like options."""
        first = self.entry.get("names", ("",))[0]
        if first == "chmod":
            return len(word) > 1 and all(c in "rwxXstugo,=+-" for c in word[1:]) and not word.startswith("--")
        return first == "chattr" and len(word) > 1 and word[1] not in "RVfvp-"

    def _kv(self) -> None:
        for word in self.words:
            key, eq, value = word.partition("=")
            if eq:
                self.present.add(key)
                self._take(key, self.options.get(key, "value"), value)
            elif UNKNOWN in word:
                self.doubt = True

    def _bundle(self, word: str) -> None:
        self.index = 1
        for c in word:
            self._short("-" + c, "")

    def _cluster(self, word: str) -> None:
        i = 1
        while i < len(word):
            if self._short("-" + word[i], word[i + 1 :]):
                return
            i += 1

    def _short(self, name: str, rest: str) -> bool:
        """True if the rest of the cluster was its value."""
        self.present.add(name)
        role = self.options.get(name)
        if role is None or role == "flag":
            return False
        if role.startswith("?"):
            if rest:
                self._take(name, role[1:], rest)
            return True
        self._valued(name, role, rest or None)
        return True

    def _long(self, word: str) -> None:
        name, eq, value = word.partition("=")
        if name not in self.options and not eq and any(o.startswith(name + "-") for o in self.options):
            # `--backup` beside a listed `--backup-dir`: a flag of its own, or short for it. Both readings count.
            self.present.add(name)
            following = self.words[self.index] if self.index < len(self.words) else ""
            for option, acting_role in self.options.items():
                if option.startswith(name + "-") and acting_role in ACTING and following[:1] not in ("", "-"):
                    self.pairs.append((acting_role, following))
            return
        if name not in self.options:
            near = [o for o in self.options if o.startswith(name) and o.startswith("--")]
            if near and len(name) > 3:
                # The real option list is longer than ours: of several candidates, take the one that acts.
                acting = [o for o in near if self.options[o].lstrip("?") in ACTING]
                name = (acting or near)[0]
        self.present.add(name)
        role = self.options.get(name)
        if role is None or role == "flag":
            if eq:
                self.values.append((name, value))
            return
        if role.startswith("?"):
            if eq:
                self._take(name, role[1:], value)
            return
        self._valued(name, role, value if eq else None)

    def _long1(self, word: str) -> None:
        role = self.options.get(word)
        if role is None:
            name, eq, value = word.partition("=")
            if eq and (name in self.options or "-" + name in self.options):
                self.present.add(name)
                self._take(
                    name, self.options.get(name, self.options.get("-" + name, "value")).lstrip("?"), value
                )
                return
            for option in self.entry.get("attached", ()):
                if word.startswith(option) and len(word) > len(option):
                    self.present.add(option)
                    self._take(option, self.options[option], word[len(option) :])
                    return
            self.present.add(word)
            if eq:
                self.values.append((name, value))
            return
        self.present.add(word)
        if role == "flag" or role.startswith("?"):
            return
        self._valued(word, role, None)

    def _valued(self, name: str, role: str, attached: str | None) -> None:
        if role == "cmd":
            self._command()
            return
        for index, one in enumerate(role.split(" ")):
            if index == 0 and attached is not None:
                self._take(name, one, attached)
                continue
            if self.index >= len(self.words):
                return
            self.index += 1
            self._take(name, one, self.words[self.index - 1])

    def _command(self) -> None:
        nested: list[str] = []
        while self.index < len(self.words):
            word = self.words[self.index]
            self.index += 1
            if word == ";" or (word == "+" and nested and nested[-1] == "{}"):
                break
            nested.append(word)
        self.commands.append(tuple(nested))

    def _take(self, name: str, role: str, value: str) -> None:
        self.values.append((name, value))
        if role in ("module", "code:python"):  # both end the interpreter's own options
            self.operands.extend(self.words[self.index :])
            self.index = len(self.words)
        if role == "cwd":
            self.cwds.append(value)
            self.pairs.append(("cwd", value))
        elif role not in ("value", "none", "maybe", "flag"):
            self.pairs.append((role, value))


def _bind(entry: Entry, scan: _Scan) -> Slots:
    args: Sequence[str] = entry.get("args", ())
    effects: list[str] = list(entry.get("effects", ()))
    archive = ""
    runs: str = entry.get("runs", "")
    readonly: Sequence[str] = ()
    for rule in entry.get("when", ()):
        if _fits(rule, scan.present):
            args = rule.get("args", args)
            effects = [*effects, *rule.get("effects", ())]
            archive = rule.get("archive", "")
            runs = rule.get("runs", runs)
            readonly = rule.get("readonly", ())
            break
    operands = list(scan.operands)
    if not operands and "empty" in entry:
        operands = [entry["empty"]]
    if len(operands) == 1 and "one" in entry:
        args = entry["one"]
    pairs = []
    for role, word in scan.pairs:
        made = role
        if role == "archive":
            made = archive or "read"
        elif any(n in readonly and v == word for n, v in scan.values):
            made = "read"
        pairs.append((made, word))
    commands = list(scan.commands)
    assigns: list[str] = []
    for role, words in _assign(args, operands):
        if role == "cmd":
            if words:
                commands.append(tuple(words))
        elif role == "assign":
            assigns.extend(words)
        elif role in ("code", "remote-cmd", "container-cmd") and len(words) > 1:
            pairs.append((role, " ".join(words)))
        else:
            pairs.extend((role, w) for w in words if role not in ("value", "none", "maybe"))
    if "otherwise" in entry and not any(r in ACTING and r != "code" for r, _ in pairs):
        effects.extend(entry["otherwise"])
    return Slots(
        tuple(pairs),
        frozenset(scan.present),
        tuple(operands),
        tuple(effects),
        runs,
        scan.doubt,
        tuple(commands),
        tuple(scan.cwds),
        tuple(assigns),
        tuple(scan.values),
    )


def _fits(rule: Mapping[str, Any], present: set[str]) -> bool:
    has = rule.get("has", ())
    if has and "*" not in has and not present.intersection(has):
        return False
    if present.intersection(rule.get("no", ())):
        return False
    wanted = rule.get("and", ())
    return not wanted or bool(present.intersection(wanted))


def _assign(args: Sequence[str], operands: list[str]) -> list[tuple[str, list[str]]]:
    """Bind operands to slots: fixed ones first, a greedy one takes what the fixed ones after it leave."""
    out: list[tuple[str, list[str]]] = []
    left = list(operands)
    for position, slot in enumerate(args):
        role, kind = (slot[:-1], slot[-1]) if slot[-1] in "?*+" else (slot, "")
        if role == "assign":
            taken = []
            while left and "=" in left[0] and not left[0].startswith("="):
                taken.append(left.pop(0))
            out.append((role, taken))
            continue
        if kind in ("*", "+"):
            after = sum(1 for s in args[position + 1 :] if s[-1] not in "?*")
            count = max(len(left) - after, min(1, len(left)) if kind == "+" else 0)
            out.append((role, left[:count]))
            left = left[count:]
        else:
            after = sum(1 for s in args[position + 1 :] if s[-1] not in "?*")
            if kind == "?" and len(left) <= after:
                continue
            if left:
                out.append((role, [left.pop(0)]))
    return out
