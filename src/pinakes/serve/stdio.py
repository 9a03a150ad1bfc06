"""MCP over standard input and output, for an assistant on the same machine."""

import logging
import sys
from collections.abc import Callable

import anyio
from mcp.server.stdio import stdio_server

from pinakes.gate.gate import Gate
from pinakes.model.principal import LOCAL_USER
from pinakes.serve.mcp_server import build_server


def serve_stdio(gate: Callable[[], Gate], *, log_level: str) -> None:
    """Serve until the client closes its end. Everything that is not protocol goes to standard error."""
    logging.basicConfig(stream=sys.stderr, level=log_level, format="%(levelname)s %(name)s: %(message)s")
    anyio.run(_serve, gate)


async def _serve(gate: Callable[[], Gate]) -> None:
    server = build_server(gate, LOCAL_USER)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
