"""The server side of the public API: what a package is given by a shared server, and what it gives
back.

A package names a function in `CataloguePackage.server`; it is called with a `ServerContext` and
returns `ServerParts`. This module loads the control database's library: only the code of a package
in a shared server imports it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from sqlalchemy import MetaData

from stackroom.analytics.events import EventLog
from stackroom.background.background import FileLease, Task, TaskContext
from stackroom.checksums import open_like, sync_folder
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import Moment, users, utc_now
from stackroom.errors import InvalidUrlError, RateLimitedError, TooLargeError, did_you_mean
from stackroom.frozen import frozen
from stackroom.ingest.pipeline import IngestReport, IngestRequest
from stackroom.jobs.job import JobContext, JobSpec, shortened
from stackroom.library import Installed
from stackroom.model.principal import LOCAL_USER, Principal
from stackroom.net.addresses import AddressGuard, AddressRules, Resolve, join_url
from stackroom.net.fetch import (
    FetchCancelledError,
    FetchedText,
    Fetcher,
    FetchLimits,
    TransferError,
    WantedFile,
)
from stackroom.net.polite import Clock, back_off_s
from stackroom.settings import SectionT
from stackroom.shelf.port import Author
from stackroom.tools.faces.mcp import DeclaredTool
from stackroom.tools.operation import AnyOperation
from stackroom.tools.own_storage import OwnDatabase, OwnStorage
from stackroom.tools.resources import ResourceSpec

__all__ = ["LOCAL_USER", "AddressGuard", "AddressRules", "Author", "Clock", "ControlDatabase"]
__all__ += ["FetchCancelledError", "FetchLimits", "FetchedText", "Fetcher", "FileLease"]
__all__ += ["IngestRequest", "InvalidUrlError", "JobContext", "JobSpec", "Moment", "OwnDatabase"]
__all__ += ["OwnStorage", "RateLimitedError", "Resolve", "ServerContext", "ServerParts", "Task"]
__all__ += ["TaskContext", "TooLargeError", "TransferError", "WantedFile", "back_off_s"]
__all__ += ["did_you_mean", "join_url", "open_like", "shortened", "sync_folder", "users", "utc_now"]


class ReadSettings(Protocol):
    """Reads a section of the settings that a package declares."""

    def __call__(self, name: str, model: type[SectionT]) -> SectionT:
        """Return the validated section."""


@frozen
class ServerContext:
    """The parts of a shared server that a package may use."""

    home: Path
    """The library's folder."""
    offline: bool
    """Whether everything that would need the network is refused."""
    read_settings: ReadSettings
    database: ControlDatabase
    events: EventLog
    """Records plays and downloads for analytics."""
    get_principal: Callable[[str], Principal]
    """Returns a user with their present rights; raises NotFoundError or, for a disabled user,
    ForbiddenError.
    """
    list_catalogues: Callable[[], Sequence[Installed]]
    """Returns the installed catalogues that follow this package."""
    refresh: Callable[[str, str, IngestRequest], IngestReport]
    """Brings a catalogue up to a location, on behalf of a user; builds it where it is not
    installed.
    """
    now: Callable[[], datetime] = utc_now
    wake: Callable[[str], None] = lambda _name: None
    """Has a task of `ServerParts.tasks` run now, by its name."""


@frozen
class ServerParts:
    """The parts that a package adds to a shared server. Making them starts nothing."""

    tools: Sequence[DeclaredTool] = ()
    resources: Sequence[ResourceSpec] = ()
    endpoints: Sequence[AnyOperation] = ()
    """Operations with an address that use the context; they replace those of
    `CataloguePackage.endpoints` with the same address.
    """
    jobs: Sequence[JobSpec] = ()
    tasks: Sequence[Task] = ()
    """Work beside calls, which runs while the server does; `ServerContext.wake` has one of them run
    now.
    """
    tables: MetaData | None = None
    """Tables in the control database; those that are missing are created."""
    prunings: Mapping[str, Callable[[datetime], int]] = field(default_factory=dict)
    """Name → deletes rows older than a time and returns their number; run by the job
    `prune_logs`.
    """


NO_PARTS = ServerParts()


def join_parts(parts: Sequence[ServerParts]) -> ServerParts:
    """Return the parts of several packages as one; each keeps its own tables."""
    return ServerParts(
        tools=[tool for part in parts for tool in part.tools],
        resources=[resource for part in parts for resource in part.resources],
        endpoints=[endpoint for part in parts for endpoint in part.endpoints],
        jobs=[job for part in parts for job in part.jobs],
        tasks=[task for part in parts for task in part.tasks],
        prunings={name: prune for part in parts for name, prune in part.prunings.items()},
    )
