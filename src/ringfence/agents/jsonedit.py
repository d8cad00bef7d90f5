"""Edit a JSON text in place: everything that is not ours stays byte for byte.

`json` says what the text means; this module only knows where each member and item stands. Cold.
"""

from __future__ import annotations

import json
from json.decoder import scanstring  # type: ignore[attr-defined]  # there, but not in typeshed
from typing import Any

from ringfence.records import Record

_BLANK = " \t\n\r"


class JsonTextError(ValueError):
    """The text is not JSON. `at` is the character offset."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


class Node(Record):
    """A value's place: [start, end). `members` for objects, `items` for arrays, in order."""

    start: int
    end: int
    members: tuple[tuple[str, int, Node], ...] = ()  # (key, offset of the key's quote, value)
    items: tuple[Node, ...] = ()
    kind: str = "scalar"  # "object" | "array" | "scalar"


def blanked(text: str) -> str:
    """`text` with its comments (`//` to the line's end, `/* */`) turned into blanks of the same length."""
    made = []
    at = 0
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while end < len(text) and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            end = min(end + 1, len(text))
            made.append(text[at:end])
        elif text.startswith("//", at):
            end = min((i for i in (text.find("\n", at), text.find("\r", at)) if i >= 0), default=len(text))
            made.append(" " * (end - at))
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            end = len(text) if end < 0 else end + 2
            made.append(" " * (end - at))
        else:
            end = at + 1
            made.append(text[at])
        at = end
    return "".join(made)


def parse(text: str, *, comments: bool = False) -> tuple[Any, Node]:
    """The value and its places. `comments`: those count as blanks. Raises JsonTextError with the offset."""
    text = blanked(text) if comments else text
    try:
        value = json.loads(text)
        node, _ = _value(text, _skip(text, 0))
    except ValueError as error:
        raise JsonTextError(str(error), getattr(error, "pos", 0)) from None
    except RecursionError:
        raise JsonTextError("nested too deeply", 0) from None
    return value, node


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _value(text: str, at: int) -> tuple[Node, int]:
    head = text[at]
    if head == "{":
        return _object(text, at)
    if head == "[":
        return _array(text, at)
    if head == '"':
        _, end = scanstring(text, at + 1, True)
        return Node(at, end), end
    end = at
    while end < len(text) and text[end] not in _BLANK + ",]}":
        end += 1
    return Node(at, end), end


def _object(text: str, start: int) -> tuple[Node, int]:
    members: list[tuple[str, int, Node]] = []
    at = _skip(text, start + 1)
    while text[at] != "}":
        key_at = at
        key, at = scanstring(text, at + 1, True)
        at = _skip(text, _skip(text, at) + 1)  # the colon
        node, at = _value(text, at)
        members.append((key, key_at, node))
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Node(start, at + 1, tuple(members), (), "object"), at + 1


def _array(text: str, start: int) -> tuple[Node, int]:
    items: list[Node] = []
    at = _skip(text, start + 1)
    while text[at] != "]":
        node, at = _value(text, at)
        items.append(node)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Node(start, at + 1, (), tuple(items), "array"), at + 1


def find(node: Node, keys: tuple[str, ...]) -> Node | None:
    """The node at a path of object keys. A key that stands twice counts as its last, as JSON readers do."""
    for key in keys:
        found = [value for name, _, value in node.members if name == key]
        if not found:
            return None
        node = found[-1]
    return node


def indent_of(text: str) -> str:
    """The text's own indentation unit; two blanks if it has none."""
    for line in text.split("\n")[1:]:
        stripped = line.lstrip(" \t")
        if stripped and stripped[0] in '"{[' and len(line) > len(stripped):
            return line[: len(line) - len(stripped)]
    return "  "


def dump(value: Any, text: str, depth: int) -> str:
    """`value` as JSON in the text's own style, for a place `depth` levels deep."""
    unit = indent_of(text)
    body = json.dumps(value, indent=unit, ensure_ascii=False)
    return body.replace("\n", "\n" + unit * depth)


