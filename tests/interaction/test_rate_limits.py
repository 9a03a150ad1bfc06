"""Limits: so many calls a minute for each user, over all their connections together."""

import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import httpx
import pytest

from stackroom.model.principal import Action, Outcome
from stackroom.serve.async_gate import PAUSE_S
from support.channels import open_channel
from support.control import audit_rows
from support.hosting import WHEREVER_KEPT
from support.processes import PATIENCE_S

pytestmark = WHEREVER_KEPT

CALLS_A_CONNECTION = 10
CONNECTIONS = ["websocket"] * 26 + ["sse"] * 8 + ["http"] * 8 + ["rest"] * 8
ARGUMENTS = {"id": "judoka/1"}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "fetch", "arguments": ARGUMENTS},
}

Verdict = tuple[str | None, int | None]
"""Why a call was refused, and when to come back."""


def verdict(answer: dict[str, Any]) -> Verdict:
    """Return what an answer over MCP says of the limit."""
    result = answer["result"]
    if not result["isError"]:
        return None, None
    code = result["content"][0]["text"].partition(":")[0]
    return code, result.get("_meta", {}).get("io.stackroom/retryAfterS")


def call_by_rest(hosted: Any, secret: str, together: threading.Barrier) -> list[Verdict]:
    verdicts: list[Verdict] = []
    with hosted.rest(secret) as client:
        together.wait(PATIENCE_S)
        for _ in range(CALLS_A_CONNECTION):
            reply = client.post("/v1/tools/fetch", json=ARGUMENTS)
            retry = reply.headers.get("retry-after")
            refusal = None if reply.is_success else reply.json()["error"]["code"]
            verdicts.append((refusal, int(retry) if retry else None))
    return verdicts


def call_ten_times(
    transport: str, hosted: Any, secret: str, together: threading.Barrier
) -> list[Verdict]:
    """Open a connection, wait for the others, and call ten times: at once, where the transport lets
    one.
    """
    if transport == "rest":
        return call_by_rest(hosted, secret, together)
    call = json.dumps(CALL).encode()
    with closing(open_channel(transport, hosted.server.port, secret)) as channel:
        together.wait(PATIENCE_S)
        if transport == "http":
            return [verdict(channel.put(call).messages[0]) for _ in range(CALLS_A_CONNECTION)]
        for _ in range(CALLS_A_CONNECTION):
            assert channel.send(call) is None
        return [verdict(channel.receive()) for _ in range(CALLS_A_CONNECTION)]


def flood(hosted: Any, secrets: list[str]) -> list[Verdict]:
    """Call 500 times at once over 50 connections, each with one of these tokens; return what became
    of each.
    """
    together = threading.Barrier(len(CONNECTIONS))
    with ThreadPoolExecutor(len(CONNECTIONS)) as pool:
        running = [
            pool.submit(call_ten_times, transport, hosted, secrets[number % len(secrets)], together)
            for number, transport in enumerate(CONNECTIONS)
        ]
        return [found for one in running for found in one.result()]


def call_often(client: httpx.Client, count: int) -> list[int]:
    """Call a tool so many times, one after the other, and return the status of each answer."""
    return [client.post("/v1/tools/fetch", json=ARGUMENTS).status_code for _ in range(count)]


@pytest.mark.row("Z12")
def test_of_five_hundred_calls_at_once_over_fifty_connections_exactly_the_limit_is_taken(
    hosted: Any, soon: Any
) -> None:
    greedy, modest = (
        hosted.accounts.user(Action.ACCESS_CATALOG, name=name) for name in ("greedy", "modest")
    )
    secrets = [hosted.accounts.token(greedy) for _ in range(5)]
    audit = hosted.accounts.control.audit
    with hosted.rest(hosted.accounts.token(modest)) as client, ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        others = pool.submit(call_often, client, 50)
        verdicts = flood(hosted, secrets)
        lasted_s = time.monotonic() - began
        assert others.result() == [200] * 50
    assert len(verdicts) == len(CONNECTIONS) * CALLS_A_CONNECTION == 500
    codes = Counter(code for code, _ in verdicts)
    # a slow machine sees the window move on
    assert 120 <= codes[None] <= 120 * (1 + lasted_s // 60)
    assert set(codes) <= {None, "rate_limited", "overloaded"}
    assert codes["rate_limited"] > 200
    # one refusal after the other, whatever the connection
    assert lasted_s > 0.9 * PAUSE_S * codes["rate_limited"]
    waits = {code: {wait for one, wait in verdicts if one == code} for code in codes}
    assert all(wait is not None and 1 <= wait <= 60 for wait in waits["rate_limited"])
    assert waits.get("overloaded", {1}) == {1}
    outcomes = {Outcome.OK: codes[None], Outcome.LIMITED: codes["rate_limited"]}
    soon(lambda: len(audit_rows(audit, principal=greedy)) >= 500, timeout_s=120)
    noted = Counter(row.outcome for row in audit_rows(audit, principal=greedy))
    assert {outcome: noted[outcome] for outcome in outcomes} == outcomes
    assert noted.total() == 500
    assert audit.verify().first_problem is None
