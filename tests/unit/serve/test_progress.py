"""Progress of calls that take their time, over connections that carry messages both ways."""

import json
import threading
from typing import Any

import anyio
import pytest

from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Principal
from stackroom.serve import mcp_server
from stackroom.serve.async_gate import Caller, caller_of
from stackroom.serve.message_loop import serve_messages
from stackroom.tools.toolbox import Toolbox
from support.clients import build_server
from support.plain_tools import Done, NoParams, make_tool

ABOUT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
HEARD_BEATS = 2


class SlowCall:
    """A connection whose client calls a tool that ends when it has heard enough, or at once where it hears nothing."""

    def __init__(self, meta: dict[str, Any]) -> None:
        self.heard: list[dict[str, Any]] = []
        self._may_end = threading.Event()
        self._is_over = anyio.Event()
        call = {"name": "slow", "arguments": {}, "_meta": meta}
        self._said = [
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": ABOUT},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        ]
        if not meta:
            self._may_end.set()

    def run(self, _principal: Principal, _params: NoParams) -> Done:
        assert self._may_end.wait(120)
        return Done()

    async def receive(self) -> str | None:
        if self._said:
            return json.dumps(self._said.pop(0))
        await self._is_over.wait()
        return None

    async def send(self, text: str) -> None:
        self.heard.append(json.loads(text))
        if len(self.beats()) == HEARD_BEATS:
            self._may_end.set()
        if self.heard[-1].get("id") == 1:
            self._is_over.set()

    def beats(self) -> list[dict[str, Any]]:
        return [one["params"] for one in self.heard if one.get("method") == "notifications/progress"]


def heard_of_a_slow_call(meta: dict[str, Any]) -> SlowCall:
    async def who() -> Caller:
        return Caller(principal=LOCAL_USER, via="websocket")

    async def talk() -> SlowCall:
        line = SlowCall(meta)
        tool = make_tool("slow", line.run)
        with anyio.fail_after(20):
            await serve_messages(build_server(lambda: Gate(Toolbox([tool])), caller_of), line.receive, line.send, who)
        return line

    return anyio.run(talk)


def test_a_client_that_asks_for_progress_hears_that_a_long_call_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "PROGRESS_EVERY_S", 0.01)
    line = heard_of_a_slow_call({"progressToken": "mine"})
    assert [one["progressToken"] for one in line.beats()][:HEARD_BEATS] == ["mine", "mine"]
    told = [one["progress"] for one in line.beats()]
    assert told == sorted(set(told)), "progress has to increase"
    assert line.heard[-1]["id"] == 1, "nothing is told after the answer"
    assert line.heard[-1]["result"]["structuredContent"] == {"done": True}


def test_a_client_that_asks_for_none_hears_only_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "PROGRESS_EVERY_S", 0.01)
    assert heard_of_a_slow_call({}).beats() == []
