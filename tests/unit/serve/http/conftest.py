"""The whole REST side over a small toolbox, behind the guard, with real accounts in a database of
its own.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from stackroom.analytics.events import EventLog
from stackroom.control.control import Control
from stackroom.errors import StorageError
from stackroom.gate.answer import AnswerCache
from stackroom.gate.gate import Gate
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import LOCAL_USER, Action, AuditEntry, Cost, Principal
from stackroom.serve.async_gate import Workers
from stackroom.serve.connections import Streams
from stackroom.serve.http.app import build_app
from stackroom.serve.http.metrics import Metrics
from stackroom.serve.http.openapi import build_document
from stackroom.serve.http.routes import build_routes, list_endpoints
from stackroom.serve.http.service import TOOL_PATH, Service
from stackroom.settings import Settings
from stackroom.tools.faces.mcp import Words
from stackroom.tools.media import MediaFile, MediaKind, MediaSpec, find_file
from stackroom.tools.operation import AnyOperation, Office
from stackroom.tools.resources import ResourceContent, ResourceEntry, ResourceSpec
from stackroom.tools.spec import ToolParams, ToolResult
from stackroom.tools.toolbox import Toolbox, Toolboxes
from stackroom_catalogues.music.subsonic import methods
from support.health import GivenHealth
from support.libraries import Library
from support.plain_tools import NoParams, Notes, make_tool
from support.rest_answers import watch_answers

BASE = "http://localhost:8080"
PASSWORD = "correct horse battery"
SONG = {MediaKind.AUDIO: "song.wav", MediaKind.COVER: "song.png"}


class Params(ToolParams):
    """The arguments of every tool here."""

    query: str
    limit: int = 10


class Result(ToolResult):
    """The answer of every tool here."""

    found_by: str
    results: tuple[dict[str, str], ...] = ()


def find(principal: Principal, params: Any) -> Result:
    return Result(found_by=principal.name, results=({"title": getattr(params, "query", "")},) * 2)


def break_down(_principal: Principal, _params: Any) -> Result:
    raise RuntimeError("a bug with a secret in it")


def lack_storage(_principal: Principal, _params: Any) -> Result:
    raise StorageError("the disk is away")


def tool(name: str, *, run: Callable[[Principal, Any], Result] = find, **more: Any) -> AnyOperation:
    values: dict[str, Any] = {
        "action": Action.ACCESS_CATALOG,
        "params": Params,
        "cost": Cost.READ,
        **more,
    }
    return make_tool(
        name=name,
        description=f"What {name} does.",
        result=Result,
        run=run,
        text=lambda result: f"{len(result.results)} found",
        **values,
    )


TOOLS = [
    tool("search", title="Search", is_kept=True),
    tool("ping", params=NoParams),
    tool("edit", action=Action.EDIT_CATALOG, cost=Cost.WRITE),
    tool("bug", run=break_down),
    tool("away", run=lack_storage),
    tool(
        "filter",
        words=Words(
            properties={"query": {"$ref": "#/$defs/words"}},
            definitions={
                "words": {"type": "string", "anyOf": [{"$ref": "#/$defs/word"}]},
                "word": {"minLength": 1},
            },
        ),
    ),
]
CONTENTS = {
    "long": ResourceContent(mime_type="text/plain", text="line " * 1_000),
    "plain": ResourceContent(mime_type="text/plain", text="grüße"),
    "page": ResourceContent(mime_type="text/html", text="<script>alert(1)</script>"),
    "drawing": ResourceContent(mime_type="image/svg+xml", text="<svg onload='alert(1)'/>"),
    "picture": ResourceContent(mime_type="image/png", blob=b"\x89PNG"),
    "strange": ResourceContent(mime_type="text/plain\r\nSet-Cookie: a=b", text="x"),
}
NOTES = ResourceSpec(
    prefix="notes://",
    action=Action.ACCESS_CATALOG,
    entries=lambda _principal: [
        ResourceEntry(uri=f"notes://{number:03}", name=str(number), title="A note")
        for number in range(205)
    ],
    read=lambda _principal, rest: CONTENTS.get(rest),
    template="notes://{name}",
    name="note",
    description="A note.",
)


def _songs(folder: Path) -> MediaSpec:
    """Declare a catalogue of one song."""

    def find(_principal: Principal, record_id: str, kind: MediaKind) -> MediaFile | None:
        return find_file((folder,), SONG[kind]) if record_id == "song" else None

    return MediaSpec(
        catalogue="songs",
        action=Action.ACCESS_CATALOG,
        find=find,
        known_among=lambda _principal, ids: {"song"} & set(ids),
    )


def _events(control: Control, opened: ExitStack) -> EventLog:
    log = EventLog(control.database)
    opened.callback(log.close)
    return log


def _document(service: Service, gate: Gate) -> dict[str, Any]:
    """Describe every endpoint of a server, and every tool."""
    has_accounts = service.control is not None
    offered = [one for one in list_endpoints(service) if has_accounts or not one.needs.accounts]
    documented = [one for one in offered if one.path != TOOL_PATH]
    return build_document(
        documented, gate.list_tools(LOCAL_USER), base=BASE, has_accounts=has_accounts
    )


@dataclass(kw_only=True)
class Site:
    """A server without sockets, and what stands behind it."""

    client: TestClient
    service: Service
    notes: Notes
    problems: dict[str, str]
    health: GivenHealth
    recorder: EventLog | None
    routes: list[Route]

    @property
    def control(self) -> Control:
        """The accounts."""
        assert self.service.control is not None
        return self.service.control

    def add_user(self, name: str = "reader", *roles: str, password: str | None = None) -> None:
        """Make a user; without a password they have tokens alone, which takes no time."""
        self.control.accounts.create_user(
            LOCAL_USER, name, password=password, roles=roles or ("user",)
        )

    def by_token(self, name: str = "reader", **more: Any) -> TestClient:
        """Return a client of somebody with a new token."""
        called = f"token {len(self.control.credentials.list_of(name))}"
        secret, _ = self.control.credentials.issue_token(LOCAL_USER, name, name=called, **more)
        return self.bearer(secret)

    def by_session(self, name: str = "reader") -> TestClient:
        """Return a client of somebody with a new session."""
        user = self.control.accounts.get_user(name)
        secret, _ = self.control.credentials.issue_session(user, lasts=timedelta(hours=1))
        return self.bearer(secret)

    def bearer(self, secret: str) -> TestClient:
        """Return a client that shows a secret."""
        shown = {"Authorization": f"Bearer {secret}"}
        client = TestClient(self.client.app, base_url=BASE, headers=shown)
        client.event_hooks = self.client.event_hooks
        return client

    def last_note(self) -> AuditEntry:
        """Return what was noted last."""
        return self.notes.entries[-1]


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Make a server with these settings; with accounts unless told otherwise."""
    for name in SONG.values():
        (tmp_path / name).write_bytes(bytes(64))
    opened = ExitStack()

    def make(
        *,
        accounts: bool = True,
        is_loaded: bool = True,
        toolboxes: Toolboxes | None = None,
        operations: Sequence[AnyOperation] = (),
        **settings: Any,
    ) -> Site:
        configured = Settings(home=tmp_path, **settings)
        control = Control.open(configured) if accounts else None
        if control:
            opened.callback(control.close)
        metrics, notes, health = Metrics(), Notes(), GivenHealth()
        observers = [metrics, notes, *([control.audit] if control else [])]
        gate = Gate(
            toolboxes or Toolbox(TOOLS, [NOTES], media=[_songs(tmp_path)]),
            limiter=control.limiter if control else None,
            observers=observers,
            cache=AnswerCache(configured.server.cache_size),
            office=Office(control=control),
        )
        recorder = _events(control, opened) if control else None
        opened_gate: Future[Gate] = Future()
        if is_loaded:
            opened_gate.set_result(gate)
        service = Service(
            settings=configured,
            opened_gate=opened_gate,
            control=control,
            workers=Workers(),
            streams=Streams(10),
            metrics=metrics,
            operations=[*methods.ENDPOINTS, *operations],
            health=health,
        )
        routes = build_routes(service)
        app = build_app(
            None,
            configured,
            authenticator=service.authenticator,
            streams=service.streams,
            routes=routes,
        )
        client = TestClient(app, base_url=BASE)
        watch_answers(client, lambda: _document(service, gate))
        return Site(
            client=client,
            service=service,
            notes=notes,
            problems=health.degraded,
            health=health,
            recorder=recorder,
            routes=[route for route in routes if isinstance(route, Route)],
        )

    yield make
    opened.close()


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    """A server with accounts, and a reader who has no password."""
    made = make_site()
    made.add_user()
    return made


@pytest.fixture
def local(make_site: Callable[..., Site]) -> Site:
    """A server without accounts."""
    return make_site(accounts=False)


@pytest.fixture
def plain_site(make_site: Callable[..., Site], plain: Library) -> Site:
    """A server of the sample catalogue without vectors, with a reader."""
    catalogues = [plain.app.open_catalogue("anime")]
    tools = [*plain.gate.list_tools(LOCAL_USER), *generic_tools(catalogues)]
    site = make_site(toolboxes=Toolbox(tools, catalogues=catalogues))
    site.add_user("ada")
    return site


@pytest.fixture(scope="session")
def password() -> str:
    """A good password."""
    return PASSWORD
