"""A whole shared server in this process: every catalogue, tool, job and endpoint, with accounts."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from stackroom.admin.owner_page import OwnerPages
from stackroom.admin.uploads import Uploads
from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import list_operations
from stackroom.assembly.serving import ToolChoice
from stackroom.cli.host import AdminServer
from stackroom.control.control import Control
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Action
from stackroom.serve.async_gate import Workers
from stackroom.serve.connections import Streams
from stackroom.serve.http.app import build_app
from stackroom.serve.http.metrics import Metrics
from stackroom.serve.http.routes import build_routes, list_endpoints
from stackroom.serve.http.service import Service
from stackroom.settings import RateLimitSettings, Settings
from stackroom.tools.faces.mcp import Served
from stackroom.tools.faces.rest import Door
from support.plain_tools import Notes, loaded


@dataclass(frozen=True, kw_only=True)
class WholeServer:
    """The gate with everything behind it, and its endpoints."""

    gate: Gate
    control: Control
    client: TestClient
    endpoints: list[Door]
    notes: Notes

    @property
    def tools(self) -> dict[str, Served]:
        """Every tool by its name, also those that no list has."""
        return self.gate.toolbox_of(LOCAL_USER).tools

    def headers_of(self, name: str, *actions: Action) -> dict[str, str]:
        """Make a user who may do this, and return the headers of a token of theirs."""
        self.control.accounts.create_user(LOCAL_USER, name, password=None, roles=(), grants=actions)
        secret, _ = self.control.credentials.issue_token(LOCAL_USER, name, name="test")
        return {"Authorization": f"Bearer {secret}"}


@contextmanager
def open_whole(home: Path) -> Iterator[WholeServer]:
    """Serve a library as `stackroom serve --http` does, without sockets and tasks."""
    limits = RateLimitSettings(read_per_minute=1000, write_per_minute=1000)
    settings, notes = Settings(home=home, rate_limit=limits), Notes()
    with closing(App(settings)) as app, closing(Control.open(settings)) as control:
        admin = AdminServer(app, control)
        gate = app.build_gate(
            tools=ToolChoice.ALL,
            limiter=control.limiter,
            observers=[notes],
            server_tools=admin.tools,
            office=admin.office,
        )
        uploads = Uploads(app)
        owners = OwnerPages(app, find_file=uploads.find_file)
        service = Service(
            settings=settings,
            opened_gate=loaded(gate),
            control=control,
            workers=Workers(),
            streams=Streams(10),
            metrics=Metrics(),
            operations=[
                *list_operations(app.packages, admin.parts),
                *uploads.operations(),
                *owners.operations(),
            ],
            health=admin.health,
        )
        parts: dict[str, Any] = {
            "authenticator": service.authenticator,
            "streams": service.streams,
            "routes": build_routes(service),
        }
        yield WholeServer(
            gate=gate,
            control=control,
            client=TestClient(build_app(None, settings, **parts), base_url="http://localhost"),
            endpoints=list_endpoints(service),
            notes=notes,
        )
        uploads.stop()
        owners.stop()
        admin.stop()
