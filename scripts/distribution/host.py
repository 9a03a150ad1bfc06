"""Starts a bundle as a desktop client does, and asks it: unpacked, configured by the format's own
code, run with uv.

    PYTHONPATH=scripts:tests .venv/bin/python -m distribution.host dist/stackroom-0.2.0.mcpb

Installs the bundle's dependencies from the package index, into the unpacked bundle. Without
--library the library is a new folder, which the bundle fills with the sample catalogues.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from conformance.node import find_node
from conformance.processes import CannotRunError, run_bounded
from distribution.validators import FOLDER, install_validators

PROGRAM = """
import { getMcpConfigForManifest } from "@anthropic-ai/mcpb/node";
import { readFileSync } from "node:fs";
const [manifest, extensionPath, userConfig] = process.argv.slice(1);
const found = await getMcpConfigForManifest({
  manifest: JSON.parse(readFileSync(manifest)), extensionPath, userConfig: JSON.parse(userConfig),
  systemDirs: { HOME: process.env.HOME }, pathSeparator: "/",
});
console.log(JSON.stringify(found));
"""
ERAS = ("legacy", "2026-07-28")


def configure(folder: Path, chosen: dict[str, Any]) -> StdioServerParameters:
    """Return the command of an unpacked bundle, with what the user chose filled in by the format's
    own code.
    """
    node = find_node()
    install_validators(node)
    arguments = [str(folder / "manifest.json"), str(folder), json.dumps(chosen)]
    command = [str(node.program), "--input-type=module", "--eval", PROGRAM, "--", *arguments]
    os.chdir(FOLDER)  # where Node finds the package
    finished = run_bounded(command, environment=node.environment(), timeout_s=60)
    if finished.code != 0:
        raise CannotRunError(finished.errors[-2_000:])
    found = json.loads(finished.output)
    uv = shutil.which(found["command"])
    if uv is None:
        raise CannotRunError("uv is not on the path; run: pip install uv")
    kept = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("STACKROOM_", "PYTHON", "VIRTUAL"))
    }
    return StdioServerParameters(command=uv, args=found["args"], env={**kept, **found["env"]})


async def ask(parameters: StdioServerParameters, era: str) -> None:
    """Connect, list tools, search, and say how long it took."""
    started_at = time.monotonic()
    async with Client(stdio_client(parameters), mode=era) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        connected_s = time.monotonic() - started_at
        answer = await client.call_tool("search", {"query": "space", "limit": 1})
    print(f"{era}: {len(tools)} tools after {connected_s:.1f} s: {', '.join(tools)}")
    if answer.is_error or not (answer.structured_content or {}).get("results"):
        raise SystemExit(f"the search failed: {answer}")


def main() -> int:
    """Unpack, configure and ask, in both eras of the protocol."""
    parser = argparse.ArgumentParser(prog="distribution.host", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--library", type=Path, help="the folder of a library")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stackroom-host-") as temporary:
        folder = Path(temporary) / "bundle"
        with zipfile.ZipFile(given.bundle) as archive:
            archive.extractall(folder)
        chosen = {"library": str((given.library or Path(temporary) / "library").absolute())}
        try:
            parameters = configure(folder, chosen)
        except CannotRunError as error:
            print(f"the bundle cannot be tried: {error}", file=sys.stderr)
            return 2
        for era in ERAS:
            anyio.run(ask, parameters, era)
    return 0


if __name__ == "__main__":
    sys.exit(main())
