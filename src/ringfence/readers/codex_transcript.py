"""Codex's rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.

Source: Codex 0.171.0, run. `response_item` rows hold what the model asked for, `item_completed` rows what ran; in code
mode (`exec` takes JavaScript) commands stand only in the latter. A folder named by a call is relative to the turn's.
"""

from __future__ import annotations

from ringfence.proposals import CallProposal, CommandProposal, Malformed
from ringfence.readers.jsliteral import literal_calls
from ringfence.readers.jsonlines import load
from ringfence.readers.rows import dict_of, list_of, rows, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ringfence.proposals import Proposal
    from ringfence.readers.options import Options

_SHELLS = frozenset(("exec_command", "shell", "local_shell", "container.exec"))
_INLINE = ("-c", "-lc")
_IN_SCRIPT = "inside a script of the model"
# The hook never sees these either: they touch no file.
_SILENT = frozenset(
    ("update_plan", "request_user_input", "wait", "list_mcp_resources", "list_mcp_resource_templates")
)


def read_codex(source: str, blocks: Iterable[bytes], options: Options) -> Iterator[Proposal]:
    """A record for each call of the model, and for each command or edit that ran without standing in one."""
    return _Reader(source, options).run(blocks)


class _Reader:
    def __init__(self, source: str, options: Options) -> None:
        self.source = source
        self.options = options
        self.cwd = options.cwd
        self.session = ""
        self.seen: set[str] = set()
        self.told: list[tuple[str, str]] = []  # calls read from scripts whose rows have not come yet

    def run(self, blocks: Iterable[bytes]) -> Iterator[Proposal]:
        for row in rows(self.source, blocks):
            if isinstance(row, Malformed):
                yield row
                continue
            line, entry = row
            payload = dict_of(entry.get("payload"))
            kind = entry.get("type")
            if kind in {"session_meta", "turn_context"}:
                self.cwd = text_of(payload.get("cwd")) or self.cwd
                self.session = text_of(payload.get("session_id") or payload.get("id")) or self.session
            elif kind == "response_item":
                yield from self._asked(line, payload)
            elif kind == "event_msg" and payload.get("type") == "item_completed":
                yield from self._ran(line, dict_of(payload.get("item")))

    def _asked(self, line: int, item: dict[str, Any]) -> Iterator[Proposal]:
        kind = item.get("type")
        name, call = text_of(item.get("name")), text_of(item.get("call_id") or item.get("id"))
        if kind == "custom_tool_call" and name == "exec":
            yield from self._script(line, call, text_of(item.get("input")))
        elif kind == "custom_tool_call":
            self.seen.add(call)
            field = "command" if name == "apply_patch" else "input"
            yield self._call(line, call, name, {field: item.get("input")}, self.cwd)
        elif kind == "local_shell_call":
            self.seen.add(call)
            yield from self._shell(line, call, dict_of(item.get("action")))
        elif kind == "function_call":
            self.seen.add(call)
            try:
                given = load(text_of(item.get("arguments")))
            except ValueError as error:
                yield Malformed(
                    self.source, line, f"the arguments of {name or 'a call'} are not JSON: {error}"
                )
                return
            if not isinstance(given, dict):
                yield Malformed(self.source, line, f"the arguments of {name or 'a call'} are not an object")
            elif name in _SHELLS:
                yield from self._shell(line, call, given)
            elif name == "write_stdin":
                yield from self._fed(line, given)
            elif name == "apply_patch":
                yield self._call(
                    line, call, name, {"command": given.get("input", given.get("patch"))}, self.cwd
                )
            elif name not in _SILENT:
                yield self._call(line, call, name, given, self.cwd)

    def _script(self, line: int, call: str, text: str) -> Iterator[Proposal]:
        """Code mode: the hook sees each call inside; here they stand in the script's text, and those that ran in rows
        of their own. A script that cannot be read whole is said to be one, since a refused call leaves no row."""
        calls, complete = literal_calls(text)
        for number, (name, given) in enumerate(calls):
            own = f"{call}.{number}"
            if isinstance(given, str) and name == "apply_patch":
                self.told.append(("apply_patch", given))
                yield self._call(line, own, name, {"command": given}, self.cwd, _IN_SCRIPT)
            elif not isinstance(given, dict):
                complete = complete and given is None
            elif name in _SHELLS:
                self.told.append(("Bash", text_of(given.get("cmd", given.get("command")))))
                yield from self._shell(line, own, given)
            elif name == "write_stdin":
                yield from self._fed(line, given)
            elif name not in _SILENT:
                yield self._call(line, own, name, given, self.cwd, _IN_SCRIPT)
        if not complete:
            yield Malformed(
                self.source, line, "a script of the model whose calls cannot all be read from its text"
            )

    def _shell(self, line: int, call: str, given: dict[str, Any]) -> Iterator[Proposal]:
        command = given.get("cmd", given.get("command"))
        if isinstance(command, list):
            command = _text_of_words(command)
        if not isinstance(command, str):
            yield Malformed(self.source, line, "a shell call without a command")
            return
        cwd = text_of(given.get("workdir") or given.get("working_directory"))
        yield self._call(line, call, "Bash", {"command": command}, self._at(cwd))

    def _fed(self, line: int, given: dict[str, Any]) -> Iterator[Proposal]:
        text = text_of(given.get("chars"))
        if text.strip():
            yield CommandProposal(
                self.source, line, text, self.cwd, self.options.shell, "codex", "typed into a running program"
            )

    def _ran(self, line: int, item: dict[str, Any]) -> Iterator[Proposal]:
        call = text_of(item.get("id"))
        if call in self.seen:
            return
        if item.get("type") == "CommandExecution":
            command = _text_of_words(list_of(item.get("command")))
            cwd = text_of(item.get("cwd")).removeprefix("file://")
            if command is None:
                yield Malformed(self.source, line, "a command that ran and is not told")
            elif not self._was_told("Bash", command):
                yield self._call(line, call, "Bash", {"command": command}, self._at(cwd), _IN_SCRIPT)
        elif item.get("type") == "FileChange":
            patch = _as_patch(dict_of(item.get("changes")))
            if not self._was_told("apply_patch"):
                yield self._call(line, call, "apply_patch", {"command": patch}, self.cwd, _IN_SCRIPT)

    def _was_told(self, tool: str, text: str | None = None) -> bool:
        """Whether a script's text told this call, so that it was judged there. Each told call stands for one that ran;
        patches are told apart by their order, because what ran is written down in other words."""
        for at, (name, given) in enumerate(self.told):
            if name == tool and (text is None or given == text):
                del self.told[at]
                return True
        return False

    def _at(self, folder: str) -> str:
        return folder if folder.startswith("/") or not folder else f"{self.cwd}/{folder}"

    def _call(
        self, line: int, call: str, tool: str, given: dict[str, Any], cwd: str, note: str = ""
    ) -> CallProposal:
        payload = {
            "session_id": self.session or "unknown",
            "turn_id": "transcript",
            "transcript_path": self.options.path or None,
            "cwd": cwd or self.cwd,
            "hook_event_name": "PreToolUse",
            "model": "",
            "permission_mode": "default",
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": call,
        }
        return CallProposal(self.source, line, "codex", payload, call, note)


def _text_of_words(words: list[Any]) -> str | None:
    """The text behind `bash -lc`, or the words quoted; None if they are no words."""
    if not words or not all(isinstance(word, str) for word in words):
        return None
    if len(words) == 3 and words[1] in _INLINE:
        return str(words[2])
    import shlex

    return shlex.join(words)


def _as_patch(changes: dict[str, Any]) -> str:
    """Changes that were made, as the patch that would make them: only names count here."""
    lines = ["*** Begin Patch"]
    verbs = {"add": "Add", "delete": "Delete"}
    for path, change in changes.items():
        kind = text_of(dict_of(change).get("type"))
        lines.append(f"*** {verbs.get(kind, 'Update')} File: {path}")
        moved = dict_of(change).get("move_path")
        if isinstance(moved, str):
            lines.append(f"*** Move to: {moved}")
        lines.append("+" if kind == "add" else "@@") if kind != "delete" else None
    return "\n".join([*lines, "*** End Patch", ""])
