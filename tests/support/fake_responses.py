"""A scripted model that speaks the OpenAI Responses protocol, as sent and understood by Codex CLI 0.171.0."""

from __future__ import annotations

import json
from typing import Any

from tests.support.scripted import LAST_WORD, Answer, Call, ScriptedModel, Told, calls, event_stream, joined

_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def _said(output: Any) -> str:
    return joined(output.get("content", "")) if isinstance(output, dict) else joined(output)


class FakeResponses(ScriptedModel):
    @staticmethod
    def results(request: dict[str, Any]) -> list[Told]:
        items = [i for i in request.get("input") or [] if i.get("type") in _OUTPUTS]
        return [Told(_said(item.get("output")), False) for item in items]

    @staticmethod
    def context(request: dict[str, Any]) -> str:
        said = [request.get("instructions") or ""]
        for item in request.get("input") or []:
            if item.get("type") == "message" and item.get("role") != "assistant":
                said.append(joined(item.get("content")))
        return "\n".join(said)

    @staticmethod
    def offered(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
        listed = [request, *(i for i in request.get("input") or [] if i.get("type") == "additional_tools")]
        found = {}
        todo = [tool for one in listed for tool in one.get("tools") or []]
        while todo:
            tool = todo.pop(0)
            if tool.get("type") == "namespace":
                todo += tool.get("tools") or []
            else:
                found[tool.get("name") or tool.get("type", "")] = tool
        return found

    def wants(self, path: str) -> bool:
        return path.endswith("/responses")

    def reply(self, request: dict[str, Any], path: str, call: Call | None, step: int) -> Answer:
        item: dict[str, Any]
        if call is None:
            item = {
                "type": "message",
                "role": "assistant",
                "id": f"msg_{step}",
                "content": [{"type": "output_text", "text": LAST_WORD, "annotations": []}],
            }
        elif self.offered(request).get(call.tool, {}).get("type") == "custom":
            # A free-form tool: its whole input is one text.
            item = {
                "type": "custom_tool_call",
                "id": f"ctc_{step}",
                "call_id": f"call_{step}",
                "name": call.tool,
                "input": call.input["input"],
            }
        else:
            item = {
                "type": "function_call",
                "id": f"fc_{step}",
                "call_id": f"call_{step}",
                "name": call.tool,
                "arguments": json.dumps(call.input),
            }
        response: dict[str, Any] = {"id": f"resp_{len(self.requests)}", "object": "response", "output": []}
        usage = {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        }
        done = {**response, "status": "completed", "output": [item], "usage": usage}
        return event_stream(
            [
                {"type": "response.created", "response": {**response, "status": "in_progress"}},
                {"type": "response.output_item.added", "output_index": 0, "item": item},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": done},
            ]
        )

    def side(self, method: str, path: str) -> Answer | None:
        if method == "GET" and path.endswith("/models"):
            return Answer(b'{"object":"list","data":[],"models":[]}')
        return super().side(method, path)


def serve(script: list[Any], port: int) -> FakeResponses:
    """The door for `offline.py`."""
    return FakeResponses(calls(script), port)
