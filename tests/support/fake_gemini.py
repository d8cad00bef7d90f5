"""A scripted model that speaks Gemini's generateContent, as sent and understood by Gemini CLI 0.61.0."""

from __future__ import annotations

import json
from typing import Any

from tests.support.scripted import LAST_WORD, Answer, Call, ScriptedModel, Told, calls, event_stream


def _parts(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for content in request.get("contents") or [] for part in content.get("parts") or []]


class FakeGemini(ScriptedModel):
    @staticmethod
    def results(request: dict[str, Any]) -> list[Told]:
        found = []
        for part in _parts(request):
            if "functionResponse" in part:
                response = part["functionResponse"].get("response") or {}
                said = response.get("error", response.get("output", response))
                text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
                found.append(Told(text, "error" in response))
        return found

    @staticmethod
    def context(request: dict[str, Any]) -> str:
        system = (request.get("systemInstruction") or {}).get("parts") or []
        spoken = [
            part
            for content in request.get("contents") or []
            if content.get("role") != "model"
            for part in content.get("parts") or []
        ]
        return "\n".join(part["text"] for part in (*system, *spoken) if "text" in part)

    @staticmethod
    def offered(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
        declared = [d for tool in request.get("tools") or [] for d in tool.get("functionDeclarations") or []]
        return {one.get("name", ""): one for one in declared}

    def wants(self, path: str) -> bool:
        return path.endswith((":generateContent", ":streamGenerateContent"))

    def reply(self, request: dict[str, Any], path: str, call: Call | None, step: int) -> Answer:
        part: dict[str, Any] = {"text": LAST_WORD}
        if call is not None:
            part = {"functionCall": {"id": f"call_{step}", "name": call.tool, "args": call.input}}
        answer = {
            "candidates": [
                {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": "scripted",
        }
        if ":streamGenerateContent" in path:
            return event_stream([answer], named=False)
        return Answer(json.dumps(answer).encode())

    def side(self, method: str, path: str) -> Answer | None:
        if path.endswith(":countTokens"):
            return Answer(b'{"totalTokens": 1}')
        return super().side(method, path)


def serve(script: list[Any], port: int) -> FakeGemini:
    """The door for `offline.py`."""
    return FakeGemini(calls(script), port)
