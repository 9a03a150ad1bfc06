"""MCP over standard input and output, for an assistant on the same machine."""

import logging
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
from mcp.server import Server

from pinakes.gate.gate import Gate
from pinakes.model.principal import LOCAL_USER
from pinakes.serve.async_gate import AsyncGate
from pinakes.serve.caller import Caller, caller_of
from pinakes.serve.frames import MAX_FRAME_BYTES
from pinakes.serve.library_watch import watch_library
from pinakes.serve.list_changes import ListChanges
from pinakes.serve.logs import TextLines
from pinakes.serve.mcp_server import Handlers
from pinakes.serve.message_loop import serve_messages
from pinakes.serve.tool_naming import ToolNaming
from pinakes.serve.workers import Workers

LOCAL_CALLER = Caller(principal=LOCAL_USER, via="stdio")


def serve_stdio(
    gate: "Future[Gate]", *, log_level: str, naming: ToolNaming, at_end: Callable[[], None] = lambda: None
) -> None:
    """Serve until the client closes standard input; the gate may still be loading.

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
    anyio.run(_serve, AsyncGate(gate.result, Workers(), is_loaded=gate.done), naming, _take_standard_output())


async def _serve(gate: AsyncGate, naming: ToolNaming, output: BinaryIO) -> None:
    """Serve messages, and watch the library meanwhile."""
    lists = ListChanges()
    server = Handlers(gate, caller_of, naming=naming, lists=lists).build_server()
    async with anyio.create_task_group() as group:
        group.start_soon(watch_library, gate, lists)
        await _serve_lines(server, output)
        group.cancel_scope.cancel()


async def _serve_lines(server: Server[Any], output: BinaryIO) -> None:
    async def receive() -> bytes | None:
        while (line := await anyio.to_thread.run_sync(_read_line, abandon_on_cancel=True)) is not None:
            if line.strip():
                return line
        return None

    async def send(message: str) -> None:
        await anyio.to_thread.run_sync(_write_line, output, message)

    async def caller() -> Caller:
        return LOCAL_CALLER

    await serve_messages(server, receive, send, caller)


def _take_standard_output() -> BinaryIO:
    """Reserve standard output for the protocol; redirect everything else that is printed to standard error."""
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return output


def _read_line() -> bytes | None:
    """Return the next line, or None at the end; an overlong line is cut just past the limit, and so refused later."""
    line = sys.stdin.buffer.readline(MAX_FRAME_BYTES + 1)
    while len(line) > MAX_FRAME_BYTES and not line.endswith(b"\n"):
        rest = sys.stdin.buffer.readline(MAX_FRAME_BYTES)
        if not rest or rest.endswith(b"\n"):
            break
    return line or None


def _write_line(output: BinaryIO, message: str) -> None:
    output.write(message.encode() + b"\n")
    output.flush()
