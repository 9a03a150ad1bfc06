"""Addresses of databases: their parts, their names without the password, and those that are written wrongly."""

import sys
from pathlib import Path
from typing import Any

import pytest

from pinakes.assembly.databases import names_database, open_database
from pinakes.errors import InputError
from pinakes.settings import Settings
from pinakes.sources.database.address import DatabaseAddress, database_of, is_database_address, shown_address
from pinakes.sources.location import SourceLocation
from pinakes.sources.options import ReadOptions

pytestmark = pytest.mark.row("N1")


@pytest.mark.parametrize(
    ("location", "name", "password"),
    [
        ("postgresql://me:pw@db.example:5433/shop", "postgresql://me@db.example:5433/shop", "pw"),
        ("postgres://me@db/shop", "postgresql://me@db/shop", ""),
        ("postgresql+psycopg://me:p%40w%2F@db/shop", "postgresql://me@db/shop", "p@w/"),
        ("mysql+pymysql://me:a:b@db/shop", "mysql://me@db/shop", "a:b"),
        ("MariaDB://me:pw@[::1]:3307/shop", "mariadb://me@[::1]:3307/shop", "pw"),
        ("postgresql:///shop?host=/run/pg&password=pw", "postgresql:///shop?host=%2Frun%2Fpg", "pw"),
        ("mysql://a%20b:pw@db/a%2Fb?ssl_ca=/ca.pem", "mysql://a%20b@db/a%2Fb?ssl_ca=%2Fca.pem", "pw"),
    ],
)
def test_an_address_is_taken_apart_and_named_without_its_password(location: str, name: str, password: str) -> None:
    address = DatabaseAddress.parse(location)
    assert (address.name, address.password) == (name, password)
    assert DatabaseAddress.parse(name).name == name
    assert "pw" not in repr(address)


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
        ("postgresql://me:h1d/den@db/shop", "not the address of a database"),
        ("postgresql://me:h1d?den@db/shop", "not the address of a database|unknown parameter"),
        ("mysql://me:h1dden@db", "the address names no database; write mysql://USER@HOST:3306/DATABASE"),
        ("mysql://me:h1dden@db/", "the address names no database"),
        ("mysql://me:h1dden@db/shop?local_infile=1", "unknown parameter 'local_infile'"),
        ("postgresql://me:h1dden@db/shop?sslmod=require", r"unknown parameter 'sslmod' \(did you mean 'sslmode'\?\)"),
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
    ],
)
def test_a_catalogue_is_called_after_the_database(location: str, database: str) -> None:
    assert database_of(location) == database


@pytest.mark.parametrize(
    ("location", "driver", "extra"),
    [("mysql://me@localhost/shop", "pymysql", "mysql"), ("postgresql://me@localhost/shop", "psycopg", "postgres")],
)
def test_a_driver_that_is_not_installed_is_named_with_the_way_to_install_it(
    location: str, driver: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(InputError, match=rf"driver: pip install 'pinakes\[{extra}\]'"):
        open_database(location, ReadOptions(), Settings(home=Path("/nowhere"), offline=True))


def test_the_password_of_an_address_is_in_no_name_or_message_of_add(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINAKES_HOME", str(tmp_path / "home"))
    ran = run(["add", "postgresql://me:h1dden@127.0.0.1:1", "--yes", "--no-embed"])
    assert ran.code != 0
    ran_again = run(["add", "postgresql://me:h1dden@127.0.0.1:1/shop", "--yes", "--no-embed"])
    assert "cannot be reached" in ran_again.err
    assert "h1dden" not in ran.out + ran.err + ran_again.out + ran_again.err
