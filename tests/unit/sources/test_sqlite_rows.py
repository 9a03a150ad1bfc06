"""Rows from SQLite: the main table, what its keys point at, queries, and files that are broken."""

import hashlib
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from stackroom.errors import InputError
from stackroom.sources.location import ReadOptions
from stackroom.sources.relations import MOST_VALUES
from stackroom.sources.sqlite_rows import SqliteRows
from support.reading import PACKED, PACKERS, told, written

pytestmark = pytest.mark.row("N1")

BOOKS = """
CREATE TABLE author (id INTEGER PRIMARY KEY, born INTEGER, name TEXT);
CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, author_id INTEGER REFERENCES author,
    price REAL);
CREATE TABLE book_author (book_id INTEGER, author_id INTEGER, PRIMARY KEY (book_id, author_id));
INSERT INTO author VALUES (1, 1815, 'Ada'), (2, 1912, 'Alan');
INSERT INTO book VALUES (10, 'On engines and their many uses', 1, 9.5),
                        (11, 'On numbers that can be computed', 2, NULL),
                        (12, 'Nobody wrote this long title', 99, 1),
                        (13, 'Nor this, which is as long', NULL, 1);
INSERT INTO book_author SELECT value, value FROM generate_series(1, 500);
"""


def made(folder: Path, sql: str, name: str = "a.sqlite") -> Path:
    path = folder / name
    with closing(apsw.Connection(str(path))) as db:
        db.execute(sql.replace("generate_series(1, 500)", SERIES)).fetchall()
    return path


SERIES = (
    "(WITH RECURSIVE s(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM s LIMIT 500) SELECT"
    " value FROM s)"
)


def values(source: SqliteRows) -> list[Any]:
    rows = list(source.iter_rows())
    assert not any(row.problem for row in rows)
    return [row.values for row in rows]


def rows_of(folder: Path, sql: str, table: str | None = None) -> list[Any]:
    return values(SqliteRows(made(folder, sql), ReadOptions(table=table)))


def test_the_table_with_the_most_text_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    source = SqliteRows(made(tmp_path, BOOKS))
    assert source.name == f"{(tmp_path / 'a.sqlite').resolve()}#book"
    assert source.other_tables == ("author", "book_author")
    assert (source.id_column, source.count_rows(), source.is_whole) == ("id", 4, True)


CAST = """
CREATE TABLE actor (actor_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT);
CREATE TABLE film (film_id INTEGER PRIMARY KEY, title TEXT, star INTEGER REFERENCES actor);
CREATE TABLE genre (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE film_genre (film_id INTEGER REFERENCES film, genre_id INTEGER REFERENCES genre,
                         PRIMARY KEY (film_id, genre_id));
INSERT INTO actor VALUES (1, 'Toshiro', 'Mifune'), (2, 'Setsuko', NULL), (3, NULL, NULL);
INSERT INTO film VALUES (1, 'Rashomon', 1), (2, 'Late Spring', 2), (3, 'Nobody', 3);
INSERT INTO genre VALUES (1, 'Drama'), (2, 'Crime'), (3, NULL);
INSERT INTO film_genre VALUES (1, 1), (1, 2), (2, 1), (3, 3);
"""


MUSIC = """
CREATE TABLE country (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE artist (artist_id INTEGER PRIMARY KEY, name TEXT,
    country_id INTEGER REFERENCES country);
CREATE TABLE album (album_id INTEGER PRIMARY KEY, title TEXT, artist_id INTEGER REFERENCES artist);
CREATE TABLE track (track_id INTEGER PRIMARY KEY, name TEXT, album_id INTEGER REFERENCES album);
INSERT INTO country VALUES (1, 'Iceland');
INSERT INTO artist VALUES (1, 'Björk', 1), (2, 'Nobody', NULL);
INSERT INTO album VALUES (1, 'Post', 1), (2, 'Lost', 9);
INSERT INTO track VALUES (1, 'Hyperballad', 1), (2, 'B', 2);
"""


