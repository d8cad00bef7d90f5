"""What all scripted models share: the script, which of its calls to answer with, and the server on loopback.

A script is a list of tool calls, one per turn. Which one to answer is told by the request alone: the number of
tool results already in it. So a server needs no state of its own, and an agent that repeats a request gets the
same answer twice. A request that offers no tools (titles, summaries) gets plain text. A protocol is a subclass with a handful of methods: `fake_anthropic`, `fake_responses`
(OpenAI Responses), `fake_gemini`, `fake_chat` (Chat Completions).
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

LAST_WORD = "done"
CHILD = "child:"
CHILD_TASK = "the task of a child"
REFERENCE = re.compile(r"@result(\d+):(.+?)@")
NUMBER = re.compile(r"@number(\d+):(.+?)@")


class Call(NamedTuple):
    """One tool call the model makes. `input` is sent as it stands."""

    tool: str
    input: dict[str, Any]


class Told(NamedTuple):
    """One tool result as the model was given it. `is_error`: the protocol itself marks it so (not all can)."""

    text: str
    is_error: bool


class Answer(NamedTuple):
    """What goes back over HTTP."""

    body: bytes
    kind: str = "application/json"
    status: int = 200


def filled(value: Any, results: list[Told]) -> Any:
    """`value` with each `@resultN:PATTERN@` in a string replaced by group 1 of PATTERN in the Nth tool result;
    a string that is nothing but `@numberN:PATTERN@` becomes a number.

    A script is written before the run, yet some words exist only in it: the id of a background task.
    """
    if isinstance(value, dict):
        return {name: filled(item, results) for name, item in value.items()}
    if not isinstance(value, str):
        return value

    def found(reference: re.Match[str]) -> str:
        hit = re.search(reference[2], results[int(reference[1])].text)
        return hit[1] if hit else f"nothing matches {reference[2]}"

    if number := NUMBER.fullmatch(value):
        return int(found(number))
    return REFERENCE.sub(found, value)


def event_stream(events: list[dict[str, Any]], *, named: bool = True, end: str = "") -> Answer:
    """Server-sent events; `named`: each has an `event:` line of its type. `end`: what the stream closes with."""
    lines = [(f"event: {e['type']}\n" if named else "") + f"data: {json.dumps(e)}\n\n" for e in events]
    return Answer(("".join(lines) + end).encode(), "text/event-stream")


class ScriptedModel:
    """A server on 127.0.0.1; `port` 0 is one of the kernel's choice. Use as a context manager.

    `requests` keeps every request for an answer with its decoded body, `unknown` every other path asked for.
    """

    def __init__(self, script: list[Call], port: int = 0) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.unknown: list[str] = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
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

    # ---- what a protocol says of itself ----

    @staticmethod
    def results(request: dict[str, Any]) -> list[Told]:
        """The tool results in one request, oldest first."""
        raise NotImplementedError

    @staticmethod
    def context(request: dict[str, Any]) -> str:
        """Everything but tool results that was said to the model."""
        raise NotImplementedError

    @staticmethod
    def offered(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The tools in one request, by name."""
        raise NotImplementedError

    def wants(self, path: str) -> bool:
        """Whether a POST to `path` asks for an answer."""
        raise NotImplementedError

    def reply(self, request: dict[str, Any], path: str, call: Call | None, step: int) -> Answer:
        """The answer that makes `call`, or says the last word."""
        raise NotImplementedError

    def side(self, method: str, path: str) -> Answer | None:
        """Whatever else the agent may ask for: None is a 404, and noted."""
        return Answer(b"", "text/plain") if method == "HEAD" else None

    # ---- one exchange ----

    def exchange(self, method: str, path: str, body: bytes) -> Answer:
        where, _, query = path.partition("?")
        with self._lock:
            if method == "POST" and self.wants(where):
                request = json.loads(body)
                self.requests.append(request)
                call, step = self._next(request)
                return self.reply(request, f"{where}?{query}", call, step)
            known = self.side(method, where)
            if known is not None:
                return known
            self.unknown.append(f"{method} {path}")
        return Answer(b'{"error":{"type":"not_found_error","message":"-"}}', status=404)

    def _script_of(self, request: dict[str, Any]) -> list[Call]:
        """The calls of this conversation. Those of a sub-agent are marked `child:`; it is told by `CHILD_TASK` in
        the prompt that the first call of the script gave it."""
        own = [call for call in self.script if not call.tool.startswith(CHILD)]
        if len(own) == len(self.script) or CHILD_TASK not in self.context(request):
            return own
        return [Call(call.tool.removeprefix(CHILD), call.input) for call in self.script if call not in own]

    def _next(self, request: dict[str, Any]) -> tuple[Call | None, int]:
        results = self.results(request)
        step = len(results)
        script = self._script_of(request)
        if not self.offered(request) or step >= len(script):
            return None, step
        call = script[step]
        return Call(call.tool, filled(call.input, results)), step


def _handler(server: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            answer = server.exchange(self.command, self.path, body)
            self.send_response(answer.status)
            self.send_header("content-type", answer.kind)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        do_POST = do_GET = do_HEAD = _serve  # noqa: N815 - the names that the base class looks for

        def log_message(self, *_: object) -> None:
            """Silent: the requests are kept, and the test prints what it needs."""

    return Handler


def calls(script: list[Any]) -> list[Call]:
    """The script as it comes out of JSON."""
    return [Call(tool, given) for tool, given in script]


def joined(content: Any) -> str:
    """The text of a message's content: a string, or blocks of which some carry text."""
    if isinstance(content, str):
        return content
    return "\n".join(
        block if isinstance(block, str) else block.get("text", f"[{block.get('type')}]")
        for block in content or []
    )
