"""Texts to embed, shared by any number of workers on any machine: ranges of keys in the database of a catalogue.

A worker holds a range by the lock on its row, so that one that is killed or cut off gives it back, and whoever takes it
next embeds only what is missing. What each range cost, and how often it failed, stays in its row until the next plan.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from os import getpid
from typing import Any

import psycopg
from psycopg.rows import dict_row

from stackroom.errors import ExpectedError
from stackroom.model.record import Key
from stackroom.shelf.lock import EmbeddingElsewhereError
from stackroom.shelf.port import KeyRange

KEYS_AT_ONCE = 2_000
"""The keys of a range: some minutes of embedding on one core."""
PAUSE_S = 0.05
TABLE = """
CREATE TABLE work (
    after_key bigint PRIMARY KEY, until_key bigint NOT NULL, worker text NOT NULL DEFAULT '',
    texts bigint NOT NULL DEFAULT 0, seconds double precision NOT NULL DEFAULT 0,
    failures integer NOT NULL DEFAULT 0, error text NOT NULL DEFAULT '', done_at timestamptz)
"""
TAKE = """
SELECT after_key, until_key FROM work WHERE done_at IS NULL ORDER BY failures, after_key LIMIT 1 FOR UPDATE SKIP LOCKED
"""
COUNT = """
SELECT count(DISTINCT digest) FROM records WHERE key > %s AND key <= %s AND NOT EXISTS (
    SELECT 1 FROM embeddings WHERE embeddings.digest = records.digest
    AND model = (SELECT value FROM meta WHERE name = 'model'))
"""
PLAN = """
INSERT INTO work (after_key, until_key)
SELECT first, first + %(step)s FROM generate_series(%(after)s::bigint, %(until)s::bigint - 1, %(step)s) AS first
"""
DONE = """
UPDATE work SET worker = %(worker)s, texts = texts + %(texts)s, seconds = seconds + %(seconds)s, done_at = now()
WHERE after_key = %(after)s
"""
FAILED = "UPDATE work SET worker = %s, failures = failures + 1, error = %s WHERE after_key = %s"
PROGRESS = """
SELECT count(*) AS ranges, count(done_at) AS done, coalesce(sum(texts), 0)::bigint AS texts,
       coalesce(sum(seconds), 0) AS seconds, coalesce(sum(failures), 0)::bigint AS failures,
       coalesce(max(error), '') AS error, count(DISTINCT worker) FILTER (WHERE worker <> '') AS workers
FROM work
"""


def wait_for(step: Callable[[], bool], *, within_s: float) -> bool:
    """Try a step until it returns true; False where the time is over."""
    ends_at = time.monotonic() + within_s
    while not step():
        if time.monotonic() >= ends_at:
            return False
        threading.Event().wait(PAUSE_S)
    return True


class SharedWork:
    """The ranges that one worker takes, by a connection of its own; iterating ends when every range is done."""

    def __init__(self, db: psycopg.Connection[Any], unembedded: KeyRange | None, *, wait_s: float) -> None:
        self._db = db
        self._unembedded = unembedded
        self._wait_s = wait_s
        self._worker = f"{socket.gethostname()}:{getpid()}"
        self._held: KeyRange | None = None
        self._texts = 0
        self._began = 0.0

    def __iter__(self) -> Iterator[KeyRange]:
        self._plan()
        while (held := self._take()) is not None:
            yield held
            self._finish()

    def give_back(self, error: BaseException | None) -> None:
        """Leave the present range to others; the reason is noted where it failed."""
        if self._held is None or self._db.closed:
            return
        self._db.execute("ROLLBACK")
        if isinstance(error, Exception):
            told = error.message if isinstance(error, ExpectedError) else type(error).__name__
            self._db.execute(FAILED, (self._worker, told, self._held.after))

    def _plan(self) -> None:
        """Cut what has no vector into ranges, unless there are some left of the plan before."""
        with self._db.transaction():
            self._db.execute("LOCK TABLE work IN SHARE ROW EXCLUSIVE MODE")
            if self._is_left():
                return
            self._db.execute("DELETE FROM work")
            if self._unembedded is not None:
                self._db.execute(PLAN, {**self._unembedded._asdict(), "step": KEYS_AT_ONCE})

    def _is_left(self) -> bool:
        return self._db.execute("SELECT 1 FROM work WHERE done_at IS NULL").fetchone() is not None

    def _take(self) -> KeyRange | None:
        """Hold a range that no other worker holds; None where all are done."""
        if not wait_for(lambda: self._has_taken() or not self._is_left(), within_s=self._wait_s):
            raise EmbeddingElsewhereError("other workers embed what is left")
        return self._held

    def _has_taken(self) -> bool:
        self._db.execute("BEGIN")
        row = self._db.execute(TAKE).fetchone()
        if row is None:
            self._db.execute("ROLLBACK")
            return False
        self._held, self._began = KeyRange(Key(row[0]), Key(row[1])), time.monotonic()
        self._texts = (self._db.execute(COUNT, self._held).fetchone() or (0,))[0]
        return True

    def _finish(self) -> None:
        assert self._held is not None
        seconds = time.monotonic() - self._began
        cost = {"worker": self._worker, "texts": self._texts, "seconds": seconds, "after": self._held.after}
        self._db.execute(DONE, cost)
        self._db.execute("COMMIT")  # commit point of a range
        self._held = None


def find_progress(db: psycopg.Connection[Any]) -> dict[str, Any]:
    """Return how far the present plan is, what it cost, and its last failure."""
    return db.cursor(row_factory=dict_row).execute(PROGRESS).fetchone() or {}
