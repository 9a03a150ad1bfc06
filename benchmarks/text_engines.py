"""The text engine alone against SQLite FTS5: the same records, the same terms, the ten best."""

import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any

import apsw
import numpy as np

from stackroom.model.scope import WHOLE
from stackroom.shelf.opening import open_shelf
from stackroom.shelf.terms import text_tokens
from stackroom.text.analyser import TextQuery, analyse_query

from real_anime import Query, RealAnime  # isort: skip

TOP = 10
WARM_UP = 10
TABLE = "CREATE VIRTUAL TABLE words USING fts5(text, tokenize='unicode61 remove_diacritics 0')"
SEARCH = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT 10"

Search = Callable[[TextQuery], int]


def compare_text_engines(anime: RealAnime, queries: Sequence[Query]) -> dict[str, dict[str, float]]:
    """Return p50 and p95 of each engine, asked in turn, query by query."""
    terms = [analyse_query(query.text, synonyms=anime.spec.synonyms) for query in queries]
    engines = {
        "stackroom (tantivy)": _stackroom(anime),
        f"FTS5 (sqlite3 {sqlite3.sqlite_version})": _fts5(anime, sqlite3.connect(":memory:")),
        f"FTS5 (apsw {apsw.sqlite_lib_version()})": _fts5(anime, apsw.Connection(":memory:")),
    }
    times: dict[str, list[float]] = {name: [] for name in engines}
    for one in (*terms[:WARM_UP], *terms):
        for name, search in engines.items():
            before = time.perf_counter()
            search(one)
            times[name].append((time.perf_counter() - before) * 1e3)
    return {
        name: {f"p{part}_ms": float(np.percentile(measured[WARM_UP:], part)) for part in (50, 95)}
        for name, measured in times.items()
    }


def _stackroom(anime: RealAnime) -> Search:
    reader = open_shelf(anime.folder, anime.spec).reader()
    return lambda query: len(reader.lexical(query, scope=WHOLE, limit=TOP).keys)


def _fts5(anime: RealAnime, db: Any) -> Search:
    """Index the very tokens of our own catch-all field, so that both engines look for the same
    terms.
    """
    db.execute(TABLE)
    rows = [
        (" ".join(text_tokens(record, anime.spec.searched_fields)),) for record in anime.records
    ]
    db.executemany("INSERT INTO words (text) VALUES (?)", rows)
    db.execute("INSERT INTO words (words) VALUES ('optimize')")
    return lambda query: len(db.execute(SEARCH, (_match(query),)).fetchall())


def _match(query: TextQuery) -> str:
    quoted = [token.replace('"', '""') for token, _ in query.terms]
    return " OR ".join(f'"{token}"' for token in quoted)
