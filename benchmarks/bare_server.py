"""The smallest server on the MCP SDK, over stdio: what starting and answering cost before any of
our own code.

`echo` repeats its arguments. With `--answers FILE` (tool → `{"text": …, "structured": …}`) there is
a tool for each entry that gives this answer, whatever it is asked: the same bytes on the wire as a
real tool, without any work.
"""

import json
import sys

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server


def build_bare_server(answers):
    """Return a server with `echo` and a tool for each answer."""
    ready = {name: _result(answer) for name, answer in answers.items()}
    tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in ("echo", *answers)]
    schemas = {tool.name: tool.input_schema for tool in tools}

    async def list_tools(_context, _params):
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context, params):
        if params.name in ready:
            return ready[params.name]
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=str(params.arguments))]
        )

    # Without `get_tool_input_schema` the SDK lists all tools before each call over HTTP.
    return Server(
        "bare", on_list_tools=list_tools, on_call_tool=call_tool, get_tool_input_schema=schemas.get
    )


def read_answers(arguments):
    """Return the answers of the file that `--answers` names."""
    if "--answers" not in arguments:
        return {}
    with open(arguments[arguments.index("--answers") + 1], encoding="utf-8") as file:
        return json.load(file)


def _result(answer):
    text = types.TextContent(type="text", text=answer["text"])
    return types.CallToolResult(content=[text], structured_content=answer["structured"])


async def main():
    server = build_bare_server(read_answers(sys.argv))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
