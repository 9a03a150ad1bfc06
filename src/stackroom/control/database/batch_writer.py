"""A bounded queue of rows that one thread writes in groups, each group in one transaction.

Invariant: of the `_queued` rows that were ever accepted, `_settled` are written or given up, and
the others are in `_queue`, in order. Rows leave the queue only after their transaction has ended,
so a group that fails is tried again.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import islice
from typing import Any, Generic, TypeVar

from sqlalchemy import Column, Connection

from stackroom.background.threads import start_thread
from stackroom.errors import StorageError
from stackroom.frozen import frozen

LOG = logging.getLogger(__name__)
ROWS_A_STATEMENT = 100
"""Rows in a statement. SQLite lets other threads in at each statement, and waiting again costs more
than writing a row.
"""
RowT = TypeVar("RowT")


@frozen
class BatchLimits:
    """Limits on the size and age of a group, and on the length of the queue."""

    group_rows: int  # how many rows are written without waiting for others to join them
    group_s: float  # how long a smaller group waits
    most_in_one: int = 1000  # how many rows one transaction writes
    most_queued: int = 10_000
    retry_s: float = 0.5
    patience_s: float = 5.0  # how long `put` waits for room in the queue


class BatchWriter(Generic[RowT]):
    """Writes rows by one background thread, started with the first row. Safe to use from several
    threads.
    """

    def __init__(
        self,
        append: Callable[[Sequence[RowT]], None],
        *,
        name: str,
        limits: BatchLimits,
        is_lossy: bool = False,
    ) -> None:
        """`append` commits a group or raises StorageError; after any other error, a lossy writer
        drops its queue.
        """
        self._append = append
        self._name = name
        self._limits = limits
        self._is_lossy = is_lossy
        self._guard = threading.RLock()
        self._has_work = threading.Condition(self._guard)
        self._has_moved = threading.Condition(self._guard)
        self._queue: deque[tuple[RowT, Future[None] | None]] = deque()
        self._queued = 0
        self._settled = 0
        self._urgent = 0
        """The number of rows that are written without waiting for others to join."""
        self._failures = 0
        self._is_closing = False
        self._thread: threading.Thread | None = None  # noqa: TID251  # its type
        self.last_error: StorageError | None = None
        """The reason why the last group could not be written; None after a success."""
        self.dropped = 0
        """The number of rows that were dropped without an error to their caller."""

    def put(self, row: RowT, *, durable: bool) -> None:
        """Queue a row, waiting for room; if durable, return when it is committed. Raises
        StorageError otherwise.
        """
        waiter: Future[None] | None = Future() if durable else None
        with self._guard:
            if len(self._queue) >= self._limits.most_queued:
                self._require_room()
            if self._is_closing:
                raise StorageError(
                    f"the {self._name} is closed: the server is stopping; try again when it runs"
                )
            self._enqueue(row, waiter)
        error = None if waiter is None else waiter.exception()
        if isinstance(error, StorageError):
            raise StorageError(error.message) from error

    def offer(self, row: RowT) -> None:
        """Queue a row without waiting; drop and count it if there is no room."""
        with self._guard:
            if self._is_closing or len(self._queue) >= self._limits.most_queued:
                self.dropped += 1
            else:
                self._enqueue(row, None)

    def flush(self) -> None:
        """Return when every row queued so far is written; raise StorageError after an attempt that
        failed.
        """
        with self._guard:
            wanted, failures = self._queued, self._failures
            if self._settled >= wanted:
                return
            self._urgent = wanted
            self._require_thread()
            self._has_work.notify()
            self._has_moved.wait_for(lambda: self._settled >= wanted or self._failures > failures)
            if self._settled < wanted:
                raise StorageError(str(self.last_error))

    def find_problem(self) -> str | None:
        """Return the reason why rows could not be written and wait, or None if none wait."""
        error = self.last_error
        return (
            f"{len(self._queue):,} rows wait: {error.full_message}"
            if error and self._queue
            else None
        )

    def close(self) -> None:
        """Write the queue, and end the thread; rows that cannot be written now are dropped, and
        counted.
        """
        with self._guard:
            self._is_closing = True
            thread = self._thread
            self._has_work.notify()
            self._has_moved.notify_all()
        if thread is not None:
            thread.join()

    def _enqueue(self, row: RowT, waiter: Future[None] | None) -> None:
        self._queue.append((row, waiter))
        self._queued += 1
        if waiter is not None:
            self._urgent = self._queued
        self._require_thread()
        if waiter is not None or len(self._queue) in {1, self._limits.group_rows}:
            self._has_work.notify()

    def _require_thread(self) -> None:
        if self._thread is None:
            self._thread = start_thread(self._name, self._run)

    def _require_room(self) -> None:
        most, patience_s = self._limits.most_queued, self._limits.patience_s
        if not self._has_moved.wait_for(
            lambda: len(self._queue) < most or self._is_closing, timeout=patience_s
        ):
            reason = "" if self.last_error is None else f": {self.last_error.message}"
            problem = (
                f"the {self._name} cannot keep up: {most:,} rows wait to be written{reason}; try"
                " again later"
            )
            raise StorageError(problem)

    def _run(self) -> None:
        """Write the queue until closed; a bug in `append` ends the thread, and the next row starts
        another.
        """
        try:
            while group := self._next_group():
                self._try_to_write(group)
        except BaseException:
            with self._guard:  # as one: the next thread must not find rows that are being put off
                self._thread = None
                error = StorageError(
                    f"writing the {self._name} failed, which is a bug; the server's log has details"
                )
                self._put_off(len(self._queue), error, drop=self._is_lossy)
            raise

    def _next_group(self) -> list[RowT]:
        """Wait for rows, and for others to join them; return nothing when the writer is closed and
        empty.
        """
        with self._guard:
            self._has_work.wait_for(lambda: self._queue or self._is_closing)
            self._has_work.wait_for(self._is_pressing, timeout=self._limits.group_s)
            return [row for row, _ in islice(self._queue, self._limits.most_in_one)]

    def _is_pressing(self) -> bool:
        return (
            len(self._queue) >= self._limits.group_rows
            or self._urgent > self._settled
            or self._is_closing
        )

    def _try_to_write(self, group: Sequence[RowT]) -> None:
        try:
            self._append(group)
        except StorageError as error:
            with self._guard:
                is_last_attempt = self._is_closing
                self._put_off(
                    len(self._queue) if is_last_attempt else len(group), error, drop=is_last_attempt
                )
            if not is_last_attempt:
                time.sleep(self._limits.retry_s)
            return
        with self._guard:
            written = [self._queue.popleft() for _ in group]
            self._settled += len(group)
            self.last_error = None
            self._has_moved.notify_all()
        for _, waiter in written:
            if waiter is not None:
                waiter.set_result(None)

    def _put_off(self, count: int, error: StorageError, *, drop: bool) -> None:
        """Keep the first rows for another attempt, or drop them; rows that a caller waits for are
        refused.
        """
        group = [self._queue.popleft() for _ in range(count)]
        unawaited = [one for one in group if one[1] is None]
        kept = [] if drop else unawaited
        self._queue.extendleft(reversed(kept))
        self.dropped += len(unawaited) - len(kept)
        self._settled += len(group) - len(kept)
        if self.last_error is None:
            LOG.error("the %s cannot be written: %s", self._name, error.message)
        self.last_error = error
        self._failures += 1
        self._has_moved.notify_all()
        for _, waiter in group:
            if waiter is not None:
                waiter.set_exception(error)


def insert_rows(
    connection: Connection, columns: Sequence[Column[Any]], rows: Sequence[Sequence[Any]]
) -> None:
    """Write rows, each the values of these columns of one table, as the database takes them."""
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    row_marks = f"({', '.join([mark] * len(columns))})"
    into = (
        f"INSERT INTO {columns[0].table.name} ({', '.join(column.name for column in columns)})"
        " VALUES "
    )
    for start in range(0, len(rows), ROWS_A_STATEMENT):
        some = rows[start : start + ROWS_A_STATEMENT]
        values = tuple(value for row in some for value in row)
        connection.exec_driver_sql(into + ", ".join([row_marks] * len(some)), values)
