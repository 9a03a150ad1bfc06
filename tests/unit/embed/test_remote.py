"""The remote embedder against a real server on loopback that behaves well, badly, and not at
all.
"""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from stackroom.embed.remote import RemoteEmbedder
from stackroom.errors import UnavailableError
from stackroom.settings import EmbeddingSettings
from support.loopback import FileServer

TIMEOUT_S = 0.3
PATIENT_TIMEOUT_S = 120.0
DIMENSION = 4

Behaviour = Callable[[Any], None]


def rows_for(texts: list[str]) -> list[dict[str, Any]]:
    return [{"index": place, "embedding": [len(text), 1, 0, 0]} for place, text in enumerate(texts)]


def answering(make: Callable[[list[str]], Any]) -> Behaviour:
    return lambda handler: handler.send(200, json.dumps(make(handler.body["input"])).encode())


well = answering(lambda texts: {"data": rows_for(texts)})


def hang(handler: Any) -> None:
    handler.released.wait(30)


def trickle_body(handler: Any) -> None:
    handler.send(200, b"{", length=1_000_000)
    while not handler.released.wait(TIMEOUT_S / 10):
        handler.wfile.write(b" ")


def pause_within_body(handler: Any) -> None:
    handler.send(200, b"{", length=1_000)
    handler.released.wait(TIMEOUT_S * 0.9)
    handler.wfile.write(b" ")
    handler.released.wait(30)


def close_half_way(handler: Any) -> None:
    handler.send(200, b'{"data": [', length=1_000)


def close_at_once(handler: Any) -> None:
    handler.close_connection = True


def one_row(row: Any) -> Behaviour:
    return answering(lambda texts: {"data": [{"index": 0, "embedding": row} for _ in texts]})


@pytest.fixture
def server(file_server: FileServer) -> FileServer:
    """A server of embeddings that behaves well until it is told otherwise."""
    file_server.behaviour = well
    return file_server


@pytest.fixture
def settings(server: FileServer) -> EmbeddingSettings:
    return EmbeddingSettings(
        kind="infinity",
        url=server.url,
        model="small",
        dimension=DIMENSION,
        timeout_s=PATIENT_TIMEOUT_S,
        batch_size=2,
    )


@pytest.fixture
def embedder(settings: EmbeddingSettings) -> Iterator[RemoteEmbedder]:
    embedder = RemoteEmbedder(settings)
    yield embedder
    embedder.close()


@pytest.fixture
def hasty(settings: EmbeddingSettings) -> Iterator[RemoteEmbedder]:
    embedder = RemoteEmbedder(settings.model_copy(update={"timeout_s": TIMEOUT_S}))
    yield embedder
    embedder.close()


# What is asked


def test_a_query_is_asked_for_in_the_form_of_the_openai_api(
    embedder: RemoteEmbedder, server: FileServer
) -> None:
    row = embedder.embed_query("abc")
    ((path, headers),) = server.requests
    assert path == "/embeddings"
    assert server.bodies == [{"model": "small", "input": ["abc"], "encoding_format": "float"}]
    assert "authorization" not in headers
    assert row == pytest.approx(np.array([3, 1, 0, 0]) / np.sqrt(10))
    assert row.dtype == np.float32


def test_prefixes_and_the_key_are_sent(settings: EmbeddingSettings, server: FileServer) -> None:
    asked = settings.model_copy(
        update={"query_prefix": "query: ", "document_prefix": "passage: ", "api_key": "secret"}
    )
    embedder = RemoteEmbedder(asked)
    embedder.embed_query("a")
    embedder.embed_documents(["b"])
    embedder.close()
    assert [body["input"] for body in server.bodies] == [["query: a"], ["passage: b"]]
    assert [headers["authorization"] for _, headers in server.requests] == ["Bearer secret"] * 2


def test_after_a_failed_request_for_documents_no_other_is_begun(
    settings: EmbeddingSettings, server: FileServer
) -> None:
    server.behaviour = lambda handler: handler.send(500, b"oops")
    embedder = RemoteEmbedder(settings.model_copy(update={"requests": 1}))
    with pytest.raises(UnavailableError, match="answered status 500"):
        embedder.embed_documents(["a"] * 100)
    embedder.close()
    assert len(server.bodies) < 10


def test_rows_are_put_in_the_order_of_their_index(
    embedder: RemoteEmbedder, server: FileServer
) -> None:
    server.behaviour = answering(lambda texts: {"data": rows_for(texts)[::-1]})
    rows = embedder.embed_documents(["a", "bbbb"])
    assert rows[0, 0] / rows[0, 1] == pytest.approx(1)
    assert rows[1, 0] / rows[1, 1] == pytest.approx(4)


