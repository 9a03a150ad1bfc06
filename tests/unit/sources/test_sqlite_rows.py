"""Rows from SQLite: the main table, what its keys point at, queries, and files that are broken."""

import gzip
import hashlib
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from stackroom.errors import InputError
from stackroom.sources.location import ReadOptions
from stackroom.sources.relations import MOST_VALUES
from stackroom.sources.sqlite_rows import SqliteRows
from stackroom.zstd import zstd
from support.made_tables import write_shop

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
PACKERS: dict[str, Callable[[bytes], bytes]] = {".zst": zstd.compress, ".gz": gzip.compress}


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
    assert source.id_column == "id"
    assert source.count_rows() == 4
    assert source.is_whole


def test_a_foreign_key_is_joined_by_the_name_of_what_it_points_at(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, BOOKS)
    assert rows[0] == {
        "id": 10,
        "title": "On engines and their many uses",
        "author_id": 1,
        "price": 9.5,
        "author": "Ada",
    }
    assert [row["author"] for row in rows] == ["Ada", "Alan", None, None]


def test_keys_that_a_database_does_not_declare_are_found_by_their_names_and_values(
    tmp_path: Path,
) -> None:
    sql = """
    CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO author VALUES (1, 'Ada'), (2, 'Alan');
    CREATE TABLE book (title TEXT, author_id INTEGER);
    INSERT INTO book VALUES ('On engines', 1), ('On numbers', 2);
    CREATE TABLE note (text TEXT, author_id INTEGER);
    INSERT INTO note VALUES ('lost', 77), ('found', 1);
    """
    assert [row.get("author") for row in rows_of(tmp_path, sql, "book")] == ["Ada", "Alan"]
    assert "author" not in values(SqliteRows(tmp_path / "a.sqlite", ReadOptions(table="note")))[0]


def test_a_table_that_is_called_as_the_file_is_the_main_one(tmp_path: Path) -> None:
    assert SqliteRows(made(tmp_path, BOOKS, "Author.sqlite")).name.endswith("#author")


def test_a_table_can_be_named_in_any_case(tmp_path: Path) -> None:
    source = SqliteRows(made(tmp_path, BOOKS), ReadOptions(table="AUTHOR"))
    assert source.name.endswith("#author")
    assert source.other_tables == ("book", "book_author")
    assert [row["name"] for row in values(source)] == ["Ada", "Alan"]


def test_a_table_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"no table 'bok' \(did you mean 'book'\?\); tables: author, book, book_author",
    ):
        SqliteRows(made(tmp_path, BOOKS), ReadOptions(table="bok"))


def test_a_link_between_tables_is_not_the_main_one_however_many_rows_it_has(tmp_path: Path) -> None:
    sql = """
    CREATE TABLE person (code TEXT PRIMARY KEY, name TEXT);
    CREATE TABLE club (code TEXT PRIMARY KEY, name TEXT);
    CREATE TABLE member (person TEXT REFERENCES person, club TEXT REFERENCES club,
                         PRIMARY KEY (person, club));
    INSERT INTO person VALUES ('p', 'Pat'); INSERT INTO club VALUES ('c', 'Chess, on Mondays');
    INSERT INTO member SELECT 'a long text that is only a key ' || value, 'c'
                       FROM generate_series(1, 500);
    """
    assert SqliteRows(made(tmp_path, sql)).name.endswith("#club")


def test_a_link_is_read_where_there_is_nothing_else_to_read(tmp_path: Path) -> None:
    sql = (
        "CREATE TABLE pair (a INTEGER REFERENCES pair, b INTEGER REFERENCES pair, PRIMARY KEY"
        " (a, b))"
    )
    assert SqliteRows(made(tmp_path, sql)).count_rows() == 0


def test_two_keys_into_one_table_and_one_into_its_own_are_named_by_their_roles(
    tmp_path: Path,
) -> None:
    sql = """
    CREATE TABLE team (id INTEGER PRIMARY KEY, title TEXT);
    CREATE TABLE game (id INTEGER PRIMARY KEY,
                       home_id INTEGER REFERENCES team(id), away_id INTEGER REFERENCES team(id),
                       before_id INTEGER REFERENCES game(id), follows INTEGER REFERENCES game(id),
                       report TEXT);
    INSERT INTO team VALUES (1, 'Reds'), (2, 'Blues');
    INSERT INTO game VALUES (7, 1, 2, 7, 7, 'A fine game');
    """
    (row,) = rows_of(tmp_path, sql, "game")
    assert (row["home_id_team"], row["away_id_team"], row["before_id_game"]) == (
        "Reds",
        "Blues",
        "A fine game",
    )
    assert row["follows_game"] == "A fine game"


def test_what_a_key_points_at_does_not_hide_a_column_of_that_name(tmp_path: Path) -> None:
    sql = """
    CREATE TABLE genre (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO genre VALUES (1, 'Rock');
    CREATE TABLE song (id INTEGER PRIMARY KEY, Genre TEXT, genre_id INTEGER REFERENCES genre);
    INSERT INTO song VALUES (1, 'own', 1);
    """
    assert rows_of(tmp_path, sql, "song") == [{"id": 1, "Genre": "own", "genre_id": 1}]


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


