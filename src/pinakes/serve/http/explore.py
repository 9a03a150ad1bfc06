"""The page's reads as JSON: `GET /c/NAME`, `/search`, `/v1/catalogues`, and the files of records."""

from typing import Any

from starlette.responses import Response

from pinakes.errors import InputError, UnknownResourceError
from pinakes.gate.explore import PAGE_READS, explore, explore_all, list_catalogues
from pinakes.gate.gate import CallContext
from pinakes.serve.http.endpoints import ServerRequest
from pinakes.serve.http.explore_shapes import (
    CataloguesResult,
    ExploreParams,
    ExploreResult,
    SearchAllParams,
    SearchAllResult,
)
from pinakes.serve.http.replies import NO_STORE, JSONReply
from pinakes.serve.http.service import Service
from pinakes.tools.endpoint import Endpoint, EndpointRequest, EndpointSpec
from pinakes.tools.explore.request import Explored, parse_address
from pinakes.tools.media import MediaFile, MediaKind

CATALOGUE_PATH = "/c/{name}"
HEADERS = {**NO_STORE, "Vary": "Accept, Authorization, Cookie"}
"""A browser keeps no JSON under the address of a page: Back would show it."""
MEDIA_KINDS = tuple(kind.value for kind in MediaKind)


def explore_endpoints(service: Service) -> list[EndpointSpec]:
    """Return the endpoints that the page reads."""
    page = ExploreEndpoints(service)
    named = {"name": "the catalogue's name"}
    return [
        EndpointSpec(
            "GET",
            CATALOGUE_PATH,
            page.explore_catalogue,
            tag="explore",
            path_parameters=named,
            query=ExploreParams,
            result=ExploreResult,
            refusals=(400, 403, 404),
            operation="explore/catalogue",
        ),
        EndpointSpec(
            "GET",
            "/search",
            page.search_all,
            tag="explore",
            query=SearchAllParams,
            result=SearchAllResult,
            refusals=(400, 403),
            operation="explore/search",
        ),
        EndpointSpec(
            "GET",
            "/v1/catalogues",
            page.list_catalogues,
            tag="explore",
            result=CataloguesResult,
            refusals=(403,),
            operation="explore/list",
        ),
        Endpoint(
            "GET",
            "/v1/media/{catalogue}/{kind}/{id:path}",
            show_file,
            tag="explore",
            action=None,
            target="id",
            result=MediaFile,
            is_limited=False,
            path_parameters={
                "catalogue": "the record's catalogue",
                "kind": " or ".join(MEDIA_KINDS),
                "id": "the record's id",
            },
            media_type="*/*",
            operation="media/file",
        ),
    ]


class ExploreEndpoints:
    """Result sets for the page."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def explore_catalogue(self, request: ServerRequest) -> Response:
        """Return a result set of a catalogue: hits, facets, and what the query was understood as."""
        name = str(request.http.path_params["name"])
        asked = await self._asked(request, "explore/catalogue", name)
        context = page_context(request, "explore/catalogue", name, _noted(asked))
        return await self._reply(context, lambda gate: explore(gate, context, name, asked))

    async def search_all(self, request: ServerRequest) -> Response:
        """Search every catalogue, and merge what is found."""
        asked = await self._asked(request, "explore/search", "")
        context = page_context(request, "explore/search", "", {"query": asked.query})
        return await self._reply(context, lambda gate: explore_all(gate, context, asked))

    async def list_catalogues(self, request: ServerRequest) -> Response:
        """List the catalogues with their titles, sizes, and queries to begin with."""
        context = page_context(request, "explore/list", "", {})
        return await self._reply(context, lambda gate: {"catalogues": list_catalogues(gate, context)})

    async def _asked(self, request: ServerRequest, operation: str, target: str) -> Explored:
        """Return what the address asks for; a wrong one is counted and audited like a wrong call."""
        try:
            return parse_address(request.http.query_params.multi_items())
        except InputError as error:
            raise await self._service.invalid.refused(request.http, operation, error, target=target) from None

    async def _reply(self, context: CallContext, work: Any) -> Response:
        return JSONReply(await self._service.gate.run(context.principal, work, context), headers=HEADERS)


def page_context(request: ServerRequest, operation: str, target: str, parameters: dict[str, Any]) -> CallContext:
    """Return the audit context of a read of the page, which has a more generous limit than calls of tools."""
    caller = request.caller
    return CallContext(
        principal=caller.principal,
        via=caller.via,
        operation=operation,
        target=target[:200],
        parameters=parameters,
        times_the_limit=PAGE_READS,
    )


def _noted(asked: Explored) -> dict[str, Any]:
    """Return the parameters of a result set that are audited."""
    limits = {"filters": dict(asked.filters), "exclude": dict(asked.exclude), "sort": asked.sort}
    return {"query": asked.query, **{name: value for name, value in limits.items() if value}}


def show_file(request: EndpointRequest[None, None]) -> MediaFile:
    """Return a file of a record, such as its cover, whole or a range of bytes."""
    kind, record_id = request.path["kind"], request.path["id"]
    if kind in MEDIA_KINDS:
        found = request.media.find_file_in(request.path["catalogue"], record_id, MediaKind(kind))
        if found is not None:
            return found
    raise UnknownResourceError(f"there is no {kind[:20]} of '{record_id[:200]}'", uri=record_id[:200])
