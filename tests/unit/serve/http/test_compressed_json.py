"""Long JSON for readers comes compressed; short answers, calls, and clients that take none come as they are."""

import gzip
from typing import Any

import anyio
import pytest
from starlette.responses import Response
from starlette.types import Message

from stackroom.serve.http.compressed_json import LONG, CompressedJson

pytestmark = pytest.mark.row("T6")


def test_a_long_list_is_sent_compressed_and_read_the_same(local: Any) -> None:
    plain = local.client.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    packed = local.client.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["vary"]
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) < len(plain.content) / 3


def test_short_answers_calls_and_pages_of_errors_are_sent_as_they_are(local: Any) -> None:
    takes = {"Accept-Encoding": "gzip"}
    assert "content-encoding" not in local.client.get("/health", headers=takes).headers
    called = local.client.post("/v1/tools/search", json={"query": "x" * 3000}, headers=takes)
    assert len(called.content) > 2000
    assert "content-encoding" not in called.headers
    failed = local.client.get("/nope", headers={**takes, "Accept": "text/html"})
    assert "content-encoding" not in failed.headers
    assert failed.text.startswith("<!doctype html>")


@pytest.mark.parametrize(("length", "goes_on"), [(3 * LONG, True), (LONG // 2, False)])
def test_others_are_answered_while_a_long_answer_is_compressed(length: int, goes_on: bool) -> None:
    content, sent, turns = b'"' + b"x" * length + b'"', [], [0]
    scope = {"type": "http", "method": "GET", "headers": [(b"accept-encoding", b"gzip")]}

    async def take_turns() -> None:
        while True:
            turns[-1] += 1
            await anyio.sleep(0)

    async def send(message: Message) -> None:
        sent.append(message)

    async def answer() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(take_turns)
            await CompressedJson(Response(content, media_type="application/json"))(scope, anyio.sleep_forever, send)
            turns.append(0)
            group.cancel_scope.cancel()

    anyio.run(answer)
    assert gzip.decompress(sent[1]["body"]) == content
    assert (turns[0] > 0) is goes_on
