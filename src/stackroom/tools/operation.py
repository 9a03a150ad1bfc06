"""One operation, declared once: who may do it, what it takes and gives back, and the function that
does it.

`Gate.begin` is the only way to run one, for a caller (`Origin`) with parameters as a surface
received them (`RawParams`). What a surface shows is made from the declaration by its face: the
tool (`faces.mcp`), the REST endpoint (`faces.rest`), the command (`cli.operations`), the form on
the page and the reference. `Faces` has only what cannot be derived.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, cast, get_type_hints

from pydantic import BaseModel, BeforeValidator, Field, create_model
from pydantic.alias_generators import to_camel

from stackroom.errors import (
    ExpectedError,
    ForbiddenError,
    InputError,
    NotFoundError,
    did_you_mean,
)
from stackroom.frozen import frozen
from stackroom.library import Library
from stackroom.model.principal import LOCAL_USER, Action, Cost, Identity, Principal
from stackroom.model.scope import Scope
from stackroom.settings import ToolNames
from stackroom.text.normalise import meant
from stackroom.tools.result_text import result_text
from stackroom.tools.spec import LARGEST, GenericParams, validate_fields

if TYPE_CHECKING:  # to declare an operation needs neither accounts nor search
    from stackroom.control.control import Control
    from stackroom.jobs.board import JobBoard
    from stackroom.search.result_set import ResultSet
    from stackroom.tools.catalogue import OpenCatalogue
    from stackroom.tools.faces.mcp import Words
    from stackroom.tools.faces.rest import ClientProtocol
    from stackroom.tools.media import CallerMedia
    from stackroom.tools.toolbox import Toolbox

ValueT = TypeVar("ValueT")
ParamsT = TypeVar("ParamsT", bound=BaseModel)
ResultT = TypeVar("ResultT")

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


def identity_of(principal: Principal = LOCAL_USER) -> Identity:
    """Return the identity of a caller whose credential does not matter, such as the local user."""
    return Identity(principal=principal, credential_id="", expires_at=None)


@frozen
class Needs:
    """The permissions of which one is needed, and whether accounts are."""

    any_of: tuple[Action, ...] = ()  # none: any authenticated caller
    is_public: bool = False  # whether unauthenticated callers are answered
    accounts: bool = False  # whether there is none of it on a server without accounts

    def allow(self, principal: Principal) -> bool:
        """Tell whether a caller has the permission."""
        return not self.any_of or not principal.actions.isdisjoint(self.any_of)

    def require(self, principal: Principal) -> None:
        """Raise ForbiddenError for a caller without the permission."""
        if not self.allow(principal):
            raise ForbiddenError(
                f"this needs the permission {' or '.join(self.any_of)}, and you do not have it"
            )


ANY_CALLER = Needs()
READS_CATALOGUES = Needs(any_of=(Action.ACCESS_CATALOG,))


@frozen
class Office:
    """The parts of a server beside its catalogues."""

    control: "Control | None" = None  # accounts and audit
    open_board: "Callable[[], JobBoard] | None" = None  # returns the jobs
    library: Library | None = None  # the library whose catalogues are served
    list_names: Callable[[], Collection[str]] | None = None
    """Returns the names of the catalogues that can be named; None: those that are served."""


NO_OFFICE = Office()


def get_catalogue(catalogues: Mapping[str, ValueT], name: str) -> ValueT:
    """Return the catalogue that a name means; raise NotFoundError with those that there are."""
    found = catalogues.get(meant(name, catalogues))
    if found is None:
        known = list(catalogues)
        raise NotFoundError(
            f"no catalogue '{name[:80]}'{did_you_mean(name, known)}; there are {', '.join(known)}"
        )
    return found


@frozen
class Call:
    """The caller of an operation, over which surface, and what is served to them."""

    identity: Identity
    server: "Toolbox"  # the part of the server that the caller may see
    office: Office = NO_OFFICE
    catalogues: "Sequence[OpenCatalogue]" = ()  # those that the operation is over
    chosen: str | None = None  # the name of the one that the call chooses; None: all of them
    via: str = ""
    call_id: str = ""  # the id under which the audit notes the call

    @property
    def principal(self) -> Principal:
        """The caller."""
        return self.identity.principal

    @property
    def scope(self) -> Scope:
        """Every record that the caller may see."""
        return Scope(visibility=self.principal.visibility)

    @property
    def visible(self) -> "list[OpenCatalogue]":
        """The catalogues that the operation is over and the caller may see."""
        sees = self.principal.visibility.sees_catalogue
        return [one for one in self.catalogues if sees(one.name)]

    def choose(self, name: str | None) -> "OpenCatalogue":
        """Return the visible catalogue that a name means; without a name, the only one."""
        visible = {one.name: one for one in self.visible}
        if name is None and len(visible) != 1:
            raise InputError(f"'catalogue' is missing; there are {', '.join(visible)}")
        return get_catalogue(visible, next(iter(visible)) if name is None else name)

    @property
    def media(self) -> "CallerMedia":
        """The files of records that the caller may see."""
        return self.server.media_of(self.principal)

    @property
    def library(self) -> Library:
        """The library whose catalogues are served."""
        assert self.office.library is not None, "a surface with operations on it gives it"
        return self.office.library

    @property
    def control(self) -> "Control":
        """The accounts and the audit."""
        if self.office.control is None:
            raise NotFoundError(
                "this server has no accounts: every request is the local user's, and needs no token"
            )
        return self.office.control

    @property
    def board(self) -> "JobBoard":
        """The jobs of the library."""
        if self.office.open_board is None:
            raise NotFoundError(
                "this server runs no jobs; a server with accounts does: stackroom serve --http"
            )
        return self.office.open_board()

    def label_of(self, name: str) -> str | None:
        """Return a catalogue's name where answers have it, as the operation is over several."""
        return name if len(self.catalogues) > 1 else None

    def list_names(self) -> Collection[str]:
        """Return the names of the catalogues that the caller may see."""
        if self.office.list_names is None:
            return [one.name for one in self.server.catalogues]
        sees = self.principal.visibility.sees_catalogue
        return [name for name in self.office.list_names() if sees(name)]

    def require_catalogue(self, name: str, among: Iterable[str] | None = None) -> None:
        """Raise NotFoundError for a catalogue that the caller does not see, naming those that they
        do.
        """
        known = sorted(self.list_names() if among is None else among)
        if name not in known:
            there = ", ".join(known) or "none; run: stackroom init"
            raise NotFoundError(
                f"no catalogue '{name[:80]}'{did_you_mean(name, known)}; there are: {there}"
            )


