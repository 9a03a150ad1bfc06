"""The shared server, accounts on it, and one way to ask over every transport.

A way is a transport and an era of the protocol, such as `websocket 2026-07-28`. Over each, the same request is asked in
the same words, and its answer is brought into the same form, so that answers can be compared.
"""

import base64
import importlib.resources
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import httpx
import httpx2
import pytest
from mcp import Client, types
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from websockets.asyncio.client import connect as open_websocket

from pinakes.assembly.app import App
from pinakes.assembly.build import add_catalogue, builtin_recipe, open_rows
from pinakes.catalogue.loader import get_builtin
from pinakes.control.control import Control
from pinakes.errors import ExpectedError
from pinakes.gate.gate import Gate
from pinakes.model.principal import LOCAL_USER, Action, Principal
from pinakes.settings import Settings

FIXTURE_SERVER = Path(__file__).with_name("fixture_server.py")
ERAS = ("legacy", "2026-07-28")
MCP_WAYS = [f"{transport} {era}" for transport in ("http", "sse", "websocket", "stdio") for era in ERAS]
NETWORK_WAYS = [way for way in MCP_WAYS if not way.startswith("stdio")] + ["rest"]
WAYS = [*MCP_WAYS, "rest"]
INVALID_PARAMS = str(types.INVALID_PARAMS)
UNKNOWN_CODES = ("unknown_tool", "unknown_resource")


@dataclass(frozen=True, kw_only=True)
class Request:
    """Something to ask, whatever the way."""

    operation: str
    target: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.operation} {self.target} {json.dumps(dict(self.arguments), ensure_ascii=False)}"[:80]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back, whatever the way: a value, or an error's code and message. `text` is None where there is none."""

    value: Any = None
    text: str | None = None
    error: str | None = None
    message: str = ""
    retry_after_s: int | None = None

    def without_text(self) -> "Reply":
        """Return what a way without texts gives."""
        return Reply(value=self.value, error=self.error, message=self.message, retry_after_s=self.retry_after_s)


class McpAsker:
    """Asks by the SDK's client."""

    def __init__(self, client: Client, portal: anyio.from_thread.BlockingPortal) -> None:
        self.client = client
        self._portal = portal

    def ask(self, request: Request) -> Reply:
        """Ask, and return the answer in the common form."""
        return self._portal.call(self.ask_async, request)

    async def ask_async(self, request: Request) -> Reply:
        """Ask within the event loop."""
        try:
            return await _MCP_ASKS[request.operation](self.client, request)
        except MCPError as error:
            data = error.error.data if isinstance(error.error.data, dict) else {}
            code = data.get("code") or str(error.error.code)
            return Reply(error=code, message=error.error.message, retry_after_s=data.get("retryAfterS"))


async def _list_tools(client: Client, _request: Request) -> Reply:
    result = await client.list_tools(cache_mode="bypass")
    return Reply(value=[_plain(one) for one in result.tools])


async def _call_tool(client: Client, request: Request) -> Reply:
    result = await client.call_tool(request.target, dict(request.arguments))
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    if not result.is_error:
        return Reply(value=result.structured_content, text=content.text)
    code, _, message = content.text.partition(": ")
    assert result.structured_content is None
    return Reply(error=code, message=message, retry_after_s=(result.meta or {}).get("io.pinakes/retryAfterS"))


async def _list_resources(client: Client, request: Request) -> Reply:
    result = await client.list_resources(cursor=request.arguments.get("cursor"), cache_mode="bypass")
    return Reply(value=[_plain(one) for one in result.resources], text=result.next_cursor or "")


async def _list_templates(client: Client, _request: Request) -> Reply:
    result = await client.list_resource_templates(cache_mode="bypass")
    return Reply(value=[_plain(one) for one in result.resource_templates])


async def _read_resource(client: Client, request: Request) -> Reply:
    (content,) = (await client.read_resource(request.target, cache_mode="bypass")).contents
    body = content.text.encode() if isinstance(content, types.TextResourceContents) else base64.b64decode(content.blob)
    return Reply(value=(content.mime_type, body))


