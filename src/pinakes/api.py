"""What catalogue authors import: records, tools, and the ways to ask an open catalogue."""

from pinakes.errors import ExpectedError, InputError, NotFoundError
from pinakes.ingest.mapping import RowMapping
from pinakes.model.hits import FacetCount, Hit, SearchPage
from pinakes.model.principal import Action, Cost, Principal
from pinakes.model.record import Record, RecordId, Tag
from pinakes.model.scope import AllOf, AnyOf, Condition, NoneOf, Range, Scope
from pinakes.recommend.recommender import Recommendation, Recommendations, Request
from pinakes.recommend.titles import TitleChoice, resolve_title
from pinakes.sources.port import RowSource, SourceRow
from pinakes.text.likeness import like_words
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.resource import ResourceContent, ResourceEntry, ResourceSpec
from pinakes.tools.spec import ToolParams, ToolResult, ToolSpec

__all__ = [
    "Action",
    "AllOf",
    "AnyOf",
    "Condition",
    "Cost",
    "ExpectedError",
    "FacetCount",
    "Hit",
    "InputError",
    "NoneOf",
    "NotFoundError",
    "OpenCatalogue",
    "Principal",
    "Range",
    "Recommendation",
    "Recommendations",
    "Record",
    "RecordId",
    "Request",
    "ResourceContent",
    "ResourceEntry",
    "ResourceSpec",
    "RowMapping",
    "RowSource",
    "Scope",
    "SearchPage",
    "SourceRow",
    "Tag",
    "TitleChoice",
    "ToolParams",
    "ToolResult",
    "ToolSpec",
    "like_words",
    "resolve_title",
]
