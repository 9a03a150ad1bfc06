"""The server's log: text lines for people, or JSON lines for programs. One line per call, without
its results.
"""

import json
import logging
from datetime import UTC, datetime
from typing import Any

import orjson

from stackroom.admin.logs import FIELDS, SAID_BY_FIELDS
from stackroom.errors import BusyError, ModelError, OverloadedError, StorageError, UnavailableError
from stackroom.model.principal import AuditEntry, Outcome
from stackroom.text.safe import safe_json, safe_line, safe_text, terminal_stream

calls = logging.getLogger("stackroom.calls")
FAULTS = frozenset(
    error.code for error in (OverloadedError, StorageError, BusyError, ModelError, UnavailableError)
)
"""Codes of answers by 503: the server, and not the caller, is at fault."""


class JSONLines(logging.Formatter):
    """A log record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a log record."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        try:
            return safe_json(orjson.dumps(line).decode())
        except TypeError:  # half of a surrogate pair, as the name of a file may have
            return json.dumps(line, default=str)  # ASCII alone


class TextLines(logging.Formatter):
    """A log record as one line of text; the lines of an exception follow, indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Format the line, so that no text in it can forge a second one or control a terminal."""
        return safe_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """Format an exception."""
        return "\n".join(
            f"  {line}" for line in safe_text(super().formatException(ei)).splitlines()
        )


class CallLog:
    """Implements `Observer`: logs one line per call."""

    def write(self, entry: AuditEntry, *, durable: bool) -> None:  # noqa: ARG002 - the port's
        """Log a call; refusals are warnings, bugs and whatever is answered by 503 are errors."""
        level = (
            logging.ERROR
            if entry.error_code in FAULTS
            else _LEVELS.get(entry.outcome, logging.WARNING)
        )
        if not calls.isEnabledFor(level):
            return
        fields = {
            "call": entry.call_id,
            "user": entry.principal,
            "via": entry.via,
            "operation": entry.operation,
            "target": entry.target,
            "outcome": entry.outcome.value,
            "code": entry.error_code,
            "ms": round(entry.duration_ms, 1),
            "bytes": entry.result_bytes,
        }
        ended = entry.error_code or entry.outcome.value
        values = (
            entry.operation,
            entry.target,
            entry.principal,
            entry.via,
            ended,
            entry.duration_ms,
        )
        calls.log(
            level,
            "%s %s by %s over %s: %s, %.1f ms",
            *values,
            extra={FIELDS: fields, SAID_BY_FIELDS: True},
        )


_LEVELS = {Outcome.OK: logging.INFO, Outcome.ERROR: logging.INFO, Outcome.FAILED: logging.ERROR}


def set_up_logging(*, level: str, form: str) -> None:
    """Log to standard error from this level on."""
    handler = logging.StreamHandler(terminal_stream(is_error=True))  # the lines are safe already
    text = TextLines("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JSONLines() if form == "json" else text)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in ("mcp", "uvicorn", "sse_starlette", "httpx"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
