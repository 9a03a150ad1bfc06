"""Who is calling, and what they may do and see."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pinakes.model.scope import SEES_EVERYTHING, Visibility


class Action(StrEnum):
    """What a tool or resource needs its caller to be allowed."""

    ACCESS_CATALOG = "AccessCatalog"
    EDIT_CATALOG = "EditCatalog"
    MANAGE_PERMISSIONS = "ManagePermissions"
    VIEW_ANALYTICS = "ViewAnalytics"
    REQUEST_CONTENT = "RequestContent"
    SERVER_ADMIN = "ServerAdmin"


class Cost(StrEnum):
    """Which rate limit a call counts against."""

    READ = "read"
    WRITE = "write"
    SQL = "sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """How many calls a minute somebody has, by what they cost."""

    read: int
    write: int
    sql: int

    def of(self, cost: Cost) -> int:
        """Return the quota that a call of this cost counts against."""
        return {Cost.READ: self.read, Cost.WRITE: self.write, Cost.SQL: self.sql}[cost]


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller."""

    name: str
    actions: frozenset[Action]
    visibility: Visibility = SEES_EVERYTHING
    quotas: Quotas | None = None
    """None: as many calls as they like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A principal, by the credential that they showed."""

    principal: Principal
    credential_id: str
    expires_at: datetime | None
    """When the credential ends; None: never by itself."""
    scopes: frozenset[Action] | None = None
    """What the credential is narrowed to; None: nothing."""


LOCAL_USER = Principal(name="local", actions=frozenset(Action))
"""The user of this machine, on stdio and at the command line: everything."""

ANONYMOUS = Principal(name="anonymous", actions=frozenset())
"""Somebody who has not said who they are: nothing."""