@frozen
class Origin:
    """The caller of an operation, and the surface that is used."""

    identity: Identity
    via: str
    tool_names: ToolNames | None = None  # the form of tool names that the address asks for

    @property
    def principal(self) -> Principal:
        """The caller."""
        return self.identity.principal


def origin_of(principal: Principal = LOCAL_USER, *, via: str) -> Origin:
    """Return the origin of calls whose credential does not matter."""
    return Origin(identity=identity_of(principal), via=via)


LOCAL = origin_of(via="cli")
"""The user of this machine, at a terminal or in a program of theirs."""


@frozen
class RawParams:
    """Parameters as a surface received them, and its word for one of them."""

    values: Mapping[str, Any]
    apart: Mapping[str, Any] = field(default_factory=dict)  # those that the address has
    noun: str = "field"
    shows_values: bool = False  # whether a refusal may show wrong values: none may be secret
    problem: ExpectedError | None = None  # why they could not be read at all
    ready: BaseModel | None = None  # as they are declared: a surface of this machine made them

    def read(self, model: type[ParamsT]) -> ParamsT:
        """Return them as a model declares them; raise InputError otherwise."""
        if self.problem is not None:
            raise self.problem
        if self.ready is not None:
            return cast(ParamsT, self.ready)
        values = self.values
        if self.apart:
            beside = params_beside(model, tuple(self.apart))
            if beside is not None:
                validate_fields(beside, values, noun=self.noun, shows_values=self.shows_values)
            return validate_fields(model, {**values, **self.apart})
        return validate_fields(model, values, noun=self.noun, shows_values=self.shows_values)


@cache
def params_beside(params: type[ParamsT], variables: tuple[str, ...]) -> type[BaseModel] | None:
    """Return the shape of the parameters but for these; None if there are no others."""
    beside = {name: one for name, one in params.model_fields.items() if name not in variables}
    if not beside:
        return None
    fields: dict[str, Any] = {name: (one.annotation, one) for name, one in beside.items()}
    known = [one for one in params.__mro__ if issubclass(one, BaseModel)]
    same = [one for one in known if str(one.model_fields) == str(beside)]
    return same[0] if same else create_model(params.__name__, __base__=GenericParams, **fields)


class Off(Enum):
    """Says that an operation is not on a surface."""

    OFF = "off"


OFF = Off.OFF


