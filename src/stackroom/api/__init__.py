"""The public API for catalogue packages: the package value, records, rows, tools, and queries to an
open catalogue.
"""

from stackroom.api.declare import SeenCatalogue, endpoint, endpoints_of, tool, tools_of
from stackroom.background.threads import new_pool
from stackroom.catalogue.spec import CatalogueSpec
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
    UnauthenticatedError,
    UnavailableError,
    did_you_mean,
)
from stackroom.gate.gate import Gate
from stackroom.ingest.edits.draft import EditAction, EditRequest
from stackroom.ingest.mapping import RowMapping
from stackroom.model.hits import (
    EVIDENCE_AT,
    Evidence,
    FacetCount,
    MatchType,
    Ranking,
    SearchMode,
)
from stackroom.model.principal import LOCAL_USER, Action, Cost, Principal
from stackroom.model.record import Key, Record, RecordId, Tag
from stackroom.model.scope import (
    KIND_FIELD,
    WHOLE,
    WORDS_FIELD,
    AllOf,
    AnyOf,
    Condition,
    NoneOf,
    Range,
    Scope,
)
from stackroom.model.vectors import Vector
from stackroom.packages import CataloguePackage, Catalogues, Sample, deferred
from stackroom.recommend.recommender import Recommendation, Recommendations, Request
from stackroom.recommend.vocabulary import preference_vocabulary
from stackroom.search.names import NameChoice
from stackroom.search.question import (
    ReadQuestion,
    View,
    in_order,
    list_records,
    plain_reading,
)
from stackroom.search.ranked import Ranked
from stackroom.search.result_set import Hit, Part, ResultSet, by_catalogue
from stackroom.search.searcher import QueryVector, Searcher
from stackroom.search.values import field_values, resolve_choices
from stackroom.settings import Address, Settings, SettingsSection, Texts, read_section, setting
from stackroom.shelf.port import Op, ShelfReader
from stackroom.sources.port import Provider, Reading, Readings, RowSource, SourceRow
from stackroom.text.analyser import TextQuery, analyse_query, query_tokens
from stackroom.text.normalise import clean, fold_name, like_words
from stackroom.text.preferences import Preferences, understand
from stackroom.tools.budget import OffsetParams, PagedParams, PricedParams, PricedResult
from stackroom.tools.catalogue import (
    ByCatalogue,
    CatalogueView,
    FoundRecord,
    OpenCatalogue,
    ask_each,
)
from stackroom.tools.faces.mcp import Served, Words
from stackroom.tools.faces.rest import (
    ClientProtocol,
    GivenLogin,
    PageParams,
    TextReply,
    WholeNumber,
)
from stackroom.tools.filters import parse_exclusions, require_excludable
from stackroom.tools.finding import (
    CatalogueScopes,
    ScopeRequest,
    find,
    find_part,
    fitting_notes,
    merge_facets,
    scope_each,
    scope_of,
    strength_of,
    told_of,
)
from stackroom.tools.layout import (
    FromCatalogue,
    find_one,
    label_of,
    open_views,
    require_one,
    shown_id,
)
from stackroom.tools.media import (
    MIME_TYPES,
    CallerMedia,
    MediaFile,
    MediaKind,
    MediaSpec,
    find_file,
)
from stackroom.tools.operation import (
    ANY_CALLER,
    FOLLOWING,
    OFF,
    AnyOperation,
    Audit,
    Call,
    Faces,
    Needs,
    Operation,
    Reads,
    Rest,
    Tool,
    addressed,
    operation,
)
from stackroom.tools.own_storage import OwnChange, OwnDatabase, OwnKinds, OwnStorage
from stackroom.tools.reading import read_question
from stackroom.tools.resources.resource import ResourceContent, ResourceEntry, ResourceSpec
from stackroom.tools.result_text import result_text
from stackroom.tools.spec import (
    Explained,
    ExplainParams,
    FoundResult,
    GenericParams,
    GenericResult,
    QueryText,
    Relevance,
    ToolParams,
    ToolResult,
    shape_why,
    why_lines,
)

