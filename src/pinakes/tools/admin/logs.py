"""The last lines of the server's log, kept in memory, as `logs://recent` and `logs://errors`.

Lines never contain search results; secrets are redacted before a line is kept.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from pinakes.model.principal import Action, Principal
from pinakes.tools.resource import ResourceContent, ResourceEntry, ResourceSpec

PREFIX = "logs://"
RECENT = "recent"
ERRORS = "errors"
KEPT_LINES = 1_000
KEPT_ERRORS = 200
SHOWN_LINES = 200
FIELDS = "pinakes"
"""The attribute of a log record that has its fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of the log."""

    at: datetime
    level: str
    logger: str
    message: str
    fields: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    """The type of an exception and where it was raised, without its message, which may contain anything."""

    def plain(self) -> dict[str, Any]:
        """Return the line as JSON values."""
        shown: dict[str, Any] = {
            "at": self.at.isoformat(timespec="milliseconds"),
            "level": self.level,
            "logger": self.logger,
            "message": self.message,
            **self.fields,
        }
        return {**shown, "problem": self.problem} if self.problem else shown


class LogRing(logging.Handler):
    """A log handler that keeps the last lines, and the last errors for longer."""

    def __init__(self, *, redact: Callable[[Any], Any]) -> None:
        """`redact` removes secrets from JSON values, and cuts long ones."""
        super().__init__()
        self._redact = redact
        self._lines: deque[LogLine] = deque(maxlen=KEPT_LINES)
        self._errors: deque[LogLine] = deque(maxlen=KEPT_ERRORS)
        self._ring_guard = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line; a record that cannot be formatted must not raise in the code that logged it."""
        try:
            line = self._line(record)
            with self._ring_guard:
                self._lines.append(line)
                if record.levelno >= logging.ERROR:
                    self._errors.append(line)
        except Exception:
            self.handleError(record)

    def recent(self, limit: int = SHOWN_LINES) -> list[LogLine]:
        """Return the last lines, latest first."""
        with self._ring_guard:
            return list(self._lines)[-limit:][::-1]

    def errors(self, limit: int = SHOWN_LINES) -> list[LogLine]:
        """Return the last errors, latest first."""
        with self._ring_guard:
            return list(self._errors)[-limit:][::-1]

    def _line(self, record: logging.LogRecord) -> LogLine:
        return LogLine(
            at=datetime.fromtimestamp(record.created, UTC),
            level=record.levelname,
            logger=record.name,
            message=self._redact(record.getMessage()),
            fields=self._redact(getattr(record, FIELDS, {})),
            problem=_problem(record),
        )


def log_resources(ring: LogRing) -> list[ResourceSpec]:
    """Declare `logs://recent` and `logs://errors`."""
    shown: dict[str, Callable[[], Sequence[LogLine]]] = {RECENT: ring.recent, ERRORS: ring.errors}

    def read(_principal: Principal, rest: str) -> ResourceContent | None:
        if rest not in shown:
            return None
        lines = [line.plain() for line in shown[rest]()]
        return ResourceContent(mime_type="application/json", text=orjson.dumps({"lines": lines}, default=str).decode())

    entries = [
        ResourceEntry(uri=f"{PREFIX}{name}", name=f"{name} log lines", mime_type="application/json") for name in shown
    ]
    return [ResourceSpec(prefix=PREFIX, action=Action.SERVER_ADMIN, entries=lambda _who: entries, read=read)]


def _problem(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    kind, trace = record.exc_info[0].__name__, record.exc_info[2]
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return f"{kind}{place}"
