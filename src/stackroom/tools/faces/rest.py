"""An operation as an endpoint: its address, where a request has each parameter, and the forms of
answers that are no JSON. Knows no web framework.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from stackroom.errors import ExpectedError
from stackroom.frozen import frozen
from stackroom.tools.faces.mcp import with_choice
from stackroom.tools.operation import (
    ANY_CALLER,
    AnyOperation,
    Needs,
    Operation,
    Rest,
    params_beside,
)
from stackroom.tools.spec import GenericParams

MOST_DIGITS = 15
MOST_OFFSET = 10**9 - 1
VARIABLE = re.compile(r"{(\w+)(?::\w+)?}")
WITHOUT_BODY = frozenset({"GET", "DELETE"})


def _require_digits(value: object) -> object:
    if isinstance(value, str) and not (
        value.isascii() and value.isdecimal() and len(value) <= MOST_DIGITS
    ):
        raise PydanticCustomError("whole_number", "must be a whole number of at most 15 digits")
    return value


# a number of a query string: plain digits only
WholeNumber = Annotated[int, BeforeValidator(_require_digits)]


class PageParams(GenericParams):
    """Which part of a list is returned. Declare `limit` again to bound it."""

    offset: WholeNumber = Field(default=0, ge=0, le=MOST_OFFSET, description="how many to skip")
    limit: WholeNumber = Field(default=100, ge=1, le=1000, description="how many to return at most")


@frozen
class Download:
    """A file that is made while it is sent, and the name that it is saved under."""

    name: str
    media_type: str
    pieces: Iterator[bytes]


@frozen
class TextReply:
    """An answer in a form of its own, such as XML."""

    text: str
    media_type: str


@frozen
class GivenLogin:
    """A credential among a request's parameters: a token, or a user's name with a password or a
    token.
    """

    secret: str
    user: str = ""


@frozen
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


ANYBODY = Needs(is_public=True)


@dataclass(frozen=True)
class Door:
    """An endpoint: its address and shapes, and the operation or the server's own function behind
    it. Routes, validation and the OpenAPI document of a server are derived from a table of such
    values.
    """

    rest: Rest
    behind: Any  # an operation, or a function of a request
    needs: Needs = ANY_CALLER
    named: str = ""  # its name in the audit; else the tag and the function's name
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    raw_body: str = ""  # the parameter that the body is, as it is: bytes of any kind
    path_parameters: Mapping[str, str] = field(default_factory=dict)
    result: type[Any] | None = None
    """The JSON answer, or a file, sent whole or by ranges, a download or text; None: usually
    nothing (204).
    """
    before_password: bool = False
    """Whether callers are answered who logged in with a one-time password and have not chosen a
    password yet.
    """

    @cached_property
    def method(self) -> str:
        """The method."""
        return self.rest.address.split(" ")[0]

    @cached_property
    def path(self) -> str:
        """The path, with variables in braces: `{id}`, or `{id:path}` where a value may contain
        slashes.
        """
        return self.rest.address.split(" ")[1]

    @property
    def name(self) -> str:
        """Its name in the audit, such as `player/like`."""
        return self.named or f"{self.rest.tag}/{self.behind.__name__}"

    @property
    def operation_id(self) -> str:
        """Its name in the document."""
        return self.rest.operation_id or to_camel(self.behind.__name__)

    @property
    def summary(self) -> str:
        """One sentence on what it does."""
        if isinstance(self.behind, Operation):
            return self.behind.summary
        return " ".join((self.behind.__doc__ or "").partition("\n\n")[0].split())


def list_doors(operations: Iterable[AnyOperation]) -> list[Door]:
    """Return the endpoints of those operations that have an address of their own."""
    return [_door(one, one.faces.rest) for one in operations if isinstance(one.faces.rest, Rest)]


def _door(operation: AnyOperation, rest: Rest) -> Door:
    variables = VARIABLE.findall(rest.address)
    fields = operation.params.model_fields
    raw_body = next((name for name, one in fields.items() if one.annotation is bytes), "")
    has_body = rest.address.split(" ")[0] not in WITHOUT_BODY and not raw_body
    params: Any = operation.params
    beside = params_beside(params, (*variables, *filter(None, [raw_body])))
    if operation.over is not None:
        beside = with_choice(beside or GenericParams)
    name = to_camel(operation.name.replace("/", "_"))
    return Door(
        replace(rest, tag=operation.tag, operation_id=rest.operation_id or name),
        operation,
        operation.needs,
        named=operation.noted_as,
        query=None if has_body else beside,
        body=beside if has_body else None,
        raw_body=raw_body,
        path_parameters={name: fields[name].description or "" for name in variables},
        result=None if operation.result is type(None) else operation.result,
    )
