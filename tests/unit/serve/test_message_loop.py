"""MCP over texts: what is read and when, and what becomes of answers that cannot be carried."""

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from mcp import types

from stackroom.gate.gate import Gate
from stackroom.serve.async_gate import caller_of
from stackroom.serve.message_loop import MOST_UNANSWERED, _encoded, serve_messages
from stackroom.tools.operation import Origin, origin_of
from stackroom.tools.toolbox import Toolbox
from support.clients import build_server
from support.plain_tools import make_tool

ABOUT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}
OPENING = [
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": ABOUT},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


def gate() -> Gate:
    return Gate(Toolbox([make_tool("works")]))


def call(request_id: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": "tools/call",
        "params": {"name": "works", "arguments": {}},
    }


async def who() -> Origin:
    return origin_of(via="websocket")


class Line:
    """A connection: what the client says, how much of it was read, and what it heard."""

    def __init__(self, said: list[Any]) -> None:
        self._said = [one if isinstance(one, str) else json.dumps(one) for one in [*OPENING, *said]]
        self.read = 0
        self.heard: list[Any] = []
        self.is_over = anyio.Event()
        self.may_end: Callable[[], bool] = lambda: len(self.heard) > len(said)

    async def receive(self) -> str | None:
        if self.read < len(self._said):
            self.read += 1
            return self._said[self.read - 1]
        await self.is_over.wait()
        return None

    async def send(self, text: str) -> None:
        self.heard.append(json.loads(text))
        if self.may_end():
            self.is_over.set()


async def serve(line: Line, send: Callable[[str], Awaitable[None]] | None = None) -> None:
    with anyio.fail_after(10):
        await serve_messages(build_server(gate, caller_of), line.receive, send or line.send, who)


def test_every_request_is_answered_and_what_is_no_message_is_refused() -> None:
    async def talk() -> Line:
        line = Line([call(1), "{", call("two"), {"jsonrpc": "2.0", "id": 3}, call(2**70)])
        await serve(line)
        return line

    heard = anyio.run(talk).heard
    assert sorted(str(one["id"]) for one in heard if "result" in one) == sorted(
        ["0", "1", "two", str(2**70)]
    )
    assert sorted((one["error"]["code"], one["id"] or 0) for one in heard if "error" in one) == [
        (types.PARSE_ERROR, 0),
        (types.INVALID_REQUEST, 3),
    ]


def test_no_more_is_read_while_many_answers_are_not_taken() -> None:
    async def talk() -> tuple[int, int]:
        line = Line([call(number) for number in range(1, 101)])
        may_take = anyio.Event()

        async def send(text: str) -> None:
            if json.loads(text)["id"] != 0:
                await may_take.wait()
            await line.send(text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, line, send)
            await anyio.wait_all_tasks_blocked()
            read = line.read - len(OPENING)
            may_take.set()
        return read, len(line.heard)

    read, answered = anyio.run(talk)
    assert MOST_UNANSWERED <= read <= MOST_UNANSWERED + 3
    assert answered == 101


def test_answers_are_carried_one_at_a_time() -> None:
    async def talk() -> int:
        line, under_way, most = Line([call(number) for number in range(1, 31)]), 0, 0

        async def send(text: str) -> None:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await anyio.lowlevel.checkpoint()
            under_way -= 1
            await line.send(text)

        await serve(line, send)
        return most

    assert anyio.run(talk) == 1


def test_an_answer_that_cannot_be_carried_ends_it_without_a_word_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def talk() -> None:
        line = Line([call(number) for number in range(1, 31)])

        async def send(text: str) -> None:
            if json.loads(text)["id"] == 3:
                raise BrokenPipeError("gone")
            await line.send(text)

        await serve(line, send)

    with caplog.at_level(logging.INFO), pytest.raises(BrokenPipeError, match="gone"):
        anyio.run(talk)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"text": "\u2028 é \x00 \U0001f600"},
        {"n": 2**70},
        {"n": [1.5, -0.0, 1e300, None, True]},
        {"deep": {"a": []}},
    ],
)
def test_an_answer_is_the_json_that_the_sdk_would_write(result: dict[str, Any]) -> None:
    message = types.JSONRPCResponse(jsonrpc="2.0", id=7, result=result)
    written = message.model_dump_json(by_alias=True, exclude_unset=True)
    assert json.loads(_encoded(message)) == json.loads(written)