def test_two_foreign_keys_are_followed_one_after_the_other(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, MUSIC, "track")
    assert rows[0] == {
        "track_id": 1,
        "name": "Hyperballad",
        "album_id": 1,
        "album": "Post",
        "artist": "Björk",
    }
    assert (rows[1]["album"], rows[1]["artist"]) == ("Lost", None)


def test_one_table_at_the_end_of_two_chains_is_named_by_the_ways_to_it(tmp_path: Path) -> None:
    sql = """
    CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT, city_id INTEGER REFERENCES city);
    CREATE TABLE game (id INTEGER PRIMARY KEY, home_id INTEGER REFERENCES team,
                       away_id INTEGER REFERENCES team);
    INSERT INTO city VALUES (1, 'Graz'), (2, 'Linz');
    INSERT INTO team VALUES (1, 'Reds', 1), (2, 'Blues', 2);
    INSERT INTO game VALUES (7, 1, 2);
    """
    (row,) = rows_of(tmp_path, sql, "game")
    assert (row["home_id_team"], row["home_id_team_city"]) == ("Reds", "Graz")
    assert (row["away_id_team"], row["away_id_team_city"]) == ("Blues", "Linz")


def test_a_table_without_a_name_of_its_own_is_passed_through_on_the_way(tmp_path: Path) -> None:
    sql = """
    CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE shelf (id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owner);
    CREATE TABLE jar (id INTEGER PRIMARY KEY, label TEXT, shelf_id INTEGER REFERENCES shelf);
    INSERT INTO owner VALUES (1, 'Pat');
    INSERT INTO shelf VALUES (3, 1);
    INSERT INTO jar VALUES (5, 'plums', 3);
    """
    assert rows_of(tmp_path, sql, "jar") == [
        {"id": 5, "label": "plums", "shelf_id": 3, "owner": "Pat"}
    ]


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


def test_a_link_table_gives_the_list_of_what_it_relates_and_a_person_is_named_by_both_names(
    tmp_path: Path,
) -> None:
    rows = rows_of(tmp_path, CAST, "film")
    assert [row["actor"] for row in rows] == ["Toshiro Mifune", "Setsuko", None]
    assert [row["genre"] for row in rows] == [["Crime", "Drama"], ["Drama"], None]


def test_a_link_table_needs_no_index(tmp_path: Path) -> None:
    sql = CAST.replace("PRIMARY KEY (film_id, genre_id)", "PRIMARY KEY (genre_id, film_id)")
    assert rows_of(tmp_path, sql, "film")[0]["genre"] == ["Crime", "Drama"]


PER_ORDER = """
SELECT count(l.OrderID), sum(Quantity), sum(l.UnitPrice * Quantity * (1 - Discount)),
       group_concat(DISTINCT ProductName)
FROM Orders AS o
LEFT JOIN "Order Details" AS l USING (OrderID)
LEFT JOIN Products AS p USING (ProductID)
GROUP BY o.{0} ORDER BY o.{0}
"""


@pytest.mark.parametrize(("table", "key"), [("Orders", "OrderID"), ("Customers", "CustomerID")])
def test_the_rows_that_refer_to_a_row_give_their_number_sums_and_products_as_sql_does(
    tmp_path: Path, table: str, key: str
) -> None:
    write_shop(path := tmp_path / "shop.sqlite")
    source = SqliteRows(path, ReadOptions(table=table))
    rows = sorted(values(source), key=lambda row: str(row[key]))
    with closing(apsw.Connection(str(path))) as db:
        expected = list(db.execute(PER_ORDER.format(key)))
    assert len(rows) == len(expected) == source.count_rows()
    for row, (count, quantity, revenue, products) in zip(rows, expected, strict=True):
        assert (row["quantity"], row["revenue"]) == (quantity, pytest.approx(revenue, abs=1e-6))
        if table == "Orders":
            assert row["order_details_count"] == count
            assert row["products"] == (sorted(products.split(",")) if products else None)
    assert (
        source.origins["revenue"]
        == "the sum of UnitPrice × Quantity × (1 − Discount) in Order Details"
    )


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


def test_keys_of_several_columns_and_of_tables_that_are_gone_are_left_alone(tmp_path: Path) -> None:
    sql = """
    CREATE TABLE pair (a INTEGER, b INTEGER, name TEXT, PRIMARY KEY (a, b));
    CREATE TABLE t (x INTEGER, y INTEGER, z INTEGER REFERENCES gone, name TEXT,
                    FOREIGN KEY (x, y) REFERENCES pair);
    INSERT INTO t VALUES (1, 2, 3, 'n');
    """
    source = SqliteRows(made(tmp_path, sql), ReadOptions(table="t"))
    assert values(source) == [{"x": 1, "y": 2, "z": 3, "name": "n"}]
    assert source.id_column is None


