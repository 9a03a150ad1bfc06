"""`/v1/map/CATALOGUE`: the map of a catalogue, its records by id, and those nearest to one."""

from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.responses import Response

from pinakes.gate.gate import CallContext
from pinakes.gate.maps import read_map, read_map_records, read_near
from pinakes.serve.http.endpoints import ServerRequest
from pinakes.serve.http.explore import page_context
from pinakes.serve.http.explore_shapes import HitResult
from pinakes.serve.http.replies import PRIVATE, JSONReply
from pinakes.serve.http.service import Service
from pinakes.tools.endpoint import BodyParams, EndpointResult, EndpointSpec, QueryParams, WholeNumber
from pinakes.tools.maps.shown import MapQuestion

MOST_RECORDS = 100
CATALOGUE = {"catalogue": "the catalogue's name"}


class MapParams(QueryParams):
    """The part of a map that is asked for."""

    colour: str | None = Field(default=None, max_length=200, description="the field to colour by; default: the first")
    parts: Literal["map", "colour"] = Field(default="map", description="`colour`: only the colours")


class MapRecordsBody(BodyParams):
    """Records of a map."""

    ids: list[Annotated[str, Field(min_length=1, max_length=1_000)]] = Field(min_length=1, max_length=MOST_RECORDS)


class NearParams(QueryParams):
    """A record, and how many others are asked for."""

    id: str = Field(min_length=1, max_length=1_000, description="the record's id")
    limit: WholeNumber = Field(default=30, ge=1, le=MOST_RECORDS)


class LabelResult(EndpointResult):
    """A value that is typical of a place; coarse labels have the level 0."""

    text: str
    field: str
    x: int
    y: int
    level: int


class ColourResult(EndpointResult):
    """The values of a field that have a colour, and the number of that of each record, 0 for none, in Base64."""

    field: str
    label: str
    ordered: bool
    values: list[dict[str, Any]]
    codes: str


class MapResult(EndpointResult):
    """A map: ids, a place for each (two little-endian int16, in Base64), labels and colours; or why there is none."""

    catalogue: str
    state: Literal["ready", "being made", "no vectors"]
    count: int | None = None
    unplaced: int | None = None
    ids: list[str] | None = None
    places: str | None = None
    labels: list[LabelResult] | None = None
    colours: list[dict[str, str]] | None = None
    colour: ColourResult | None = None


class MapHitsResult(EndpointResult):
    """Records as the page shows them."""

    hits: list[HitResult]


def map_endpoints(service: Service) -> list[EndpointSpec]:
    """Return the endpoints of maps."""
    maps = MapEndpoints(service)
    return [
        EndpointSpec(
            "GET",
            "/v1/map/{catalogue}",
            maps.show_map,
            tag="page",
            path_parameters=CATALOGUE,
            query=MapParams,
            result=MapResult,
            refusals=(403, 404),
        ),
        EndpointSpec(
            "POST",
            "/v1/map/{catalogue}/records",
            maps.show_map_records,
            tag="page",
            path_parameters=CATALOGUE,
            body=MapRecordsBody,
            result=MapHitsResult,
            refusals=(403, 404),
        ),
        EndpointSpec(
            "GET",
            "/v1/map/{catalogue}/near",
            maps.show_near_records,
            tag="page",
            path_parameters=CATALOGUE,
            query=NearParams,
            result=MapHitsResult,
            refusals=(403, 404),
        ),
    ]


class MapEndpoints:
    """Maps."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def show_map(self, request: ServerRequest) -> Response:
        """Return the map of a catalogue, or its colours by another field."""
        asked: MapParams = request.query
        name, context = _asked(request, "page/map", asked.model_dump())
        question = MapQuestion(colour=asked.colour, colours_only=asked.parts == "colour")
        shown = await self._service.gate.run(
            context.principal, lambda gate: read_map(gate, context, name, question), context
        )
        return JSONReply(shown, headers=PRIVATE)

    async def show_map_records(self, request: ServerRequest) -> Response:
        """Return records of a map as hits, in the order of their ids."""
        ids: list[str] = request.body.ids
        name, context = _asked(request, "page/map-records", {"ids": len(ids)})
        shown = await self._service.gate.run(
            context.principal, lambda gate: read_map_records(gate, context, name, ids), context
        )
        return JSONReply(shown, headers=PRIVATE)

    async def show_near_records(self, request: ServerRequest) -> Response:
        """Return the records nearest in meaning to one, wherever they are on the map."""
        asked: NearParams = request.query
        name, context = _asked(request, "page/map-near", asked.model_dump())
        shown = await self._service.gate.run(
            context.principal, lambda gate: read_near(gate, context, name, asked.id, asked.limit), context
        )
        return JSONReply(shown, headers=PRIVATE)


def _asked(request: ServerRequest, operation: str, parameters: dict[str, Any]) -> tuple[str, CallContext]:
    """Return the catalogue that a request names, and its context."""
    name = str(request.http.path_params["catalogue"])
    return name, page_context(request, operation, name, parameters)
