"""Work that any number of workers on any machine share: ranges of keys in the database of a catalogue.

A worker holds a range by the lock on its row, so that one that is killed or cut off gives it back. What is written by
the same connection is committed with the range, whole or not at all; texts are embedded apart, and whoever takes their
range next embeds only what is missing. What each range cost, and how often it failed, stays in its row until the next
plan.
"""

import math
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
from stackroom.toml_text import load_packaged

EMBEDDING = "embedding"
"""The kind of work that is embedding texts."""
KEYS_AT_ONCE = 2_000
"""The keys of a range: some minutes of embedding on one core."""
PAUSE_S = 0.05
STATEMENTS = load_packaged(__package__, "statements.toml")
TABLE = STATEMENTS["work"]
LEFT = "SELECT count(*) FROM work WHERE kind = %s AND done_at IS NULL"
FAILED = "UPDATE work SET worker = %s, failures = failures + 1, error = %s WHERE kind = %s AND after_key = %s"


def wait_for(step: Callable[[], bool], *, within_s: float) -> bool:
    """Try a step until it returns true; False where the time is over."""
    ends_at = time.monotonic() + within_s
    while not step():
        if time.monotonic() >= ends_at:
            return False
        threading.Event().wait(PAUSE_S)
    return True


class SharedWork:
    """The ranges of one kind that one worker takes, by a connection of its own; iterating ends when all are done.

    As a context manager, it leaves the range that it holds to others where the block fails.
    """

    def __init__(self, db: psycopg.Connection[Any], kind: str, *, wait_s: float = math.inf) -> None:
        self._db = db
        self._kind = kind
        self._wait_s = wait_s
        """How long to wait for others that hold what is left."""
        self._worker = f"{socket.gethostname()}:{getpid()}"
        self._held: KeyRange | None = None
        self._began = 0.0
        self.items = 0
        """How many texts or records the present range has, for the account."""

    def __enter__(self) -> "SharedWork":
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        """Leave the present range to others; the reason is noted where it failed."""
        if self._held is None or self._db.closed:
            return
        self._db.execute("ROLLBACK")
        if isinstance(error, Exception):
            told = error.message if isinstance(error, ExpectedError) else type(error).__name__
            self._db.execute(FAILED, (self._worker, told, self._kind, self._held.after))

    def __iter__(self) -> Iterator[KeyRange]:
        while (held := self._take()) is not None:
            yield held
            self._finish()

    def plan_anew(self, keys: KeyRange | None) -> None:
        """Cut keys into ranges, unless there are some left of the plan before."""
        with self._db.transaction():
            self._db.execute("LOCK TABLE work IN SHARE ROW EXCLUSIVE MODE")
            if count_left(self._db, self._kind):
                return
            self._db.execute("DELETE FROM work WHERE kind = %s", (self._kind,))
            if keys is not None:
                plan(self._db, self._kind, keys, step=KEYS_AT_ONCE)

    def _take(self) -> KeyRange | None:
        """Hold a range that no other worker holds; None where all are done."""
        if not wait_for(lambda: self._has_taken() or not count_left(self._db, self._kind), within_s=self._wait_s):
            raise EmbeddingElsewhereError("other workers have what is left")
        return self._held

    def _has_taken(self) -> bool:
        self._db.execute("BEGIN")
        row = self._db.execute(STATEMENTS["take"], (self._kind,)).fetchone()
        if row is None:
            self._db.execute("ROLLBACK")
            return False
        self._held, self._began, self.items = KeyRange(Key(row[0]), Key(row[1])), time.monotonic(), 0
        if self._kind == EMBEDDING:
            self.items = (self._db.execute(STATEMENTS["count_texts"], self._held).fetchone() or (0,))[0]
        return True

    def _finish(self) -> None:
        assert self._held is not None
        seconds = time.monotonic() - self._began
        self._db.execute(STATEMENTS["done"], (self._worker, self.items, seconds, self._kind, self._held.after))
        self._db.execute("COMMIT")  # commit point of a range
        self._held = None


def plan(db: psycopg.Connection[Any], kind: str, keys: KeyRange, *, step: int) -> None:
    """Cut keys into ranges of so many."""
    db.execute(STATEMENTS["plan"], {**keys._asdict(), "kind": kind, "step": step})


def count_left(db: psycopg.Connection[Any], kind: str) -> int:
    """Return how many ranges are not done."""
    return int((db.execute(LEFT, (kind,)).fetchone() or (0,))[0])


def find_progress(db: psycopg.Connection[Any]) -> dict[str, dict[str, Any]]:
    """Return how far the present plan of each kind is, what it cost, and a failure."""
    return {row.pop("kind"): row for row in db.cursor(row_factory=dict_row).execute(STATEMENTS["progress"])}