def test_odd_names_are_read_as_they_are(tmp_path: Path) -> None:
    sql = """
    CREATE TABLE "od""d; DROP TABLE x" ("a ""b" TEXT, "select" TEXT,
                                        "made" TEXT GENERATED ALWAYS AS ("select" || '!'));
    INSERT INTO "od""d; DROP TABLE x" VALUES ('1', '2');
    """
    assert rows_of(tmp_path, sql) == [{'a "b': "1", "select": "2", "made": "2!"}]


def test_bytes_are_their_text_or_nothing(tmp_path: Path) -> None:
    sql = "CREATE TABLE t (a, b); INSERT INTO t VALUES (CAST('é' AS BLOB), x'89504E47FF')"
    assert rows_of(tmp_path, sql) == [{"a": "é", "b": None}]


def test_a_text_that_is_not_utf_8_is_the_problem_of_its_row_alone(tmp_path: Path) -> None:
    sql = "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x'), (CAST(x'41FF' AS TEXT)), ('y')"
    rows = list(SqliteRows(made(tmp_path, sql)).iter_rows())
    assert [(row.place, bool(row.problem)) for row in rows] == [
        ("row 1", False),
        ("row 2", True),
        ("row 3", False),
    ]
    assert "not UTF-8" in (rows[1].problem or "")


def test_an_index_of_texts_beside_its_table_is_not_taken_for_the_table(tmp_path: Path) -> None:
    sql = """
    CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO note VALUES (1, 'short');
    CREATE VIRTUAL TABLE note_index USING fts5(body);
    INSERT INTO note_index VALUES ('a much longer text than that one');
    """
    source = SqliteRows(made(tmp_path, sql))
    assert source.name.endswith("#note")
    assert source.other_tables == ()


def test_a_view_that_can_be_read_is_named_among_the_others_and_can_be_chosen(
    tmp_path: Path,
) -> None:
    sql = (
        f"{BOOKS} CREATE VIEW cheap AS SELECT title FROM book WHERE price < 5; CREATE VIEW bad AS"
        " SELECT * FROM gone"
    )
    assert SqliteRows(made(tmp_path, sql)).other_tables == ("author", "book_author", "cheap")
    assert len(values(SqliteRows(tmp_path / "a.sqlite", ReadOptions(table="cheap")))) == 2


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


def test_a_table_and_a_query_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a table or a query, not both"):
        SqliteRows(made(tmp_path, BOOKS), ReadOptions(table="book", query="SELECT 1"))


@pytest.mark.parametrize(
    "content",
    [b"hello", b"not a database " * 500, bytes(8192), hashlib.sha512(b"x").digest() * 100],
)
def test_what_is_no_database_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.sqlite: not an SQLite database, or an encrypted one"):
        SqliteRows(path)


def test_a_file_without_tables_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with pytest.raises(InputError, match=r"empty\.db: the file is empty"):
        SqliteRows(tmp_path / "empty.db")
    with pytest.raises(InputError, match=r"a\.sqlite: no table in it"):
        SqliteRows(made(tmp_path, "CREATE TABLE t (a); DROP TABLE t"))


@pytest.mark.parametrize("missing", [1, 4096, 5000])
def test_a_database_cut_short_is_refused_by_name(tmp_path: Path, missing: int) -> None:
    path = made(tmp_path, BOOKS)
    path.write_bytes(path.read_bytes()[:-missing])
    with pytest.raises(InputError, match=r"a\.sqlite: cannot be read"):
        list(SqliteRows(path).iter_rows())


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


@pytest.mark.parametrize("name", ["a b.sqlite", "a?b#c%20.sqlite", "日本.db", "a'b;.sqlite3"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    assert len(values(SqliteRows(made(tmp_path, BOOKS, name)))) == 4


@pytest.mark.parametrize("suffix", PACKERS)
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


def test_a_packed_database_that_is_broken_is_refused_by_its_own_name_and_leaves_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    packed = gzip.compress(made(tmp_path, BOOKS).read_bytes())
    path = tmp_path / "b.sqlite.gz"
    for content in (packed[:-30], gzip.compress(b"no database" * 50)):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"b\.sqlite\.gz: "):
            SqliteRows(path)
        assert list(copies.iterdir()) == []


@pytest.mark.data
def test_the_real_music_database_gives_readable_tracks(shared_data: Any) -> None:
    source = SqliteRows(shared_data / "music" / "chinook.sqlite")
    rows = values(source)
    assert source.name.endswith("#Track")
    assert source.id_column == "TrackId"
    assert len(rows) == source.count_rows() == 3_503
    assert {"Album", "Genre", "PlaylistTrack"} <= set(source.other_tables)
    assert all(row["album"] and row["genre"] and row["media_type"] for row in rows)
    assert all(row["AlbumId"] and row["GenreId"] for row in rows)
    assert all(row["artist"] for row in rows)
    assert rows[0]["playlist"] == ["Heavy Metal Classic", "Music"]