async def _complete(client: Client, request: Request) -> Reply:
    ref = types.ResourceTemplateReference(type="ref/resource", uri=request.target)
    others = {key: value for key, value in request.arguments.items() if key not in ("name", "value")}
    argument = {"name": request.arguments["name"], "value": request.arguments["value"]}
    found = (await client.complete(ref, argument, others or None)).completion
    return Reply(value=(list(found.values), found.total))


_MCP_ASKS = {
    "tools/list": _list_tools,
    "tools/call": _call_tool,
    "resources/list": _list_resources,
    "resources/templates/list": _list_templates,
    "resources/read": _read_resource,
    "completion/complete": _complete,
}


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


class RestAsker:
    """Asks by REST."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def ask(self, request: Request) -> Reply:
        """Ask, and return the answer in the common form."""
        response = self._send(request)
        if response.is_success:
            return self._success(request, response)
        error = response.json()["error"]
        code = error["code"]
        is_protocol = code in UNKNOWN_CODES or (code == "invalid_input" and request.operation != "tools/call")
        assert response.status_code == {"unknown_tool": 404, "unknown_resource": 404}.get(code, response.status_code)
        retry = response.headers.get("retry-after")
        return Reply(
            error=INVALID_PARAMS if is_protocol else code,
            message=error["message"],
            retry_after_s=int(retry) if retry else None,
        )

    def _send(self, request: Request) -> httpx.Response:
        if request.operation == "tools/list":
            return self.client.get("/v1/tools")
        if request.operation == "tools/call":
            return self.client.post(f"/v1/tools/{request.target}", json=dict(request.arguments))
        if request.operation == "resources/list":
            return self.client.get("/v1/resources", params=dict(request.arguments))
        if request.operation == "resources/templates/list":
            return self.client.get("/v1/resource-templates")
        assert request.operation == "resources/read"
        return self.client.get("/v1/resources/read", params={"uri": request.target})

    @staticmethod
    def _success(request: Request, response: httpx.Response) -> Reply:
        if request.operation == "tools/call":
            return Reply(value=response.json())
        if request.operation == "resources/list":
            return Reply(value=response.json()["resources"], text=response.json().get("nextCursor", ""))
        if request.operation == "resources/read":
            return Reply(value=(response.headers["content-type"].partition(";")[0], response.content))
        (value,) = response.json().values()
        return Reply(value=value)


class GateAsker:
    """Asks a gate in this process: what every way is to answer."""

    def __init__(self, gate: Gate, principal: Principal = LOCAL_USER) -> None:
        self._gate = gate
        self._principal = principal

    def ask(self, request: Request) -> Reply:
        """Ask, and return the answer in the common form."""
        try:
            return self._asked(request)
        except ExpectedError as error:
            return Reply(error=INVALID_PARAMS, message=error.message)

    def _asked(self, request: Request) -> Reply:
        gate, principal, arguments = self._gate, self._principal, request.arguments
        if request.operation == "tools/list":
            return Reply(value=[self._tool(tool) for tool in gate.list_tools(principal)])
        if request.operation == "tools/call":
            answer = gate.call(principal, request.target, arguments)
            if answer.error:
                return Reply(error=answer.error.code, message=answer.error.message)
            return Reply(value=json.loads(answer.encoded), text=answer.text)
        if request.operation == "resources/list":
            page = gate.list_resources(principal, arguments.get("cursor"))
            return Reply(value=[self._entry(one) for one in page.entries], text=page.next_cursor or "")
        if request.operation == "resources/templates/list":
            return Reply(value=[self._template(one) for one in gate.list_templates(principal)])
        if request.operation == "resources/read":
            content = gate.read(principal, request.target)
            body = content.blob if content.blob is not None else (content.text or "").encode()
            return Reply(value=(content.mime_type, body))
        others = {key: value for key, value in arguments.items() if key not in ("name", "value")}
        found = gate.complete(principal, request.target, arguments["name"], arguments["value"], others)
        return Reply(value=(found.values, found.total))

    @staticmethod
    def _tool(tool: Any) -> Any:
        shown = {
            "name": tool.name,
            "title": tool.title or None,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "annotations": {"readOnlyHint": tool.read_only},
        }
        return {key: value for key, value in shown.items() if value is not None}

    @staticmethod
    def _entry(entry: Any) -> Any:
        shown = {"uri": entry.uri, "name": entry.name, "title": entry.title, "mimeType": entry.mime_type}
        return {key: value for key, value in shown.items() if value}

    @staticmethod
    def _template(resource: Any) -> Any:
        return {
            "uriTemplate": resource.template,
            "name": resource.name,
            "description": resource.description,
            "mimeType": resource.template_mime_type,
        }


@asynccontextmanager
async def websocket_streams(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """Open a WebSocket as the SDK's client wants a transport: a stream of messages each way."""
    async with (
        open_websocket(url, additional_headers=headers, subprotocols=["mcp"], max_size=None) as socket,
        anyio.create_task_group() as tasks,
    ):
        assert socket.subprotocol == "mcp"
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage](0)

        async def receive() -> None:
            async with to_client:
                async for text in socket:
                    await to_client.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(text)))

        async def send() -> None:
            async with from_client:
                async for one in from_client:
                    await socket.send(one.message.model_dump_json(by_alias=True, exclude_unset=True))

        tasks.start_soon(receive)
        tasks.start_soon(send)
        yield from_server, to_server
        tasks.cancel_scope.cancel()


