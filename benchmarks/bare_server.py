"""The smallest server on the MCP SDK: what starting costs before any of our own code."""

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server


async def list_tools(_context, _params):
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])


async def call_tool(_context, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(params.arguments))])


async def main():
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(main)
