"""A body that is refused is let go at once, without waiting for a collection of garbage."""

import asyncio
import gc
import weakref
from contextlib import suppress

from starlette.requests import Request
from starlette.types import Message

from stackroom.errors import InputError
from stackroom.serve.http.endpoints import DECODED_AT_ONCE, read_object

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
