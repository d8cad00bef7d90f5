"""A scripted model that speaks the Anthropic Messages protocol on loopback.

The script is a list of tool calls, one per turn. Which one to answer is told by the request alone: the number of
tool results already in it. So the server needs no state of its own, and an agent that repeats a request gets the
same answer twice. A request that offers no tools (titles, summaries) gets plain text.

Protocol as sent and understood by Claude Code 2.1.332.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

MODEL = "claude-sonnet-4-5"
LAST_WORD = "done"


class Call(NamedTuple):
    """One tool call the model makes. `input` is sent as it stands."""

    tool: str
    input: dict[str, Any]


REFERENCE = re.compile(r"@result(\d+):(.+?)@")


class Told(NamedTuple):
    """One tool result as the model was given it."""

    text: str
    is_error: bool


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", f"[{block.get('type')}]") for block in content or [])


def tool_results(request: dict[str, Any]) -> list[Told]:
    """The tool results in one request, oldest first."""
    found = []
    for message in request.get("messages", []):
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                found.append(Told(_text_of(block.get("content")), bool(block.get("is_error"))))
    return found


def _filled(value: Any, results: list[Told]) -> Any:
    """`value` with each `@resultN:PATTERN@` in a string replaced by group 1 of PATTERN in the Nth tool result.

    A script is written before the run, yet some words exist only in it: the id of a background task.
    """
    if isinstance(value, dict):
        return {name: _filled(item, results) for name, item in value.items()}
    if not isinstance(value, str):
        return value

    def found(reference: re.Match[str]) -> str:
        hit = re.search(reference[2], results[int(reference[1])].text)
        return hit[1] if hit else f"nothing matches {reference[2]}"

    return REFERENCE.sub(found, value)


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


class FakeAnthropic:
    """A server on 127.0.0.1, on a port of the kernel's choice. Use as a context manager.

    `requests` keeps every Messages request with its decoded body, `unknown` every other path asked for.
    """

    def __init__(self, script: list[Call]) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.unknown: list[str] = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, request: dict[str, Any]) -> tuple[dict[str, Any], Call | None]:
        """The message to send and the call in it, if it is one."""
        results = tool_results(request)
        step = len(results)
        call = self.script[step] if request.get("tools") and step < len(self.script) else None
        if call is not None:
            call = Call(call.tool, _filled(call.input, results))
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
        return message, call

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                where = self.path.partition("?")[0]
                if where == "/v1/messages":
                    self._messages(json.loads(body))
                elif where == "/v1/messages/count_tokens":
                    self._send(200, "application/json", b'{"input_tokens": 1}')
                else:
                    self._refuse()

            def do_GET(self) -> None:
                self._refuse()

            def do_HEAD(self) -> None:
                self._send(200, "text/plain", b"")

            def _messages(self, request: dict[str, Any]) -> None:
                with server._lock:
                    server.requests.append(request)
                    message, call = server.answer(request)
                if not request.get("stream"):
                    self._send(200, "application/json", json.dumps(message).encode())
                    return
                lines = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in _events(message, call)]
                self._send(200, "text/event-stream", "".join(lines).encode())

            def _refuse(self) -> None:
                with server._lock:
                    server.unknown.append(f"{self.command} {self.path}")
                self._send(
                    404,
                    "application/json",
                    b'{"type":"error","error":{"type":"not_found_error","message":"-"}}',
                )

            def _send(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Silent: the requests are kept, and the test prints what it needs."""

        return Handler


def serve(script: list[Any]) -> FakeAnthropic:
    """The door for `offline.py`: the script as it comes out of JSON."""
    return FakeAnthropic([Call(tool, given) for tool, given in script])
