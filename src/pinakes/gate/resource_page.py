"""A page of the list of resources."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from pinakes.errors import InputError, StorageError
from pinakes.gate.quarantine import quarantine_entry
from pinakes.model.principal import Principal
from pinakes.tools.resources.resource import ResourceEntry, ResourceSpec

logger = logging.getLogger(__name__)

RESOURCES_A_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePage:
    """A page of the list of resources, and the cursor of the next."""

    entries: Sequence[ResourceEntry]
    next_cursor: str | None


def page_of(resources: Sequence[ResourceSpec], principal: Principal, cursor: str | None) -> ResourcePage:
    """Return a page of what these resources list; `cursor` is the one of the page before."""
    start = _position(cursor)
    entries = [entry for resource in resources for entry in _entries(resource, principal)]
    end = start + RESOURCES_A_PAGE
    shown = [quarantine_entry(entry) for entry in entries[start:end]]
    return ResourcePage(entries=shown, next_cursor=str(end) if end < len(entries) else None)


def _entries(resource: ResourceSpec, principal: Principal) -> Sequence[ResourceEntry]:
    """List the entries of a resource, or none where its storage fails, so that the others are still listed."""
    try:
        return resource.entries(principal)
    except StorageError as error:
        logger.warning("resources under '%s' are not listed: %s", resource.prefix, error.message)
        return ()


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal() or len(cursor) > 9:
        raise InputError("'cursor' is not valid for this list; start again without it")
    return int(cursor)
