"""Reads of the page through the gate: result sets, searches of all catalogues, and the list of catalogues."""

from collections.abc import Callable
from typing import Any, TypeVar

from pinakes.errors import ForbiddenError
from pinakes.gate.gate import CallContext, Gate
from pinakes.gate.quarantine import safe_structure
from pinakes.gate.retries import with_retries
from pinakes.model.principal import Action
from pinakes.tools.catalogue import OpenCatalogue, choose_catalogue
from pinakes.tools.explore.explore import Reader, explore_catalogue, list_overviews, search_everywhere
from pinakes.tools.explore.request import Explored
from pinakes.tools.media import CallerMedia

ResultT = TypeVar("ResultT")

PAGE_READS = 10
"""How many times as many reads as calls of tools a page has: it searches while one types."""


def explore(gate: Gate, context: CallContext, name: str, asked: Explored) -> dict[str, Any]:
    """Return a result set of a catalogue that the caller may see."""
    return read_catalogue(gate, context, name, lambda catalogue, reader: explore_catalogue(catalogue, asked, reader))


def explore_all(gate: Gate, context: CallContext, asked: Explored) -> dict[str, Any]:
    """Return the hits of every catalogue that the caller may see."""
    return read_page(gate, context, lambda catalogues, reader: search_everywhere(catalogues, asked, reader))


def list_catalogues(gate: Gate, context: CallContext) -> list[dict[str, Any]]:
    """Return the catalogues that the caller may see."""
    return read_page(gate, context, list_overviews)


def read_catalogue(
    gate: Gate, context: CallContext, name: str, work: Callable[[OpenCatalogue, Reader], ResultT]
) -> ResultT:
    """Run a read of one catalogue that the caller may see; raise NotFoundError where there is none."""
    return read_page(
        gate,
        context,
        lambda catalogues, reader: work(choose_catalogue(catalogues, reader.principal, name), reader),
    )


def read_page(
    gate: Gate, context: CallContext, work: Callable[[tuple[OpenCatalogue, ...], Reader], ResultT]
) -> ResultT:
    """Run a read of the page over what the caller may see; permission, limit, audit and quarantine apply."""
    principal = context.principal

    def read() -> ResultT:
        if Action.ACCESS_CATALOG not in principal.actions:
            raise ForbiddenError("you may not search catalogues; an administrator can give you a role that may")
        toolbox = gate.toolbox_of(principal)
        tools = toolbox.list_callable(principal)
        reader = Reader(principal=principal, media=CallerMedia(principal, toolbox.media), tools=tools)
        shown: ResultT = safe_structure(with_retries(lambda: work(toolbox.catalogues, reader)))
        return shown

    return gate.perform(context, read)
