"""The public API for catalogue packages: the package value, records, rows, tools, and queries to an open catalogue."""

from pinakes.api.package import CataloguePackage, Example, Sample, deferred
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
from pinakes.ingest.batch import IngestCounts, ListRows, ingest_batch, ingest_from_provider
from pinakes.ingest.ledger import Ledger
from pinakes.ingest.mapping import RowMapping
from pinakes.ingest.pipeline import Target
from pinakes.model.hits import FacetCount, Hit, SearchPage
from pinakes.model.principal import LOCAL_USER, Action, Cost, Principal
from pinakes.model.record import Key, Record, RecordId, Tag
from pinakes.model.scope import KIND_FIELD, WHOLE, WORDS_FIELD, AllOf, AnyOf, Condition, NoneOf, Range, Scope
from pinakes.model.vectors import Vector
from pinakes.recommend.recommender import Recommendation, Recommendations, Request
from pinakes.recommend.titles import TitleChoice, resolve_title
from pinakes.recommend.vocabulary import preference_vocabulary
from pinakes.search.ranked import Ranked, RankedKey
from pinakes.search.searcher import QueryVector, Searcher
from pinakes.settings import Address, Settings, SettingsSection, Texts, read_section, setting
from pinakes.shelf.port import ShelfReader
from pinakes.sources.csv_rows import CsvRows
from pinakes.sources.folder_rows import LEADS_OUT, FolderRows, day_of, is_inside, iter_files
from pinakes.sources.json_rows import JsonRows
from pinakes.sources.port import Provider, Reading, Readings, RecallingSource, RowSource, SourceRow
from pinakes.sources.sqlite_rows import SqliteRows
from pinakes.sources.unpacked import find_packed, find_path, open_unpacked, without_packing
from pinakes.sources.whole_rows import WholeRows
from pinakes.text.analyser import query_tokens
from pinakes.text.chunks import Passage, first_heading, split_passages
from pinakes.text.normalise import clean, fold_name, like_words
from pinakes.text.preferences import Preferences, understand
from pinakes.text.query import TextQuery, analyse_query
from pinakes.tools.catalogue import UNREADABLE, CatalogueView, Gathered, OpenCatalogue, ask_each
from pinakes.tools.endpoint import (
    BodyParams,
    Endpoint,
    EndpointRequest,
    EndpointResult,
    PageParams,
    QueryParams,
    WholeNumber,
)
from pinakes.tools.layout import FoundRecord, FromCatalogue, LayoutCatalogues, shown_id
from pinakes.tools.media import CallerMedia, MediaFile, MediaKind, MediaSpec, RecordLocation, find_file
from pinakes.tools.merge import Merged, MergedPage, merge, merge_facets, search_each
from pinakes.tools.resource import ResourceContent, ResourceEntry, ResourceSpec
from pinakes.tools.spec import PartialResult, QueryText, ToolParams, ToolResult, ToolSpec

__all__ = [
    "KIND_FIELD",
    "LEADS_OUT",
    "LOCAL_USER",
    "UNREADABLE",
    "WHOLE",
    "WORDS_FIELD",
    "Action",
    "Address",
    "AllOf",
    "AnyOf",
    "BodyParams",
    "BusyError",
    "CallerMedia",
    "CataloguePackage",
    "CatalogueSpec",
    "CatalogueView",
    "Condition",
    "ConflictError",
    "Cost",
    "CsvRows",
    "Embedder",
    "Endpoint",
    "EndpointRequest",
    "EndpointResult",
    "Example",
    "ExpectedError",
    "FacetCount",
    "FolderRows",
    "ForbiddenError",
    "FoundRecord",
    "FromCatalogue",
    "Gate",
    "Gathered",
    "Hit",
    "IngestCounts",
    "InputError",
    "InvalidUrlError",
    "JsonRows",
    "Key",
    "LayoutCatalogues",
    "Ledger",
    "ListRows",
    "MediaFile",
    "MediaKind",
    "MediaSpec",
    "Merged",
    "MergedPage",
    "ModelError",
    "NoneOf",
    "NotFoundError",
    "OpenCatalogue",
    "PageParams",
    "PartialResult",
    "Passage",
    "Preferences",
    "Principal",
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
    "Request",
    "ResourceContent",
    "ResourceEntry",
    "ResourceSpec",
    "RowMapping",
    "RowSource",
    "Sample",
    "Scope",
    "SearchPage",
    "Searcher",
    "Settings",
    "SettingsSection",
    "ShelfReader",
    "SourceRow",
    "SqliteRows",
    "StorageError",
    "Tag",
    "Target",
    "TextQuery",
    "Texts",
    "TitleChoice",
    "TooLargeError",
    "ToolParams",
    "ToolResult",
    "ToolSpec",
    "UnavailableError",
    "UnknownResourceError",
    "Vector",
    "WholeNumber",
    "WholeRows",
    "analyse_query",
    "ask_each",
    "clean",
    "day_of",
    "deferred",
    "did_you_mean",
    "find_file",
    "find_packed",
    "find_path",
    "first_heading",
    "fold_name",
    "ingest_batch",
    "ingest_from_provider",
    "is_inside",
    "iter_files",
    "like_words",
    "merge",
    "merge_facets",
    "open_unpacked",
    "preference_vocabulary",
    "query_tokens",
    "read_section",
    "resolve_title",
    "search_each",
    "setting",
    "shown_id",
    "split_passages",
    "understand",
    "without_packing",
]
