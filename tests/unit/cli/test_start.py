"""The SDK is imported without the parts that a server over stdio does not use, and these are there
when asked for.
"""

import subprocess
import sys

QUICK = """
import sys
from stackroom.cli.connect import prepare_sdk
prepare_sdk()
import stackroom.serve.stdio
unused = [name for name in ("mcp.client", "mcp.server.mcpserver", "httpx2") if name in sys.modules]
from mcp_types.methods import validate_client_request
client = {"name": "one", "version": "1"}
hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
validate_client_request("initialize", "2025-11-25", hello)
try:
    validate_client_request("initialize", "2025-11-25", {**hello, "clientInfo": 1})
except ValueError:
    unused.append("(refused)")
from mcp import ClientSession
from mcp.server import MCPServer
print(unused, ClientSession.__name__, MCPServer.__name__, "mcp.client" in sys.modules)
"""

HEAVY_MODULES = """
import sys
import stackroom.cli.connect
heavy = ("mcp", "onnxruntime", "tokenizers", "sqlalchemy", "starlette")
print([name for name in heavy if name in sys.modules])
"""


def _output(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_client_and_the_high_level_server_of_the_sdk_are_imported_only_on_demand() -> None:
    assert _output(QUICK) == "['(refused)'] ClientSession MCPServer True"


def test_the_command_that_serves_loads_no_model_and_no_database_by_itself() -> None:
    assert _output(HEAVY_MODULES) == "[]"
