"""Policy text to LayerText: keys, types and values checked, every value with its place.

Never a silently weaker fence: what is unknown, doubled or of the wrong type is a PolicyError with file, line,
column and the nearest valid spelling. tomllib is loaded only where there is a file, difflib only for an error.
"""

from __future__ import annotations

from ringfence.errors import PolicyError
from ringfence.policy.globs import WILD, split
from ringfence.policy.guards import GUARD_IDS
from ringfence.policy.paths import PathTextError, spell
from ringfence.policy.schema import BY_NAME, TABLES, Field, Key, Shape
from ringfence.policy.texts import Expectation, Layer, LayerText, PathText, Place, Word, ZoneText
from ringfence.policy.toml_spans import SpanError, spans
from ringfence.records import assert_never

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ringfence.policy.toml_spans import Path, Spans

MAX_BYTES = 1 << 20  # a policy is a page of text; a larger file is a mistake or an attack on the hook's time
_KINDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "an array",
    dict: "a table",
}


class _Reader:
    """One file being read; knows how to say where."""

    def __init__(self, source: str, places: Spans) -> None:
        self.source = source
        self.places = places

    def place(self, path: Path) -> Place:
        """Of the value itself, or of the nearest thing around it that has a place."""
        while path and path not in self.places:
            path = path[:-1]
        line, column = self.places.get(path, (0, 0))
        return Place(self.source, line, column)

    def fail(self, path: Path, message: str, hint: str = "") -> PolicyError:
        place = self.place(path)
        return PolicyError(message, place.source, place.line, place.column, hint)


def nearest(word: str, words: Iterable[str]) -> str:
    """The sentence naming the closest valid word, or all of them."""
    import difflib

    known = list(words)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f'did you mean "{close[0]}"?' if close else "one of: " + ", ".join(known)


def check_word(key: Key, value: str) -> str | None:
    """Why `value` is not one of the key's words, or None."""
    if value in key.values:
        return None
    return f'{key.name} = "{value}" is not known; {nearest(value, key.values)}'


def read(
    content: bytes, source: str, folder: str, home: str | None, layer: Layer, trusted: bool
) -> LayerText:
    """Read one policy file.

    `source` is the file's path as messages name it, `folder` the absolute folder its relative paths start
    from. Raises PolicyError with the place of the first thing wrong.
    """
    data, places = _parse(content, source)
    reader = _Reader(source, places)
    out = LayerText(layer, source, folder, trusted)
    for name, value in data.items():
        key = BY_NAME.get(name)
        if key is None:
            raise reader.fail((name,), f'unknown key "{name}"; {nearest(name, BY_NAME)}')
        out = _take(reader, out, key, value, home)
    _refuse_doubles(out)
    return out


def _parse(content: bytes, source: str) -> tuple[dict[str, Any], Spans]:
    if len(content) > MAX_BYTES:
        raise PolicyError(f"the file is larger than {MAX_BYTES} bytes", source)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = len(content[content.rfind(b"\n", 0, error.start) + 1 : error.start].decode()) + 1
        message = f"byte 0x{content[error.start]:02x} is not UTF-8"
        raise PolicyError(message, source, line, column, "save the file as UTF-8") from None
    if text.startswith("\ufeff"):
        raise PolicyError(
            "the file begins with a byte order mark", source, 1, 1, "save it as UTF-8 without one"
        )
    import tomllib

    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise PolicyError("arrays or tables nest too deeply", source) from None
    except ValueError as error:  # TOMLDecodeError, and the odd ValueError of a date or a huge number
        raise _not_toml(str(error), text, source) from None
    try:
        return data, spans(text)
    except SpanError:
        # The policy is understood, only its places are lost: say "file" instead of "file:line".
        return data, {}


