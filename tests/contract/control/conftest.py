"""The control database under test: SQLite, and a real PostgreSQL that the test run starts for itself."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from stackroom.control.database.engine import ControlDatabase
from support.control import People, Place, _people


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty place on every kind of database."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'control.sqlite'}"
    else:
        url = request.getfixturevalue("postgresql").new_url()
    place = Place(url=url)
    yield place
    place.close()


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
def execute(database: ControlDatabase) -> Callable[..., list[Any]]:
    """Change the database behind everybody's back, and return the rows of a query."""

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
