"""The server in this process, with tools that misbehave: what a client then sees, and that the others are served."""

import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from stackroom.errors import StorageError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Action, Cost, Principal
from stackroom.serve.async_gate import always
from stackroom.serve.mcp_server import build_server
from stackroom.tools.spec import ToolParams, ToolResult, ToolSpec
from stackroom.tools.toolbox import Toolbox

MODES = ["legacy", "2026-07-28"]


class Params(ToolParams):
    pass


class Result(ToolResult):
    done: bool


def tool(name: str, run: Callable[[Principal, Any], Result], action: Action = Action.ACCESS_CATALOG) -> ToolSpec:
    return ToolSpec(
        name=name,
        title=name,
        description="",
        params=Params,
        result=Result,
        action=action,
        cost=Cost.READ,
        run=run,
        text=lambda _result: "done",
    )


def works(_principal: Principal, _params: Params) -> Result:
    return Result(done=True)


def fails(_principal: Principal, _params: Params) -> Result:
    raise ZeroDivisionError("secret path /etc/shadow")


def refuses(_principal: Principal, _params: Params) -> Result:
    raise StorageError("the disk is full")


GATE = Gate(Toolbox([tool("works", works), tool("fails", fails), tool("refuses", refuses)]))


@pytest.mark.parametrize("mode", MODES)
def test_a_bug_is_an_internal_error_without_its_details_and_the_next_call_works(mode: str) -> None:
    async def talk() -> None:
        async with Client(build_server(lambda: GATE, always(LOCAL_USER)), mode=mode) as client:
            with pytest.raises(MCPError, match="internal error") as caught:
                await client.call_tool("fails", {})
            assert caught.value.error.code == types.INTERNAL_ERROR
            assert "shadow" not in str(caught.value.error)
            assert (await client.call_tool("works", {})).structured_content == {"done": True}

    anyio.run(talk)


@pytest.mark.parametrize("mode", MODES)
def test_a_foreseen_failure_is_a_result_that_says_what_happened(mode: str) -> None:
    async def talk() -> None:
        async with Client(build_server(lambda: GATE, always(LOCAL_USER)), mode=mode) as client:
            result = await client.call_tool("refuses", {})
            assert result.is_error
            assert result.content[0].text == "storage: the disk is full"

    anyio.run(talk)


@pytest.mark.parametrize("mode", MODES)
def test_a_caller_sees_only_the_tools_they_may_call(mode: str) -> None:
    async def talk() -> list[str]:
        reader = Principal(name="reader", actions=frozenset({Action.ACCESS_CATALOG}))
        gate = Gate(Toolbox([tool("works", works), tool("edits", works, Action.EDIT_CATALOG)]))
        async with Client(build_server(lambda: gate, always(reader)), mode=mode) as client:
            with pytest.raises(MCPError, match="no tool 'edits'"):
                await client.call_tool("edits", {})
            return [one.name for one in (await client.list_tools()).tools]

    assert anyio.run(talk) == ["works"]


@pytest.mark.parametrize("mode", MODES)
def test_a_slow_tool_does_not_keep_other_calls_waiting(mode: str) -> None:
    release = threading.Event()

    def waits(_principal: Principal, _params: Params) -> Result:
        return Result(done=release.wait(20))

    gate = Gate(Toolbox([tool("waits", waits), tool("works", works)]))

    async def talk() -> None:
        async with (
            Client(build_server(lambda: gate, always(LOCAL_USER)), mode=mode) as client,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(client.call_tool, "waits", {})
            with anyio.fail_after(10):
                assert (await client.call_tool("works", {})).structured_content == {"done": True}
                await client.list_tools()
            release.set()

    anyio.run(talk)


@pytest.mark.parametrize("mode", MODES)
def test_a_library_that_cannot_be_opened_is_said_to_the_client(mode: str) -> None:
    def broken() -> Gate:
        raise StorageError("catalogue 'anime' is damaged")

    async def talk() -> None:
        async with Client(build_server(broken, always(LOCAL_USER)), mode=mode) as client:
            for ask in (client.list_tools, lambda: client.call_tool("works", {})):
                with pytest.raises(MCPError, match="catalogue 'anime' is damaged"):
                    await ask()

    anyio.run(talk)