def _not_toml(message: str, text: str, source: str) -> PolicyError:
    """tomllib says where in words: "(at line 3, column 7)" or "(at end of document)"."""
    import re

    where = re.search(r" ?\(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if where is None:
        return PolicyError(f"not valid TOML: {message}", source)
    message = f"not valid TOML: {message[: where.start()]}"
    if where[1]:
        return PolicyError(message, source, int(where[1]), int(where[2]))
    lines = text.rstrip("\n").split("\n")
    return PolicyError(message, source, len(lines), len(lines[-1]) + 1)


def _take(reader: _Reader, out: LayerText, key: Key, value: Any, home: str | None) -> LayerText:
    path: Path = (key.name,)
    match key.shape:
        case Shape.PATHS:
            texts = tuple(
                _path(reader, out.folder, home, (key.name, index), item)
                for index, item in enumerate(_texts(reader, path, value, "paths"))
            )
            for index, text in enumerate(texts):
                if any(char in text.text for char in WILD):
                    hint = "name the tree itself, or write the pattern as a [[zone]]"
                    raise reader.fail((key.name, index), f'{key.name} takes no patterns: "{text.text}"', hint)
            if key.name == "workspace" and not texts:
                hint = "name at least one tree, or leave the key out"
                raise reader.fail(path, "workspace names no tree", hint)
            return out._replace(workspace=texts) if key.name == "workspace" else out._replace(protect=texts)
        case Shape.WORD:
            if not isinstance(value, str):
                raise reader.fail(path, f"{key.name} takes {_quoted(key.values)}, not {_kind(value)}")
            if why := check_word(key, value):
                raise reader.fail(path, why)
            return out._replace(words=(*out.words, Word(key.name, value, reader.place(path))))
        case Shape.SWITCH:
            if not isinstance(value, bool):
                raise reader.fail(path, f"{key.name} takes true or false, not {_kind(value)}")
            return out._replace(words=(*out.words, Word(key.name, str(value).lower(), reader.place(path))))
        case Shape.IDS:
            ids = []
            for index, item in enumerate(_texts(reader, path, value, "guard ids")):
                if item not in GUARD_IDS:
                    raise reader.fail(
                        (key.name, index), f'unknown guard "{item}"; {nearest(item, GUARD_IDS)}'
                    )
                ids.append((item, reader.place((key.name, index))))
            return out._replace(unguard=tuple(ids))
        case Shape.TABLES:
            return _tables(reader, out, key, value, home)
    return assert_never(key.shape)


def _texts(reader: _Reader, path: Path, value: Any, of: str) -> list[str]:
    if not isinstance(value, list):
        hint = f'write {path[0]} = ["{value}"]' if isinstance(value, str) else ""
        raise reader.fail(path, f"{path[0]} takes an array of {of}, not {_kind(value)}", hint)
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise reader.fail((*path, index), f"{path[0]} takes an array of {of}; this one is {_kind(item)}")
    return value


def _tables(reader: _Reader, out: LayerText, key: Key, value: Any, home: str | None) -> LayerText:
    fields = {field.name: field for field in TABLES[key.name]}
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise reader.fail((key.name,), f"{key.name} is an array of tables", f"write [[{key.name}]]")
    for index, item in enumerate(value):
        at: Path = (key.name, index)
        for name, given in item.items():
            if name not in fields:
                raise reader.fail(
                    (*at, name), f'unknown key "{name}" in [[{key.name}]]; {nearest(name, fields)}'
                )
            _check_field(reader, key, fields[name], (*at, name), given)
        for field in fields.values():
            if field.required and field.name not in item:
                raise reader.fail(at, f'[[{key.name}]] needs "{field.name}": {field.meaning}')
        if key.name == "zone":
            out = out._replace(zones=(*out.zones, _zone(reader, out, home, (*at, "path"), item)))
        else:
            cwd = _path(reader, out.folder, home, (*at, "cwd"), item.get("cwd", ".")).spelled
            place = reader.place((*at, "path"))
            test = Expectation(item["path"], item["op"], item["expect"], cwd, place)
            out = out._replace(tests=(*out.tests, test))
    return out


def _zone(reader: _Reader, out: LayerText, home: str | None, at: Path, item: dict[str, str]) -> ZoneText:
    """One `[[zone]]`. A leading `**` means "anywhere" outside a project's file."""
    text = item["path"]
    _refuse_blanks(reader, at, text)
    try:
        pattern = split(text)
        folder = out.folder
        if pattern.deep and pattern.prefix == "." and not text.startswith("."):
            folder = out.folder if out.layer is Layer.PROJECT else "/"
        spelled = spell(pattern.prefix, folder, home)
    except PathTextError as error:
        raise reader.fail(at, str(error), error.hint) from None
    if pattern.parts and item["access"] == "write" and folder != out.folder:
        hint = 'begin the pattern with the tree it is for, as in "~/src/**/target"'
        raise reader.fail(at, f'"{text}" would grant writing anywhere on the machine', hint)
    place = reader.place(at)
    return ZoneText(PathText(text, spelled, place), item["access"], place, pattern.deep, pattern.parts)


def _check_field(reader: _Reader, key: Key, field: Field, path: Path, given: Any) -> None:
    if not isinstance(given, str):
        raise reader.fail(path, f"{field.name} in [[{key.name}]] takes text, not {_kind(given)}")
    if field.values and given not in field.values:
        raise reader.fail(path, f'{field.name} = "{given}" is not known; {nearest(given, field.values)}')


def _refuse_blanks(reader: _Reader, at: Path, text: str) -> None:
    """In a file that somebody wrote by hand this is a slip; in a flag it may be a name."""
    if text != text.strip():
        raise reader.fail(at, f'the path begins or ends with a blank: "{text}"')


def _path(reader: _Reader, folder: str, home: str | None, at: Path, text: str) -> PathText:
    _refuse_blanks(reader, at, text)
    try:
        return PathText(text, spell(text, folder, home), reader.place(at))
    except PathTextError as error:
        raise reader.fail(at, str(error), error.hint) from None


def _refuse_doubles(out: LayerText) -> None:
    """The same spelling twice in one file is a slip, and which of the two was meant cannot be told."""
    seen: dict[tuple[object, ...], tuple[str, Place]] = {}
    listed: list[tuple[str, PathText, tuple[object, ...]]] = []
    listed += [("workspace", text, ()) for text in out.workspace]
    listed += [("protect", text, ()) for text in out.protect]
    listed += [(f'[[zone]] with access "{z.access}"', z.path, (z.deep, *z.parts)) for z in out.zones]
    for what, text, pattern in sorted(listed, key=lambda row: (row[1].place.line, row[1].place.column)):
        spelled = (_lexical(text.spelled), *(pattern if any(pattern) else ()))
        if spelled in seen:
            first, place = seen[spelled]
            message = f'"{text.text}" stands here as {what} and in line {place.line} as {first}'
            raise PolicyError(message, out.source, text.place.line, text.place.column, "keep one of the two")
        seen[spelled] = (what, text.place)


def _lexical(spelled: str) -> str:
    # Only to notice doubles: never to judge, because "a/.." is not "." once a is a link.
    return "/".join(part for part in spelled.split("/") if part not in ("", "."))


def _quoted(values: tuple[str, ...]) -> str:
    return ", ".join(f'"{value}"' for value in values)


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a date or time")
