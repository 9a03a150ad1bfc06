"""The server in this process, with tools that misbehave: what a client then sees, and that the
others are served.
"""

import threading

import anyio
import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from stackroom.errors import StorageError
from stackroom.gate.gate import Gate
from stackroom.model.principal import Action
from stackroom.tools.resources import ResourceSpec
from stackroom.tools.toolbox import Toolbox
from support.clients import ERAS, talk_to
from support.fixture_server import TOOLS, break_down, tool

BROKEN = ResourceSpec(
    prefix="b://",
    action=Action.ACCESS_CATALOG,
    entries=lambda _principal: [],
    read=lambda _principal, _rest: break_down(None),
)
GATE = Gate(Toolbox(TOOLS, [BROKEN]))


pytestmark = pytest.mark.parametrize("mode", ERAS)


def test_a_bug_is_an_internal_error_without_its_details_and_the_next_call_works(mode: str) -> None:
    async def talk(client: Client) -> None:
        for ask in (lambda: client.call_tool("broken", {}), lambda: client.read_resource("b://x")):
            with pytest.raises(MCPError, match="internal error") as caught:
                await ask()
            assert caught.value.error.code == types.INTERNAL_ERROR
            assert "shadow" not in str(caught.value.error)
        assert not (await client.call_tool("echo", {})).is_error

    talk_to(lambda: GATE, talk, mode=mode)


def test_a_slow_tool_does_not_keep_other_calls_waiting(mode: str) -> None:
    release = threading.Event()
    gate = Gate(Toolbox([*TOOLS, tool("waits", lambda _params: str(release.wait(120)))]))

    async def talk(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "waits", {})
            assert not (await client.call_tool("echo", {})).is_error
            await client.list_tools()
            release.set()

    talk_to(lambda: gate, talk, mode=mode)


def test_a_library_that_cannot_be_opened_is_said_to_the_client(mode: str) -> None:
    def broken() -> Gate:
        raise StorageError("catalogue 'anime' is damaged")

    async def talk(client: Client) -> None:
        for ask in (client.list_tools, lambda: client.call_tool("works", {})):
            with pytest.raises(MCPError, match="catalogue 'anime' is damaged"):
                await ask()

    talk_to(broken, talk, mode=mode)