def put(text: str, keys: tuple[str, ...], value: Any, *, comments: bool = False) -> str:
    """Set the member at `keys`, making objects on the way; other bytes stay."""
    _, root = parse(text, comments=comments)
    depth = 0
    node = root
    for depth, key in enumerate(keys):
        nxt = find(node, (key,))
        if nxt is None:
            rest = keys[depth + 1 :]
            for name in reversed(rest):
                value = {name: value}
            body = f"{json.dumps(key)}: {dump(value, text, depth + 1)}"
            return _insert(text, node, depth + 1, body, comments)
        node = nxt
    return text[: node.start] + dump(value, text, depth + 1) + text[node.end :]


def append(text: str, keys: tuple[str, ...], value: Any, *, comments: bool = False) -> str:
    """Append to the array at `keys`, making it (and objects on the way) if it is missing."""
    _, root = parse(text, comments=comments)
    node = find(root, keys)
    if node is None:
        return put(text, keys, [value], comments=comments)
    return _insert(text, node, len(keys) + 1, dump(value, text, len(keys) + 1), comments)


def _insert(text: str, node: Node, depth: int, body: str, comments: bool) -> str:
    pad = "\n" + indent_of(text) * depth
    last = (node.items[-1] if node.items else None) or (node.members[-1][2] if node.members else None)
    if last is None:
        # What stands between the brackets can only be blanks and comments.
        kept = text[node.start + 1 : node.end - 1].rstrip(_BLANK) if comments else ""
        return (
            text[: node.start + 1]
            + kept
            + pad
            + body
            + "\n"
            + indent_of(text) * (depth - 1)
            + text[node.end - 1 :]
        )
    if comments and (noted := _note_after(text, last.end, node.end)) > last.end:
        return text[: last.end] + "," + text[last.end : noted] + pad + body + text[noted:]
    if "\n" not in text[node.start : node.end]:
        return text[: last.end] + ", " + body + text[last.end :]
    return text[: last.end] + "," + pad + body + text[last.end :]


def _note_after(text: str, at: int, end: int) -> int:
    """Where the comments on the rest of this line end; `at` if there are none."""
    plain = blanked(text)  # a comment over several lines counts as one line there
    line = min((i for i in (plain.find("\n", at), plain.find("\r", at), end - 1) if i >= 0), default=end - 1)
    return at + len(text[at:line].rstrip(_BLANK)) if text[at:line].strip(_BLANK) else at


def drop(text: str, keys: tuple[str, ...], index: int | None = None, *, comments: bool = False) -> str:
    """Remove the member at `keys`, or the item `index` of the array there, with its comma and line."""
    _, root = parse(text, comments=comments)
    if index is None:
        holder = find(root, keys[:-1])
        if holder is None:
            return text
        spans = [(at, node.end) for _, at, node in holder.members]
        which = max((i for i, (name, _, _) in enumerate(holder.members) if name == keys[-1]), default=-1)
    else:
        holder = find(root, keys)
        if holder is None:
            return text
        spans = [(node.start, node.end) for node in holder.items]
        which = index if index < len(spans) else -1
    if which < 0:
        return text
    if len(spans) == 1:
        kept = text[holder.start + 1 : spans[0][0]] + text[spans[0][1] : holder.end - 1]
        return text[: holder.start + 1] + (kept if kept.strip(_BLANK) else "") + text[holder.end - 1 :]
    if which > 0:
        between = _uncommaed(text[spans[which - 1][1] : spans[which][0]]) if comments else ""
        return text[: spans[which - 1][1]] + between + text[spans[which][1] :]
    return text[: spans[0][0]] + text[spans[1][0] :]


def _uncommaed(between: str) -> str:
    """The comments between two members, without the comma and the blanks behind them."""
    at = blanked(between).index(",")
    return (between[:at] + between[at + 1 :]).rstrip(_BLANK)