@frozen
class Tool:
    """An operation as a tool."""

    title: str = ""  # the display name; empty: the name in words
    is_listed: bool = True  # whether lists have it; else it is called over REST only, by pages
    has_choice: bool = True  # whether a call may choose one of a package's catalogues
    words: "Callable[[Sequence[OpenCatalogue]], Words] | None" = None
    """Returns what its schemas say of the catalogues that are served."""


@dataclass(frozen=True, slots=True)
class Rest:
    """An operation as an endpoint."""

    address: str  # method and path, such as `DELETE /v1/users/{name}`
    status: int = 200
    tag: str = ""  # the section of the document
    operation_id: str = ""  # empty: derived of the operation's name
    max_body_bytes: int | None = 64 * 1024  # None: as many as the server takes
    media_type: str = "application/json"
    result_refusals: tuple[int, ...] = ()  # statuses of failures in the form of the result
    protocol: "ClientProtocol | None" = None  # the rules of another API that it follows


@dataclass(frozen=True, slots=True)
class Command:
    """An operation as a command."""

    name: str = ""  # with its group, such as `user add`; empty: the operation's own
    arguments: tuple[str, ...] | None = None
    """The parameters that are given by position; None: those that are required and declare no
    option.
    """
    example: str = ""
    # the field of the result that is printed as a table; empty: its text is printed
    table: str = ""
    columns: tuple[str, ...] = ()
    empty: str = ""  # printed in place of an empty table
    is_single: bool = False  # whether the table has one row, which is printed as fields and values
    # a question that people must agree to first; it is filled in from the parameters
    question: str = ""
    check: Callable[[Call, Any], Any] | None = None
    """Raises what can be refused before people are asked for anything, or a control database is
    made.
    """
    find_failure: Callable[[Any], str | None] | None = None
    """Returns what a result says is wrong, for which the command exits with 1; None if all is
    well.
    """
    makes_accounts: bool = False  # whether it makes the control database where there is none
    without_accounts: bool = False  # whether it runs without one, as if there were no accounts


@frozen
class Audit:
    """An operation as it is noted."""

    target: str = ""  # the parameter that is noted as the target
    notes_parameters: bool = True
    is_limited: bool = True  # whether calls count against the caller's rate limit
    is_noted: bool = True
    count_of: Callable[[Any], int | None] = lambda _result: None
    """Counts the records of a result, for analytics; None where it lists none."""


NOTED_WHOLE = Audit()


@frozen
class Faces:
    """The surfaces of an operation, as far as stated. None: all is derived; OFF: not there."""

    tool: Tool | Off | None = None
    rest: Rest | Off | None = None
    command: Command | Off | None = None
    audit: Audit = NOTED_WHOLE
    text: Callable[[Any], str] = result_text
    secret: str = ""  # the field of the result with a secret that is shown this once


DERIVED = Faces()
FOLLOWING = Audit(is_limited=False, is_noted=False)
"""Of a call that follows one that was noted, to ask how far it is or to send its parts."""


@frozen
class Reads(Generic[ParamsT]):
    """The state that a read depends on; equal calls are answered once while it is the same."""

    names: "Callable[[Sequence[OpenCatalogue], ParamsT], Iterable[str]] | None" = None
    """Returns the names of the catalogues that a call with these params reads; None: all of the
    operation's.
    """
    kept: Callable[[Call, ParamsT], bool] = lambda _call, _params: True
    """Tells whether an answer depends on nothing else, such as what its caller keeps."""


@frozen
class Operation(Generic[ParamsT, ResultT]):
    """Something a caller can do, the same over every surface."""

    name: str  # tool, path, command and the entry of the audit are named after it
    # one sentence; in the command's, parameters that are given by position are in capitals
    summary: str
    params: type[ParamsT]
    result: type[Any]  # None's: there is none
    needs: Needs
    cost: Cost
    run: Callable[[Call, ParamsT], ResultT]
    details: str = ""  # the rest of the docstring, which the command tells too
    only_looks: Callable[[Mapping[str, Any]], bool] | None = None
    """Tells whether a call with these values, which are not validated yet, changes nothing."""
    finds: "Callable[[Call, ParamsT], ResultSet] | None" = None
    """Returns what a call with these params finds, for explanations; None where it neither searches
    nor recommends.
    """
    reads: Reads[Any] | None = None  # None: it is never kept
    over: Callable[[Any], bool] | None = None
    """Tells of a catalogue's spec whether it can be asked about; None: it is over all."""
    faces: Faces = DERIVED

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing."""
        return self.cost is not Cost.WRITE

    @property
    def tag(self) -> str:
        """The section of the REST document."""
        rest = self.faces.rest
        stated = rest.tag if isinstance(rest, Rest) else ""
        return stated or ("admin" if self.needs.any_of else "account")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The parameters that its command takes by position."""
        face, fields = self.faces.command, self.params.model_fields
        if isinstance(face, Command) and face.arguments is not None:
            return face.arguments
        return tuple(
            name
            for name, one in fields.items()
            if one.is_required()
            and not any(isinstance(mark, CommandOption) for mark in one.metadata)
        )

    @property
    def noted_as(self) -> str:
        """Its name in the audit, where it is called by its address."""
        return self.name if "/" in self.name else f"{self.tag}/{self.name}"

    def cost_of(self, values: Mapping[str, Any]) -> Cost:
        """Return the cost of a call with these values."""
        return Cost.READ if self.only_looks and self.only_looks(values) else self.cost


