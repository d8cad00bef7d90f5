"""A scripted model that speaks the Anthropic Messages protocol, as sent and understood by Claude Code 2.1.332."""

from __future__ import annotations

import json
from typing import Any

from tests.support.scripted import LAST_WORD, Answer, Call, ScriptedModel, Told, calls, event_stream, joined

MODEL = "claude-sonnet-4-5"


def tool_results(request: dict[str, Any]) -> list[Told]:
    """The tool results in one request, oldest first."""
    found = []
    for message in request.get("messages", []):
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                found.append(Told(joined(block.get("content")), bool(block.get("is_error"))))
    return found


def user_text(request: dict[str, Any]) -> str:
    """Everything but tool results that the user side said: prompts, reminders, hook context."""
    said = []
    for message in request.get("messages", []):
        if message.get("role") == "assistant":
            continue
        content = message.get("content")
        if isinstance(content, str):
            said.append(content)
            continue
        said.extend(block.get("text", "") for block in content or [] if block.get("type") == "text")
    return "\n".join(said)


def _events(message: dict[str, Any], call: Call | None) -> list[dict[str, Any]]:
    """The server-sent events of one answer, in the order the protocol fixes."""
    if call is None:
        start: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": LAST_WORD}
    else:
        start = {**message["content"][0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.input)}
    opened = {**message, "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": opened},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ]


class FakeAnthropic(ScriptedModel):
    results = staticmethod(tool_results)
    context = staticmethod(user_text)

    @staticmethod
    def offered(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
        return {tool.get("name", ""): tool for tool in request.get("tools") or []}

    def wants(self, path: str) -> bool:
        return path.endswith("/v1/messages")

    def reply(self, request: dict[str, Any], path: str, call: Call | None, step: int) -> Answer:
        if call is None:
            content: list[dict[str, Any]] = [{"type": "text", "text": LAST_WORD}]
        else:
            content = [
                {"type": "tool_use", "id": f"toolu_{step:04d}", "name": call.tool, "input": call.input}
            ]
        message = {
            "id": f"msg_{len(self.requests):04d}",
            "type": "message",
            "role": "assistant",
            "model": request.get("model", MODEL),
            "content": content,
            "stop_reason": "tool_use" if call else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if request.get("stream"):
            return event_stream(_events(message, call))
        return Answer(json.dumps(message).encode())

    def side(self, method: str, path: str) -> Answer | None:
        if method == "POST" and path.endswith("/v1/messages/count_tokens"):
            return Answer(b'{"input_tokens": 1}')
        return super().side(method, path)


def serve(script: list[Any], port: int) -> FakeAnthropic:
    """The door for `offline.py`."""
    return FakeAnthropic(calls(script), port)
