"""`GET /v1/export`: all records that a search of one catalogue lists, as a file."""

from typing import Literal

import orjson
from pydantic import Field

from stackroom.errors import InputError
from stackroom.generic.export import MEDIA_TYPES, ExportFormat, write
from stackroom.generic.shapes import SearchParams
from stackroom.generic.tools import GenericTools
from stackroom.model.principal import Action
from stackroom.tools.endpoint import Download, Endpoint, EndpointRequest, QueryParams
from stackroom.tools.spec import validate_fields


class ExportParams(QueryParams):
    """Which records, and as which kind of file."""

    format: Literal["csv", "json", "jsonl", "parquet", "xlsx", "bib"] = Field(description="the kind of file")
    search: str = Field(
        max_length=20_000,
        description='the arguments of the tool search as a JSON object, such as {"catalogue": "NAME", "query": "*"}',
    )


def export_records(request: EndpointRequest[ExportParams, None]) -> Download:
    """Return all records that a search of one catalogue lists, in its order, as a file; a list has every record."""
    params = validate_fields(SearchParams, _read_object(request.query.search))
    table = GenericTools(request.catalogues).export(request.principal, params)
    form = ExportFormat(request.query.format)
    return Download(
        name=f"{params.catalogue or 'records'}.{form}", media_type=MEDIA_TYPES[form], pieces=write(table, form)
    )


def _read_object(text: str) -> dict[str, object]:
    try:
        stated = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"'search' is not valid JSON: {error}") from error
    if not isinstance(stated, dict):
        raise InputError('\'search\' must be a JSON object, such as {"catalogue": "NAME", "query": "*"}')
    return stated


EXPORT = Endpoint(
    "GET",
    "/v1/export",
    export_records,
    tag="page",
    action=Action.ACCESS_CATALOG,
    query=ExportParams,
    result=Download,
    media_type="*/*",
    notes_parameters=True,
    operation="records/export",
)