READ: dict[str, tuple[str, str | None, str]] = {
    "a foreign key is joined by the name of what it points at": (
        BOOKS,
        None,
        (
            "row 1: id=10, title='On engines and their many uses', author_id=1, "
            "price=9.5, author='Ada'\n"
            "row 2: id=11, title='On numbers that can be computed', author_id=2, "
            "price=None, author='Alan'\n"
            "row 3: id=12, title='Nobody wrote this long title', author_id=99, "
            "price=1.0, author=None\n"
            "row 4: id=13, title='Nor this, which is as long', author_id=None, "
            "price=1.0, author=None"
        ),
    ),
    "a table can be named in any case": (
        BOOKS,
        "AUTHOR",
        (
            "row 1: id=1, born=1815, name='Ada', book_count=1\n"
            "row 2: id=2, born=1912, name='Alan', book_count=1"
        ),
    ),
    "keys that a database does not declare are found by their names": (
        """
        CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO author VALUES (1, 'Ada'), (2, 'Alan');
        CREATE TABLE book (title TEXT, author_id INTEGER);
        INSERT INTO book VALUES ('On engines', 1), ('On numbers', 2);
        """,
        "book",
        (
            "row 1: title='On engines', author_id=1, author='Ada'\n"
            "row 2: title='On numbers', author_id=2, author='Alan'"
        ),
    ),
    "keys that a database does not declare need all values": (
        """
        CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO author VALUES (1, 'Ada'), (2, 'Alan');
        CREATE TABLE note (text TEXT, author_id INTEGER);
        INSERT INTO note VALUES ('lost', 77), ('found', 1);
        """,
        "note",
        "row 1: text='lost', author_id=77\nrow 2: text='found', author_id=1",
    ),
    "a link is read where there is nothing else to read": (
        "CREATE TABLE pair (a INTEGER REFERENCES pair, b INTEGER REFERENCES pair,"
        " PRIMARY KEY (a, b))",
        None,
        "",
    ),
    "two keys into one table and one into its own are named by their roles": (
        """
        CREATE TABLE team (id INTEGER PRIMARY KEY, title TEXT);
        CREATE TABLE game (id INTEGER PRIMARY KEY, home_id INTEGER REFERENCES team(id),
            away_id INTEGER REFERENCES team(id),
                           before_id INTEGER REFERENCES game(id),
                               follows INTEGER REFERENCES game(id), report TEXT);
        INSERT INTO team VALUES (1, 'Reds'), (2, 'Blues');
        INSERT INTO game VALUES (7, 1, 2, 7, 7, 'A fine game');
        """,
        "game",
        (
            "row 1: id=7, home_id=1, away_id=2, before_id=7, follows=7, report='A "
            "fine game', follows_game='A fine game', before_id_game='A fine game', "
            "away_id_team='Blues', home_id_team='Reds', follows_game_team='Blues', "
            "before_id_game_team='Blues'"
        ),
    ),
    "what a key points at does not hide a column of that name": (
        """
        CREATE TABLE genre (id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO genre VALUES (1, 'Rock');
        CREATE TABLE song (id INTEGER PRIMARY KEY, Genre TEXT, genre_id INTEGER REFERENCES genre);
        INSERT INTO song VALUES (1, 'own', 1);
        """,
        "song",
        "row 1: id=1, Genre='own', genre_id=1",
    ),
    "two foreign keys are followed one after the other": (
        MUSIC,
        "track",
        (
            "row 1: track_id=1, name='Hyperballad', album_id=1, album='Post', "
            "artist='Björk'\n"
            "row 2: track_id=2, name='B', album_id=2, album='Lost', artist=None"
        ),
    ),
    "one table at the end of two chains is named by the ways to it": (
        """
        CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT, city_id INTEGER REFERENCES city);
        CREATE TABLE game (id INTEGER PRIMARY KEY, home_id INTEGER REFERENCES team,
            away_id INTEGER REFERENCES team);
        INSERT INTO city VALUES (1, 'Graz'), (2, 'Linz');
        INSERT INTO team VALUES (1, 'Reds', 1), (2, 'Blues', 2);
        INSERT INTO game VALUES (7, 1, 2);
        """,
        "game",
        (
            "row 1: id=7, home_id=1, away_id=2, away_id_team='Blues', "
            "home_id_team='Reds', away_id_team_city='Linz', home_id_team_city='Graz'"
        ),
    ),
    "a table without a name of its own is passed through on the way": (
        """
        CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE shelf (id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owner);
        CREATE TABLE jar (id INTEGER PRIMARY KEY, label TEXT, shelf_id INTEGER REFERENCES shelf);
        INSERT INTO owner VALUES (1, 'Pat'); INSERT INTO shelf VALUES (3, 1);
        INSERT INTO jar VALUES (5, 'plums', 3);
        """,
        "jar",
        "row 1: id=5, label='plums', shelf_id=3, owner='Pat'",
    ),
    "a link table gives the list of what it relates, and a person is named by both names": (
        CAST,
        "film",
        (
            "row 1: film_id=1, title='Rashomon', star=1, actor='Toshiro Mifune', "
            "genre=['Crime', 'Drama']\n"
            "row 2: film_id=2, title='Late Spring', star=2, actor='Setsuko', "
            "genre=['Drama']\n"
            "row 3: film_id=3, title='Nobody', star=3, actor=None, genre=None"
        ),
    ),
    "keys of several columns and of tables that are gone are left alone": (
        """
        CREATE TABLE pair (a INTEGER, b INTEGER, name TEXT, PRIMARY KEY (a, b));
        CREATE TABLE t (x INTEGER, y INTEGER, z INTEGER REFERENCES gone, name TEXT, FOREIGN KEY (x,
            y) REFERENCES pair);
        INSERT INTO t VALUES (1, 2, 3, 'n');
        """,
        "t",
        "row 1: x=1, y=2, z=3, name='n'",
    ),
    "odd names are read as they are": (
        """
        CREATE TABLE "od""d; DROP TABLE x" ("a ""b" TEXT, "select" TEXT,
            "made" TEXT GENERATED ALWAYS AS ("select" || '!'));
        INSERT INTO "od""d; DROP TABLE x" VALUES ('1', '2');
        """,
        None,
        "row 1: a \"b='1', select='2', made='2!'",
    ),
    "bytes are their text or nothing": (
        "CREATE TABLE t (a, b); INSERT INTO t VALUES (CAST('é' AS BLOB), x'89504E47FF')",
        None,
        "row 1: a='é', b=None",
    ),
    "a text that is not UTF-8 is the problem of its row alone": (
        "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x'), (CAST(x'41FF' AS TEXT)), ('y')",
        None,
        (
            "row 1: a='x'\n"
            "row 2: PROBLEM text that is not UTF-8: 'utf-8' codec can't decode byte "
            "0xff in position 1: invalid start byte\n"
            "row 3: a='y'"
        ),
    ),
    "a view can be chosen": (
        f"{BOOKS} CREATE VIEW cheap AS SELECT title FROM book WHERE price < 5",
        "cheap",
        ("row 1: title='Nobody wrote this long title'\nrow 2: title='Nor this, which is as long'"),
    ),
}


