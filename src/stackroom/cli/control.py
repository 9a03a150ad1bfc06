"""The control database in commands: opening it, and audited changes.

A person who can run a command owns the library, so everything is done as `LOCAL_USER`. Every change goes through
`perform`, which writes it to the audit before the command reports success.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from stackroom.cli.private_files import keep_private
from stackroom.control.control import Control
from stackroom.control.database.url import exists
from stackroom.errors import NotFoundError
from stackroom.gate.gate import CallContext, Gate
from stackroom.model.principal import LOCAL_USER, Cost
from stackroom.settings import AuthSettings, load_settings
from stackroom.tools.admin.users import NO_ACCOUNTS
from stackroom.tools.toolbox import Toolbox

ResultT = TypeVar("ResultT")


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


def perform(
    control: Control,
    operation: str,
    target: str,
    parameters: Mapping[str, Any],
    work: Callable[[], ResultT],
) -> ResultT:
    """Do a change, and write to the audit that it was done, or why it failed."""
    ask = CallContext(
        principal=LOCAL_USER,
        via="cli",
        operation=operation,
        target=target,
        parameters=parameters,
        cost=Cost.WRITE,
    )
    return Gate(Toolbox([]), observers=[control.audit]).perform(ask, work)
