"""The control side as commands use it: opened from the settings, changed by the user of this machine, noted, closed.

Whoever can run a command owns the library, so all is done as `LOCAL_USER`. Every change goes through `perform`, which
notes it in the audit before the command can say that it is done.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import click

from pinakes.cli.json_output import print_json
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
    """Return the permission of this name, however its letters are cased, or refuse with all there are."""
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
    """Open the control side of this library, made where it is not there yet."""
    # An external issuer is not asked here, so one that is not well must not keep the owner out.
    with closing(Control.open(load_settings().model_copy(update={"auth": AuthSettings()}))) as control:
        yield control


@contextmanager
def find_control() -> Iterator[Control | None]:
    """Open the control side of this library; None where there is none: looking must not make it."""
    if not exists(load_settings()):
        yield None
        return
    with make_control() as control:
        yield control


@contextmanager
def open_control() -> Iterator[Control]:
    """Open the control side of this library; refuse where there is none."""
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
    """Change something, and note in the audit that it was done, or why it was not.

    `parameters` are read when it is over, so `work` may add what was not known before, such as an id.
    """
    ask = CallContext(
        principal=LOCAL_USER,
        via="cli",
        operation=f"{area}/{operation}",
        target=target,
        parameters=parameters,
        cost=Cost.WRITE,
    )
    return Gate(Toolbox([]), observers=[_Note(control.audit)]).perform(ask, work)


class _Note:
    """The audit, which says of a note that cannot be written whether what it is about was done."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        """Note a change; of one that failed anyway, the failure is what is told."""
        try:
            self._audit.write(entry, durable=durable)
        except StorageError as error:
            if entry.outcome is Outcome.OK:
                raise StorageError(f"it was done, but could not be noted in the audit: {error.message}") from error


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
    """Print a list: the fields of its items as JSON, their cells as a table, or what to say where there are none."""
    if as_json:
        print_json([fields(one) for one in items])
    elif items:
        print_rows(headings, [cells(one) for one in items])
    else:
        click.echo(empty)


def print_rows(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table of texts as they are, whoever wrote them."""
    print_table(headings, [[printable(cell) for cell in row] for row in rows])


def printable(value: object) -> str:
    """Return a text in which nothing moves the cursor of a terminal, or is hidden on it."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in str(value))


def listed(values: Iterable[str], *, none: str = "–") -> str:
    """Return words for people, in the order of the alphabet."""
    return ", ".join(sorted(values)) or none


def moment(at: datetime | None, *, none: str = "never") -> str:
    """Return a moment for people, in UTC."""
    return none if at is None else f"{at:%Y-%m-%d %H:%M:%S}Z"