@pytest.mark.parametrize("case", READ)
def test_a_database_is_read_as_it_is_meant(tmp_path: Path, case: str) -> None:
    sql, table, rows = READ[case]
    assert told(SqliteRows(made(tmp_path, sql), ReadOptions(table=table))) == rows


@pytest.mark.parametrize(
    ("sql", "main", "others"),
    [
        pytest.param(
            """
            CREATE TABLE person (code TEXT PRIMARY KEY, name TEXT);
            CREATE TABLE club (code TEXT PRIMARY KEY, name TEXT);
            CREATE TABLE member (person TEXT REFERENCES person, club TEXT REFERENCES club,
                PRIMARY KEY (person, club));
            INSERT INTO person VALUES ('p', 'Pat');
            INSERT INTO club VALUES ('c', 'Chess, on Mondays');
            INSERT INTO member SELECT 'a long text that is only a key ' || value,
                'c' FROM generate_series(1, 500);
            """,
            "club",
            ("member", "person"),
            id="a link however many rows it has",
        ),
        pytest.param(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT);
            INSERT INTO note VALUES (1, 'short');
            CREATE VIRTUAL TABLE note_index USING fts5(body);
            INSERT INTO note_index VALUES ('a much longer text than that one');
            """,
            "note",
            (),
            id="an index of texts beside its table",
        ),
        pytest.param(
            f"{BOOKS} CREATE VIEW cheap AS SELECT title FROM book WHERE price < 5;"
            " CREATE VIEW bad AS SELECT * FROM gone",
            "book",
            ("author", "book_author", "cheap"),
            id="a view, and one that cannot be read is not named",
        ),
    ],
)
def test_what_is_not_taken_for_the_main_table(
    tmp_path: Path, sql: str, main: str, others: tuple[str, ...]
) -> None:
    source = SqliteRows(made(tmp_path, sql))
    assert source.name.endswith(f"#{main}")
    assert source.other_tables == others


LINES = """
CREATE TABLE bill (id INTEGER PRIMARY KEY, note TEXT);
INSERT INTO bill VALUES (1, 'a bill'), (2, 'another bill');
CREATE TABLE line (bill_id INTEGER REFERENCES bill, {});
INSERT INTO line VALUES (1, {}), (1, {});
"""


@pytest.mark.parametrize(
    ("columns", "first", "second", "given"),
    [
        ("qty INTEGER, price REAL", "2, 1.1", "1, 0.1", {"qty": 3, "revenue": 2.3}),
        ("qty, price, discount", "2, 5, 1.5", "1, 5, 0", {"qty": 3, "price_times_qty": 15}),
        ("amount REAL, unit_price REAL", "2, 5", "NULL, 7", {"amount": 2}),
        ("quantity, total_price", "2, 5", "3, 6.5", {"quantity": 5, "total_price": 11.5}),
        ("quantity, price", "2, 5", "'two', 6", {}),
        ("hours, rate, average_points", "2, 5, 9", "1, 6, 9", {"hours": 3}),
        ("note, total", "'x', 2", "'y', 2", {"total": 4}),
    ],
)
def test_only_quantities_and_totals_are_added_up_and_prices_multiplied(
    tmp_path: Path, columns: str, first: str, second: str, given: dict[str, float]
) -> None:
    one, other = rows_of(tmp_path, LINES.format(columns, first, second), "bill")
    assert one == {"id": 1, "note": "a bill", "line_count": 2, **given}
    assert other == {"id": 2, "note": "another bill", "line_count": 0, **dict.fromkeys(given)}


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    sql = f"""{CAST} DELETE FROM film_genre; DELETE FROM genre;
    INSERT INTO genre SELECT value, 'g' || value FROM generate_series(1, 500);
    INSERT INTO film_genre SELECT 1, value FROM generate_series(1, 500);"""
    assert len(rows_of(tmp_path, sql, "film")[0]["genre"]) == MOST_VALUES


@pytest.mark.parametrize(
    ("table", "columns", "cells", "shown"),
    [
        ("place", "size REAL, label VARCHAR(9), more TEXT", "2.0, 'Here', 'x'", "Here"),
        (
            "Customers",
            "ContactName TEXT, CompanyName TEXT, ContactTitle TEXT",
            "'Ana', 'Acme', 'Owner'",
            "Acme",
        ),
        (
            "Employees",
            "Title TEXT, LastName TEXT, FirstName TEXT",
            "'Manager', 'Reis', 'Ana'",
            "Ana Reis",
        ),
        ("staff", "title TEXT, surname TEXT", "'Manager', 'Reis'", "Reis"),
        ("books", "author_name TEXT, title TEXT", "'Reis', 'On engines'", "On engines"),
        ("products", "brand_name TEXT, ProductName TEXT", "'Acme', 'Anvil'", "Anvil"),
        ("size_only", "size REAL", "2.0", None),
    ],
)
def test_a_row_is_called_what_people_call_it(
    tmp_path: Path, table: str, columns: str, cells: str, shown: str | None
) -> None:
    sql = f"""
    CREATE TABLE {table} (code TEXT PRIMARY KEY, {columns});
    INSERT INTO {table} VALUES ('k', {cells});
    CREATE TABLE t (id INTEGER PRIMARY KEY, other TEXT REFERENCES {table});
    INSERT INTO t VALUES (1, 'k');
    """
    assert rows_of(tmp_path, sql, "t")[0].get(table.lower()) == shown


@pytest.mark.parametrize(
    "query",
    ["SELECT 1 AS a, 2 AS a, 3 AS b;", "-- why\nselect 1 a, 2 a, 3 b ; -- end", " VALUES (1,2,3)"],
)
def test_a_query_gives_its_rows_under_names_told_apart(tmp_path: Path, query: str) -> None:
    source = SqliteRows(made(tmp_path, BOOKS), ReadOptions(query=query))
    (row,) = values(source)
    assert list(row.values()) == [1, 2, 3]
    assert len(set(row)) == 3
    assert (source.count_rows(), source.id_column, source.other_tables) == (None, None, ())
    assert "#" in source.name
    assert source.name != SqliteRows(tmp_path / "a.sqlite", ReadOptions(query="SELECT 2")).name


@pytest.mark.parametrize(
    "query",
    [
        "",
        "-- nothing",
        "DELETE FROM book",
        "WITH x AS (SELECT 1) DELETE FROM book",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE book",
        "DROP TABLE book",
        "INSERT INTO book(title) VALUES ('x') RETURNING id",
        "PRAGMA user_version",
        "PRAGMA journal_mode = DELETE",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'copy.db'",
        "EXPLAIN SELECT 1",
    ],
)
def test_a_query_that_is_not_one_selection_is_refused(tmp_path: Path, query: str) -> None:
    with pytest.raises(InputError, match=r"a\.sqlite: the query must be one SELECT statement"):
        SqliteRows(made(tmp_path, BOOKS), ReadOptions(query=query))


@pytest.mark.parametrize(
    "query", ["SELECT nope FROM book", "SELECT * FROM gone", "SELEC 1", "SELECT 'open"]
)
def test_a_query_that_cannot_be_run_is_refused_with_the_reason(tmp_path: Path, query: str) -> None:
    with pytest.raises(InputError, match=r"a\.sqlite: the query cannot be run: "):
        SqliteRows(made(tmp_path, BOOKS), ReadOptions(query=query))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"table": "book", "query": "SELECT 1"}, "a table or a query, not both"),
        (
            {"table": "bok"},
            r"no table 'bok' \(did you mean 'book'\?\); tables: author, book, book_author",
        ),
    ],
)
def test_an_option_that_names_no_table_is_refused(
    tmp_path: Path, options: dict[str, str], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        SqliteRows(made(tmp_path, BOOKS), ReadOptions(**options))


NO_DATABASE = "not an SQLite database, or an encrypted one"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"hello", NO_DATABASE),
        (b"not a database " * 500, NO_DATABASE),
        (bytes(8192), NO_DATABASE),
        (hashlib.sha512(b"x").digest() * 100, NO_DATABASE),
    ],
)
def test_what_is_no_database_is_refused_by_name(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(InputError, match=rf"a\.sqlite: {says}"):
        SqliteRows(written(tmp_path, "a.sqlite", content))


def test_a_file_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.sqlite: no table in it"):
        SqliteRows(made(tmp_path, "CREATE TABLE t (a); DROP TABLE t"))


def test_a_damaged_database_is_refused_by_name(tmp_path: Path) -> None:
    path = made(tmp_path, BOOKS)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(InputError, match=r"a\.sqlite: cannot be read as an SQLite database"):
        list(SqliteRows(path, ReadOptions(table="book")).iter_rows())


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_reading_leaves_the_file_and_its_folder_as_they_were(tmp_path: Path, journal: str) -> None:
    path = made(tmp_path, f"PRAGMA journal_mode = {journal}; {BOOKS}")
    before = path.read_bytes()
    assert len(values(SqliteRows(path))) == 4
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.sqlite"]


def test_what_another_process_has_only_logged_yet_is_read_too(tmp_path: Path) -> None:
    path = made(tmp_path, f"PRAGMA journal_mode = wal; {BOOKS}")
    with closing(apsw.Connection(str(path))) as writer:
        writer.execute("INSERT INTO book(title) VALUES ('new')")
        assert [row["title"] for row in values(SqliteRows(path))][-1] == "new"


@pytest.mark.parametrize("suffix", PACKED)
def test_a_packed_database_is_read_from_a_copy_that_goes_with_the_source(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    path = tmp_path / f"b.sqlite{suffix}"
    path.write_bytes(PACKERS[suffix](made(tmp_path, BOOKS).read_bytes()))
    source = SqliteRows(path)
    assert source.name == f"{path.resolve()}#book"
    assert len(values(source)) == 4
    assert len(list(copies.iterdir())) == 1
    del source
    assert list(copies.iterdir()) == []
