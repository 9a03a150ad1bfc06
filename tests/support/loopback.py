"""Real HTTP servers on loopback: files, embeddings and reranking endpoints."""

import hashlib
import json
import re
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from stackroom.model.vectors import ModelId, Vector
from stackroom.settings import EmbeddingSettings
from support.embedders import WORD_MODEL, word_vector


class LoopbackServer:
    """A real HTTP server on a port of its own; it can die and come back on the same port."""

    def __init__(self) -> None:
        self._server: _Listener | None = None
        self._thread: threading.Thread | None = None
        self._released = threading.Event()
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        """Where the server is."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen, on the same port as before where there was one."""
        self._released = threading.Event()
        self._server = _Listener(("127.0.0.1", self.port), self._handler())
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def die(self) -> None:
        """Stop listening and let go of whoever hangs."""
        if self._server is None:
            return
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._server.cut_off()
        assert self._thread is not None
        self._thread.join()
        self._server = None

    def hang(self) -> None:
        """Hold a request until the server dies or comes to itself, at most half a minute."""
        self._released.wait(30)

    def answer(self, path: str, body: Any) -> tuple[int, bytes]:
        """Return status and body for a request; each server says how."""
        raise NotImplementedError

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._respond(None)

            def do_POST(self) -> None:
                self._respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, *_arguments: object) -> None:
                """Stay silent."""

            def _respond(self, body: Any) -> None:
                status, answer = owner.answer(self.path, body)
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    owner.write(self.wfile.write, answer)
                except OSError:
                    self.close_connection = True  # the client did not wait

        return Handler

    def write(self, send: Callable[[bytes], Any], answer: bytes) -> None:
        """Send the body."""
        send(answer)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        self._connections: list[socket.socket] = []
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection, and serve it."""
        self._connections.append(request)
        super().process_request(request, client_address)

    def cut_off(self) -> None:
        """End every connection, as the end of a process does."""
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent: clients that are killed mid-request are what some tests are about."""


