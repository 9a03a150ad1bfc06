"""The resources that a caller sees: their lists, and the operation that reads one."""

import hashlib
import logging
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from pydantic import Field

from stackroom.errors import InputError, StorageError, UnknownResourceError
from stackroom.frozen import frozen
from stackroom.gate import quarantine
from stackroom.gate.answer import ResultSummary, Shown, with_age_of
from stackroom.model.principal import Principal
from stackroom.tools.operation import (
    ANY_CALLER,
    OFF,
    Audit,
    Call,
    Faces,
    RawParams,
    Rest,
    operation,
)
from stackroom.tools.resources import (
    ResourceContent,
    ResourceEntry,
    ResourceSpec,
    fit_content,
    split_address,
)
from stackroom.tools.spec import GenericParams
from stackroom.tools.toolbox import Toolbox

logger = logging.getLogger(__name__)

RESOURCES_A_PAGE = 200
LONGEST_NOTED = 200


@frozen
class ResourcePage:
    """A page of the list of resources, and the cursor of the next."""

    entries: Sequence[ResourceEntry]
    next_cursor: str | None


class ReadParams(GenericParams):
    """A resource to read."""

    uri: str = Field(
        min_length=1, description="/v1/resources/read?uri=ADDRESS; /v1/resources lists addresses"
    )
    max_tokens: str | None = Field(
        default=None, description="a budget for the part that is read; four bytes a token"
    )
    cursor: str | None = Field(default=None, description="from the part before")

    @property
    def address(self) -> str:
        """The address with the budget and the cursor."""
        given = urlencode(
            self.model_dump(exclude={"uri"}, exclude_none=True), quote_via=quote, safe=""
        )
        return (
            f"{self.uri}{'&' if split_address(self.uri)[1] else '?'}{given}" if given else self.uri
        )

    @property
    def noted_address(self) -> str:
        """The address as it is audited."""
        return self.address[:LONGEST_NOTED]


def address_params(uri: str) -> RawParams:
    """Return the parameters of a read that has the budget and the cursor in its address."""
    return RawParams(values={}, ready=ReadParams.model_construct(uri=uri))


@operation(
    "resources/read",
    needs=ANY_CALLER,
    faces=Faces(
        tool=OFF,
        rest=Rest(
            "GET /v1/resources/read", tag="resources", media_type="*/*", operation_id="readResource"
        ),
        command=OFF,
        audit=Audit(target="noted_address", notes_parameters=False),
    ),
)
def read_resource(call: Call, params: ReadParams) -> ResourceContent:
    """Return the content of a resource, under its own type.

    One that the caller may not see is reported as unknown.
    """
    address, query = split_address(params.address)
    toolbox, principal = call.server, call.principal
    for resource in toolbox.known_resources:
        if resource.action in principal.actions and address.startswith(resource.prefix):
            rest = address.removeprefix(resource.prefix)
            content = resource.read(principal, rest)
            if content is not None:
                shown = fit_content(content, address, query, is_file=resource.is_file)
                noted = with_age_of(shown, toolbox, rest.partition("/")[0])
                return quarantine.quarantine_content(noted, toolbox.changing_tools)
    asked = params.noted_address
    raise UnknownResourceError(
        f"there is no resource '{asked}'; list the resources for those there are", uri=asked
    )


def show_content(content: ResourceContent) -> Shown:
    """Return a resource as it is, with what the audit keeps of it."""
    sent = (content.text or "").encode() if content.blob is None else content.blob
    return Shown(content, ResultSummary(len(sent), hashlib.sha256(sent).hexdigest()))


def list_resources(toolbox: Toolbox, principal: Principal, cursor: str | None) -> ResourcePage:
    """Return a page of the resources that the principal may read; `cursor` is the one of the page
    before.
    """
    if cursor is not None and (not cursor.isdecimal() or len(cursor) > 9):
        raise InputError("'cursor' is not valid for this list; start again without it")
    start = int(cursor or 0)
    end = start + RESOURCES_A_PAGE
    entries = [
        entry
        for resource in list_readable(toolbox, principal)
        for entry in _entries(resource, principal)
    ]
    shown = [quarantine.quarantine_entry(entry) for entry in entries[start:end]]
    return ResourcePage(entries=shown, next_cursor=str(end) if end < len(entries) else None)


def list_readable(toolbox: Toolbox, principal: Principal) -> list[ResourceSpec]:
    """Return the resources that the principal may read."""
    return [resource for resource in toolbox.resources if resource.action in principal.actions]


def _entries(resource: ResourceSpec, principal: Principal) -> Sequence[ResourceEntry]:
    """List the entries of a resource, or none where its storage fails, so that the others are still
    listed.
    """
    try:
        return resource.entries(principal)
    except StorageError as error:
        logger.warning("resources under '%s' are not listed: %s", resource.prefix, error.message)
        return ()
