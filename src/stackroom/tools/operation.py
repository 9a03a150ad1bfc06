"""One operation, declared once: who may do it, what it takes and gives back, and the function that does it.

Its REST endpoint (`operation_endpoints`) and its command (`cli.operations`) are derived from the declaration, and a
tool that takes an `action` passes the call on (`OperationChoice`). So permission, validation, result and refusal are
the same on every surface.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field

from stackroom.control.control import Control
from stackroom.errors import ForbiddenError, InputError, NotFoundError, did_you_mean
from stackroom.jobs.board import JobBoard
from stackroom.model.principal import LOCAL_USER, Action, Cost, Identity, Principal
from stackroom.tools.problems import validate_fields
from stackroom.tools.spec import LARGEST, GenericParams, ToolParams, ToolResult

OF_EVERY_LIST = frozenset({"limit", "offset", "max_tokens"})
"""The arguments of a tool that bound its answer, whichever operation is chosen."""

ValueT = TypeVar("ValueT")

SeveralOf = Annotated[list[ValueT], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]
"""Several values, or one by itself."""


@dataclass(frozen=True, slots=True)
class CommandOption:
    """The option by which a command takes a parameter; with `{}` in its flag, one for each key of an object."""

    flag: str
    metavar: str | None = None


@dataclass(frozen=True, slots=True)
class SecretInput:
    """Marks a parameter that a command never takes as an argument: it is typed at a prompt, or read from a pipe."""


class NoParams(GenericParams):
    """The parameters of an operation that takes none."""


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
    """Who runs an operation, and the server or library that it is run on."""

    identity: Identity
    opened_control: Control | None = None
    """Accounts and audit; None where the server has none."""
    catalogues: Callable[[], Collection[str]] = tuple
    """Returns the names of the catalogues that the caller may see."""
    open_board: Callable[[], JobBoard] | None = None
    """Returns the jobs; None where the server runs none."""

    @property
    def principal(self) -> Principal:
        """The caller."""
        return self.identity.principal

    @property
    def control(self) -> Control:
        """The accounts and the audit."""
        if self.opened_control is None:
            raise NotFoundError("this server has no accounts: every request is the local user's, and needs no token")
        return self.opened_control

    @property
    def board(self) -> JobBoard:
        """The jobs of the library."""
        if self.open_board is None:
            raise NotFoundError("this server runs no jobs; a server with accounts does: stackroom serve --http")
        return self.open_board()

    def require_catalogue(self, name: str) -> None:
        """Raise NotFoundError for a catalogue that the caller does not see, naming those that they do."""
        known = sorted(self.catalogues())
        if name not in known:
            there = ", ".join(known) or "none; run: stackroom init"
            raise NotFoundError(f"no catalogue '{name[:80]}'{did_you_mean(name, known)}; there are: {there}")


def identity_of(principal: Principal = LOCAL_USER) -> Identity:
    """Return the identity of a caller whose credential does not matter, such as the local user."""
    return Identity(principal=principal, credential_id="", expires_at=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation. It cannot be declared without the permissions that it needs and its cost."""

    name: str
    """Its name in the audit, such as `account/create_user`."""
    summary: str
    """One sentence; in the command's, parameters that are given by position are in capitals."""
    params: type[GenericParams]
    result: type[ToolResult]
    actions: tuple[Action, ...]
    """The permissions of which one is needed; empty: any authenticated caller."""
    cost: Cost
    run: Callable[[OperationCall, Any], Any]
    text: Callable[[Any], str]
    """Returns the result as text."""

    rest: str = ""
    """Method and path, such as `DELETE /v1/users/{name}`; empty: no endpoint."""
    status: int = 200
    command: str = ""
    """Group and name of the command, such as `user add`; empty: no command."""
    arguments: tuple[str, ...] = ()
    """The parameters that the command takes by position."""
    example: str = ""
    """An example of the command, without its name."""
    details: str = ""
    """Further paragraphs of the command's help."""
    table: str = ""
    """The field of the result that the command prints as a table; empty: it prints the text."""
    columns: tuple[str, ...] = ()
    """The fields of the table's rows."""
    empty: str = ""
    """Printed in place of an empty table."""
    is_single: bool = False
    """Whether the table has one row, which is printed as fields and values."""
    target: str = ""
    """The parameter that the audit notes as the target."""
    secret: str = ""
    """The field of the result with a secret that is shown this once."""
    question: str = ""
    """A question that people must agree to first; it is filled in from the parameters."""
    check: Callable[[OperationCall, Any], Any] | None = None
    """Raises what can be refused before people are asked for anything, or a control database is made."""
    find_failure: Callable[[Any], str | None] | None = None
    """Returns what a result says is wrong, for which the command exits with 1; None if all is well."""
    needs_accounts: bool = True
    makes_accounts: bool = False
    """Whether the command makes the control database where there is none."""

    def perform(self, call: OperationCall, params: Any) -> Any:
        """Run it for a caller who has the permission; raise ForbiddenError otherwise."""
        if self.actions and call.principal.actions.isdisjoint(self.actions):
            raise ForbiddenError(f"this needs the permission {' or '.join(self.actions)}, and you do not have it")
        return self.run(call, params)


class OperationChoice:
    """The operations among which an argument of a tool chooses; its other arguments are those of all of them."""

    def __init__(self, chosen_by: str, operations: Mapping[str, Operation]) -> None:
        self.chosen_by = chosen_by
        self.operations = operations

    def perform(self, call: OperationCall, params: ToolParams) -> Any:
        """Run the chosen operation; refuse an argument that it would ignore."""
        chosen = str(getattr(params, self.chosen_by))
        operation = self.operations[chosen]
        given = {name: getattr(params, name) for name in type(params).model_fields if name != self.chosen_by}
        given = {name: value for name, value in given.items() if value is not None}
        taken = operation.params.model_fields
        for name in sorted(given.keys() - taken.keys() - OF_EVERY_LIST):
            raise InputError(f"'{name}' is for {self._takers(name)}, not for '{chosen}'")
        return operation.perform(call, validate_fields(operation.params, {n: given[n] for n in taken if n in given}))

    def _takers(self, name: str) -> str:
        takers = [one for one, operation in self.operations.items() if name in operation.params.model_fields]
        return ", ".join(f"'{one}'" for one in takers)
