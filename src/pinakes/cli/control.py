"""The control database in commands: opening it, audited changes, and printing results.

A person who can run a command owns the library, so everything is done as `LOCAL_USER`. Every change goes through
`perform`, which writes it to the audit before the command reports success.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import click

from pinakes.cli.json_output import print_json
from pinakes.cli.private_files import keep_private
from pinakes.cli.tables import print_table
from pinakes.control.audit.log import AuditLog
from pinakes.control.control import Control
from pinakes.control.database.url import exists
from pinakes.errors import InputError, NotFoundError, StorageError, did_you_mean
from pinakes.gate.gate import CallContext, Gate
from pinakes.model.audit import AuditEntry, Outcome
from pinakes.model.principal import LOCAL_USER, Action, Cost
from pinakes.settings import AuthSettings, load_settings
from pinakes.tools.toolbox import Toolbox

NO_ACCOUNTS = "there are no accounts here yet; make the first: pinakes user add NAME --role admin"

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def permission(text: str) -> Action:
    """Return the permission of this name, in any case; raise InputError with all names otherwise."""
    known = {action.lower(): action for action in Action}
    folded = text.lower()
    if folded not in known:
        hint = did_you_mean(folded, list(known))
        for one, action in known.items():
            hint = hint.replace(one, action)
        raise InputError(f"no permission {text[:80]!r}{hint}; permissions: {', '.join(Action)}")
    return known[folded]


@contextmanager
def make_control() -> Iterator[Control]:
    """Open the control database of this library; create it if it is missing."""
    # The external issuer is not used here, so a wrong setting of it must not lock the owner out.
    settings = load_settings().model_copy(update={"auth": AuthSettings()})
    keep_private(settings.home)
    with closing(Control.open(settings)) as control:
        yield control


@contextmanager
def find_control() -> Iterator[Control | None]:
    """Open the control database of this library; None if there is none: reading must not create it."""
    if not exists(load_settings()):
        yield None
        return
    with make_control() as control:
        yield control


@contextmanager
def open_control() -> Iterator[Control]:
    """Open the control database of this library; raise NotFoundError if there is none."""
    with find_control() as control:
        if control is None:
            raise NotFoundError(NO_ACCOUNTS)
        yield control


def change(
    operation: str,
    target: str,
    parameters: Mapping[str, Any],
    work: Callable[[Control], ResultT],
    *,
    creates: bool = False,
) -> ResultT:
    """Change an account, audited as `perform` does; `creates`: the control database is created if it is missing."""
    with (make_control if creates else open_control)() as control:
        return perform(control, operation, target, parameters, partial(work, control))


def perform(
    control: Control,
    operation: str,
    target: str,
    parameters: Mapping[str, Any],
    work: Callable[[], ResultT],
    *,
    area: str = "account",
) -> ResultT:
    """Do a change, and write to the audit that it was done, or why it failed.

    `parameters` are read afterwards, so `work` may add values that were not known before, such as an id.
    """
    ask = CallContext(
        principal=LOCAL_USER,
        via="cli",
        operation=f"{area}/{operation}",
        target=target,
        parameters=parameters,
        cost=Cost.WRITE,
    )
    return Gate(Toolbox([]), observers=[_AuditObserver(control.audit)]).perform(ask, work)


class _AuditObserver:
    """An observer that writes to the audit, and reports a change that was done but could not be audited."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit

    def begin(self, entry: AuditEntry) -> AbstractContextManager[None]:
        """Return a context in which changes are noted as this call's."""
        return self._audit.begin(entry)

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        """Write an entry; where the change itself failed, that failure is reported instead."""
        try:
            self._audit.write(entry, durable=durable)
        except StorageError as error:
            if entry.outcome is Outcome.OK:
                raise StorageError(f"it was done, but could not be written to the audit: {error.message}") from error


def print_result(fields: Any, text: str, *, as_json: bool) -> None:
    """Print the result of a command: its fields as JSON, or a line of text."""
    if as_json:
        print_json(fields)
    else:
        click.echo(text)


def print_list(
    items: Sequence[ItemT],
    fields: Callable[[ItemT], Any],
    headings: Sequence[str],
    cells: Callable[[ItemT], Sequence[object]],
    *,
    empty: str,
    as_json: bool,
) -> None:
    """Print a list: as JSON, as a table, or the text for an empty one."""
    if as_json:
        print_json([fields(one) for one in items])
    elif items:
        print_rows(headings, [cells(one) for one in items])
    else:
        click.echo(empty)


def print_rows(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, with control characters in its cells escaped."""
    print_table(headings, [[printable(cell) for cell in row] for row in rows])


def printable(value: object) -> str:
    """Return a text with control and invisible characters escaped."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in str(value))


def listed(values: Iterable[str], *, none: str = "–") -> str:
    """Return words in alphabetical order, separated by commas."""
    return ", ".join(sorted(values)) or none


def moment(at: datetime | None, *, none: str = "never") -> str:
    """Return a time for people, in UTC."""
    return none if at is None else f"{at:%Y-%m-%d %H:%M:%S}Z"
