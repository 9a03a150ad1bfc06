"""One operation, declared once: who may do it, what it takes and gives back, and the function that
does it.

Its REST endpoint (`operation_endpoints`) and its command (`cli.operations`) are derived from the
declaration, and a tool that takes an `action` passes the call on (`OperationChoice`). So
permission, validation, result and refusal are the same on every surface.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, create_model
from pydantic.alias_generators import to_camel

from stackroom.control.control import Control
from stackroom.errors import ForbiddenError, InputError, NotFoundError, did_you_mean
from stackroom.jobs.board import JobBoard
from stackroom.library import Library
from stackroom.model.principal import LOCAL_USER, Action, Cost, Identity, Principal
from stackroom.tools.endpoint import Endpoint, EndpointRequest
from stackroom.tools.result_text import result_text
from stackroom.tools.spec import LARGEST, GenericParams, ToolParams, ToolResult, validate_fields

OF_EVERY_LIST = frozenset({"limit", "offset", "max_tokens"})
"""The arguments of a tool that bound its answer, whichever operation is chosen."""

ValueT = TypeVar("ValueT")

SeveralOf = Annotated[
    list[ValueT], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
]
"""Several values, or one by itself."""


@dataclass(frozen=True, slots=True)
class CommandOption:
    """The option by which a command takes a parameter; with `{}` in its flag, one for each key of
    an object.
    """

    flag: str
    metavar: str | None = None


@dataclass(frozen=True, slots=True)
class SecretInput:
    """Marks a parameter that a command never takes as an argument: it is typed at a prompt, or read
    from a pipe.
    """


class ListParams(GenericParams):
    """Which part of a list is wanted."""

    offset: int = Field(default=0, ge=0, le=LARGEST, description="how many to skip")
    limit: int = Field(default=100, ge=1, le=1000, description="how many to list at most")

    def page_of(self, rows: Sequence[ValueT]) -> tuple[list[ValueT], bool]:
        """Return the wanted part of a whole list, and whether there are rows after it."""
        end = self.offset + self.limit
        return list(rows[self.offset : end]), end < len(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationCall:
    """The caller of an operation, and the server or library that it is run on."""

    identity: Identity
    opened_control: Control | None = None  # accounts and audit; None where the server has none
    # returns the names of the catalogues that the caller may see
    catalogues: Callable[[], Collection[str]] = tuple
    # returns the jobs; None where the server runs none
    open_board: Callable[[], JobBoard] | None = None
    # the library; None where the surface has no operation on it
    opened_library: Library | None = None

    @property
    def principal(self) -> Principal:
        """The caller."""
        return self.identity.principal

    @property
    def library(self) -> Library:
        """The library whose catalogues are served."""
        assert self.opened_library is not None, "a surface with operations on the library gives it"
        return self.opened_library

    @property
    def control(self) -> Control:
        """The accounts and the audit."""
        if self.opened_control is None:
            raise NotFoundError(
                "this server has no accounts: every request is the local user's, and needs no token"
            )
        return self.opened_control

    @property
    def board(self) -> JobBoard:
        """The jobs of the library."""
        if self.open_board is None:
            raise NotFoundError(
                "this server runs no jobs; a server with accounts does: stackroom serve --http"
            )
        return self.open_board()

    def require_catalogue(self, name: str) -> None:
        """Raise NotFoundError for a catalogue that the caller does not see, naming those that they
        do.
        """
        known = sorted(self.catalogues())
        if name not in known:
            there = ", ".join(known) or "none; run: stackroom init"
            raise NotFoundError(
                f"no catalogue '{name[:80]}'{did_you_mean(name, known)}; there are: {there}"
            )


def identity_of(principal: Principal = LOCAL_USER) -> Identity:
    """Return the identity of a caller whose credential does not matter, such as the local user."""
    return Identity(principal=principal, credential_id="", expires_at=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation. It cannot be declared without the permissions that it needs and its cost."""

    name: str  # its name in the audit, such as `account/create_user`
    # one sentence; in the command's, parameters that are given by position are in capitals
    summary: str
    params: type[GenericParams]
    result: type[ToolResult]
    # the permissions of which one is needed; empty: any authenticated caller
    actions: tuple[Action, ...]
    cost: Cost
    run: Callable[[OperationCall, Any], Any]
    text: Callable[[Any], str] = result_text

    rest: str = ""  # method and path, such as `DELETE /v1/users/{name}`; empty: no endpoint
    status: int = 200
    # group and name of the command, such as `user add`, or its name alone; empty: no command
    command: str = ""
    arguments: tuple[str, ...] = ()
    example: str = ""
    details: str = ""
    # the field of the result that the command prints as a table; empty: it prints the text
    table: str = ""
    columns: tuple[str, ...] = ()
    empty: str = ""  # printed in place of an empty table
    is_single: bool = False  # whether the table has one row, which is printed as fields and values
    target: str = ""  # the parameter that the audit notes as the target
    secret: str = ""  # the field of the result with a secret that is shown this once
    # a question that people must agree to first; it is filled in from the parameters
    question: str = ""
    check: Callable[[OperationCall, Any], Any] | None = None
    """Raises what can be refused before people are asked for anything, or a control database is
    made.
    """
    find_failure: Callable[[Any], str | None] | None = None
    """Returns what a result says is wrong, for which the command exits with 1; None if all is
    well.
    """
    needs_accounts: bool = True
    # whether a server without accounts offers it too, to the local user
    is_of_library: bool = False
    # whether the command makes the control database where there is none
    makes_accounts: bool = False

    def perform(self, call: OperationCall, params: Any) -> Any:
        """Run it for a caller who has the permission; raise ForbiddenError otherwise."""
        if self.actions and call.principal.actions.isdisjoint(self.actions):
            raise ForbiddenError(
                f"this needs the permission {' or '.join(self.actions)}, and you do not have it"
            )
        return self.run(call, params)


