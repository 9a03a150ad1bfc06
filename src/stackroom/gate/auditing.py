"""The audit of operations: each is told to the observers once, before it is answered, with secrets
redacted.

An operation that changes something is announced to the auditors first, so that its row can be
rebuilt where the process ends before it is written.
"""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex
from typing import Any, Protocol, TypeVar, runtime_checkable

from stackroom.errors import ExpectedError, StorageError
from stackroom.frozen import frozen
from stackroom.gate.answer import Shown, Summarised, outcome_of
from stackroom.model.principal import Action, AuditEntry, Cost, Outcome, Principal
from stackroom.net.addresses import REDACTED, SECRET_NAME, SECRET_PARAMETERS, SECRET_WORDS
from stackroom.tools.operation import Origin

LONGEST_TEXT = 500
LOOKED_AT = 10_000
"""The length of text that is searched for secrets: more than is kept, so that none is cut in half
first.
"""
MOST_ITEMS = 50
DEEPEST = 6

# No alternative requires a suffix that may never come, such as the dot of a JWT: a prefix is
# enough, so that matching stays linear on a text that is full of prefixes.
_SECRET_TEXT = re.compile(
    r"(?:stk|pnk)_[a-z]_[A-Za-z0-9_-]{8,}"  # a session or token of Stackroom
    r"|(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}"  # a JWT
    r"|(?i:(?<![a-z0-9])bearer\s+)[A-Za-z0-9._~+/-]{8,}=*"
    r"|(?i:(?<![a-z0-9])authorization\s*[:=]\s*)\S+(?:[ \t]+[A-Za-z0-9._~+/-]{8,}=*)?"
    r"|(?<=://)[^\s/?#]+(?=@)"  # user:password, or a token, in a URL
    rf"|(?i:(?<=[?&;#])[\w.-]{{0,40}}(?:{SECRET_WORDS})[\w.-]{{0,40}}=)[^\s&;#]+"
    rf"|(?i:(?<=[?&;#])(?:{SECRET_PARAMETERS})=)[^\s&;#]+"  # a secret in a query string
)


def redacted(value: Any, *, depth: int = 0) -> Any:
    """Return JSON values with secrets replaced, by their names or their form, and long texts
    truncated.

    Unpaired surrogates and NULs, which not every database stores, are replaced.
    """
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth >= DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        kept: dict[str, Any] = {}
        for key in list(value)[:MOST_ITEMS]:
            is_secret = SECRET_NAME.search(str(key)[:LOOKED_AT])
            kept[_text(str(key))] = REDACTED if is_secret else redacted(value[key], depth=depth + 1)
        return kept | ({"…": f"{len(value)} keys"} if len(value) > MOST_ITEMS else {})
    if isinstance(value, list | tuple):
        items = [redacted(item, depth=depth + 1) for item in value[:MOST_ITEMS]]
        return [*items, f"… ({len(value)} items)"] if len(value) > MOST_ITEMS else items
    return redacted(str(value), depth=depth)


def _text(value: str) -> str:
    whole = (
        value[:LOOKED_AT].encode("utf-8", "replace").decode().replace("\0", "\N{SYMBOL FOR NULL}")
    )
    text = _SECRET_TEXT.sub(REDACTED, whole)
    if len(text) <= LONGEST_TEXT and len(value) <= LOOKED_AT:
        return text
    return f"{text[:LONGEST_TEXT]}… ({len(value)} characters)"


logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT", bound=Summarised)
NOTHING = Shown(None)


class Observer(Protocol):
    """Receives an entry for every call: the audit, the log, the counters."""

    def write(self, entry: AuditEntry, *, durable: bool) -> None:
        """Write an entry; where `durable`, return only when it is on disk."""


@runtime_checkable
class Auditor(Protocol):
    """An observer that keeps what it was told, and so is told of a change before it is made."""

    def begin(self, entry: AuditEntry) -> None:
        """Note a call that is about to change something; raise StorageError where that cannot be
        kept.
        """


@frozen
class CallContext:
    """One audited operation: who, what, with which parameters."""

    origin: Origin
    operation: str
    target: str
    parameters: Mapping[str, Any]
    cost: Cost = Cost.READ
    is_noted: bool = True
    call_id: str = field(default_factory=partial(token_hex, 8))


class Auditing:
    """Tells observers of operations."""

    def __init__(
        self,
        observers: Sequence[Observer],
        *,
        on_storage_error: Callable[[], None],
        hide_places: Callable[[str], str],
    ) -> None:
        """Take what `Gate` is given for it."""
        self._on_storage_error = on_storage_error
        self._hide_places = hide_places
        self._observers = tuple(observers)
        self._auditors = [observer for observer in observers if isinstance(observer, Auditor)]

    def run(self, context: CallContext, work: Callable[[], ResultT]) -> ResultT:
        """Do the work, and audit the outcome before it is returned.

        A change that was noted before it was made is acknowledged although its row cannot be
        written now: the row follows, and a refusal would be taken for no change.
        """
        started = time.perf_counter()
        is_announced = context.is_noted and context.cost is Cost.WRITE and bool(self._auditors)
        try:
            for auditor in self._auditors if is_announced else ():
                auditor.begin(_entry(context, Outcome.INTERRUPTED))
            result = work()
        except Exception as error:
            self.note(context, started, error)
            self._hide_from(context.origin.principal, error)
            raise
        try:
            self.note(context, started, result=result)
        except StorageError:
            if not is_announced:
                raise
            entry = _entry(context, Outcome.OK, started=started, result=result)
            for observer in self._observers:
                with suppress(StorageError):  # one that never can adds it at its next start
                    observer.write(entry, durable=False)
        return result

    def note(
        self,
        context: CallContext,
        started: float,
        error: Exception | None = None,
        *,
        result: Summarised = NOTHING,
    ) -> None:
        """Tell the observers of an operation that has ended."""
        if isinstance(error, StorageError):
            self._on_storage_error()
        if not (self._observers and context.is_noted):
            return
        entry = _entry(context, outcome_of(error), error=error, started=started, result=result)
        for observer in self._observers:
            observer.write(entry, durable=context.cost is not Cost.READ)

    def _hide_from(self, principal: Principal, error: Exception) -> None:
        """Take the paths of the server out of a failure of it, unless the caller administers it;
        log them.
        """
        if (
            not isinstance(error, ExpectedError)
            or error.http_status < 500
            or Action.SERVER_ADMIN in principal.actions
        ):
            return
        hidden = self._hide_places(error.message)
        if hidden != error.message:
            logger.warning(
                "'%s' was told without the places: %s", principal.name, error.full_message
            )
            error.message = hidden


def _entry(
    context: CallContext,
    outcome: Outcome,
    *,
    error: Exception | None = None,
    started: float | None = None,
    result: Summarised = NOTHING,
) -> AuditEntry:
    left = result.summary
    return AuditEntry(
        at=datetime.now(UTC),
        call_id=context.call_id,
        principal=context.origin.principal.name,
        via=context.origin.via,
        operation=context.operation,
        target=redacted(context.target),
        parameters=redacted(context.parameters),
        outcome=outcome,
        error_code=error.code if isinstance(error, ExpectedError) else None,
        duration_ms=0.0 if started is None else (time.perf_counter() - started) * 1000,
        result_bytes=left.size_bytes,
        result_digest=left.digest,
        result_count=left.records,
    )
