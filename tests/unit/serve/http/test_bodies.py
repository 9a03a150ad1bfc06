"""Bodies are read within bounds on each of them and on all of them together."""

from collections.abc import AsyncIterator, Iterable
from typing import Any

import anyio
import pytest

from stackroom.errors import OverloadedError
from stackroom.serve.http.bodies import SMALL, Bodies, MemoryBudget, WithBody

pytestmark = pytest.mark.row("T6")

KIB = 1024


class Recorder:
    """An application that keeps the body it is given, and answers with a type; and what it answered."""

    def __init__(self, media_type: bytes = b"application/json") -> None:
        self.media_type = media_type
        self.bodies: list[bytes] = []
        self.held_meanwhile: list[int] = []
        self.watched: list[MemoryBudget] = []

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        self.bodies.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", self.media_type)]})
        self.held_meanwhile = [share.held for share in self.watched]


def post(app: WithBody, parts: Iterable[bytes], *, headers: Iterable[tuple[bytes, bytes]] = ()) -> list[Any]:
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
    app.watched = [bodies.small]
    assert status_of(post(WithBody(app, bodies), [b"a" * 10, b"b" * 5])) == 200
    assert app.bodies == [b"a" * 10 + b"b" * 5]
    assert app.held_meanwhile == [15]
    assert bodies.small.held == 0


def test_the_body_of_a_request_that_is_answered_by_a_stream_counts_until_the_stream_begins() -> None:
    bodies, app = Bodies(), Recorder(b"text/event-stream; charset=utf-8")
    app.watched = [bodies.small]
    post(WithBody(app, bodies), [b"a" * 10])
    assert app.held_meanwhile == [0]


def test_a_body_that_is_declared_too_long_is_refused_before_any_of_it_is_read() -> None:
    bodies, app = Bodies(), Recorder()

    def parts() -> Iterable[bytes]:
        raise AssertionError("it was read")
        yield b""

    sent = post(WithBody(app, bodies, most_bytes=100), parts(), headers=[(b"content-length", b"101")])
    assert status_of(sent) == 413
    assert app.bodies == []


def test_a_body_that_grows_too_long_is_refused_and_no_longer_held() -> None:
    bodies, app = Bodies(), Recorder()
    assert status_of(post(WithBody(app, bodies, most_bytes=100), [b"x" * 60] * 1_000)) == 413
    assert (app.bodies, bodies.small.held) == ([], 0)


def test_where_large_bodies_have_no_room_left_small_ones_are_still_taken() -> None:
    bodies = Bodies(large=SMALL)
    app = Recorder()
    bodies.large.take(SMALL)
    refused = post(WithBody(app, bodies), [b"x" * (SMALL + 1)])
    assert status_of(refused) == 503
    assert (b"retry-after", b"1") in refused[0]["headers"]
    assert status_of(post(WithBody(app, bodies), [b"x" * SMALL])) == 200
    assert (bodies.small.held, bodies.large.held) == (0, SMALL)


def test_a_body_that_is_no_longer_small_counts_as_a_large_one_only() -> None:
    bodies, app = Bodies(), Recorder()
    app.watched = [bodies.small, bodies.large]
    post(WithBody(app, bodies), [b"x" * 40 * KIB, b"x" * 40 * KIB])
    assert app.held_meanwhile == [0, 80 * KIB]
    assert (bodies.small.held, bodies.large.held) == (0, 0)


def test_unauthenticated_callers_cannot_take_the_room_of_others() -> None:
    bodies, app = Bodies(of_strangers=10), Recorder()
    assert status_of(post(WithBody(app, bodies, is_public=True), [b"x" * 11])) == 503
    assert status_of(post(WithBody(app, bodies), [b"x" * 11])) == 200


def test_a_share_gives_no_more_than_it_has() -> None:
    share = MemoryBudget(10)
    share.take(10)
    with pytest.raises(OverloadedError):
        share.take(1)
    share.give_back(10)
    share.take(1)
    assert share.held == 1
