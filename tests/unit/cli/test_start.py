"""What a command, help and a server over stdio load before they do anything, and where help says
that the documentation is.
"""

import subprocess
import sys
from collections.abc import Callable
from email.message import Message
from typing import Any

import pytest

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


LOADED_BY_HELP = """
import sys
from stackroom.cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
own = [name for name in sys.modules if name.startswith("stackroom")]
heavy = [name for name in ("numpy", "pydantic", "apsw", "tantivy") if name in sys.modules]
print(heavy, len(own) <= 10)
"""


def test_help_lists_the_commands_of_packages_and_loads_neither_them_nor_the_engine() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED_BY_HELP], check=True, capture_output=True, text=True
    )
    assert "stackroom_catalogues.papers" in done.stdout
    assert done.stdout.splitlines()[-1] == "[] True"


LOADED = """
import sys
import {module}
packages = ("stackroom", "stackroom_catalogues")
own = [name for name in sys.modules if name.partition(".")[0] in packages]
print(len(own), *(name for name in own if name.startswith({unwanted})))
"""


@pytest.mark.parametrize(
    ("module", "most", "unwanted"),
    [
        ("stackroom.cli.add", 150, ("stackroom.tools", "stackroom.recommend")),
        (
            "stackroom_catalogues.documents.tools",
            130,
            ("stackroom.ingest.pipeline", "stackroom.sources.folder"),
        ),
    ],
)
def test_adding_a_table_loads_no_tools_and_serving_documents_nothing_that_reads_files(
    module: str, most: int, unwanted: tuple[str, ...]
) -> None:
    code = LOADED.format(module=module, unwanted=unwanted)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    count, *loaded = done.stdout.split()
    assert (int(count) <= most, loaded) == (True, [])


@pytest.mark.row("N17")
@pytest.mark.parametrize("address", [None, "https://example.org/docs"])
def test_help_names_the_documentation(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    stated = Message()
    if address is not None:
        stated["Project-URL"] = "Homepage, https://example.org"
        stated["Project-URL"] = f"Documentation, {address}"
    monkeypatch.setattr("stackroom.cli.main.metadata", lambda _name: stated)
    said = run("--help").out
    assert "http://127.0.0.1:8080/docs while stackroom serve --http runs" in said
    assert ("https://example.org/docs" in said) == (address is not None)