def test_rows_of_any_length_become_unit_rows(embedder: RemoteEmbedder, server: FileServer) -> None:
    for size in (1e-30, 1.0, 1e30, 1e300):
        server.behaviour = one_row([size, size, 0, 0])
        assert embedder.embed_query("x") == pytest.approx(
            np.array([1, 1, 0, 0]) / np.sqrt(2), abs=1e-6
        )


# What goes wrong


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (hang, "did not answer in time"),
        (trickle_body, "did not answer in time"),
        (pause_within_body, "did not answer in time"),
        (close_half_way, "peer closed connection"),
        (close_at_once, "disconnected without sending a response"),
        (lambda handler: handler.send(200, b"<html>"), "not JSON"),
        (
            lambda handler: handler.send(200, b'{"data": [{"embedding": [NaN, 1, 1, 1]}]}'),
            "not JSON",
        ),
        (lambda handler: handler.send(500, b"oops"), "answered status 500"),
        (answering(lambda _: {"error": "x"}), "not in the form of an embeddings answer"),
        (answering(lambda _: {"data": [1]}), "not in the form of an embeddings answer"),
        (one_row("AAAA"), "not in the form of an embeddings answer"),
        (answering(lambda _: {"data": []}), r"shape \(0,\), wanted \(1, 4\)"),
        (
            answering(lambda texts: {"data": rows_for(texts * 2)}),
            r"shape \(2, 4\), wanted \(1, 4\)",
        ),
        (
            one_row([1, 2, 3]),
            r"shape \(1, 3\), wanted \(1, 4\); is it the model the catalogue was built with",
        ),
        (one_row([None, 1, 1, 1]), "zero or not finite"),
        (one_row([0, 0, 0, 0]), "zero or not finite"),
    ],
)
def test_a_server_that_misbehaves_is_unavailable_with_the_reason(
    hasty: RemoteEmbedder, server: FileServer, behaviour: Behaviour, reason: str
) -> None:
    server.behaviour = behaviour
    with pytest.raises(UnavailableError, match=reason):
        hasty.embed_query("x")


def test_calls_of_several_threads_do_not_wait_for_one_another(
    embedder: RemoteEmbedder, server: FileServer
) -> None:
    together = threading.Barrier(4)

    def behaviour(handler: Any) -> None:
        together.wait(timeout=120)
        well(handler)

    server.behaviour = behaviour
    rows: list[Any] = []
    threads = [
        threading.Thread(target=lambda: rows.append(embedder.embed_query("x"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 4


def test_a_reason_has_no_secret_of_the_address(settings: EmbeddingSettings) -> None:
    embedder = RemoteEmbedder(
        settings.model_copy(update={"url": "http://ada:hunter22@127.0.0.1:9/x?api_key=hunter33"})
    )
    reasons = [str(embedder.check())]
    with pytest.raises(UnavailableError) as refusal:
        embedder.embed_query("x")
    reasons.append(refusal.value.message)
    embedder.close()
    assert all("127.0.0.1:9" in reason and "hunter" not in reason for reason in reasons)


# Health


@pytest.mark.parametrize(
    ("kind", "path"), [("infinity", "/health"), ("tei", "/health"), ("ollama", "/api/version")]
)
def test_health_is_asked_at_the_servers_own_path(
    settings: EmbeddingSettings, server: FileServer, kind: str, path: str
) -> None:
    server.behaviour = lambda handler: handler.send(200, b"{}")
    embedder = RemoteEmbedder(settings.model_copy(update={"kind": kind}))
    assert embedder.check() is None
    assert [asked for asked, _ in server.requests] == [path]
    embedder.close()


def test_a_server_without_a_health_path_is_asked_for_an_embedding(
    settings: EmbeddingSettings, server: FileServer
) -> None:
    embedder = RemoteEmbedder(settings.model_copy(update={"kind": "openai"}))
    assert embedder.check() is None
    assert [asked for asked, _ in server.requests] == ["/v1/embeddings"]
    server.behaviour = one_row([1])
    assert "wanted (1, 4)" in str(embedder.check())
    embedder.close()


def test_an_unwell_server_says_why(
    embedder: RemoteEmbedder, hasty: RemoteEmbedder, server: FileServer
) -> None:
    server.behaviour = lambda handler: handler.send(503, b"")
    assert embedder.check() == f"infinity at {server.url}: answered status 503"
    server.behaviour = hang
    assert str(hasty.check()).endswith("did not answer in time")
