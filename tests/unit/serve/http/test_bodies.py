"""Bodies are read within bounds on each of them and on all of them together."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.types import Message

from stackroom.errors import InputError
from stackroom.serve.http.guard import Bodies, MemoryBudget, WithBody
from stackroom.serve.http.service import DECODED_AT_ONCE, read_object

pytestmark = pytest.mark.row("T6")

KIB = 1024


class Recorder:
    """An application that keeps the body it is given, and answers with a type; and what it
    answered.
    """

    def __init__(self, media_type: bytes = b"application/json") -> None:
        self.media_type = media_type
        self.bodies: list[bytes] = []
        self.held_meanwhile: list[int] = []
        self.watched: list[MemoryBudget] = []

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        self.bodies.append((await receive())["body"])
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", self.media_type)],
            }
        )
        self.held_meanwhile = [share.held for share in self.watched]


def post(
    app: WithBody, parts: Iterable[bytes], *, headers: Iterable[tuple[bytes, bytes]] = ()
) -> list[Any]:
    """Post a body in parts, and return the messages of the answer."""
    sent: list[Any] = []

    async def messages() -> AsyncIterator[dict[str, Any]]:
        for part in parts:
            yield {"type": "http.request", "body": part, "more_body": True}
        yield {"type": "http.request", "body": b"", "more_body": False}

    async def run() -> None:
        coming = messages()

        async def receive() -> Any:
            return await anext(coming)

        async def send(message: Any) -> None:
            sent.append(message)

        await app({"type": "http", "method": "POST", "headers": list(headers)}, receive, send)

    anyio.run(run)
    return sent


def status_of(sent: list[Any]) -> int:
    status: int = sent[0]["status"]
    return status


def test_a_body_comes_whole_to_the_application_and_counts_until_it_is_answered() -> None:
    bodies, app = Bodies(), Recorder()
    app.watched = [bodies.of_callers]
    assert status_of(post(WithBody(app, bodies), [b"a" * 10, b"b" * 5])) == 200
    assert app.bodies == [b"a" * 10 + b"b" * 5]
    assert app.held_meanwhile == [15]
    assert bodies.of_callers.held == 0


def test_the_body_of_a_request_answered_by_a_stream_counts_until_the_stream_begins() -> None:
    bodies, app = Bodies(), Recorder(b"text/event-stream; charset=utf-8")
    app.watched = [bodies.of_callers]
    post(WithBody(app, bodies), [b"a" * 10])
    assert app.held_meanwhile == [0]


def test_a_body_that_is_declared_too_long_is_refused_before_any_of_it_is_read() -> None:
    bodies, app = Bodies(), Recorder()

    def parts() -> Iterable[bytes]:
        raise AssertionError("it was read")
        yield b""

    sent = post(
        WithBody(app, bodies, most_bytes=100), parts(), headers=[(b"content-length", b"101")]
    )
    assert status_of(sent) == 413
    assert app.bodies == []


def test_a_body_that_grows_too_long_is_refused_and_no_longer_held() -> None:
    bodies, app = Bodies(), Recorder()
    assert status_of(post(WithBody(app, bodies, most_bytes=100), [b"x" * 60] * 1_000)) == 413
    assert (app.bodies, bodies.of_callers.held) == ([], 0)


def test_where_bodies_have_no_room_left_one_more_is_refused_for_a_while() -> None:
    bodies, app = Bodies(of_callers=KIB), Recorder()
    bodies.of_callers.held = KIB
    refused = post(WithBody(app, bodies), [b"x"])
    assert status_of(refused) == 503
    assert (b"retry-after", b"1") in refused[0]["headers"]
    assert bodies.of_callers.held == KIB


def test_unauthenticated_callers_cannot_take_the_room_of_others() -> None:
    bodies, app = Bodies(of_strangers=10), Recorder()
    assert status_of(post(WithBody(app, bodies, is_public=True), [b"x" * 11])) == 503
    assert status_of(post(WithBody(app, bodies), [b"x" * 11])) == 200


HEADERS = [(b"content-type", b"application/json")]


async def refuse() -> weakref.ref[Request]:
    """Read a large body that is not JSON, and return a reference to its request."""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"x" * (DECODED_AT_ONCE + 1), "more_body": False}

    request = Request({"type": "http", "method": "POST", "headers": HEADERS}, receive)
    with suppress(InputError):
        await read_object(request)
    return weakref.ref(request)


def test_a_request_with_a_large_body_that_is_not_json_is_forgotten_when_it_is_refused() -> None:
    gc.disable()
    try:
        assert asyncio.run(refuse())() is None
    finally:
        gc.enable()
