"""The last lines of the server's log, kept in memory, as `logs://recent` and `logs://errors`.

Lines never contain search results; secrets are redacted before a line is kept.
"""

import logging
import os
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stackroom.model.principal import Action, Principal
from stackroom.tools.resources import (
    ContentList,
    ResourceEntry,
    ResourceSpec,
    parse_position,
)

PREFIX = "logs://"
RECENT = "recent"
ERRORS = "errors"
KEPT_LINES = 1_000
KEPT_ERRORS = 200
FIELDS = "stackroom"  # the attribute of a log record that has its fields
SAID_BY_FIELDS = "stackroom_said_by_fields"
"""The attribute of a log record whose message says nothing that its fields do not."""
# the number of a line since the server started, and the line as JSON values
LogLine = tuple[int, dict[str, Any]]


class LogRing(logging.Handler):
    """A log handler that keeps the last lines, and the last errors for longer."""

    def __init__(self, *, redact: Callable[[Any], Any]) -> None:
        """`redact` removes secrets from JSON values, and cuts long ones."""
        super().__init__()
        self._redact = redact
        self._lines: deque[LogLine] = deque(maxlen=KEPT_LINES)
        self._errors: deque[LogLine] = deque(maxlen=KEPT_ERRORS)
        self._ring_guard = threading.Lock()
        self._count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line; a record that cannot be formatted must not raise in the code that logged
        it.
        """
        try:
            line = self._line(record)
            with self._ring_guard:
                self._count += 1
                self._lines.append((self._count, line))
                if record.levelno >= logging.ERROR:
                    self._errors.append((self._count, line))
        except Exception:
            self.handleError(record)

    def recent(self) -> list[LogLine]:
        """Return the last lines, latest first."""
        with self._ring_guard:
            return list(self._lines)[::-1]

    def errors(self) -> list[LogLine]:
        """Return the last errors, latest first."""
        with self._ring_guard:
            return list(self._errors)[::-1]

    def _line(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return a record as JSON values, none of which is said twice."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname}
        if not getattr(record, SAID_BY_FIELDS, False):
            line |= {"logger": record.name, "message": self._redact(record.getMessage())}
        fields = self._redact(getattr(record, FIELDS, {}))
        line |= {name: value for name, value in fields.items() if value is not None}
        if problem := _problem(record):
            line["problem"] = problem
        return line


def log_resources(ring: LogRing) -> list[ResourceSpec]:
    """Declare `logs://recent` and `logs://errors`."""
    shown: dict[str, Callable[[], Sequence[LogLine]]] = {RECENT: ring.recent, ERRORS: ring.errors}

    def read(_principal: Principal, rest: str) -> ContentList | None:
        return _paged(shown[rest]()) if rest in shown else None

    mime_type = "application/json"
    entries = [
        ResourceEntry(uri=f"{PREFIX}{name}", name=f"{name} log lines", mime_type=mime_type)
        for name in shown
    ]
    return [
        ResourceSpec(
            prefix=PREFIX,
            action=Action.SERVER_ADMIN,
            entries=lambda _who: entries,
            read=read,
            template=PREFIX + "{lines}{?max_tokens,cursor}",
            name="log lines",
            description=(
                "The last log lines of this process (recent) or its last errors (errors), latest"
                " first."
            ),
        )
    ]


def _paged(lines: Sequence[LogLine]) -> ContentList:
    """Return lines as a list in pages, with their numbers as cursors, so that new lines meanwhile
    move nothing.
    """

    def after(cursor: str | None) -> Iterator[tuple[str, Any]]:
        before = parse_position(cursor)
        return ((str(number), line) for number, line in lines if before is None or number < before)

    return ContentList(name="lines", total=len(lines), after=after, head={"process": os.getpid()})


def _problem(record: logging.LogRecord) -> str:
    """Return the type of an exception and where it was raised, without its message, which may
    contain anything.
    """
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    frames = traceback.extract_tb(record.exc_info[2], limit=-1)
    place = "".join(f" at {Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"{record.exc_info[0].__name__}{place}"
