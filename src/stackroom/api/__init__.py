"""The public API for catalogue packages: the package value, records, tools, and queries to an open
catalogue.

What few packages need, or is slow to import, is beside it: `api.rows` (readers of files),
`api.network` (requests to public servers), `api.shapes` (declarations of arguments and answers in
short), `api.http` (endpoints that are no tools), `api.ranking` (rankings of a package's own),
`api.commands` and `api.server`.
"""

from stackroom.api.declare import SeenCatalogue, having_words, operation, tool
from stackroom.errors import (
    ConflictError,
    ExpectedError,
    ForbiddenError,
    InputError,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from stackroom.ingest.edits.draft import EditRequest
from stackroom.ingest.mapping import RowMapping
from stackroom.model.principal import Action, Principal
from stackroom.model.record import Record, RecordId, Tag
from stackroom.model.scope import KIND_FIELD, AllOf, AnyOf, Condition, NoneOf, Range, Scope
from stackroom.packages import CataloguePackage, Sample, deferred
from stackroom.search.result_set import Hit, ResultSet
from stackroom.search.values import resolve_choices
from stackroom.settings import Address, SettingsSection, Texts, setting
from stackroom.text.normalise import fold_name
from stackroom.tools.budget import OffsetParams, PagedParams, PricedParams, PricedResult
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue
from stackroom.tools.finding import CatalogueScopes, fitting_notes
from stackroom.tools.layout import FromCatalogue, Views
from stackroom.tools.operation import Call, Operation
from stackroom.tools.own_storage import OwnChange
from stackroom.tools.resources import ResourceContent, ResourceEntry, ResourceSpec
from stackroom.tools.spec import (
    Explained,
    ExplainParams,
    FoundResult,
    GenericParams,
    GenericResult,
    QueryText,
    ToolParams,
    ToolResult,
)

__all__ = ["KIND_FIELD", "Action", "Address", "AllOf", "AnyOf", "Call", "CataloguePackage"]
__all__ += ["CatalogueScopes", "CatalogueView", "Condition", "ConflictError", "EditRequest"]
__all__ += ["ExpectedError", "ExplainParams", "Explained", "ForbiddenError", "FoundResult"]
__all__ += ["FromCatalogue", "GenericParams", "GenericResult", "Hit", "InputError", "NoneOf"]
__all__ += ["NotFoundError", "OffsetParams", "OpenCatalogue", "Operation", "OwnChange"]
__all__ += ["PagedParams", "PricedParams", "PricedResult", "Principal", "QueryText", "Range"]
__all__ += ["Record", "RecordId", "ResourceContent", "ResourceEntry", "ResourceSpec", "ResultSet"]
__all__ += ["RowMapping", "Sample", "Scope", "SeenCatalogue", "SettingsSection", "StorageError"]
__all__ += ["Tag", "Texts", "ToolParams", "ToolResult", "UnavailableError", "Views", "deferred"]
__all__ += ["fitting_notes", "fold_name", "having_words", "operation", "resolve_choices"]
__all__ += ["setting", "tool"]