class OperationChoice:
    """The operations among which an argument of a tool chooses; its other arguments are those of
    all of them.
    """

    def __init__(self, chosen_by: str, operations: Mapping[str, Operation]) -> None:
        self.chosen_by = chosen_by
        self.operations = operations

    def perform(self, call: OperationCall, params: ToolParams) -> Any:
        """Run the chosen operation; refuse an argument that it would ignore."""
        chosen = str(getattr(params, self.chosen_by))
        operation = self.operations[chosen]
        given = {
            name: getattr(params, name)
            for name in type(params).model_fields
            if name != self.chosen_by
        }
        given = {name: value for name, value in given.items() if value is not None}
        taken = operation.params.model_fields
        for name in sorted(given.keys() - taken.keys() - OF_EVERY_LIST):
            takers = [
                f"'{one}'"
                for one, other in self.operations.items()
                if name in other.params.model_fields
            ]
            raise InputError(f"'{name}' is for {', '.join(takers)}, not for '{chosen}'")
        return operation.perform(
            call, validate_fields(operation.params, {n: given[n] for n in taken if n in given})
        )


LARGEST_BODY = 64 * 1024
VARIABLE = re.compile(r"{(\w+)}")
WITHOUT_BODY = frozenset({"GET", "DELETE"})

MakeCall = Callable[[EndpointRequest[Any, Any]], OperationCall]


def operation_endpoints(operations: Iterable[Operation], make_call: MakeCall) -> list[Endpoint]:
    """Return the endpoints of those operations that have one; `make_call` returns the call of a
    request.
    """
    return [_endpoint(operation, make_call) for operation in operations if operation.rest]


def _endpoint(operation: Operation, make_call: MakeCall) -> Endpoint:
    method, path = operation.rest.split(" ")
    variables = VARIABLE.findall(path)
    given = _params_beside(operation.params, tuple(variables))
    has_body = method not in WITHOUT_BODY

    def run(request: EndpointRequest[Any, Any]) -> Any:
        sent = request.body if has_body else request.query
        values = sent.model_dump(exclude_unset=True) if sent is not None else {}
        return operation.perform(
            make_call(request), validate_fields(operation.params, {**values, **request.path})
        )

    run.__doc__ = operation.summary
    return Endpoint(
        method,
        path,
        run,
        tag="admin" if operation.actions else "account",
        operation_id=to_camel(operation.name.replace("/", "_")),
        operation=operation.name,
        path_parameters={
            variable: operation.params.model_fields[variable].description or ""
            for variable in variables
        },
        query=None if has_body else given,
        body=given if has_body else None,
        max_body_bytes=LARGEST_BODY,
        result=operation.result,
        status=operation.status,
        needs_accounts=not operation.is_of_library,
        action=None,
        target=operation.target or None,
        cost=operation.cost,
        notes_parameters=True,
        is_secret=bool(operation.secret),
    )


@cache
def _params_beside(
    params: type[GenericParams], variables: tuple[str, ...]
) -> type[GenericParams] | None:
    """Return the parameters that are not in the path; None if all of them are."""
    beside = {name: field for name, field in params.model_fields.items() if name not in variables}
    fields: dict[str, Any] = {name: (field.annotation, field) for name, field in beside.items()}
    return create_model(params.__name__, __base__=GenericParams, **fields) if fields else None
