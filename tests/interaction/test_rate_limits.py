"""Limits: so many calls a minute for each user, over all their connections together."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect as open_websocket

from stackroom.model.principal import LOCAL_USER, Action, Outcome, Quotas
from stackroom.serve.async_gate import PAUSE_S
from support.control import audit_rows

CALLS_A_CONNECTION = 10
ABOUT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
ACCEPTED = {"Accept": "application/json, text/event-stream"}
ARGUMENTS = {"id": "judoka/1"}

Verdict = tuple[str | None, int | None]
"""Why a call was refused, and when to come back."""
CallContext = Callable[[int], Awaitable[Verdict]]


def message(method: str, params: Any = None, number: int | None = None) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "method": method, **({"id": number} if number is not None else {})}
    return body if params is None else {**body, "params": params}


def call(number: int) -> dict[str, Any]:
    return message("tools/call", {"name": "fetch", "arguments": ARGUMENTS}, number)


def verdict(answer: dict[str, Any]) -> Verdict:
    """Return what an answer over MCP says of the limit."""
    result = answer["result"]
    if not result["isError"]:
        return None, None
    code = result["content"][0]["text"].partition(":")[0]
    return code, result.get("_meta", {}).get("io.stackroom/retryAfterS")


async def open_socket(stack: AsyncExitStack, hosted: Any, secret: str) -> CallContext:
    headers = {"Authorization": f"Bearer {secret}"}
    connection = await stack.enter_async_context(open_websocket(hosted.websocket_url, additional_headers=headers))
    await connection.send(json.dumps(message("initialize", ABOUT, 0)))
    await connection.recv()
    await connection.send(json.dumps(message("notifications/initialized")))
    return await listening(stack, connection, lambda body: connection.send(json.dumps(body)))


async def open_sse(stack: AsyncExitStack, hosted: Any, secret: str) -> CallContext:
    headers = {"Authorization": f"Bearer {secret}"}
    limits = httpx.Limits(max_connections=2)
    client = await stack.enter_async_context(
        httpx.AsyncClient(base_url=hosted.url, headers=headers, timeout=60, limits=limits, verify=False)
    )
    response = await stack.enter_async_context(client.stream("GET", "/sse"))
    data = (line.removeprefix("data: ") async for line in response.aiter_lines() if line.startswith("data: "))
    place = await anext(data)

    async def post(body: Any) -> None:
        assert (await client.post(place, json=body)).status_code == 202

    await post(message("initialize", ABOUT, 0))
    await anext(data)
    await post(message("notifications/initialized"))
    return await listening(stack, data, post)


async def listening(stack: AsyncExitStack, answers: Any, send: Callable[[Any], Awaitable[Any]]) -> CallContext:
    """Return a way to ask on a line whose answers come in any order."""
    waiting: dict[int, asyncio.Future[Verdict]] = {}

    async def listen() -> None:
        async for text in answers:
            answer = json.loads(text)
            waiting.pop(answer["id"]).set_result(verdict(answer))

    task = asyncio.create_task(listen())

    async def stop() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(stop)

    async def ask(number: int) -> Verdict:
        waiting[number] = asyncio.get_running_loop().create_future()
        answer = waiting[number]
        await send(call(number))
        return await answer

    return ask


async def open_session(stack: AsyncExitStack, hosted: Any, secret: str) -> CallContext:
    headers = {"Authorization": f"Bearer {secret}", **ACCEPTED}
    limits = httpx.Limits(max_connections=1)
    client = await stack.enter_async_context(
        httpx.AsyncClient(base_url=hosted.url, headers=headers, timeout=60, limits=limits, verify=False)
    )
    opened = await client.post("/mcp", json=message("initialize", ABOUT, 0))
    client.headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
    client.headers["MCP-Protocol-Version"] = "2025-11-25"
    await client.post("/mcp", json=message("notifications/initialized"))

    async def ask(number: int) -> Verdict:
        reply = await client.post("/mcp", json=call(number))
        (data,) = [line for line in reply.text.splitlines() if line.startswith("data: {")]
        return verdict(json.loads(data.removeprefix("data: ")))

    return ask


async def open_rest(stack: AsyncExitStack, hosted: Any, secret: str) -> CallContext:
    headers = {"Authorization": f"Bearer {secret}"}
    limits = httpx.Limits(max_connections=1)
    client = await stack.enter_async_context(
        httpx.AsyncClient(base_url=hosted.url, headers=headers, timeout=60, limits=limits, verify=False)
    )

    async def ask(_number: int) -> Verdict:
        reply = await client.post("/v1/tools/fetch", json=ARGUMENTS)
        retry = reply.headers.get("retry-after")
        return (None, None) if reply.is_success else (reply.json()["error"]["code"], int(retry) if retry else None)

    return ask


CONNECTIONS = [open_socket] * 26 + [open_sse] * 8 + [open_session] * 8 + [open_rest] * 8


async def flood(hosted: Any, secrets: list[str]) -> list[Verdict]:
    """Call 500 times at once over 50 connections, each with one of these tokens; return what became of each."""
    async with AsyncExitStack() as stack:
        connections = [
            await make(stack, hosted, secrets[place % len(secrets)]) for place, make in enumerate(CONNECTIONS)
        ]
        calls = [ask(number) for number in range(1, CALLS_A_CONNECTION + 1) for ask in connections]
        return list(await asyncio.gather(*calls))


def call_often(client: httpx.Client, count: int) -> list[int]:
    """Call a tool so many times, one after the other, and return the status of each answer."""
    return [client.post("/v1/tools/fetch", json=ARGUMENTS).status_code for _ in range(count)]


@pytest.mark.row("Z12")
def test_of_five_hundred_calls_at_once_over_fifty_connections_exactly_the_limit_is_taken(
    hosted: Any, soon: Any
) -> None:
    greedy, modest = (hosted.accounts.user(Action.ACCESS_CATALOG, name=name) for name in ("greedy", "modest"))
    secrets = [hosted.accounts.token(greedy) for _ in range(5)]
    audit = hosted.accounts.control.audit
    with hosted.rest(hosted.accounts.token(modest)) as client, ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        others = pool.submit(call_often, client, 50)
        verdicts = asyncio.run(flood(hosted, secrets))
        lasted_s = time.monotonic() - began
        assert others.result() == [200] * 50
    assert len(verdicts) == len(CONNECTIONS) * CALLS_A_CONNECTION == 500
    codes = Counter(code for code, _ in verdicts)
    assert 120 <= codes[None] <= 120 * (1 + lasted_s // 60)  # a slow machine sees the window move on
    assert set(codes) <= {None, "rate_limited", "overloaded"}
    assert codes["rate_limited"] > 200
    assert lasted_s > 0.9 * PAUSE_S * codes["rate_limited"]  # one refusal after the other, whatever the connection
    waits = {code: {wait for one, wait in verdicts if one == code} for code in codes}
    assert all(wait is not None and 1 <= wait <= 60 for wait in waits["rate_limited"])
    assert waits.get("overloaded", {1}) == {1}
    outcomes = {Outcome.OK: codes[None], Outcome.LIMITED: codes["rate_limited"]}
    soon(lambda: len(audit_rows(audit, principal=greedy)) >= 500, timeout_s=120)
    noted = Counter(row.outcome for row in audit_rows(audit, principal=greedy))
    assert {outcome: noted[outcome] for outcome in outcomes} == outcomes
    assert noted.total() == 500
    assert audit.verify().first_problem is None


@pytest.mark.row("Z12")
def test_reading_writing_and_sql_are_counted_apart_and_over_every_way_together(
    fixture_hosted: Any, connect: Any, request_of: Any
) -> None:
    user = fixture_hosted.accounts.user(Action.ACCESS_CATALOG)
    secret = fixture_hosted.accounts.token(user)
    ways = ["rest", "websocket legacy", "http 2026-07-28", "sse legacy"]
    found: Counter[tuple[str, str | None]] = Counter()
    for way in ways:
        with connect(way, fixture_hosted, secret) as asker:
            for tool, times in {"edit": 10, "sql": 4, "echo": 5}.items():
                for _ in range(times):
                    reply = asker.ask(request_of("tools/call", tool))
                    assert (reply.error is None) or 1 <= reply.retry_after_s <= 60
                    found[tool, reply.error] += 1
    assert found == {
        ("edit", None): 30,
        ("edit", "rate_limited"): 10,
        ("sql", None): 10,
        ("sql", "rate_limited"): 6,
        ("echo", None): 20,
    }


@pytest.mark.row("Z12")
def test_every_kind_of_reading_counts_against_the_same_limit(
    fixture_hosted: Any, connect: Any, network_way: str, request_of: Any
) -> None:
    accounts = fixture_hosted.accounts
    role = f"slow-{network_way.replace(' ', '-')}"
    quotas = Quotas(read=4, write=1, sql=0)
    accounts.control.accounts.create_role(LOCAL_USER, role, [Action.ACCESS_CATALOG], quotas)
    secret = accounts.token(accounts.user(roles=[role]))
    with connect(network_way, fixture_hosted, secret) as asker:
        assert asker.ask(request_of("tools/call", "echo")).error is None
        assert asker.ask(request_of("tools/call", "echo", text=7)).error == "invalid_input"
        assert asker.ask(request_of("resources/read", "accesscatalog://a")).error is None
        assert asker.ask(request_of("resources/read", "accesscatalog://z")).error == "-32602"
        for asked in (
            request_of("tools/call", "echo"),
            request_of("resources/read", "accesscatalog://a"),
        ):
            reply = asker.ask(asked)
            assert (reply.error, reply.message[:28]) == ("rate_limited", "you have 4 read calls a minu")
            assert 1 <= reply.retry_after_s <= 60
        assert asker.ask(request_of("tools/call", "sql")).message.startswith("you have no sql calls a minute")
        assert asker.ask(request_of("tools/list")).error is None
