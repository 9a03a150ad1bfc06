"""`GET /c/CATALOGUE/ID` and `POST /v1/taste`: a record, and what suits a taste, as the page shows them."""

from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.responses import Response

from pinakes.gate.page import read_record, read_similar, read_taste
from pinakes.serve.http.endpoints import ServerRequest
from pinakes.serve.http.explore import page_context
from pinakes.serve.http.replies import NO_STORE, PRIVATE, JSONReply
from pinakes.serve.http.service import Service
from pinakes.tools.endpoint import BodyParams, EndpointResult, EndpointSpec, QueryParams
from pinakes.tools.page.taste import TasteQuestion

MOST_IN_TRAY = 50
VARY = {"Vary": "Accept, Authorization, Cookie"}

StatedId = Annotated[str, Field(min_length=1, max_length=1_000)]


class RecordParams(QueryParams):
    """The part of a record that is asked for."""

    parts: Literal["record", "similar"] = Field(
        default="record", description="`similar`: the records nearest in meaning, as hits"
    )


class TasteBody(BodyParams):
    """A tray of liked and disliked records, and a sentence."""

    catalogue: str = Field(max_length=200)
    likes: list[StatedId] = Field(default_factory=list, max_length=MOST_IN_TRAY, description="ids of records")
    dislikes: list[StatedId] = Field(default_factory=list, max_length=MOST_IN_TRAY, description="ids of records")
    preferences: str = Field(default="", max_length=2_000, description="as in: after 2015, darker, not horror")
    weights: dict[str, float] = Field(
        default_factory=dict, max_length=20, description="signal → its weight, 0 to 1; the others are as declared"
    )
    limit: int = Field(default=12, ge=1, le=48)


class RecordResult(EndpointResult):
    """A record with its fields, relations and edit form, or with `parts=similar` the records most like it."""

    hit: dict[str, Any] | None = None
    fields: list[dict[str, Any]] | None = None
    relations: list[dict[str, Any]] | None = None
    origin: str | None = None
    has_vectors: bool | None = None
    edit: dict[str, Any] | None = None
    hits: list[dict[str, Any]] | None = None
    call: dict[str, Any]


class TasteResult(EndpointResult):
    """Recommendations for a taste, best first, and how the taste was understood."""

    hits: list[dict[str, Any]]
    likes: list[dict[str, Any]]
    dislikes: list[dict[str, Any]]
    understood: list[dict[str, str]]
    not_understood: list[str]
    notes: list[str]
    taste: list[str]
    signals: list[dict[str, Any]]
    call: dict[str, Any]


def record_endpoints(service: Service) -> list[EndpointSpec]:
    """Return the endpoints of records and tastes."""
    records = RecordEndpoints(service)
    return [
        EndpointSpec(
            "GET",
            "/c/{catalogue}/{id:path}",
            records.show_record,
            tag="page",
            path_parameters={"catalogue": "the catalogue's name", "id": "the record's id"},
            query=RecordParams,
            result=RecordResult,
            refusals=(403, 404),
        ),
        EndpointSpec(
            "POST",
            "/v1/taste",
            records.recommend,
            tag="page",
            body=TasteBody,
            result=TasteResult,
            refusals=(403, 404),
        ),
    ]


class RecordEndpoints:
    """Records and tastes."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def show_record(self, request: ServerRequest) -> Response:
        """Return a record with its fields and relations, or the records most like it."""
        path = request.http.path_params
        catalogue, stated = str(path["catalogue"]), str(path["id"])
        context = page_context(request, "page/record", f"{catalogue}/{stated}", {"parts": request.query.parts})
        read = read_similar if request.query.parts == "similar" else read_record
        shown = await self._service.gate.run(
            context.principal, lambda gate: read(gate, context, catalogue, stated), context
        )
        return JSONReply(shown, headers={**NO_STORE, **VARY})

    async def recommend(self, request: ServerRequest) -> Response:
        """Recommend records like those that are liked, unlike those that are not, within a sentence."""
        asked: TasteBody = request.body
        context = page_context(request, "page/taste", asked.catalogue, asked.model_dump())
        question = TasteQuestion(
            likes=asked.likes,
            dislikes=asked.dislikes,
            preferences=asked.preferences,
            weights=asked.weights,
            limit=asked.limit,
        )
        found = await self._service.gate.run(
            context.principal, lambda gate: read_taste(gate, context, asked.catalogue, question), context
        )
        return JSONReply(found, headers=PRIVATE)
