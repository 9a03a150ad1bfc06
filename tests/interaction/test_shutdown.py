"""SIGTERM: calls that were begun are answered, every stream is told, and the process ends well and soon."""

import asyncio
import json
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_websocket
from websockets.exceptions import ConnectionClosed

from stackroom.model.principal import Action, Outcome
from support.control import audit_rows

pytestmark = [pytest.mark.row("Z1"), pytest.mark.row("T6")]

ENDS_WITHIN_S = 120.0
ABOUT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
MODERN_HEADERS = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "wait"}
ACCEPTED = {"Accept": "application/json, text/event-stream"}
WAIT_S = 600.0

Slow = Callable[[], Awaitable[str]]
"""Begin a call that takes a while, and return its answer."""


def message(method: str, params: Any = None, number: int | None = None) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "method": method, **({"id": number} if number is not None else {})}
    return body if params is None else {**body, "params": params}


def waiting(text: str, **more: Any) -> dict[str, Any]:
    return message("tools/call", {"name": "wait", "arguments": {"seconds": WAIT_S, "text": text}, **more}, 7)


def answer_of(text: str) -> str:
    return str(json.loads(text)["result"]["structuredContent"]["done"])


def posted_answer(reply: httpx.Response) -> str:
    """Return the answer to a call that was posted: JSON, or the last of its events."""
    if reply.headers["content-type"].startswith("application/json"):
        return answer_of(reply.text)
    data = [line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith("data: {")]
    return answer_of(data[-1]) if data else "never"


class Crowd:
    """Many open streams of one user, and slow calls on some of them."""

    def __init__(self, stack: AsyncExitStack, hosted: Any, secret: str) -> None:
        self._stack = stack
        self._hosted = hosted
        self._headers = {"Authorization": f"Bearer {secret}"}
        self.ends: list[asyncio.Task[str]] = []
        """How each stream ended."""
        self.answers: list[asyncio.Task[str]] = []

    async def client(self, **headers: str) -> httpx.AsyncClient:
        made = httpx.AsyncClient(
            base_url=self._hosted.url, headers={**self._headers, **headers}, timeout=60, verify=False
        )
        return await self._stack.enter_async_context(made)

    async def add_websocket(self, slow: str = "") -> None:
        opening = open_websocket(self._hosted.websocket_url, additional_headers=self._headers)
        connection = await self._stack.enter_async_context(opening)
        await connection.send(json.dumps(message("initialize", ABOUT, 0)))
        await connection.recv()
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.ends.append(asyncio.create_task(self._end_of_websocket(connection, answer)))
        if slow:
            await connection.send(json.dumps(waiting(slow)))
            self.answers.append(asyncio.ensure_future(answer))

    @staticmethod
    async def _end_of_websocket(connection: ClientConnection, answer: asyncio.Future[str]) -> str:
        try:
            while True:
                text = await connection.recv()
                answer.set_result(answer_of(str(text)))
        except ConnectionClosed as closed:
            if not answer.done():
                answer.set_result("never")
            return f"websocket {closed.rcvd.code if closed.rcvd else 'cut off'}"

    async def add_sse(self, slow: str = "") -> None:
        client = await self.client()
        response = await self._stack.enter_async_context(client.stream("GET", "/sse"))
        data = (line.removeprefix("data: ") async for line in response.aiter_lines() if line.startswith("data: "))
        place = await anext(data)
        await client.post(place, json=message("initialize", ABOUT, 0))
        await anext(data)
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.ends.append(asyncio.create_task(self._end_of_events("sse", data, answer)))
        if slow:
            assert (await client.post(place, json=waiting(slow))).status_code == 202
            self.answers.append(asyncio.ensure_future(answer))

    async def add_session(self, slow: str = "") -> None:
        client = await self.client(**ACCEPTED)
        opened = await client.post("/mcp", json=message("initialize", ABOUT, 0))
        client.headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
        client.headers["MCP-Protocol-Version"] = "2025-11-25"
        await client.post("/mcp", json=message("notifications/initialized"))
        headers = {"Accept": "text/event-stream"}
        response = await self._stack.enter_async_context(client.stream("GET", "/mcp", headers=headers))
        assert response.status_code == 200
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.ends.append(asyncio.create_task(self._end_of_events("http", response.aiter_lines(), answer)))
        if slow:
            self.answers.append(asyncio.create_task(self._posted(client, waiting(slow), {})))

    @staticmethod
    async def _end_of_events(kind: str, data: Any, answer: asyncio.Future[str]) -> str:
        try:
            async for text in data:
                if kind == "sse":
                    answer.set_result(answer_of(text))
        except httpx.TransportError:
            return f"{kind} cut off"
        finally:
            if not answer.done():
                answer.set_result("never")
        return f"{kind} ended"

    async def add_modern(self, slow: str) -> None:
        client = await self.client(**ACCEPTED)
        self.answers.append(asyncio.create_task(self._posted(client, waiting(slow, _meta=MODERN), MODERN_HEADERS)))

    async def add_rest(self, slow: str) -> None:
        client = await self.client()

        async def call() -> str:
            reply = await client.post("/v1/tools/wait", json={"seconds": WAIT_S, "text": slow})
            return str(reply.json()["done"])

        self.answers.append(asyncio.create_task(call()))

    @staticmethod
    async def _posted(client: httpx.AsyncClient, body: Any, headers: dict[str, str]) -> str:
        try:
            reply = await client.post("/mcp", json=body, headers=headers)
        except httpx.RemoteProtocolError:
            return "cut off"
        return posted_answer(reply)


