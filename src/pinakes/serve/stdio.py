"""MCP over standard input and output, for an assistant on the same machine."""

import io
import logging
import os
import re
import signal
import sys
from collections.abc import Callable

import anyio
from mcp.server.stdio import stdio_server

from pinakes.gate.gate import Gate
from pinakes.model.principal import LOCAL_USER
from pinakes.serve.mcp_server import build_server

_ESCAPE = re.compile(r"\\(?:u(?P<high>[dD][89abAB]..)\\u[dD][c-fC-F]..|u(?P<half>[dD][89a-fA-F]..)|.)")


def serve_stdio(gate: Callable[[], Gate], *, log_level: str) -> None:
    """Serve until the client closes its end. Everything that is not protocol goes to standard error."""
    logging.basicConfig(stream=sys.stderr, level=log_level, format="%(levelname)s %(name)s: %(message)s")
    # The thread that reads standard input cannot be woken, and a server that only reads has nothing to put in order.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _frame: os._exit(128 + received))
    anyio.run(_serve, gate)


async def _serve(gate: Callable[[], Gate]) -> None:
    server = build_server(gate, LOCAL_USER)
    lines = anyio.wrap_file(_Lines(sys.stdin.buffer, encoding="utf-8", errors="replace"))
    async with stdio_server(stdin=lines) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class _Lines(io.TextIOWrapper):
    r"""Lines of JSON without halves of surrogate pairs (`\ud83d` alone, as of a text cut within a character).

    The SDK drops a message that has one without an answer, and its sender would wait for ever.
    """

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        """Return the next line."""
        line = super().readline(size)
        return _ESCAPE.sub(_whole, line) if r"\ud" in line or r"\uD" in line else line


def _whole(escape: re.Match[str]) -> str:
    """Return an escape as it is, or the replacement character's for half a pair."""
    return r"\ufffd" if escape["half"] else escape[0]
