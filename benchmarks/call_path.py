"""Count the path of a call: how many files and functions of ours it runs through, and how many
Python calls it makes.

    PYTHONPATH=tests .venv/bin/python benchmarks/call_path.py --library HOME
        [--catalogue anime] [--list]

A server and a client over MCP's Streamable HTTP run in this process, and every call of a Python
function in our own files is counted (`support.work`) while one search runs: warm, not from the
cache, and then the same from the cache; so are looks at files, and statements of SQL. The least of
a few is told, since tasks in the background may run at the same time. Counts are of work, not of
time, so that they are the same on every machine; those of a call without the transport are held by
`tests/interaction/test_search_work.py`.
"""

import argparse
import os
import signal
import socket
import sys
import threading
import time
from types import FrameType
from typing import Any

import anyio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from stackroom.cli.main import main as run_command
from support.work import Recorder

QUERIES = (
    "melancholy journey through space",
    "robots and the end of the world",
    "a quiet story about grief",
)
PATIENCE_S = 120


RECORDERS = [Recorder()]
"""The recorder of the call that runs, last."""


def note(frame: FrameType, event: str, argument: Any) -> None:
    """Count a call; called by the interpreter, in every thread."""
    RECORDERS[-1].note(frame, event, argument)


def main() -> None:
    """Serve, search, and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", required=True, help="a library to serve (STACKROOM_HOME)")
    parser.add_argument("--catalogue", default="anime")
    parser.add_argument("--list", action="store_true", help="name the files, with their calls")
    given = parser.parse_args()
    os.environ["STACKROOM_HOME"] = given.library
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    threading.setprofile(note)
    sys.setprofile(note)
    client = threading.Thread(target=measure, args=(port, given.catalogue, given.list))
    client.start()
    run_command(["serve", "--http", "--no-accounts", "--port", str(port)])
    client.join()


def measure(port: int, catalogue: str, is_listed: bool) -> None:
    """Search, tell the counts, and end the server."""
    try:
        wait_for(port)
        anyio.run(search, f"http://127.0.0.1:{port}/mcp", catalogue, is_listed)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


async def search(url: str, catalogue: str, is_listed: bool) -> None:
    """Search, and print the counts of a search and of one from the cache."""
    async with Client(streamable_http_client(url)) as client:
        for warm in ("space", "cats", "space"):
            await client.call_tool("search", {"query": warm, "catalogue": catalogue, "limit": 10})
        searched = [
            await counted(client, {"query": query, "catalogue": catalogue, "limit": 10})
            for query in QUERIES
        ]
        cached = [
            await counted(client, {"query": query, "catalogue": catalogue, "limit": 10})
            for query in QUERIES
        ]
    for name, samples in (("search", searched), ("from the cache", cached)):
        least = min(samples, key=lambda recorder: recorder.own.total())
        report(name, least, is_listed=is_listed)


async def counted(client: Client, arguments: dict[str, Any]) -> Recorder:
    """Return what was called for a search."""
    await anyio.sleep(0.3)
    RECORDERS.append(Recorder(is_on=True))
    await client.call_tool("search", arguments)
    RECORDERS[-1].is_on = False
    return RECORDERS[-1]


def report(name: str, recorder: Recorder, *, is_listed: bool) -> None:
    """Print the counts of one call."""
    files, calls = recorder.own_files(), recorder.own
    print(
        f"{name}: {len(files)} files, {len(calls)} functions, {calls.total()} calls, "
        f"{recorder.files.total()} looks at files, {recorder.statements} statements of SQL"
    )
    if is_listed:
        for place, count in sorted(recorder.files.items()):
            print(f"  {count:5} {place}")
        for file, count in sorted(files.items()):
            functions = sorted({code.co_name for code in calls if code.co_filename.endswith(file)})
            print(f"  {count:5} {file}: {', '.join(functions)}"[:400])


def wait_for(port: int) -> None:
    """Return when the server listens."""
    end = time.monotonic() + PATIENCE_S
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if time.monotonic() > end:
            raise TimeoutError("the server does not listen")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