__all__ = [
    "EVIDENCE_AT",
    "KIND_FIELD",
    "LOCAL_USER",
    "MIME_TYPES",
    "WHOLE",
]
__all__ += [
    "WORDS_FIELD",
    "Action",
    "Address",
    "AllOf",
    "AnyOf",
    "BusyError",
    "ByCatalogue",
]
__all__ += [
    "CallerMedia",
    "CataloguePackage",
    "CatalogueScopes",
    "CatalogueSpec",
    "CatalogueView",
    "Catalogues",
]
__all__ += [
    "ClientProtocol",
    "Condition",
    "ConflictError",
    "Cost",
    "EditAction",
    "EditRequest",
]
__all__ += [
    "Evidence",
    "ExpectedError",
    "ExplainParams",
    "Explained",
]
__all__ += [
    "FacetCount",
    "ForbiddenError",
    "FoundRecord",
    "FoundResult",
    "FromCatalogue",
    "Gate",
    "GenericParams",
]
__all__ += [
    "GenericResult",
    "GivenLogin",
    "Hit",
    "InputError",
    "InvalidUrlError",
    "Key",
]
__all__ += [
    "MatchType",
    "MediaFile",
    "MediaKind",
    "MediaSpec",
    "ModelError",
    "NameChoice",
    "NoneOf",
]
__all__ += [
    "NotFoundError",
    "OffsetParams",
    "Op",
    "OpenCatalogue",
    "OwnChange",
    "OwnDatabase",
    "OwnKinds",
]
__all__ += [
    "OwnStorage",
    "PageParams",
    "PagedParams",
    "Part",
    "Preferences",
    "PricedParams",
    "PricedResult",
]
__all__ += [
    "Principal",
    "Provider",
    "QueryText",
    "QueryVector",
    "Range",
    "Ranked",
    "Ranking",
]
__all__ += [
    "RateLimitedError",
    "ReadQuestion",
    "Reading",
    "Readings",
    "Recommendation",
    "Recommendations",
    "Record",
]
__all__ += [
    "RecordId",
    "Relevance",
    "Request",
    "ResourceContent",
    "ResourceEntry",
    "ResourceSpec",
    "ResultSet",
    "RowMapping",
]
__all__ += [
    "RowSource",
    "Sample",
    "Scope",
    "ScopeRequest",
    "SearchMode",
    "Searcher",
]
__all__ += [
    "SeenCatalogue",
    "Settings",
    "SettingsSection",
    "ShelfReader",
    "SourceRow",
    "StorageError",
]
__all__ += [
    "Tag",
    "TextQuery",
    "TextReply",
    "Texts",
    "TooLargeError",
    "ToolParams",
    "ToolResult",
]
__all__ += [
    "UnauthenticatedError",
    "UnavailableError",
    "Vector",
    "View",
    "WholeNumber",
    "analyse_query",
    "ask_each",
]
__all__ += [
    "by_catalogue",
    "clean",
    "deferred",
    "did_you_mean",
]
__all__ += [
    "endpoint",
    "endpoints_of",
    "field_values",
    "find",
    "find_file",
    "find_part",
    "fitting_notes",
    "fold_name",
    "in_order",
]
__all__ += [
    "like_words",
    "list_records",
    "merge_facets",
    "new_pool",
    "parse_exclusions",
    "plain_reading",
]
__all__ += [
    "preference_vocabulary",
    "query_tokens",
    "read_question",
    "read_section",
    "require_excludable",
]
__all__ += [
    "resolve_choices",
    "result_text",
    "scope_each",
    "scope_of",
    "setting",
    "shape_why",
]
__all__ += [
    "ANY_CALLER",
    "FOLLOWING",
    "OFF",
    "AnyOperation",
    "Audit",
    "Call",
    "Faces",
    "Needs",
    "Operation",
]
__all__ += ["Reads", "Rest", "Tool", "addressed", "operation"]
__all__ += ["Served", "Words", "find_one", "label_of", "open_views", "require_one"]
__all__ += ["shown_id", "strength_of", "told_of", "tool", "tools_of", "understand", "why_lines"]
