"""What tests share: the real model, the sample library, a small embedder in memory and one behind a real HTTP server.

Test modules do not import each other; everything shared is a fixture, or a class that a fixture hands out.
"""

import hashlib
import io
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import wave
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import filelock
import httpx
import numpy as np
import pytest
from mutagen import id3
from mutagen.wave import WAVE

from pinakes.assembly.app import App
from pinakes.assembly.build import SAMPLES, add_sample
from pinakes.catalogue.loader import get_builtin
from pinakes.catalogue.spec import CatalogueSpec, embedding_text
from pinakes.embed.weights import pull_model
from pinakes.errors import ExpectedError, UnavailableError
from pinakes.gate.answer import Answer
from pinakes.gate.gate import Gate
from pinakes.ingest.pipeline import digest_of
from pinakes.model.principal import LOCAL_USER
from pinakes.model.record import Record, RecordId, Tag
from pinakes.model.vectors import ModelId, Vector
from pinakes.settings import EmbeddingSettings, Settings
from pinakes.shelf.port import Embedding, Put
from support.memory_shelf import MemoryShelf

REPO = Path(__file__).resolve().parent.parent
MODEL_CACHE = REPO / ".cache" / "models"
SHARED_DATA = REPO.parent / "shared" / "data"
PINAKES = (sys.executable, "-m", "pinakes")
"""The command of this tree, whichever is installed."""
WORD = re.compile(r"\w+")
WORD_MODEL = ModelId(name="word-hash", dimension=64)


def word_vector(text: str, dimension: int) -> Vector:
    """Return a unit vector that is the same for the same words, and nearer the more words two texts share."""
    total = np.zeros(dimension)
    for word in WORD.findall(text.lower()) or [text]:
        seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
        total += np.random.default_rng(seed).normal(size=dimension)
    return (total / np.linalg.norm(total)).astype(np.float32)


class WordEmbedder:
    """Implements `Embedder` by hashing words, and counts what it is asked for."""

    def __init__(self, model: ModelId = WORD_MODEL) -> None:
        self.model = model
        self.documents: Counter[str] = Counter()
        self.queries: list[str] = []
        self.problem: str | None = None

    def check(self) -> str | None:
        """Return why the embedder cannot be used now."""
        return self.problem

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one row a text."""
        self._require_well()
        self.documents.update(texts)
        rows = [word_vector(text, self.model.dimension) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.model.dimension)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query."""
        self._require_well()
        self.queries.append(text)
        return word_vector(text, self.model.dimension)

    def _require_well(self) -> None:
        if self.problem:
            raise UnavailableError(self.problem)


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
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
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

    def come_to_itself(self) -> None:
        """Let go of whoever hangs."""
        self._released.set()
        self._released = threading.Event()

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


