"""`GET /v1/export`: all records that a search of one catalogue lists, or figures by group, as a file."""

from typing import Literal

import orjson
from pydantic import Field

from stackroom.errors import InputError
from stackroom.generic.browse import BrowseParams
from stackroom.generic.export import MEDIA_TYPES, ExportFormat, write
from stackroom.generic.shapes import SearchParams
from stackroom.generic.tools import GenericTools
from stackroom.model.principal import Action
from stackroom.tools.endpoint import Download, Endpoint, EndpointRequest, QueryParams
from stackroom.tools.spec import validate_fields


class ExportParams(QueryParams):
    """Which records or figures, and as which kind of file."""

    format: Literal["csv", "json", "jsonl", "parquet", "xlsx", "bib"] = Field(description="the kind of file")
    search: str = Field(
        default="",
        max_length=20_000,
        description='the arguments of the tool search as a JSON object, such as {"catalogue": "NAME", "query": "*"}; '
        'with "facet": "FIELD", the counts of its values',
    )
    browse: str = Field(
        default="",
        max_length=20_000,
        description='or the arguments of browse, for figures by group: {"catalogue": "NAME", "by": ["FIELD"]}',
    )


def export_records(request: EndpointRequest[ExportParams, None]) -> Download:
    """Return all records that a search of one catalogue lists, in its order, as a file; or its figures by group."""
    tools, query = GenericTools(request.catalogues), request.query
    if bool(query.search) == bool(query.browse):
        raise InputError("give 'search' or 'browse'")
    if query.browse:
        figures = validate_fields(BrowseParams, _read_object("browse", query.browse))
        name, table = figures.catalogue, tools.export_figures(request.principal, figures)
    else:
        params = validate_fields(SearchParams, _read_object("search", query.search))
        name, table = params.catalogue, tools.export(request.principal, params)
    form = ExportFormat(query.format)
    return Download(name=f"{name or 'records'}.{form}", media_type=MEDIA_TYPES[form], pieces=write(table, form))


def _read_object(name: str, text: str) -> dict[str, object]:
    try:
        stated = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"'{name}' is not valid JSON: {error}") from error
    if not isinstance(stated, dict):
        raise InputError(f'\'{name}\' must be a JSON object, such as {{"catalogue": "NAME"}}')
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
