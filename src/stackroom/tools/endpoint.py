"""An HTTP endpoint's declaration: address, shapes, permission, and the function that runs it. Knows
no web framework.

Routes, validation and the OpenAPI document of a server are derived from a table of such values.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from stackroom.errors import ExpectedError
from stackroom.model.principal import Action, Cost, Identity, Principal
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.media import CallerMedia, MediaFile

MOST_DIGITS = 15
MOST_OFFSET = 10**9 - 1

QueryT = TypeVar("QueryT")
BodyT = TypeVar("BodyT")


class BodyParams(BaseModel):
    """A request's JSON body; undeclared fields are refused, and values are not repeated in
    errors.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class QueryParams(BaseModel):
    """A request's query string; undeclared parameters are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class EndpointResult(BaseModel):
    """The JSON answer of an endpoint, or a part of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _require_digits(value: object) -> object:
    if isinstance(value, str) and not (
        value.isascii() and value.isdecimal() and len(value) <= MOST_DIGITS
    ):
        raise PydanticCustomError("whole_number", "must be a whole number of at most 15 digits")
    return value


# a number of a query string: plain digits only
WholeNumber = Annotated[int, BeforeValidator(_require_digits)]


class PageParams(QueryParams):
    """Which part of a list is returned. Declare `limit` again to bound it."""

    offset: WholeNumber = Field(default=0, ge=0, le=MOST_OFFSET, description="how many to skip")
    limit: WholeNumber = Field(default=100, ge=1, le=1000, description="how many to return at most")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRequest(Generic[QueryT, BodyT]):
    """One validated request: who sent it, and its parameters."""

    identity: Identity
    call_id: str  # the id under which the audit notes the request
    path: Mapping[str, str]
    query: QueryT  # the query string as the endpoint declares it; None where it declares none
    body: BodyT  # the body as the endpoint declares it; None where it declares none
    catalogues: tuple[OpenCatalogue, ...]  # the catalogues that the caller may see
    media: CallerMedia  # the files of records that the caller may see

    @property
    def principal(self) -> Principal:
        """The caller."""
        return self.identity.principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file that is made while it is sent, and the name that it is saved under."""

    name: str
    media_type: str
    pieces: Iterator[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReply:
    """An answer in a form of its own, such as XML."""

    text: str
    media_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenLogin:
    """A credential among a request's parameters: a token, or a user's name with a password or a
    token.
    """

    secret: str
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProtocol:
    """The rules of an API that clients know from other servers.

    Its endpoints take parameters and credentials in the query string or in a form, by GET and by
    POST, and answer errors in its form. Cookies and headers are no credential there, since a GET
    may change something.
    """

    suffix: str  # an ending that every path may have too
    find_login: Callable[[Mapping[str, str]], GivenLogin]
    """Returns the credential among the parameters; raises an ExpectedError where it is missing or
    not supported.
    """
    reply_error: Callable[[ExpectedError, Mapping[str, str]], TextReply]
    """Returns the answer to a request with these parameters that failed."""


@dataclass(frozen=True)
class EndpointSpec:
    """An endpoint's interface to clients, and the function that answers."""

    method: str
    path: str  # with variables in braces: `{id}`, or `{id:path}` where a value may contain slashes
    run: Callable[..., Any]
    """Its name is the operation's id in the OpenAPI document, in camelCase; its docstring is the
    summary.
    """
    _: KW_ONLY
    summary: str = ""  # empty: the function's docstring
    # the section of the document; `server` and `account` are shown to unauthenticated callers too
    tag: str
    operation_id: str = ""  # given where two endpoints share a function
    path_parameters: Mapping[str, str] = field(default_factory=dict)
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    # whether the body is given as it is, bytes of any kind, and not as JSON
    takes_bytes: bool = False
    max_body_bytes: int | None = None  # a smaller limit than the server's
    result: type[BaseModel] | type[MediaFile] | type[Download] | type[TextReply] | None = None
    """The JSON answer, or a file, sent whole or by ranges, a download or text; None: usually
    nothing (204).
    """
    status: int = 200
    media_type: str = "application/json"
    # error statuses that are answered with the result's form too
    result_refusals: tuple[int, ...] = ()
    is_public: bool = False  # whether unauthenticated callers are answered
    before_password: bool = False
    """Whether callers are answered who logged in with a one-time password and have not chosen a
    password yet.
    """
    needs_accounts: bool = False  # whether a server without accounts answers 404
    # its name in the audit; else the tag and the function's name, such as `player/like`
    operation: str = ""

    @property
    def audited_as(self) -> str:
        """Its name in the audit."""
        return self.operation or f"{self.tag}/{self.run.__name__}"


@dataclass(frozen=True)
class Endpoint(EndpointSpec):
    """An endpoint that runs through the gate: permission, rate limit and audit apply. It cannot
    omit its action.

    `run` is given an `EndpointRequest` and returns the declared result; it is called in a worker
    thread.
    """

    # the permission it needs; None: any authenticated caller
    action: Action | None = field(kw_only=True)
    target: str | None = field(default=None, kw_only=True)
    """The path variable or body field whose value the audit notes as the target."""
    cost: Cost = field(default=Cost.READ, kw_only=True)
    # whether requests count against the caller's rate limit
    is_limited: bool = field(default=True, kw_only=True)
    notes_parameters: bool = field(default=False, kw_only=True)
    """Whether the audit notes what was sent, secrets redacted."""
    # whether the answer has a secret, and must not be kept
    is_secret: bool = field(default=False, kw_only=True)
    protocol: ClientProtocol | None = field(default=None, kw_only=True)
    """The rules of another API that it follows; its method is GET."""
    is_audited: bool = field(default=True, kw_only=True)
    """Whether requests are audited: not those that follow one that was, to ask how far it is or to
    send its parts.
    """

    def __post_init__(self) -> None:
        """Refuse a declaration that no request could be answered by."""
        if self.is_public and self.protocol is None:
            raise ValueError(
                f"{self.method} {self.path}: an endpoint that runs through the gate cannot be"
                " public"
            )
        if not self.method.isupper():
            raise ValueError(f"{self.method} {self.path}: write the method in capitals, as GET")
