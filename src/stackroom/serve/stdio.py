"""MCP over standard input and output, for an assistant on the same machine."""

import logging
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from itertools import count
from typing import BinaryIO

import anyio
import anyio.to_thread

from stackroom.gate.gate import Gate
from stackroom.serve.async_gate import AsyncGate, Workers, caller_of
from stackroom.serve.connections import ListChanges, watch_library
from stackroom.serve.frames import MAX_FRAME_BYTES
from stackroom.serve.logs import TextLines
from stackroom.serve.mcp_server import Handlers
from stackroom.serve.message_loop import serve_messages
from stackroom.settings import ToolNames
from stackroom.tools.operation import LOCAL, Origin

FIRST_ANSWERS = 2  # a client first asks for an introduction and for the tools
CALLER_HERE = replace(LOCAL, via="stdio")


def serve_stdio(
    gate: "Future[Gate]",
    *,
    log_level: str,
    tool_names: ToolNames,
    at_end: Callable[[], None] = lambda: None,
    on_introduced: Callable[[], None] = lambda: None,
) -> None:
    """Serve until the client closes standard input; the gate may still be loading.

    `on_introduced` is called when the first two answers are sent: introduction and tools.
    All other output goes to standard error.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextLines("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=log_level, handlers=[handler])

    def leave(received: int, _frame: object) -> None:
        at_end()
        os._exit(128 + received)  # the thread that reads standard input cannot be interrupted

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")  # for the protocol alone
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    anyio.run(_serve, AsyncGate(gate, Workers()), tool_names, output, on_introduced)


async def _serve(
    gate: AsyncGate, tool_names: ToolNames, output: BinaryIO, on_introduced: Callable[[], None]
) -> None:
    """Serve messages as lines, and watch the library meanwhile."""
    lists, numbers = ListChanges(), count(1)
    server = Handlers(gate, caller_of, tool_names=tool_names, lists=lists).build_server()

    async def receive() -> bytes | None:
        """Return the next line that is not blank, or None at the end."""
        while (
            line := await anyio.to_thread.run_sync(_read_line, abandon_on_cancel=True)
        ) is not None:
            if line.strip():
                return line
        return None

    async def send(message: str) -> None:
        await anyio.to_thread.run_sync(_write_line, output, message)
        if next(numbers) == FIRST_ANSWERS:
            on_introduced()

    async def find_caller() -> Origin:
        return CALLER_HERE

    async with anyio.create_task_group() as group:
        group.start_soon(watch_library, gate, lists)
        await serve_messages(server, receive, send, find_caller)
        group.cancel_scope.cancel()


def _read_line() -> bytes | None:
    """Return the next line, or None at the end; an overlong line is cut just past the limit, and so
    refused later.
    """
    line = sys.stdin.buffer.readline(MAX_FRAME_BYTES + 1)
    while len(line) > MAX_FRAME_BYTES and not line.endswith(b"\n"):
        rest = sys.stdin.buffer.readline(MAX_FRAME_BYTES)
        if not rest or rest.endswith(b"\n"):
            break
    return line or None


def _write_line(output: BinaryIO, message: str) -> None:
    output.write(message.encode() + b"\n")
    output.flush()
