"""The shared server, accounts on it, and one way to ask over every transport.

A way is a transport and an era of the protocol, such as `websocket 2026-07-28`. Over each, the same
request is asked in the same words, and its answer is brought into the same form, so that answers
can be compared.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

import anyio
import anyio.from_thread
import httpx2
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from support.clients import (
    NETWORK_WAYS,
    WAYS,
    Connect,
    GateAsker,
    McpAsker,
    Request,
    RestAsker,
    websocket_streams,
)
from support.hosting import FIXTURE_SERVER, Hosted, Kept
from support.launching import launch
from support.libraries import copy_samples
from support.processes import ServerProcess, wait_until


@pytest.fixture(scope="module", params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """Every way in turn."""
    return str(request.param)


@pytest.fixture(scope="module", params=NETWORK_WAYS)
def network_way(request: pytest.FixtureRequest) -> str:
    """Every way over the network in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def request_of() -> Callable[..., Request]:
    """Make a request: operation, target, arguments."""
    return lambda operation, target="", **arguments: Request(
        operation=operation, target=target, arguments=arguments
    )


@pytest.fixture(scope="session")
def asker_of() -> Callable[..., GateAsker]:
    """Make an asker of a gate in this process."""
    return GateAsker


@pytest.fixture(scope="session")
def portal() -> Iterator[anyio.from_thread.BlockingPortal]:
    """An event loop in a thread of its own, where clients live."""
    with anyio.from_thread.start_blocking_portal() as opened:
        yield opened


@contextmanager
def forked_server(
    program: Sequence[str], environment: dict[str, str], log: TextIO, folder: Path
) -> Iterator[StdioServerParameters]:
    """Yield a command that is joined by pipes to a forked `stackroom serve`, which need not read
    its modules.
    """
    requests, answers = (str(folder / name) for name in ("requests", "answers"))
    os.mkfifo(requests)
    os.mkfifo(answers)

    def serve() -> int:
        # once the client has opened them
        with open(requests, "rb") as stdin, open(answers, "wb") as stdout:
            process = launch(
                [*program, "serve"], env=environment, stdin=stdin, stdout=stdout, stderr=log
            )
        return process.wait(120)

    with ThreadPoolExecutor(1) as pool:
        served = pool.submit(serve)
        yield StdioServerParameters(
            command="sh", args=["-c", 'cat "$1" & cat >"$0"; wait', requests, answers]
        )
        assert served.result() == 0


@pytest.fixture(scope="session")
def connect(
    portal: anyio.from_thread.BlockingPortal, tmp_path_factory: pytest.TempPathFactory
) -> Connect:
    """Connect to a hosted server by a way, with a token; over stdio, start a server on the same
    library.
    """

    @contextmanager
    def connected(way: str, hosted: Hosted, secret: str = "") -> Iterator[McpAsker | RestAsker]:
        if way == "rest":
            with hosted.rest(secret) as rest:
                yield RestAsker(rest)
            return
        transport, era = way.split(" ")
        headers = {"Authorization": f"Bearer {secret}"}
        with ExitStack() as stack:
            if transport == "http":
                web = stack.enter_context(
                    portal.wrap_async_context_manager(
                        httpx2.AsyncClient(headers=headers, verify=False)
                    )
                )
                streams = streamable_http_client(f"{hosted.url}/mcp", http_client=web)
            elif transport == "sse":
                streams = sse_client(f"{hosted.url}/sse", headers=headers)
            elif transport == "websocket":
                streams = websocket_streams(hosted.websocket_url, headers)
            else:
                log = stack.enter_context((tmp_path_factory.mktemp("log") / "stderr").open("w"))
                environment = {
                    **os.environ,
                    **hosted.environment,
                    "STACKROOM_HOME": str(hosted.server.home),
                }
                environment["LOG_LEVEL"] = "WARNING"
                folder = tmp_path_factory.mktemp("pipes")
                streams = stdio_client(
                    stack.enter_context(forked_server(hosted.program, environment, log, folder)),
                    errlog=log,
                )
            client = stack.enter_context(
                portal.wrap_async_context_manager(Client(streams, mode=era))
            )
            assert client.protocol_version == {"legacy": "2025-11-25"}.get(era, era)
            yield McpAsker(client, portal)

    return connected


@pytest.fixture(scope="session")
def hosted(
    whole_home: Path, tmp_path_factory: Any, start_server: Any, kept: Kept
) -> Iterator[Hosted]:
    """`stackroom serve --http` over every sample catalogue, with accounts."""
    home = tmp_path_factory.mktemp("shared") / "home"
    shutil.copytree(whole_home, home)
    accounts, named = kept(home)
    environment = {"LOG_LEVEL": "DEBUG", **named}
    yield Hosted(
        server=start_server(home, environment=environment),
        accounts=accounts,
        environment=environment,
    )
    accounts.close()


@pytest.fixture(scope="module")
def music_hosted(tmp_path_factory: Any, start_server: Any, kept: Kept) -> Iterator[Hosted]:
    """`stackroom serve --http` over the music sample alone, where nobody has an account yet."""
    home = copy_samples(tmp_path_factory.mktemp("music"), "music")
    accounts, named = kept(home)
    environment = {
        "LOG_LEVEL": "INFO",
        "RAG_STRICT_OFFLINE": "1",
        "STACKROOM_EMBED_API_KEY": "sk-very-secret",
        **named,
    }
    server = start_server(home, environment=environment)
    yield Hosted(server=server, accounts=accounts, environment=environment)
    accounts.close()
    server.stop()


@pytest.fixture(scope="session")
def start_fixture_server(kept: Kept) -> Iterator[Callable[..., Hosted]]:
    """Start the server of the fixture tools on a library of its own; what still runs at the end is
    ended.
    """
    with ExitStack() as stack:

        def start(home: Path, **environment: str) -> Hosted:
            accounts, named = kept(home)
            stack.callback(accounts.close)
            process = ServerProcess(
                home, environment={**environment, **named}, program=FIXTURE_SERVER
            )
            stack.callback(lambda: process.stop() if process.process.poll() is None else None)
            return Hosted(server=process, accounts=accounts, environment={**environment, **named})

        yield start


@pytest.fixture(scope="session")
def fixture_hosted(start_fixture_server: Any, tmp_path_factory: Any) -> Hosted:
    """The server of the fixture tools."""
    started: Hosted = start_fixture_server(tmp_path_factory.mktemp("fixture"), LOG_LEVEL="DEBUG")
    return started


@pytest.fixture(scope="session")
def soon() -> Callable[..., None]:
    """Wait until something is so; fail if it does not become so."""
    return wait_until
