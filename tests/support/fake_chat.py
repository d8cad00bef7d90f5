"""A scripted model that speaks OpenAI Chat Completions, as sent and understood by OpenCode 1.18.33, Pi 1.6.0,
Qwen Code 0.24.4 and Copilot CLI 1.0.102."""

from __future__ import annotations

import json
from typing import Any

from tests.support.scripted import LAST_WORD, Answer, Call, ScriptedModel, Told, calls, event_stream, joined


class FakeChat(ScriptedModel):
    @staticmethod
    def results(request: dict[str, Any]) -> list[Told]:
        said = [m for m in request.get("messages") or [] if m.get("role") == "tool"]
        return [Told(joined(message.get("content")), False) for message in said]

    @staticmethod
    def context(request: dict[str, Any]) -> str:
        said = [m for m in request.get("messages") or [] if m.get("role") not in ("tool", "assistant")]
        return "\n".join(joined(message.get("content")) for message in said)

    @staticmethod
    def offered(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
        tools = [tool.get("function") or tool.get("custom") or tool for tool in request.get("tools") or []]
        return {tool.get("name", ""): tool for tool in tools}

    def wants(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def reply(self, request: dict[str, Any], path: str, call: Call | None, step: int) -> Answer:
        message: dict[str, Any] = {"role": "assistant", "content": LAST_WORD}
        if call is not None:
            asked = {"name": call.tool, "arguments": json.dumps(call.input)}
            message = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{step}", "type": "function", "function": asked}],
            }
        head = {"id": f"chatcmpl-{len(self.requests)}", "created": 1, "model": request.get("model", "")}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        why = "tool_calls" if call else "stop"
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": why}
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            return Answer(json.dumps(whole).encode())
        delta = dict(message)
        if call is not None:
            delta["tool_calls"] = [{"index": 0, **message["tool_calls"][0]}]
        chunk = {**head, "object": "chat.completion.chunk"}
        return event_stream(
            [
                {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": why}]},
                {**chunk, "choices": [], "usage": usage},
            ],
            named=False,
            end="data: [DONE]\n\n",
        )

    def side(self, method: str, path: str) -> Answer | None:
        if method == "GET" and path.endswith("/models"):
            return Answer(b'{"object":"list","data":[]}')
        return super().side(method, path)


def serve(script: list[Any], port: int) -> FakeChat:
    """The door for `offline.py`."""
    return FakeChat(calls(script), port)