@contextmanager
def running(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Answer requests by a handler while the block lasts, at a port of loopback that the block
    gets.
    """
    server = _Listener(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class FileServer(LoopbackServer):
    """Serves files as a good server does, ranges and all.

    `replies` has what it does instead, request by request, and `behaviour` what it does always.
    """

    BLOCK_BYTES = 16 << 10

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.replies: dict[str, list[Callable[[Any], None]]] = {}
        self.behaviour: Callable[[Any], None] | None = None
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.bodies: list[Any] = []
        self.sent_bytes = 0
        self.on_block: Callable[[int], None] = lambda _sent: None
        super().__init__()

    def asked(self, path: str) -> list[dict[str, str]]:
        """Return the headers of the requests for a path."""
        return [headers for asked, headers in self.requests if asked == path]

    def use_tls(self, certificates: ssl.SSLContext) -> None:
        """Speak TLS from now on."""
        assert self._server is not None
        self._server.socket = certificates.wrap_socket(self._server.socket, server_side=True)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            released = owner._released
            body: Any = None

            def do_POST(self) -> None:
                self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.bodies.append(self.body)
                self.do_GET()

            def do_GET(self) -> None:
                owner.requests.append(
                    (self.path, {key.lower(): value for key, value in self.headers.items()})
                )
                replies = owner.replies.get(self.path)
                try:
                    if replies:
                        replies.pop(0)(self)
                    elif owner.behaviour is not None:
                        owner.behaviour(self)
                    else:
                        self.serve()
                except OSError:
                    self.close_connection = True  # the client did not wait

            def serve(self, body: bytes | None = None) -> None:
                """Answer with the file, or the part of it that is asked for."""
                body = owner.files.get(self.path) if body is None else body
                if body is None:
                    self.send(404, b"no such file")
                    return
                etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
                asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
                is_same = self.headers.get("If-Range", etag) == etag
                if asked is None or not is_same:
                    self.send(200, body, {"ETag": etag})
                elif int(asked[1]) >= len(body):
                    self.send(416, b"", {"Content-Range": f"bytes */{len(body)}"})
                else:
                    first = int(asked[1])
                    place = f"bytes {first}-{len(body) - 1}/{len(body)}"
                    self.send(206, body[first:], {"ETag": etag, "Content-Range": place})

            def send(
                self,
                status: int,
                body: bytes,
                headers: Mapping[str, str] | None = None,
                *,
                length: int | None = None,
            ) -> None:
                """Answer, with any length, true or not."""
                self.send_response(status)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.send_blocks(body)
                if length is not None and length != len(body):
                    self.close_connection = True

            def send_blocks(self, body: bytes) -> None:
                for at in range(0, len(body), owner.BLOCK_BYTES):
                    block = body[at : at + owner.BLOCK_BYTES]
                    self.wfile.write(block)
                    owner.sent_bytes += len(block)
                    owner.on_block(owner.sent_bytes)

            def log_message(self, *_arguments: object) -> None:
                """Stay silent."""

        return Handler


class EmbeddingServer(LoopbackServer):
    """An OpenAI-compatible embeddings endpoint. `mood` says how it answers; `texts` counts what it
    answered.
    """

    def __init__(self, model: ModelId = WORD_MODEL) -> None:
        self.model = model
        self.mood = "well"
        self.texts: Counter[str] = Counter()
        self.requests = 0
        self.on_request: Callable[[int], None] = lambda _number: None
        self.vector_of: Callable[[str, int], Vector] = word_vector
        self._guard = threading.Lock()
        super().__init__()

    def settings(self, **changes: Any) -> EmbeddingSettings:
        """Return the settings that lead to this server."""
        values = {"kind": "infinity", "url": self.url, "timeout_s": 120.0, **changes}
        return EmbeddingSettings(model=self.model.name, dimension=self.model.dimension, **values)

    def environment(self) -> dict[str, str]:
        """Return the variables that lead a process to this server."""
        return {
            "STACKROOM_EMBED_KIND": "infinity",
            "STACKROOM_EMBED_URL": self.url,
            "STACKROOM_EMBED_MODEL": self.model.name,
            "STACKROOM_EMBED_DIMENSION": str(self.model.dimension),
        }

    def answer(self, path: str, body: Any) -> tuple[int, bytes]:
        """Answer an embeddings request in the mood of the moment."""
        if path == "/health":
            return (200, b"{}") if self.mood == "well" else (503, b"{}")
        with self._guard:
            self.requests += 1
            number = self.requests
        if self.mood == "hang":
            self.hang()
        answers: Mapping[str, Callable[[list[str]], tuple[int, bytes]]] = {
            "garbage": lambda _texts: (200, b"<html>I am a login page</html>"),
            "other form": lambda _texts: (200, b'{"data": [{"vector": 1}]}'),
            "other dimension": lambda texts: self._vectors(texts, self.model.dimension + 1),
            "too few": lambda texts: self._vectors(texts[1:], self.model.dimension),
            "nan": lambda texts: (
                200,
                self._vectors(texts, self.model.dimension)[1].replace(b"0.", b"NaN, 0.", 1),
            ),
            "not finite": lambda texts: self._same(texts, 1e999),
            "zero": lambda texts: self._same(texts, 0.0),
            "500": lambda _texts: (500, b"{}"),
        }
        texts: list[str] = body["input"]
        reply = (
            answers[self.mood](texts)
            if self.mood in answers
            else self._vectors(texts, self.model.dimension)
        )
        if self.mood == "well":
            with self._guard:
                self.texts.update(body["input"])
        self.on_request(number)
        return reply

    def write(self, send: Callable[[bytes], Any], answer: bytes) -> None:
        """Send the body, byte by byte where the mood is to trickle."""
        if self.mood != "trickle":
            send(answer)
            return
        for at in range(len(answer)):
            if self._released.wait(0.05):
                return
            send(answer[at : at + 1])

    def _vectors(self, texts: list[str], dimension: int) -> tuple[int, bytes]:
        rows = [
            {"index": i, "embedding": self.vector_of(t, dimension).tolist()}
            for i, t in enumerate(texts)
        ]
        return 200, json.dumps({"data": rows}).encode()

    def _same(self, texts: list[str], number: float) -> tuple[int, bytes]:
        rows = [
            {"index": i, "embedding": [number] * self.model.dimension} for i in range(len(texts))
        ]
        return 200, json.dumps({"data": rows}).encode()


class RerankServer(LoopbackServer):
    """A cross-encoder endpoint. `reply` makes the answer from the request's texts; bytes are sent
    as they are.
    """

    def __init__(self) -> None:
        self.reply: Callable[[list[str]], Any] = lambda texts: {"results": []}
        self.status = 200
        self.hanging = False
        self.trickling = False
        self.bodies: list[Any] = []
        super().__init__()

    def answer(self, path: str, body: Any) -> tuple[int, bytes]:
        """Answer a rerank request."""
        self.bodies.append(body)
        if self.hanging:
            self.hang()
        value = self.reply(body["documents"])
        return self.status, value if isinstance(value, bytes) else json.dumps(value).encode()

    def write(self, send: Callable[[bytes], Any], answer: bytes) -> None:
        """Send the body, byte by byte where it is to trickle."""
        for at in range(len(answer)) if self.trickling else ():
            if self._released.wait(0.02):
                return
            send(answer[at : at + 1])
        if not self.trickling:
            send(answer)
