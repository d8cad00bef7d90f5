"""The formats that are read: one literal table, and how one is told from the beginning of an input."""

from __future__ import annotations

from ringfence.readers import archive, listing
from ringfence.readers.claude_transcript import read_claude
from ringfence.readers.codex_transcript import read_codex
from ringfence.readers.diff import read_diff
from ringfence.readers.envelope import begins, read_envelope
from ringfence.readers.gemini_transcript import read_gemini, read_gemini_document
from ringfence.readers.jsonlines import is_payload, load, read_document, read_jsonlines
from ringfence.readers.lines import read_lines, read_nul
from ringfence.readers.opencode_transcript import read_opencode_database, read_opencode_export
from ringfence.readers.pi_transcript import read_pi
from ringfence.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

HEAD = 1 << 16  # bytes of an input that the format is told from


class Format(Record):
    """One format. `takes`: what its reader is handed: "blocks" (of bytes), "file" (an open one) or "path"."""

    name: str
    what: str
    takes: str
    read: Callable[..., Any]


FORMATS: Mapping[str, Format] = {
    row.name: row
    for row in (
        Format("lines", "one path on each line", "blocks", read_lines),
        Format("nul", "paths between NUL bytes", "blocks", read_nul),
        Format(
            "jsonl",
            "JSON Lines of paths, commands, hook payloads, logged decisions",
            "blocks",
            read_jsonlines,
        ),
        Format("json", "one such JSON object, or a list of them", "blocks", read_document),
        Format("diff", "unified, git and context diffs", "blocks", read_diff),
        Format("apply-patch", "`*** Begin Patch` envelopes", "blocks", read_envelope),
        Format("tar-list", "what `tar -tv` prints", "blocks", listing.read_tar_listing),
        Format("zip-list", "what `zipinfo` or `unzip -l` prints", "blocks", listing.read_zip_listing),
        Format("tar", "a tar archive, plain or compressed", "file", archive.read_tar),
        Format("zip", "a zip archive", "file", archive.read_zip),
        Format("claude", "a transcript of Claude Code", "blocks", read_claude),
        Format("codex", "a rollout of Codex", "blocks", read_codex),
        Format("gemini", "a chat of Gemini CLI", "blocks", read_gemini),
        Format("gemini-json", "a chat of an older Gemini CLI, one document", "blocks", read_gemini_document),
        Format("opencode", "OpenCode's database", "path", read_opencode_database),
        Format("opencode-json", "what `opencode export` prints", "blocks", read_opencode_export),
        Format("pi", "a session of Pi", "blocks", read_pi),
    )
}

_MAGIC = (
    (b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip"), (b"\x1f\x8b", "tar"), (b"BZh", "tar"), (b"\xfd7zXZ\x00", "tar"),
    (b"SQLite format 3\x00", "opencode"),
)  # fmt: skip
_CLAUDE_ROWS = frozenset(
    (
        "user",
        "assistant",
        "system",
        "summary",
        "attachment",
        "queue-operation",
        "file-history-snapshot",
        "progress",
    )
)
_CODEX_ROWS = frozenset(
    ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
)


def detect(head: bytes) -> str:
    """The format that an input begins like; "lines" if nothing else fits, which fits everything."""
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if head[257:262] == b"ustar":
        return "tar"
    if b"\0" in head:
        return "nul"
    text = head.decode("utf-8", "surrogateescape").lstrip("\ufeff")
    lines = [line.rstrip("\r") for line in text.split("\n")]
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip()[:1] in {"{", "["}:
        found = _json(first, text, len(head) >= HEAD)
        if found:
            return found
    if any(map(begins, lines)):
        return "apply-patch"
    if _is_diff(lines):
        return "diff"
    if listing.looks_like_tar(first):
        return "tar-list"
    if listing.looks_like_zip(first):
        return "zip-list"
    return "lines"


def _is_diff(lines: list[str]) -> bool:
    for at, line in enumerate(lines):
        if line.startswith(("diff --git ", "diff --cc ", "diff --combined ")):
            return True
        after = lines[at + 1] if at + 1 < len(lines) else ""
        if line.startswith("--- ") and after.startswith("+++ "):
            return True
        if (
            line.startswith("*** ")
            and after.startswith("--- ")
            and "***************" in lines[at + 2 : at + 3]
        ):
            return True
    return False


def _json(first: str, text: str, cut: bool) -> str:
    """The format of a text that begins like JSON; "" if it is none."""
    value = _value(first)
    if value is None:
        whole = None if cut else _value(text)
        if isinstance(whole, dict) and "info" in whole and "messages" in whole:
            return "opencode-json"
        if isinstance(whole, dict) and "messages" in whole:
            return "gemini-json"
        if whole is not None:
            return "json"
        # Laid out over several lines, or its first line is broken: told by words that only one format has.
        if '"projectHash"' in text[:2000] and '"messages"' in text and not text.lstrip().startswith('{"'):
            return "gemini-json"
        if '"info"' in text[:200] and '"directory"' in text:
            return "opencode-json"
        return "json" if text.lstrip().startswith(("{\n", "[\n", "{\r", "[\r")) else "jsonl"
    if not isinstance(value, dict):
        return "json" if isinstance(value, list) else ""
    return _row(value, text)


def _row(value: dict[str, Any], text: str) -> str:
    kind = value.get("type")
    if is_payload(value) or "path" in value or "command" in value or "verdict" in value:
        return "jsonl"
    if kind in _CODEX_ROWS and "payload" in value:
        return "codex"
    if kind == "session" and "cwd" in value and "version" in value:
        return "pi"
    if "projectHash" in value and "sessionId" in value:
        return "gemini-json" if "messages" in value else "gemini"
    if "info" in value and "messages" in value:
        return "opencode-json"
    if kind in _CLAUDE_ROWS and ("sessionId" in value or "uuid" in value or "leafUuid" in value):
        return "claude"
    if isinstance(kind, str) and '"sessionId"' in text and '"parentUuid"' in text:
        return "claude"
    return "jsonl"


def _value(text: str) -> Any:
    try:
        return load(text)
    except ValueError:
        return None