async def until(is_so: Callable[[], Awaitable[bool]], *, timeout_s: float = 120) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + timeout_s
    while not await is_so():
        assert time.monotonic() < deadline, "it did not become so in time"
        await asyncio.sleep(0.02)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a busy server ended."""

    code: int
    answers: list[str]
    """What became of the slow calls."""
    ends: list[str]
    """How each stream ended."""
    seen: list[tuple[int, str]]
    """What readiness said after the signal."""
    log: list[str]
    rows: list[Any]
    """The audit's."""
    chain_problem: str | None


async def end_while_busy(hosted: Any, secret: str, release: Path) -> dict[str, Any]:
    """Open a hundred streams, begin ten slow calls, end the server, and let the calls end; return how it went."""
    async with AsyncExitStack() as stack:
        crowd = Crowd(stack, hosted, secret)
        for _ in range(38):
            await crowd.add_websocket()
        for _ in range(28):
            await crowd.add_sse()
            await crowd.add_session()
        watcher = await crowd.client()
        assert (await watcher.get("/health/ready")).status_code == 200
        for number in range(2):
            await crowd.add_websocket(f"websocket {number}")
            await crowd.add_sse(f"sse {number}")
            await crowd.add_session(f"http {number}")
            await crowd.add_modern(f"modern {number}")
            await crowd.add_rest(f"rest {number}")

        async def has_begun() -> bool:
            health = (await watcher.get("/health")).json()
            return bool(health["calls_in_flight"] == 10 and health["streams"] == 100)

        await until(has_begun)
        hosted.server.process.send_signal(signal.SIGTERM)
        seen: list[tuple[int, str]] = []

        async def is_not_ready() -> bool:
            reply = await watcher.get("/health/ready")
            seen.append((reply.status_code, reply.json()["status"]))
            return reply.status_code != 200

        await until(is_not_ready)
        release.touch()
        with pytest.raises(httpx.ConnectError):
            await (await crowd.client()).get("/health/live")
        answers, ends = await asyncio.gather(*crowd.answers), await asyncio.gather(*crowd.ends)
        code = await asyncio.to_thread(hosted.server.process.wait, ENDS_WITHIN_S)
        return {"code": code, "answers": answers, "ends": ends, "seen": seen}


@pytest.fixture(scope="module")
def ended(start_fixture_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A server that was ended while it had a hundred streams and ten calls."""
    home = tmp_path_factory.mktemp("busy")
    hosted = start_fixture_server(home, STACKROOM_SHUTDOWN_S="100")
    user = hosted.accounts.user(*Action)
    found = asyncio.run(end_while_busy(hosted, hosted.accounts.token(user), home / "release"))
    hosted.server.stop()
    audit = hosted.accounts.control.audit
    return Ended(
        **found,
        log=hosted.server.log,
        rows=audit_rows(audit, principal=user),
        chain_problem=audit.verify().first_problem,
    )


@pytest.mark.parametrize("kind", ["websocket", "modern", "rest", "sse", "http"])
def test_calls_that_were_begun_are_answered(ended: Ended, kind: str) -> None:
    found = [answer for answer in ended.answers if answer.startswith(f"waited for {kind} ")]
    assert sorted(found) == [f"waited for {kind} 0", f"waited for {kind} 1"]


def test_every_stream_is_told_that_it_is_over(ended: Ended) -> None:
    assert Counter(ended.ends) == {"websocket 1001": 40, "sse ended": 30, "http ended": 30}


def test_the_server_says_that_it_is_no_longer_ready_and_ends_well(ended: Ended) -> None:
    assert ended.seen[-1] == (503, "ending")
    assert ended.code == 0


def test_nothing_is_amiss_in_the_log(ended: Ended) -> None:
    assert not [line for line in ended.log if "ERROR" in line or "Traceback" in line]


@pytest.mark.row("Z13")
def test_what_was_answered_at_the_end_is_in_the_audit(ended: Ended) -> None:
    answered = {answer.removeprefix("waited for ") for answer in ended.answers if answer.startswith("waited for ")}
    assert answered <= {row.parameters["text"] for row in ended.rows if row.outcome is Outcome.OK}
    assert len(ended.rows) == len({row.parameters["text"] for row in ended.rows}) <= 10
    assert ended.chain_problem is None


def test_a_server_ends_in_time_though_a_call_does_not(start_fixture_server: Any, tmp_path: Path) -> None:
    hosted = start_fixture_server(tmp_path, STACKROOM_SHUTDOWN_S="0.2")
    secret = hosted.accounts.token(hosted.accounts.user(*Action))

    async def end_it() -> int:
        headers = {"Authorization": f"Bearer {secret}"}
        async with httpx.AsyncClient(base_url=hosted.url, headers=headers, timeout=120) as client:
            call = asyncio.create_task(client.post("/v1/tools/wait", json={"seconds": 600}))

            async def has_begun() -> bool:
                return bool((await client.get("/health")).json()["calls_in_flight"] == 1)

            await until(has_begun)
            hosted.server.process.send_signal(signal.SIGTERM)
            try:
                return await asyncio.to_thread(hosted.server.process.wait, ENDS_WITHIN_S)
            finally:
                hosted.server.process.kill()
                await asyncio.gather(call, return_exceptions=True)

    try:
        assert asyncio.run(end_it()) == 0
    finally:
        hosted.server.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_with_nothing_to_do_ends_well(start_server: Any, plain_home: Path, number: int) -> None:
    server = start_server(plain_home, "--no-accounts")
    assert server.stop(number) == 0
    assert not [line for line in server.log if "Traceback" in line]
