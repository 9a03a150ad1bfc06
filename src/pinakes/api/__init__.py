"""The public API for catalogue packages: the package value, records, rows, tools, and queries to an open catalogue."""

from pinakes.api.package import CataloguePackage, Catalogues, Example, Sample, deferred
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.embed.port import Embedder
from pinakes.errors import (
    BusyError,
    ConflictError,
    ExpectedError,
    ForbiddenError,
    InputError,
    InvalidUrlError,
    ModelError,
    NotFoundError,
    RateLimitedError,
    StorageError,
    TooLargeError,
    UnavailableError,
    UnknownResourceError,
    did_you_mean,
)
from pinakes.gate.gate import Gate
from pinakes.ingest.mapping import RowMapping
from pinakes.model.hits import EVIDENCE_AT, Evidence, FacetCount, Hit, SearchPage
from pinakes.model.principal import LOCAL_USER, Action, Cost, Principal
from pinakes.model.record import Key, Record, RecordId, Tag
from pinakes.model.scope import KIND_FIELD, WHOLE, WORDS_FIELD, AllOf, AnyOf, Condition, NoneOf, Range, Scope
from pinakes.model.vectors import Vector
from pinakes.recommend.recommender import Recommendation, Recommendations, Request
from pinakes.recommend.vocabulary import preference_vocabulary
from pinakes.search.conditions import resolve_choices
from pinakes.search.names import NameChoice, resolve_name
from pinakes.search.ranked import Ranked, RankedKey
from pinakes.search.searcher import QueryVector, Searcher
from pinakes.search.values import FieldValues, field_values
from pinakes.settings import Address, Settings, SettingsSection, Texts, read_section, setting
from pinakes.shelf.port import ShelfReader
from pinakes.sources.port import Provider, Reading, Readings, RecallingSource, RowSource, SourceRow
from pinakes.text.analyser import query_tokens
from pinakes.text.normalise import clean, fold_name, like_words
from pinakes.text.preferences import Preferences, understand
from pinakes.text.query import TextQuery, analyse_query
from pinakes.tools.budget import (
    Continuation,
    OffsetParams,
    PagedParams,
    PricedParams,
    PricedResult,
    shorten,
    shorten_list,
    shorten_texts,
)
from pinakes.tools.catalogue import UNREADABLE, CatalogueView, FoundRecord, Gathered, OpenCatalogue, ask_each
from pinakes.tools.endpoint import (
    BodyParams,
    Endpoint,
    EndpointRequest,
    EndpointResult,
    PageParams,
    QueryParams,
    WholeNumber,
)
from pinakes.tools.explain.search_path import SearchPath, Shown, reach_of, show_first, usual_path
from pinakes.tools.explain.why import Explained, ExplainParams, shape_why, why_lines
from pinakes.tools.filters import parse_exclusions, require_excludable
from pinakes.tools.layout import FromCatalogue, LayoutCatalogues, shown_id
from pinakes.tools.media import CallerMedia, MediaFile, MediaKind, MediaSpec, RecordLocation, find_file
from pinakes.tools.merge import (
    NEAREST_SHOWN,
    Merged,
    MergedPage,
    depth_for,
    merge,
    merge_facets,
    search_each,
    search_scopes,
)
from pinakes.tools.plain_text import fields_text, json_text, value_text
from pinakes.tools.prompt import PromptArgument, PromptSpec
from pinakes.tools.resources.resource import ResourceContent, ResourceEntry, ResourceSpec
from pinakes.tools.scopes import Asked, Scoped, scope_each, scope_of
from pinakes.tools.spec import (
    NOTHING_ANSWERS,
    EvidenceName,
    FoundResult,
    NotedResult,
    PartialResult,
    QueryText,
    Relevance,
    ToolParams,
    ToolResult,
    ToolSpec,
    catalogue_tool,
)

__all__ = [
    "EVIDENCE_AT",
    "KIND_FIELD",
    "LOCAL_USER",
    "NEAREST_SHOWN",
    "NOTHING_ANSWERS",
    "UNREADABLE",
    "WHOLE",
    "WORDS_FIELD",
    "Action",
    "Address",
    "AllOf",
    "AnyOf",
    "Asked",
    "BodyParams",
    "BusyError",
    "CallerMedia",
    "CataloguePackage",
    "CatalogueSpec",
    "CatalogueView",
    "Catalogues",
    "Condition",
    "ConflictError",
    "Continuation",
    "Cost",
    "Embedder",
    "Endpoint",
    "EndpointRequest",
    "EndpointResult",
    "Evidence",
    "EvidenceName",
    "Example",
    "ExpectedError",
    "ExplainParams",
    "Explained",
    "FacetCount",
    "FieldValues",
    "ForbiddenError",
    "FoundRecord",
    "FoundResult",
    "FromCatalogue",
    "Gate",
    "Gathered",
    "Hit",
    "InputError",
    "InvalidUrlError",
    "Key",
    "LayoutCatalogues",
    "MediaFile",
    "MediaKind",
    "MediaSpec",
    "Merged",
    "MergedPage",
    "ModelError",
    "NameChoice",
    "NoneOf",
    "NotFoundError",
    "NotedResult",
    "OffsetParams",
    "OpenCatalogue",
    "PageParams",
    "PagedParams",
    "PartialResult",
    "Preferences",
    "PricedParams",
    "PricedResult",
    "Principal",
    "PromptArgument",
    "PromptSpec",
    "Provider",
    "QueryParams",
    "QueryText",
    "QueryVector",
    "Range",
    "Ranked",
    "RankedKey",
    "RateLimitedError",
    "Reading",
    "Readings",
    "RecallingSource",
    "Recommendation",
    "Recommendations",
    "Record",
    "RecordId",
    "RecordLocation",
    "Relevance",
    "Request",
    "ResourceContent",
    "ResourceEntry",
    "ResourceSpec",
    "RowMapping",
    "RowSource",
    "Sample",
    "Scope",
    "Scoped",
    "SearchPage",
    "SearchPath",
    "Searcher",
    "Settings",
    "SettingsSection",
    "ShelfReader",
    "Shown",
    "SourceRow",
    "StorageError",
    "Tag",
    "TextQuery",
    "Texts",
    "TooLargeError",
    "ToolParams",
    "ToolResult",
    "ToolSpec",
    "UnavailableError",
    "UnknownResourceError",
    "Vector",
    "WholeNumber",
    "analyse_query",
    "ask_each",
    "catalogue_tool",
    "clean",
    "deferred",
    "depth_for",
    "did_you_mean",
    "field_values",
    "fields_text",
    "find_file",
    "fold_name",
    "json_text",
    "like_words",
    "merge",
    "merge_facets",
    "parse_exclusions",
    "preference_vocabulary",
    "query_tokens",
    "reach_of",
    "read_section",
    "require_excludable",
    "resolve_choices",
    "resolve_name",
    "scope_each",
    "scope_of",
    "search_each",
    "search_scopes",
    "setting",
    "shape_why",
    "shorten",
    "shorten_list",
    "shorten_texts",
    "show_first",
    "shown_id",
    "understand",
    "usual_path",
    "value_text",
    "why_lines",
]
