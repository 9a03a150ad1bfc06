"""A server on loopback that speaks the streams of five model providers, with a scripted model.

A test gives it replies (texts, thoughts, calls of tools, failures); each request takes the next
one, in the stream of the provider that is asked. Requests that break a documented rule of that
provider are refused as the provider would.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from support.llm_streams import PROTOCOLS, Protocol, Reply
from support.loopback import running

KEY = "key-of-the-test"
PAUSE_S = 0.01
LONGEST_HOLD_S = 20
MODELS: dict[str, Any] = {
    "anthropic": {
        "data": [{"id": "claude-test", "display_name": "Claude Test"}],
        "has_more": False,
    },
    "openai": {"data": [{"id": "gpt-test"}, {"id": "text-embedding-test"}]},
    "google": {"models": [{"name": "models/gemini-test", "displayName": "Gemini Test"}]},
    "ollama": {"models": [{"name": "llama-test:8b", "details": {"parameter_size": "8B"}}]},
    "openrouter": {
        "data": [
            {"id": "any/test", "name": "Any Test", "supported_parameters": ["tools"]},
            {"id": "no/tools", "supported_parameters": []},
        ]
    },
}
MODELS["compatible"] = MODELS["openai"]


@dataclass(kw_only=True)
class Asked:
    """A request that the model got."""

    provider: str
    body: dict[str, Any]
    headers: dict[str, str]


@dataclass(kw_only=True)
class ScriptedModel:
    """The replies that are still to come, and what was asked so far."""

    origin: str
    replies: list[Reply] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    looked_up: list[dict[str, str]] = field(default_factory=list)
    """The headers of requests for the list of models."""
    held: threading.Event = field(default_factory=threading.Event)

    def script(self, *replies: Reply) -> None:
        """Let the model give these replies, one to each request, and forget what was asked."""
        self.held.set()
        self.held = threading.Event()
        self.replies, self.asked = list(replies), []

    def address_of(self, provider: str) -> str:
        """Return the address that stands for a provider's own."""
        return f"{self.origin}/{provider}{PROTOCOLS[provider].base}"


@contextmanager
def serve_model() -> Iterator[ScriptedModel]:
    """Serve a scripted model on loopback."""
    model = ScriptedModel(origin="")
    with running(type("Handler", (_Handler,), {"model": model})) as port:
        model.origin = f"http://127.0.0.1:{port}"
        yield model
        model.held.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    model: ScriptedModel

    def log_message(self, *_args: object) -> None:
        """Say nothing."""

    def do_OPTIONS(self) -> None:
        """Let pages of every origin in, with the headers that they ask for."""
        self.send_response(204)
        self._allow()
        self.send_header(
            "Access-Control-Allow-Headers", self.headers.get("Access-Control-Request-Headers", "")
        )
        self.send_header("Access-Control-Allow-Methods", "GET, POST")
        self.end_headers()

    def do_GET(self) -> None:
        """List the models of a provider."""
        provider, protocol = self._provider()
        self.model.looked_up.append(dict(self.headers.items()))
        refusal = protocol.find_refusal(dict(self.headers.items()), KEY)
        if refusal is not None and provider != "openrouter":
            self._send_json(*refusal)
            return
        self._send_json(200, MODELS[provider])

    def do_POST(self) -> None:
        """Give the next reply."""
        provider, protocol = self._provider()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.model.asked.append(
            Asked(provider=provider, body=body, headers=dict(self.headers.items()))
        )
        refusal = protocol.find_refusal(dict(self.headers.items()), KEY) or protocol.find_mistake(
            self.path, body
        )
        if refusal is not None:
            self._send_json(*refusal)
        elif not self.model.replies:
            self._send_json(500, protocol.error("the script has no more replies"))
        else:
            self._reply(protocol, self.model.replies.pop(0))

    def _provider(self) -> tuple[str, Protocol]:
        name = self.path.split("/")[1]
        return name, PROTOCOLS[name]

    def _reply(self, protocol: Protocol, reply: Reply) -> None:
        if reply.status is not None:
            self._send_json(
                reply.status,
                protocol.error(reply.error or "refused", reply),
                wait=reply.retry_after_s,
            )
            return
        self.send_response(200)
        self._allow()
        self.send_header("Content-Type", protocol.media_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        stream = protocol.stream(reply)
        if reply.cut or reply.hold:
            stream = stream[: _middle_of_character(stream)]
        self._send_pieces(stream)
        if reply.hold:
            self.model.held.wait(LONGEST_HOLD_S)
        self.close_connection = True
        if not reply.cut:
            self.wfile.write(b"0\r\n\r\n")

    def _send_pieces(self, stream: bytes) -> None:
        cut = _middle_of_character(stream)
        for piece in (stream[:cut], stream[cut:]):
            for start in range(0, len(piece), 61):
                part = piece[start : start + 61]
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.flush()
            threading.Event().wait(PAUSE_S)

    def _send_json(self, status: int, body: Any, *, wait: int | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self._allow()
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if wait is not None:
            self.send_header("Retry-After", str(wait))
        self.end_headers()
        self.wfile.write(data)

    def _allow(self) -> None:
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Expose-Headers", "retry-after")


def _middle_of_character(stream: bytes) -> int:
    """Return a place within a character of several bytes, the last one of the stream."""
    places = [place for place, byte in enumerate(stream) if byte >= 0xC0]
    return places[-1] + 1 if places else len(stream) // 2


def names_of(tools: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of tools, whichever provider's form they have."""
    return [tool.get("name") or tool["function"]["name"] for tool in tools]
