"""Signs of life of long calls: a client that asks for progress is told every few seconds that its call still runs.

Only where a connection carries messages both ways; an answer over plain HTTP is one body.
"""

import asyncio
from collections.abc import Awaitable
from itertools import count
from typing import TypeVar

from stackroom.serve.caller import Context

EVERY_S = 2.0
TWO_WAYS = frozenset({"stdio", "websocket"})

ResultT = TypeVar("ResultT")


async def with_progress(context: Context, via: str, work: Awaitable[ResultT]) -> ResultT:
    """Wait for the result of a call, and tell its client meanwhile how long it has been running."""
    if via not in TWO_WAYS or "progress_token" not in (context.meta or {}):
        return await work
    telling = asyncio.ensure_future(_tell(context))
    try:
        return await work
    finally:
        telling.cancel()


async def _tell(context: Context) -> None:
    for beat in count(1):
        await asyncio.sleep(EVERY_S)
        seconds = beat * EVERY_S
        await context.session.report_progress(seconds, message=f"has been running for {seconds:.0f} s")
