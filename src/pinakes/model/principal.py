"""Who is calling, and what they may do and see."""

from dataclasses import dataclass
from enum import StrEnum

from pinakes.model.scope import SEES_ALL, Sight


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
class Principal:
    """A caller."""

    name: str
    actions: frozenset[Action]
    sight: Sight = SEES_ALL


LOCAL_USER = Principal(name="local", actions=frozenset(Action))
"""The user of this machine, on stdio and at the command line: everything."""
