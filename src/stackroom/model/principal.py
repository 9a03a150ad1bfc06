"""The caller: what they may do and see, and the audit's entry of what they did."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from stackroom.frozen import frozen
from stackroom.model.scope import SEES_EVERYTHING, Visibility


class Action(StrEnum):
    """A permission that a tool or resource requires."""

    ACCESS_CATALOG = "AccessCatalog"
    EDIT_CATALOG = "EditCatalog"
    MANAGE_PERMISSIONS = "ManagePermissions"
    VIEW_ANALYTICS = "ViewAnalytics"
    REQUEST_CONTENT = "RequestContent"
    SERVER_ADMIN = "ServerAdmin"


class Cost(StrEnum):
    """The rate limit that a call counts against."""

    READ = "read"
    WRITE = "write"
    SQL = "sql"


@frozen
class Quotas:
    """Calls per minute, by cost class."""

    read: int
    write: int
    sql: int

    def of(self, cost: Cost) -> int:
        """Return the quota that a call of this cost counts against."""
        return {Cost.READ: self.read, Cost.WRITE: self.write, Cost.SQL: self.sql}[cost]


@frozen
class Principal:
    """A caller."""

    name: str
    actions: frozenset[Action]
    visibility: Visibility = SEES_EVERYTHING
    quotas: Quotas | None = None  # None: unlimited


@frozen
class Identity:
    """A principal together with the credential that identified them."""

    principal: Principal
    credential_id: str
    expires_at: datetime | None  # the expiry of the credential; None: never
    # the actions that the credential is limited to; None: no limit
    scopes: frozenset[Action] | None = None
    must_choose_password: bool = False
    """Whether they logged in with a one-time password, which allows nothing but choosing a
    password.
    """


LOCAL_USER = Principal(name="local", actions=frozenset(Action))
"""The local user, on stdio and the command line: may do everything."""

# a caller without credentials: may do nothing
ANONYMOUS = Principal(name="anonymous", actions=frozenset())


class Outcome(StrEnum):
    """The outcome of a call."""

    OK = "ok"
    ERROR = "error"  # a foreseen failure
    REFUSED = "refused"  # a target that does not exist, or not for this caller
    LIMITED = "limited"
    OVERLOADED = "overloaded"
    FAILED = "failed"  # a bug; the log has the details
    INTERRUPTED = "interrupted"
    """A change that was made, but whose call was never noted: its process ended first. Rebuilt from
    the change log.
    """


@frozen
class AuditEntry:
    """One call: who, what, with which parameters, and the outcome."""

    at: datetime
    call_id: str
    principal: str
    via: str  # the transport: `stdio`, `http`, `sse`, `websocket`, `rest` or `cli`
    operation: str  # the kind of call, such as `tools/call` or `account/login`
    target: str  # the tool, URI or account that was asked for
    parameters: Mapping[str, Any]  # JSON values, without secrets
    outcome: Outcome
    error_code: str | None = None
    duration_ms: float = 0.0
    result_bytes: int = 0
    result_digest: str = ""  # SHA-256 of the result, empty where there is none
    result_count: int | None = None
    """The number of records in the result, for analytics; not written to the audit itself."""