AnyOperation = Operation[Any, Any]


def operation(
    name: str, *, needs: Needs = READS_CATALOGUES, cost: Cost = Cost.READ, **declared: Any
) -> Callable[[Callable[[Call, ParamsT], ResultT]], Operation[ParamsT, ResultT]]:
    """Declare a function: its annotations are the shapes, its docstring the summary and the
    details.
    """

    def declare(run: Callable[[Call, ParamsT], ResultT]) -> Operation[ParamsT, ResultT]:
        _, *shapes = get_type_hints(run, include_extras=True).values()
        summary, _, details = inspect.cleandoc(run.__doc__ or "").partition("\n\n")
        known = {
            "params": shapes[0],
            "result": shapes[-1],
            "summary": " ".join(summary.split()),
            "details": "\n\n".join(" ".join(part.split()) for part in details.split("\n\n")),
        }
        return Operation(**{**known, **declared}, name=name, needs=needs, cost=cost, run=run)

    return declare


def addressed(
    address: str,
    status: int = 200,
    *,
    tag: str,
    name: str = "",
    needs: Needs = READS_CATALOGUES,
    cost: Cost = Cost.READ,
    target: str = "",
    audit: Audit | None = None,
    params: type[BaseModel] | None = None,
    **rest: Any,
) -> Callable[[Callable[[Call, ParamsT], ResultT]], Operation[ParamsT, ResultT]]:
    """Declare a function as an operation of programs and pages, which is no tool and no command. It
    is named after the function, and takes what its annotation says, unless `name` and `params` say
    otherwise; of a call its target is noted, and nothing else.
    """
    audit = audit or Audit(target=target, notes_parameters=False)
    stated = {"params": params} if params else {}

    def declare(run: Callable[[Call, ParamsT], ResultT]) -> Operation[ParamsT, ResultT]:
        called = name or run.__name__
        named = {"tag": tag, "operation_id": to_camel(called), "max_body_bytes": None}
        face = Rest(address, status, **{**named, **rest})
        faces = Faces(tool=OFF, rest=face, command=OFF, audit=audit)
        return operation(f"{tag}/{called}", needs=needs, cost=cost, faces=faces, **stated)(run)

    return declare


OF_EVERY_LIST = frozenset({"limit", "offset", "max_tokens"})
"""The parameters that bound an answer, whichever operation is chosen."""


def choice(
    name: str,
    chosen_by: str,
    operations: Mapping[str, AnyOperation],
    params: type[ParamsT],
    **declared: Any,
) -> Operation[ParamsT, Any]:
    """Declare an operation that runs the one of these that a parameter chooses; its other
    parameters are those of all of them.
    """
    first = next(iter(operations.values()))

    def run(call: Call, given: ParamsT) -> Any:
        """Run the chosen operation; refuse a parameter that it would ignore."""
        chosen = str(getattr(given, chosen_by))
        wanted = operations[chosen]
        values = given.model_dump(exclude={chosen_by}, exclude_none=True)
        taken = wanted.params.model_fields
        for ignored in sorted(values.keys() - taken.keys() - OF_EVERY_LIST):
            takers = [
                f"'{one}'"
                for one, other in operations.items()
                if ignored in other.params.model_fields
            ]
            raise InputError(f"'{ignored}' is for {', '.join(takers)}, not for '{chosen}'")
        wanted.needs.require(call.principal)
        return wanted.run(
            call,
            validate_fields(wanted.params, {one: values[one] for one in taken if one in values}),
        )

    known: dict[str, Any] = {"needs": first.needs, "cost": first.cost, "result": first.result}
    return Operation(**{**known, **declared}, name=name, params=params, run=run)
