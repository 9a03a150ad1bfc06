"""The control database under test: SQLite, and a real PostgreSQL that the test run starts for
itself.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from stackroom.control.database.engine import ControlDatabase
from support.control import MadeSchemas, People, Place, _people
from support.postgres import PostgresServer


@pytest.fixture(scope="session")
def made_schemas(postgresql: PostgresServer) -> MadeSchemas:
    """Schemas with the tables of a control database."""
    return MadeSchemas(postgresql)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place with nobody in it, on every kind of database; on SQLite it is empty."""
    if request.param == "sqlite":
        with closing(Place(url=f"sqlite:///{tmp_path / 'control.sqlite'}")) as place:
            yield place
        return
    schemas = request.getfixturevalue("made_schemas")
    schema = schemas.take()
    with closing(Place(url=request.getfixturevalue("postgresql").url(schema))) as place:
        yield place
    if not place.is_spoilt:
        schemas.give_back(schema)


@pytest.fixture
def database(place: Place) -> ControlDatabase:
    """An open control database."""
    return place.open()


@pytest.fixture
def people(place: Place, database: ControlDatabase) -> People:
    """Accounts without anybody in them."""
    return _people(database, place.clock)


@pytest.fixture
def elsewhere(place: Place, people: People) -> People:
    """The same accounts, as another process has them open."""
    return _people(place.open(), place.clock)


@pytest.fixture
def execute(place: Place, database: ControlDatabase) -> Callable[..., list[Any]]:
    """Change the database behind everybody's back, and return the rows of a query."""
    place.is_spoilt = True

    def run(sql: str, **values: Any) -> list[Any]:
        with database.begin() as connection:
            result = connection.execute(text(sql), values)
            return list(result) if result.returns_rows else []

    return run


@pytest.fixture
def at_once() -> Callable[[Sequence[Callable[[], Any]]], list[Any]]:
    """Do several things in threads that all begin at once; return what each gave or raised."""

    def run(works: Sequence[Callable[[], Any]]) -> list[Any]:
        barrier = threading.Barrier(len(works))

        def begin(work: Callable[[], Any]) -> Any:
            barrier.wait()
            try:
                return work()
            except Exception as error:
                return error

        with ThreadPoolExecutor(len(works)) as pool:
            return list(pool.map(begin, works))

    return run
