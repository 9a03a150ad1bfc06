"""The seed's design: SQLite FTS5 for words, a float32 matrix for meaning, reciprocal rank
fusion.
"""

import time

STARTED = time.perf_counter()

import re  # noqa: E402
import sqlite3  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
from worker import DEPTH, TOP, Hits, Row, fuse, serve  # noqa: E402

SCHEMA = """
CREATE TABLE anime (key INTEGER PRIMARY KEY, id, title, type, year, synopsis);
CREATE INDEX anime_type ON anime (type);
CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='porter unicode61');
"""
STOP_WORDS = (
    "a an and are as at be by for from has he her his in is it its of on or she that the their they"
    " this to"
)


class SeedEngine:
    """Implements `Engine`."""

    def build(self, rows: list[Row], vectors: np.ndarray, folder: Path) -> None:
        db = sqlite3.connect(folder / "anime.sqlite")
        db.executescript(SCHEMA)
        db.executemany(
            "INSERT INTO anime VALUES (?, ?, ?, ?, ?, ?)",
            (
                (key, r["id"], r["title"], r["type"], r["year"], r["synopsis"])
                for key, r in enumerate(rows)
            ),
        )
        db.executemany(
            "INSERT INTO words (rowid, text) VALUES (?, ?)",
            ((k, r["text"]) for k, r in enumerate(rows)),
        )
        db.execute("INSERT INTO words (words) VALUES ('optimize')")
        db.commit()
        np.save(folder / "vectors.npy", vectors)

    def open(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "anime.sqlite")
        self._vectors = np.load(folder / "vectors.npy")

    def text(self, text: str) -> Hits:
        return self._fetch(self._words(text, TOP))

    def vector(self, vector: np.ndarray) -> Hits:
        return self._fetch(self._nearest(vector, TOP))

    def hybrid(self, text: str, vector: np.ndarray) -> Hits:
        return self._fetch(fuse(self._words(text, DEPTH), self._nearest(vector, DEPTH)))

    def filtered(self, text: str, vector: np.ndarray, kind: str) -> Hits:
        query = """SELECT words.rowid FROM words JOIN anime ON anime.key = words.rowid
                   WHERE words MATCH ? AND type = ? ORDER BY bm25(words) LIMIT ?"""
        words = [key for (key,) in self._db.execute(query, (_match(text), kind, DEPTH))]
        kept = np.array(
            [key for (key,) in self._db.execute("SELECT key FROM anime WHERE type = ?", (kind,))]
        )
        near = kept[_top(self._vectors[kept] @ vector, DEPTH)].tolist()
        return self._fetch(fuse(words, near))

    def _words(self, text: str, limit: int) -> list[int]:
        query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT ?"
        return [key for (key,) in self._db.execute(query, (_match(text), limit))]

    def _nearest(self, vector: np.ndarray, limit: int) -> list[int]:
        return _top(self._vectors @ vector, limit).tolist()

    def _fetch(self, keys: list[int]) -> Hits:
        marks = ",".join("?" * len(keys))
        query = f"SELECT key, id, title, type, year, synopsis FROM anime WHERE key IN ({marks})"
        names = ("id", "title", "type", "year", "synopsis")
        found = {
            key: dict(zip(names, values, strict=True))
            for key, *values in self._db.execute(query, keys)
        }
        return [found[key] for key in keys]


def _match(text: str) -> str:
    words = re.findall(r"\w+", text)
    telling = (
        [word for word in words if word.lower() not in STOP_WORDS.split()] or words or ["nothing"]
    )
    return " OR ".join(f'"{word}"' for word in telling)


def _top(scores: np.ndarray, limit: int) -> np.ndarray:
    best = np.argpartition(-scores, min(limit, len(scores) - 1))[:limit]
    return best[np.argsort(-scores[best], kind="stable")]


if __name__ == "__main__":
    serve(SeedEngine(), STARTED)
