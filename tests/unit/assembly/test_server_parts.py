"""Parts of a shared server that a package brings: tools, endpoints, jobs, tasks, tables and
prunings.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from sqlalchemy import select

from stackroom.api.server import NO_PARTS
from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import build_context, build_server_parts, list_operations
from stackroom.cli.host import AdminServer
from stackroom.control.control import Control
from stackroom.errors import ForbiddenError, NotFoundError
from stackroom.ingest.pipeline import IngestRequest
from stackroom.jobs.job import JobContext
from stackroom.model.principal import LOCAL_USER
from stackroom.model.scope import WHOLE
from stackroom.packages import GROUP, PackageRegistry
from stackroom.settings import Settings

DECLARATION = """
name = "games"
title = "Games"
summary = "Board games."

[fields.title]
type = "text"
role = "title"
search = true
"""
PACKAGE = """
from importlib.resources import files
from stackroom.api import Call, CataloguePackage, GenericParams
from stackroom.api.http import endpoint


@endpoint("GET /v1/games", 204, tag="games")
def show(call: Call, params: GenericParams) -> None:
    '''Show a game.'''


@endpoint("GET /v1/loans", 204, tag="games")
def show_loans(call: Call, params: GenericParams) -> None:
    '''Show nothing.'''


PACKAGE = CataloguePackage(
    declaration=files(__package__) / "catalogue.toml", endpoints=lambda: [show, show_loans],
    server="lent_games.server:build",
)
"""
SERVER = """
from sqlalchemy import Column, MetaData, Table, Text
from stackroom.api import Action, Call, GenericParams, GenericResult, operation
from stackroom.api.http import endpoint
from stackroom.api.server import JobSpec, ServerParts, Task

METADATA = MetaData()
loans = Table("game_loans", METADATA, Column("game", Text, primary_key=True))
log = []


def remind(context):
    log.append("reminded")


@operation("games.lend", action=Action.REQUEST_CONTENT, writes=True)
def lend(call: Call, params: GenericParams) -> GenericResult:
    '''Lend a game.'''
    return GenericResult()


@endpoint("GET /v1/loans", 204, tag="games", needs_accounts=True)
def list_loans(call: Call, params: GenericParams) -> None:
    '''List the loans.'''


def build(context):
    def count(job):
        with context.database.begin() as connection:
            connection.execute(loans.insert(), {"game": "catan"})

    return ServerParts(
        tools=[lend],
        endpoints=[list_loans],
        jobs=[JobSpec(name="count_games", description="Count.", schedule="manual", body=count)],
        tasks=[Task(name="remind", description="Remind.", run=remind)],
        tables=METADATA,
        prunings={"loans": lambda before: 3},
    )
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageRegistry]:
    """The registry of a Python environment with one package, which lends games."""
    folder = tmp_path / "site" / "lent_games"
    folder.mkdir(parents=True)
    (folder / "catalogue.toml").write_text(DECLARATION)
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "server.py").write_text(SERVER)
    monkeypatch.syspath_prepend(str(folder.parent))
    yield PackageRegistry(lambda: [EntryPoint("games", "lent_games:PACKAGE", GROUP)])
    for name in ("lent_games", "lent_games.server"):
        sys.modules.pop(name, None)


@pytest.fixture
def app(tmp_path: Path, packages: PackageRegistry) -> Iterator[App]:
    app = App(Settings(home=tmp_path / "home", offline=True), packages=packages)
    yield app
    app.close()


@pytest.fixture
def server(app: App, control: Control) -> Iterator[AdminServer]:
    server = AdminServer(app, control)
    yield server
    server.stop()


def test_a_packages_tables_are_created_and_its_job_writes_to_them(
    app: App, control: Control, server: AdminServer
) -> None:
    (job,) = build_server_parts(app, control, server.events).jobs
    tables = sys.modules["lent_games.server"]
    job.body(JobContext())
    with control.database.read() as connection:
        assert connection.execute(select(tables.loans.c.game)).scalars().all() == ["catan"]


def test_endpoints_of_the_server_replace_those_that_a_package_declares(
    server: AdminServer, app: App
) -> None:
    declared = {one.faces.rest.address: one.name for one in list_operations(app.packages, NO_PARTS)}
    served = {
        one.faces.rest.address: one.name for one in list_operations(app.packages, server.parts)
    }
    assert declared == {"GET /v1/games": "games/show", "GET /v1/loans": "games/show_loans"}
    assert served == {"GET /v1/games": "games/show", "GET /v1/loans": "games/list_loans"}


def test_two_packages_with_an_endpoint_of_one_address_are_refused(
    app: App, server: AdminServer
) -> None:
    twice = replace(
        server.parts,
        endpoints=[*server.parts.endpoints, replace(server.parts.endpoints[0], name="other/x")],
    )
    with pytest.raises(
        ValueError, match=r"two endpoints answer GET /v1/loans: of lent_games.server and "
    ):
        list_operations(app.packages, twice)


def test_a_package_builds_and_refreshes_its_catalogue_on_behalf_of_a_user(
    app: App, control: Control, server: AdminServer, tmp_path: Path
) -> None:
    source = tmp_path / "games.jsonl"
    source.write_text('{"id": "catan", "title": "Catan"}\n')
    context = build_context(app, control, server.events, app.packages.get("games"))
    assert context.list_catalogues() == []
    context.refresh("games", str(source), IngestRequest())
    source.write_text('{"id": "catan", "title": "Catan"}\n{"id": "azul", "title": "Azul"}\n')
    context.refresh("games", str(source), IngestRequest())
    (installed,) = context.list_catalogues()
    assert (installed.name, installed.sources) == ("games", (str(source),))
    assert app.open_catalogue("games").shelf.reader().count(WHOLE) == 2


def test_a_package_gets_users_with_their_present_rights(
    app: App, control: Control, server: AdminServer
) -> None:
    context = build_context(app, control, server.events, app.packages.get("games"))
    control.accounts.create_user(
        LOCAL_USER, "ann", password="correct horse battery", roles=["user"], grants=()
    )
    assert context.get_principal("ann").name == "ann"
    control.accounts.set_disabled(LOCAL_USER, "ann", disabled=True)
    with pytest.raises(ForbiddenError, match="user 'ann' is disabled"):
        context.get_principal("ann")
    with pytest.raises(NotFoundError, match="'bob'"):
        context.get_principal("bob")


def failing(*_arguments: object) -> object:
    raise RuntimeError("the package is broken")


def test_a_package_whose_tools_fail_leaves_its_catalogue_the_generic_tools(
    app: App,
    control: Control,
    server: AdminServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "games.csv").write_text("title\nGo\n")
    package = app.packages.get("games")
    context = build_context(app, control, server.events, package)
    context.refresh("games", str(tmp_path / "games.csv"), IngestRequest())
    app.packages._loaded["games"] = replace(package, tools=failing)
    gate = app.build_gate(["games"])
    assert {"search", "fetch"} <= {tool.name for tool in gate.list_tools(LOCAL_USER)}
    assert "the package is broken" in app.catalogue_problems()["catalogue games"]
    assert "catalogue package 'games' failed" in caplog.text


def test_a_package_whose_server_parts_fail_is_left_out(
    app: App, control: Control, server: AdminServer, caplog: pytest.LogCaptureFixture
) -> None:
    app.packages._loaded["games"] = replace(
        app.packages.get("games"), server=f"{__name__}:no_such_function"
    )
    assert build_server_parts(app, control, server.events).tools == []
    assert "its parts of the server are left out" in caplog.text
