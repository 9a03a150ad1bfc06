"""What catalogue authors import: records, tools, and the ways to ask an open catalogue."""

from pinakes.errors import ExpectedError, InputError, NotFoundError
from pinakes.ingest.batch import IngestCounts, ListRows, ingest_batch, ingest_from_provider
from pinakes.ingest.ledger import Ledger
from pinakes.ingest.mapping import RowMapping
from pinakes.ingest.pipeline import Target
from pinakes.model.hits import FacetCount, Hit, SearchPage
from pinakes.model.principal import Action, Cost, Principal
from pinakes.model.record import Record, RecordId, Tag
from pinakes.model.scope import KIND_FIELD, WORDS_FIELD, AllOf, AnyOf, Condition, NoneOf, Range, Scope
from pinakes.recommend.recommender import Recommendation, Recommendations, Request
from pinakes.recommend.titles import TitleChoice, resolve_title
from pinakes.search.searcher import embed_query
from pinakes.sources.folder_rows import FolderRows
from pinakes.sources.port import RowSource, SourceRow
from pinakes.sources.unpacked import open_unpacked
from pinakes.text.analyser import query_tokens
from pinakes.text.chunks import Passage, first_heading, split_passages
from pinakes.text.likeness import like_words
from pinakes.text.normalise import clean
from pinakes.text.query import TextQuery, analyse_query
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.resource import ResourceContent, ResourceEntry, ResourceSpec
from pinakes.tools.spec import ToolParams, ToolResult, ToolSpec

__all__ = [
    "KIND_FIELD",
    "WORDS_FIELD",
    "Action",
    "AllOf",
    "AnyOf",
    "Condition",
    "Cost",
    "ExpectedError",
    "FacetCount",
    "FolderRows",
    "Hit",
    "IngestCounts",
    "InputError",
    "Ledger",
    "ListRows",
    "NoneOf",
    "NotFoundError",
    "OpenCatalogue",
    "Passage",
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
    "Target",
    "TextQuery",
    "TitleChoice",
    "ToolParams",
    "ToolResult",
    "ToolSpec",
    "analyse_query",
    "clean",
    "embed_query",
    "first_heading",
    "ingest_batch",
    "ingest_from_provider",
    "like_words",
    "open_unpacked",
    "query_tokens",
    "resolve_title",
    "split_passages",
]
