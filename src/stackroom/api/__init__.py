"""The public API for catalogue packages: the package value, records, rows, tools, and queries to an open catalogue."""

from stackroom.background.threads import new_pool
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.embed.port import Embedder
from stackroom.errors import (
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
from stackroom.gate.gate import Gate
from stackroom.ingest.edits.draft import EditAction
from stackroom.ingest.mapping import RowMapping
from stackroom.model.hits import EVIDENCE_AT, Evidence, FacetCount, Hit, MatchType, SearchPage, describe_degraded
from stackroom.model.principal import LOCAL_USER, Action, Cost, Principal
from stackroom.model.record import Key, Record, RecordId, Tag
from stackroom.model.scope import KIND_FIELD, WHOLE, WORDS_FIELD, AllOf, AnyOf, Condition, NoneOf, Range, Scope
from stackroom.model.vectors import Vector
from stackroom.packages import CataloguePackage, Catalogues, Sample, deferred
from stackroom.recommend.recommender import Recommendation, Recommendations, Request
from stackroom.recommend.vocabulary import preference_vocabulary
from stackroom.search.conditions import resolve_choices
from stackroom.search.names import NameChoice, find_namesakes, resolve_name
from stackroom.search.ranked import Ranked, RankedKey
from stackroom.search.searcher import QueryVector, Searcher
from stackroom.search.values import FieldValues, field_values
from stackroom.setting_types import Address, SettingsSection, Texts, setting
from stackroom.settings import Settings, read_section
from stackroom.shelf.port import ShelfReader
from stackroom.sources.port import Provider, Reading, Readings, RecallingSource, RowSource, SourceRow
from stackroom.text.analyser import query_tokens
from stackroom.text.normalise import clean, fold_name, like_words
from stackroom.text.preferences import Preferences, understand
from stackroom.text.query import TextQuery, analyse_query
from stackroom.tools.budget import (
    Continuation,
    OffsetParams,
    PagedParams,
    PricedParams,
    PricedResult,
    shorten,
    shorten_list,
    shorten_texts,
)
from stackroom.tools.catalogue import UNREADABLE, CatalogueView, FoundRecord, Gathered, OpenCatalogue, ask_each
from stackroom.tools.endpoint import (
    BodyParams,
    Endpoint,
    EndpointRequest,
    EndpointResult,
    PageParams,
    QueryParams,
    WholeNumber,
)
from stackroom.tools.explain.search_path import SearchPath, Shown, reach_of, show_first, usual_path
from stackroom.tools.explain.why import Explained, ExplainParams, shape_why, why_lines
from stackroom.tools.filters import parse_exclusions, parse_filters, require_excludable
from stackroom.tools.layout import FromCatalogue, LayoutCatalogues, shown_id
from stackroom.tools.media import CallerMedia, MediaFile, MediaKind, MediaSpec, find_file
from stackroom.tools.merge import (
    NEAREST_SHOWN,
    Merged,
    MergedPage,
    depth_for,
    merge,
    merge_facets,
    search_each,
    search_scopes,
)
from stackroom.tools.own_kinds import (
    OpenStorage,
    OwnCall,
    OwnChange,
    OwnDatabase,
    OwnKinds,
    OwnOutcome,
    OwnRequest,
    OwnStorage,
)
from stackroom.tools.plain_text import fields_text, json_text, value_text
from stackroom.tools.prompt import PromptArgument, PromptSpec
from stackroom.tools.resources.resource import ResourceContent, ResourceEntry, ResourceSpec
from stackroom.tools.result_text import result_text
from stackroom.tools.scopes import Asked, Scoped, scope_each, scope_of
from stackroom.tools.spec import (
    NOTHING_ANSWERS,
    AskedTaste,
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
from stackroom.tools.title_completion import complete_title_list, complete_titles

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
    "AskedTaste",
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
    "EditAction",
    "Embedder",
    "Endpoint",
    "EndpointRequest",
    "EndpointResult",
    "Evidence",
    "EvidenceName",
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
    "MatchType",
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
    "OpenStorage",
    "OwnCall",
    "OwnChange",
    "OwnDatabase",
    "OwnKinds",
    "OwnOutcome",
    "OwnRequest",
    "OwnStorage",
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
    "complete_title_list",
    "complete_titles",
    "deferred",
    "depth_for",
    "describe_degraded",
    "did_you_mean",
    "field_values",
    "fields_text",
    "find_file",
    "find_namesakes",
    "fold_name",
    "json_text",
    "like_words",
    "merge",
    "merge_facets",
    "new_pool",
    "parse_exclusions",
    "parse_filters",
    "preference_vocabulary",
    "query_tokens",
    "reach_of",
    "read_section",
    "require_excludable",
    "resolve_choices",
    "resolve_name",
    "result_text",
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