class FixtureProcess:
    """`fixture_server.py` as a process of its own, with its log."""

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self.home = home
        self.log: list[str] = []
        self._heard = threading.Event()
        self.process = subprocess.Popen(
            [sys.executable, str(FIXTURE_SERVER)],
            env={**os.environ, "PINAKES_HOME": str(home), "LOG_LEVEL": "WARNING", **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._heard.wait(60), self.log
        found = re.search(r"serving at (http://\S+) ", "".join(self.log))
        assert found, self.log
        self.url = found[1]

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if "serving at" in line:
                self._heard.set()
        self._heard.set()

    def stop(self, number: int = signal.SIGTERM, timeout_s: float = 20) -> int:
        """End the process, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self._reader.join(5)
            assert self.process.stderr is not None
            self.process.stderr.close()


class Accounts:
    """The accounts of a library, changed from this process while a server in another one uses them."""

    def __init__(self, home: Path) -> None:
        self.control = Control.open(Settings(home=home))
        self._numbers = itertools.count(1)

    def user(self, *actions: Action, name: str = "user", roles: Sequence[str] = ()) -> str:
        """Add a user who may do this, and return their name."""
        full = f"{name}-{next(self._numbers)}"
        self.control.accounts.create_user(LOCAL_USER, full, password=None, roles=roles, grants=actions)
        return full

    def token(self, user: str, *, name: str = "", expires_in: timedelta | None = None, **narrowed: Any) -> str:
        """Make a token for a user, and return its secret."""
        secret, _credential = self.control.credentials.issue_token(
            LOCAL_USER, user, name=name or f"token {next(self._numbers)}", expires_in=expires_in, **narrowed
        )
        return secret

    def close(self) -> None:
        """Let go of the database."""
        self.control.close()


@dataclass(frozen=True, kw_only=True)
class Hosted:
    """A running server, and the accounts that it serves."""

    server: Any
    accounts: Accounts
    environment: Mapping[str, str]

    @property
    def url(self) -> str:
        """Where the server is."""
        return str(self.server.url)

    @property
    def websocket_url(self) -> str:
        """Where its WebSocket is."""
        return f"ws{self.url.removeprefix('http')}/v1/mcp"

    def rest(self, secret: str | None = None) -> httpx.Client:
        """Return a client of REST, which its user closes."""
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, verify=False)  # plain HTTP: load no CAs


Connect = Callable[..., AbstractContextManager[Any]]


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
    return lambda operation, target="", **arguments: Request(operation=operation, target=target, arguments=arguments)


@pytest.fixture(scope="session")
def asker_of() -> Callable[..., GateAsker]:
    """Make an asker of a gate in this process."""
    return GateAsker


@pytest.fixture(scope="session")
def portal() -> Iterator[anyio.from_thread.BlockingPortal]:
    """An event loop in a thread of its own, where clients live."""
    with anyio.from_thread.start_blocking_portal() as opened:
        yield opened


@pytest.fixture(scope="session")
def connect(portal: anyio.from_thread.BlockingPortal, tmp_path_factory: pytest.TempPathFactory) -> Connect:
    """Connect to a hosted server by a way, with a token; over stdio, start a server on the same library."""

    @contextmanager
    def connected(way: str, hosted: Hosted, secret: str = "") -> Iterator[McpAsker | RestAsker]:
        if way == "rest":
            with hosted.rest(secret) as client:
                yield RestAsker(client)
            return
        transport, era = way.split(" ")
        headers = {"Authorization": f"Bearer {secret}"}
        with ExitStack() as stack:
            if transport == "http":
                web = stack.enter_context(
                    portal.wrap_async_context_manager(httpx2.AsyncClient(headers=headers, verify=False))
                )
                streams = streamable_http_client(f"{hosted.url}/mcp", http_client=web)
            elif transport == "sse":
                streams = sse_client(f"{hosted.url}/sse", headers=headers)
            elif transport == "websocket":
                streams = websocket_streams(hosted.websocket_url, headers)
            else:
                log = stack.enter_context((tmp_path_factory.mktemp("log") / "stderr").open("w"))
                environment = {**os.environ, "PINAKES_HOME": str(hosted.server.home), "LOG_LEVEL": "WARNING"}
                started = StdioServerParameters(
                    command=sys.executable, args=["-m", "pinakes", "serve"], env=environment
                )
                streams = stdio_client(started, errlog=log)
            client = stack.enter_context(portal.wrap_async_context_manager(Client(streams, mode=era)))
            assert client.protocol_version == {"legacy": "2025-11-25"}.get(era, era)
            yield McpAsker(client, portal)

    return connected


@pytest.fixture(scope="session")
def hosted(whole_home: Path, tmp_path_factory: Any, start_server: Any) -> Iterator[Hosted]:
    """`pinakes serve --http` over every sample catalogue, with accounts."""
    home = tmp_path_factory.mktemp("shared") / "home"
    shutil.copytree(whole_home, home)
    accounts = Accounts(home)
    environment = {"LOG_LEVEL": "DEBUG"}
    yield Hosted(server=start_server(home, environment=environment), accounts=accounts, environment=environment)
    accounts.close()


@pytest.fixture(scope="module")
def music_hosted(tmp_path_factory: Any, start_server: Any) -> Iterator[Hosted]:
    """`pinakes serve --http` over the music sample alone, where nobody has an account yet."""
    home = tmp_path_factory.mktemp("music")
    app = App(Settings(home=home))
    with importlib.resources.as_file(get_builtin("music").folder.joinpath("sample/library.jsonl")) as path:
        recipe, rows = builtin_recipe("music"), open_rows("music", str(path))
        add_catalogue(app, rows, recipe=recipe, name="music", progress=lambda _report: None, embed=False)
    app.close()
    environment = {"LOG_LEVEL": "INFO", "RAG_STRICT_OFFLINE": "1", "PINAKES_EMBED_API_KEY": "sk-very-secret"}
    server = start_server(home, environment=environment)
    accounts = Accounts(home)
    yield Hosted(server=server, accounts=accounts, environment=environment)
    accounts.close()
    server.stop()


@pytest.fixture(scope="session")
def start_fixture_server() -> Iterator[Callable[..., Hosted]]:
    """Start the server of the fixture tools on a library of its own; what still runs at the end is ended."""
    with ExitStack() as stack:

        def start(home: Path, **environment: str) -> Hosted:
            accounts = Accounts(home)
            stack.callback(accounts.close)
            process = FixtureProcess(home, environment)
            stack.callback(lambda: process.stop() if process.process.poll() is None else None)
            return Hosted(server=process, accounts=accounts, environment=environment)

        yield start


@pytest.fixture(scope="session")
def fixture_hosted(start_fixture_server: Any, tmp_path_factory: Any) -> Hosted:
    """The server of the fixture tools."""
    started: Hosted = start_fixture_server(tmp_path_factory.mktemp("fixture"), LOG_LEVEL="DEBUG")
    return started


@pytest.fixture(scope="session")
def soon() -> Callable[..., float]:
    """Wait until something is so, and return how long that took; fail where it is not so in time."""

    def wait(is_so: Callable[[], bool], *, timeout_s: float, every_s: float = 0.01) -> float:
        began = time.monotonic()
        while not is_so():
            assert time.monotonic() - began < timeout_s, "it did not become so in time"
            time.sleep(every_s)
        return time.monotonic() - began

    return wait
