"""Addresses of databases: their parts, their names without the password, and those that are written wrongly."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.locations import names_database, open_database
from stackroom.errors import InputError
from stackroom.settings import Settings
from stackroom.sources.database_address import database_of, is_database_address, shown_address
from stackroom.sources.database_server import DatabaseServer, parse_address
from stackroom.sources.location import ReadOptions, SourceLocation

pytestmark = pytest.mark.row("N1")


@pytest.mark.parametrize(
    ("location", "name", "password"),
    [
        ("postgresql://me:pw@db.example:5433/shop", "postgresql://me@db.example:5433/shop", "pw"),
        ("postgres://me@db/shop", "postgresql://me@db/shop", ""),
        ("postgresql+psycopg://me:p%40w%2F@db/shop", "postgresql://me@db/shop", "p@w/"),
        ("mysql+pymysql://me:a:b@db/shop", "mysql://me@db/shop", "a:b"),
        ("MariaDB://me:pw@[::1]:3307/shop", "mariadb://me@[::1]:3307/shop", "pw"),
        ("postgresql://me:pw@/shop?host=/run/pg", "postgresql://me@/shop?host=%2Frun%2Fpg", "pw"),
        ("mysql://ab:pw@db/shop?ssl_ca=/ca.pem", "mysql://ab@db/shop?ssl_ca=%2Fca.pem", "pw"),
    ],
)
def test_an_address_is_taken_apart_and_named_without_its_password(location: str, name: str, password: str) -> None:
    server = DatabaseServer(parse_address(location), {})
    assert (server.name, server.password) == (name, password)
    assert DatabaseServer(parse_address(name), {}).name == name


def test_the_name_of_a_source_has_its_table_or_query(tmp_path: Path) -> None:
    name = "postgresql://me@db/shop?options=-csearch_path%3Dx#SELECT 'a#b' FROM t"
    place = SourceLocation.parse(name)
    assert place.location == "postgresql://me@db/shop?options=-csearch_path%3Dx"
    assert place.options == ReadOptions(query="SELECT 'a#b' FROM t")
    assert place.name == name


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("postgresql://me:h1dden@db:port/shop", "not the address of a database; write postgresql://USER@HOST"),
        ("postgresql://me@db/shop?password=h1dden", "write the password before the host"),
        (
            "mysql://me:h1dden@db",
            "the address names no database; write postgresql://.* or mysql://USER@HOST:3306/DATABASE",
        ),
        ("mysql://me:h1dden@db/", "the address names no database"),
        ("mysql://me:h1dden@db/shop + mysql://me:h1dden@db/other", "is read alone"),
        ("films.csv + mysql://me:h1dden@db/shop", "is read alone"),
        ("postgresql://me:h1dden@db.example/shop", "is on the network, which is not used offline"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_password(location: str, says: str) -> None:
    assert names_database(location)
    with pytest.raises(InputError, match=says) as caught:
        open_database(location, ReadOptions(), Settings(home=Path("/nowhere"), offline=True))
    assert not any(part in str(caught.value) for part in ("h1dden", "h1d", "den@"))


def test_an_option_of_files_is_refused() -> None:
    with pytest.raises(InputError, match="mysql://me@db/shop: --skip is for"):
        open_database("mysql://me:h1dden@db/shop", ReadOptions(skip=1), Settings(home=Path("/nowhere")))


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("films.csv", "films.csv"),
        ("postgresql://me:pw@db/shop", "postgresql://me@db/shop"),
        ("mysql://me:p@w:x@db", "mysql://me@db"),
        ("mysql://db/shop?password=pw", "mysql://db/shop"),
        ("mysql://db/shop?password=p@w", "mysql://…"),
    ],
)
def test_a_location_is_shown_without_its_password(location: str, shown: str) -> None:
    assert shown_address(location) == shown
    assert is_database_address(location) == (location != "films.csv")


@pytest.mark.parametrize(
    ("location", "database"),
    [
        ("films.csv", ""),
        ("postgresql://me:pw@db/shop#film", "shop"),
        ("mysql://me:pw@db", "database"),
        ("mysql://me:p/w@db/x", "database"),
        ("postgresql://me@db/shop?sslmode=require#film", "shop"),
    ],
)
def test_a_catalogue_is_called_after_the_database(location: str, database: str) -> None:
    assert database_of(location) == database


@pytest.mark.parametrize(
    ("location", "driver", "package"),
    [
        ("mysql://me@localhost/shop", "pymysql", "pymysql"),
        ("postgresql://me@localhost/shop", "psycopg", "'psycopg[binary]'"),
    ],
)
def test_a_driver_that_is_not_installed_is_named_with_the_way_to_install_it(
    location: str, driver: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(InputError, match=rf"driver, the extra '\w+': pip install {re.escape(package)}$"):
        open_database(location, ReadOptions(), Settings(home=Path("/nowhere"), offline=True))


def test_the_password_of_an_address_is_in_no_name_or_message_of_add(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "home"))
    ran = run(["add", "postgresql://me:h1dden@127.0.0.1:1", "--yes", "--no-embed"])
    assert ran.code != 0
    ran_again = run(["add", "postgresql://me:h1dden@127.0.0.1:1/shop", "--yes", "--no-embed"])
    assert "cannot be reached" in ran_again.err
    assert "h1dden" not in ran.out + ran.err + ran_again.out + ran_again.err
