"""The audit entry of a call, whatever its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """The outcome of a call."""

    OK = "ok"
    ERROR = "error"
    """A foreseen failure."""
    REFUSED = "refused"
    """A target that does not exist, or not for this caller."""
    LIMITED = "limited"
    OVERLOADED = "overloaded"
    FAILED = "failed"
    """A bug; the log has the details."""
    INTERRUPTED = "interrupted"
    """A change that was made, but whose call was never noted: its process ended first. Rebuilt from the change log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One call: who, what, with which parameters, and the outcome."""

    at: datetime
    call_id: str
    principal: str
    via: str
    """The transport: `stdio`, `http`, `sse`, `websocket`, `rest` or `cli`."""
    operation: str
    """The kind of call, such as `tools/call` or `account/login`."""
    target: str
    """The tool, URI or account that was asked for."""
    parameters: Mapping[str, Any]
    """JSON values, without secrets."""
    outcome: Outcome
    error_code: str | None = None
    duration_ms: float = 0.0
    result_bytes: int = 0
    result_digest: str = ""
    """SHA-256 of the result, empty where there is none."""
    result_count: int | None = None
    """The number of records in the result, for analytics; not written to the audit itself."""