class FileServer(LoopbackServer):
    """Serves files as a good server does, ranges and all; `replies` has what it does instead, request by request."""

    BLOCK_BYTES = 16 << 10

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.replies: dict[str, list[Callable[[Any], None]]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
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

            def do_GET(self) -> None:
                owner.requests.append((self.path, {key.lower(): value for key, value in self.headers.items()}))
                replies = owner.replies.get(self.path)
                try:
                    if replies:
                        replies.pop(0)(self)
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
                self, status: int, body: bytes, headers: Mapping[str, str] | None = None, *, length: int | None = None
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
    """An OpenAI-compatible embeddings endpoint. `mood` says how it answers; `texts` counts what it answered."""

    def __init__(self, model: ModelId = WORD_MODEL) -> None:
        self.model = model
        self.mood = "well"
        self.texts: Counter[str] = Counter()
        self.requests = 0
        self.on_request: Callable[[int], None] = lambda _number: None
        self._guard = threading.Lock()
        super().__init__()

    def settings(self, **changes: Any) -> EmbeddingSettings:
        """Return the settings that lead to this server."""
        values = {"kind": "infinity", "url": self.url, "path": "/embeddings", "timeout_s": 0.3, **changes}
        return EmbeddingSettings(model=self.model.name, dimension=self.model.dimension, **values)

    def environment(self) -> dict[str, str]:
        """Return the variables that lead a process to this server."""
        return {
            "PINAKES_EMBED_KIND": "infinity",
            "PINAKES_EMBED_URL": self.url,
            "PINAKES_EMBED_MODEL": self.model.name,
            "PINAKES_EMBED_DIMENSION": str(self.model.dimension),
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
            "nan": lambda texts: (200, self._vectors(texts, self.model.dimension)[1].replace(b"0.", b"NaN, 0.", 1)),
            "not finite": lambda texts: self._same(texts, 1e999),
            "zero": lambda texts: self._same(texts, 0.0),
            "500": lambda _texts: (500, b"{}"),
        }
        reply = answers.get(self.mood, lambda texts: self._vectors(texts, self.model.dimension))(body["input"])
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

    @staticmethod
    def _vectors(texts: list[str], dimension: int) -> tuple[int, bytes]:
        rows = [{"index": i, "embedding": word_vector(t, dimension).tolist()} for i, t in enumerate(texts)]
        return 200, json.dumps({"data": rows}).encode()

    def _same(self, texts: list[str], number: float) -> tuple[int, bytes]:
        rows = [{"index": i, "embedding": [number] * self.model.dimension} for i in range(len(texts))]
        return 200, json.dumps({"data": rows}).encode()


class RerankServer(LoopbackServer):
    """A cross-encoder endpoint. `reply` makes the answer from the request's texts; bytes are sent as they are."""

    def __init__(self) -> None:
        self.reply: Callable[[list[str]], Any] = lambda texts: {"results": []}
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
        return 200, value if isinstance(value, bytes) else json.dumps(value).encode()

    def write(self, send: Callable[[bytes], Any], answer: bytes) -> None:
        """Send the body, byte by byte where it is to trickle."""
        for at in range(len(answer)) if self.trickling else ():
            if self._released.wait(0.02):
                return
            send(answer[at : at + 1])
        if not self.trickling:
            send(answer)


@dataclass(kw_only=True)
class Shelved:
    """A catalogue in memory with the word embedder, and ways to fill it."""

    spec: CatalogueSpec
    embedder: WordEmbedder = field(default_factory=WordEmbedder)
    shelf: MemoryShelf = field(init=False)

    def __post_init__(self) -> None:
        self.shelf = MemoryShelf(self.spec, model=self.embedder.model)

    def put(self, *records: Record, embed: bool = True) -> None:
        """Put the records, with the vectors of their texts."""
        assert self.spec.embed is not None
        for record in records:
            text = embedding_text(self.spec.embed, record)
            vector = word_vector(text, self.embedder.model.dimension)
            embedding = Embedding(digest=digest_of(text), vector=vector) if embed else None
            self.shelf.apply([Put(record=record, embedding=embedding)])


def make_anime(name: str, **fields: Any) -> Record:
    """Return a record of the anime catalogue: `name` is its id and, unless given, its title; tags are plain words."""
    tags = tuple(tag if isinstance(tag, Tag) else Tag("theme", tag) for tag in fields.pop("tags", ()))
    values = {"title": name, "type": "TV", "status": "FINISHED", "tags": tags, **fields}
    return Record(id=RecordId(name), fields={key: value for key, value in values.items() if value not in (None, ())})


@dataclass(frozen=True, kw_only=True)
class Library:
    """A library on disk, opened in this process."""

    home: Path
    app: App
    gate: Gate

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool as the local user."""
        return self.gate.call(LOCAL_USER, tool, arguments)

    def structured(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must answer, and return its structured content."""
        answer = self.call(tool, **arguments)
        assert not answer.is_error, answer.text
        assert answer.structured is not None
        return answer.structured


@contextmanager
def opened(settings: Settings, *names: str) -> Iterator[Library]:
    """Open these catalogues of a library; all, where none is named."""
    app = App(settings)
    try:
        yield Library(home=settings.home, app=app, gate=app.build_gate(names))
    finally:
        app.close()


class ServerProcess:
    """`pinakes serve --http` as a process of its own, on a free port, ended with the test."""

    def __init__(self, home: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.environment = {**os.environ, "PINAKES_HOME": str(home), "LOG_LEVEL": "WARNING", **(environment or {})}
        self.log: list[str] = []
        self._heard = threading.Event()
        command = [*PINAKES, "serve", "--http", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        if not self._heard.wait(60):
            self.stop()
            raise AssertionError(f"the server did not come up: {self.log}")
        self.url = self._find(r"serving at (http://[^ ]+)")
        self.port = int(self.url.rpartition(":")[2])
        wait_until(self._is_ready, timeout_s=60)

    @property
    def admin_secret(self) -> str:
        """The one-time password of the first admin, as it was printed."""
        return self._find(r"password  (\S+)")

    def token(self, user: str, *, name: str = "test", **options: str) -> str:
        """Make a token for a user on this machine."""
        more = [part for key, value in options.items() for part in (f"--{key}", value)]
        return self.run("token", "add", name, "--user", user, *more).strip()

    def run(self, *arguments: str) -> str:
        """Run a `pinakes` command on the same library, and return what it wrote to standard output."""
        done = subprocess.run(
            [*PINAKES, *arguments], env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self, number: int = signal.SIGTERM, timeout_s: float = 20) -> int:
        """End the process, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self._listener.join(5)
            assert self.process.stderr is not None
            self.process.stderr.close()
        return code

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if "serving at" in line:
                self._heard.set()
        self._heard.set()

    def _find(self, pattern: str) -> str:
        found = re.search(pattern, "".join(self.log))
        assert found, self.log
        return found[1]

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.log
        try:
            return httpx.get(f"{self.url}/health/ready", timeout=5).status_code == 200
        except httpx.TransportError:
            return False


@pytest.fixture(scope="session")
def tagged_wav() -> Callable[..., bytes]:
    """Make a second of silence, with tags."""

    def make(*, title: str, album: str, artist: str) -> bytes:
        sound = io.BytesIO()
        with wave.open(sound, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8_000)
            file.writeframes(bytes(16_000))
        tagged = WAVE(sound)
        tagged.add_tags()
        for frame, text in ((id3.TIT2, title), (id3.TALB, album), (id3.TPE1, artist)):
            tagged.tags.add(frame(text=text))
        sound.seek(0)
        tagged.save(sound)
        return sound.getvalue()

    return make


def wait_until(is_so: Callable[[], bool], *, timeout_s: float) -> None:
    """Wait until something is so; fail where it does not become so in time."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, "it did not become so in time"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., ServerProcess]]:
    """Start `pinakes serve --http` on a library; what still runs at the end is ended."""
    started: list[ServerProcess] = []

    def start(home: Path, *arguments: str, **named: Any) -> ServerProcess:
        started.append(ServerProcess(home, *arguments, **named))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.stop()


@pytest.fixture(scope="session")
def models_folder() -> Path:
    """The folder with the real embedding model, made ready once and kept in the repository's cache."""
    MODEL_CACHE.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(MODEL_CACHE / "lock", timeout=600):
            pull_model(MODEL_CACHE)
    except (ExpectedError, filelock.Timeout) as error:
        pytest.skip(f"the embedding model cannot be had here: {error}")
    return MODEL_CACHE


@pytest.fixture(scope="session")
def sample_home(models_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the sample catalogue, built by the app with the real model."""
    home = tmp_path_factory.mktemp("library")
    (home / "models").symlink_to(models_folder, target_is_directory=True)
    app = App(Settings(home=home))
    report = add_sample(app, "anime", progress=lambda _report: None)
    assert report.rejected == 0
    app.close()
    return home


@pytest.fixture(scope="session")
def sample(sample_home: Path) -> Iterator[Library]:
    """The sample library, opened in this process."""
    with opened(Settings(home=sample_home), "anime") as library:
        yield library


@pytest.fixture(scope="session")
def plain_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the sample catalogue without vectors: built in a moment, and needs no model."""
    home = tmp_path_factory.mktemp("plain")
    app = App(Settings(home=home))
    add_sample(app, "anime", progress=lambda _report: None, embed=False)
    app.close()
    return home


@pytest.fixture(scope="session")
def whole_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with every sample catalogue, without vectors."""
    home = tmp_path_factory.mktemp("whole")
    app = App(Settings(home=home))
    for one in SAMPLES:
        report = add_sample(app, one.name, progress=lambda _report: None, embed=False)
        assert (report.rejected, report.duplicates) == (0, 0)
    app.close()
    return home


@pytest.fixture(scope="session")
def whole(whole_home: Path) -> Iterator[Library]:
    """The library with every sample catalogue, opened in this process."""
    with opened(Settings(home=whole_home)) as library:
        yield library


@pytest.fixture(scope="session")
def plain(plain_home: Path) -> Iterator[Library]:
    """The library without vectors, opened in this process."""
    with opened(Settings(home=plain_home), "anime") as library:
        yield library


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the real data sets."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the real data sets are not here ({SHARED_DATA})")
    return SHARED_DATA


@pytest.fixture(scope="session")
def anime_spec() -> CatalogueSpec:
    """The anime catalogue's declaration."""
    return get_builtin("anime").spec


@pytest.fixture
def shelved(anime_spec: CatalogueSpec) -> Shelved:
    """An empty anime catalogue in memory."""
    return Shelved(spec=anime_spec)


@pytest.fixture
def new_shelved() -> Callable[[CatalogueSpec], Shelved]:
    """Make an empty catalogue in memory for a spec."""
    return lambda spec: Shelved(spec=spec)


@pytest.fixture(scope="session")
def anime() -> Callable[..., Record]:
    """Make a record of the anime catalogue."""
    return make_anime


@pytest.fixture
def embedder() -> WordEmbedder:
    """An embedder in memory."""
    return WordEmbedder()


@pytest.fixture
def new_embedder() -> Callable[[ModelId], WordEmbedder]:
    """Make an embedder in memory, of any model."""
    return WordEmbedder


@pytest.fixture
def embedding_server() -> Iterator[EmbeddingServer]:
    """A real embeddings endpoint on loopback."""
    server = EmbeddingServer()
    yield server
    server.die()


@pytest.fixture
def file_server() -> Iterator[FileServer]:
    """A real server of files on loopback."""
    server = FileServer()
    yield server
    server.die()


@pytest.fixture
def rerank_server() -> Iterator[RerankServer]:
    """A real rerank endpoint on loopback."""
    server = RerankServer()
    yield server
    server.die()


@pytest.fixture(scope="session")
def open_library() -> Callable[[Settings], Any]:
    """Open the anime catalogue of a library, as a context manager."""
    return opened


@pytest.fixture(scope="session")
def is_updating_golden() -> bool:
    """Whether golden files are to be rewritten rather than compared."""
    return os.environ.get("PINAKES_UPDATE_GOLDEN") == "1"
