"""The gate: `call`, `read`, the lists and `perform` for a principal, over every transport.

Permission, rate limit, validation, cache, run and audit happen here, once. A foreseen failure of a
call is an answer with `is_error` and the error's code; anything else is a bug and propagates. A
read that fails in storage is tried again; where a damaged index is the cause of a bug, it is
rebuilt first.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import NoneType
from typing import Any, Generic, NamedTuple, NoReturn, Protocol, TypeVar

from pydantic import BaseModel

from stackroom.errors import (
    ExpectedError,
    StorageError,
    UnknownToolError,
    did_you_mean,
)
from stackroom.frozen import frozen
from stackroom.gate import quarantine
from stackroom.gate.answer import (
    Answer,
    AnswerCache,
    Shown,
    with_age_notes,
)
from stackroom.gate.auditing import Auditing, CallContext, Observer
from stackroom.gate.resources import (
    ResourcePage,
    address_params,
    list_readable,
    list_resources,
    read_resource,
    show_content,
)
from stackroom.model.principal import Cost, Principal
from stackroom.shelf.watched import FailingCatalogueError
from stackroom.text.safe import hide_places
from stackroom.tools.budget import Forms, fit_answer
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.faces.mcp import Served
from stackroom.tools.instructions import instructions_for
from stackroom.tools.operation import (
    LOCAL,
    NO_OFFICE,
    AnyOperation,
    Call,
    Needs,
    Office,
    Operation,
    Origin,
    RawParams,
    origin_of,
)
from stackroom.tools.resources import ResourceContent, ResourceSpec
from stackroom.tools.result_text import result_text
from stackroom.tools.spec import (
    QUERY,
    InvalidParamsError,
    NotedResult,
    ToolResult,
    find_query_note,
    with_query_notes,
)
from stackroom.tools.toolbox import Toolbox, Toolboxes, Versions

ResultT = TypeVar("ResultT")

PAUSES_S = (0.05, 0.2)  # pauses between the attempts of a read that fails in storage


PAUSE_S = 30.0
"""How long the outcome of a look for damage holds: a bug that is no damage must not cost a look at
every call.
"""


class DamageCheck:
    """Looks for damage in catalogues after reads of them have failed by a bug."""

    def __init__(self) -> None:
        self._outcomes: dict[str, tuple[float, bool]] = {}
        """Catalogue → when it was looked at, and whether something was mended."""
        self._guard = threading.Lock()

    def run(
        self, work: Callable[[], ResultT], list_catalogues: Callable[[], Iterable[OpenCatalogue]]
    ) -> ResultT:
        """Run a read; where it fails by a bug and a catalogue that it may have read was damaged,
        run it again.
        """
        try:
            return work()
        except ExpectedError:
            raise
        except Exception:
            mended = [catalogue.name for catalogue in list_catalogues() if self._mend(catalogue)]
            if not mended:
                raise
            logger.warning(
                "a call failed by damage to %s, which is mended; it is run again",
                mended,
                exc_info=True,
            )
        return work()

    def _mend(self, catalogue: OpenCatalogue) -> bool:
        with self._guard:
            looked_at, was_mended = self._outcomes.get(catalogue.name, (-PAUSE_S, False))
            if time.monotonic() - looked_at >= PAUSE_S:
                was_mended = bool(catalogue.shelf.mend())
                self._outcomes[catalogue.name] = (time.monotonic(), was_mended)
            return was_mended


NOTES = "notes"
logger = logging.getLogger(__name__)


class Limiter(Protocol):
    """Refuses calls beyond a caller's rate limit."""

    waits: bool  # whether `require` may wait for another process

    def require(self, principal: Principal, cost: Cost) -> None:
        """Count a call; raise RateLimitedError where it exceeds the quota."""


@frozen
class Pending(Generic[ResultT]):
    """A call that has begun: refused or answered already, or with the function that finishes it."""

    context: CallContext
    work: Callable[[], ResultT] | None = None  # the rest of the call, which may block
    answer: ResultT | None = None
    refusal: Exception | None = None
    waits: bool = False  # whether `work` only waits for another process, and uses no CPU

    def finish(self) -> ResultT:
        """Do the rest of the call; return its answer, or raise the error that refused it."""
        if self.work is not None:
            return self.work()
        if self.answer is not None:
            return self.answer
        assert self.refusal is not None, "a call has an end"
        raise self.refusal


Show = Callable[[Any], Shown]
TOOL_CALL = "tools/call"
UNKNOWN: AnyOperation = Operation(
    name="",
    summary="",
    params=BaseModel,
    result=NoneType,
    needs=Needs(),
    cost=Cost.READ,
    run=lambda _call, _params: None,
)
"""Stands for a tool that there is none of."""


class _CacheKey(NamedTuple):
    """A cache key, and the versions and failures it was made at; an answer is kept only if they are
    still the same.
    """

    key: Hashable
    seen: tuple[Versions, int]


NOT_READ: Mapping[str, Any] = {}
"""The parameters of a call that are not validated: none is in an entry of the audit, since one may
be a misspelt secret.
"""


@frozen
class _ToolCall:
    """A call of a tool that is permitted and validated."""

    served: Served
    call: Call
    params: Any
    values: Mapping[str, Any]
    reads: Iterable[str] | None  # the names of the catalogues that it reads; None: all

    def find_versions(self, *, may_wait: bool = True) -> Versions | None:
        """Return the versions of the catalogues that it reads; None where one cannot be read, or
        not without waiting.

        Such a call is not cached; the tool itself decides whether it can answer without that
        catalogue.
        """
        return self.call.server.find_versions(self.reads, may_wait=may_wait)

    def list_catalogues(self) -> list[OpenCatalogue]:
        """Return the catalogues that it reads."""
        return [
            catalogue
            for catalogue in self.call.server.catalogues
            if self.reads is None or catalogue.name in self.reads
        ]

    def key_at(self, versions: Versions, failures: int) -> _CacheKey:
        """Return the key of its answer: all that the answer follows from."""
        visibility = self.call.principal.visibility
        audiences = None if all(version.is_public for version in versions) else visibility.audiences
        # a limit that is stated, even the default one, lifts the budget
        sizes = getattr(self.params, "sized_by", ())
        is_sized = not self.params.model_fields_set.isdisjoint(sizes)
        # the params have only what is searched for
        note = find_query_note(self.values.get(QUERY))
        asked = (self.served.name, self.params.model_dump_json(), is_sized, note)
        return _CacheKey(
            (*asked, versions, audiences, visibility.only, visibility.hidden), (versions, failures)
        )

    def answer(self, versions: Versions | None) -> Answer:
        """Run the tool, and return its answer, safe to show."""
        operation, changing_tools = self.served.operation, self.call.server.changing_tools

        def noted(shown: ToolResult) -> Forms:
            return quarantine.noted_forms(quarantine.safe_forms(self._forms(shown)), changing_tools)

        answered: ToolResult = _result_of(operation, self.call, self.params)
        result = quarantine.with_safe_notes(
            with_age_notes(with_query_notes(answered, self.values), versions)
        )
        is_partial = isinstance(result, NotedResult) and bool(result.unread)
        forms = quarantine.safe_forms(fit_answer(result, self.params, self._forms))
        flags = quarantine.flags_of(forms, changing_tools)
        if flags:  # the line about them has to fit the budget too
            forms = fit_answer(result, self.params, noted)
            flags = quarantine.flags_of(forms, changing_tools)
        count = operation.faces.audit.count_of(result)
        return Answer(
            structured=forms.structured,
            text=forms.text,
            is_partial=is_partial,
            count=count,
            flags=flags,
        )

    def _forms(self, result: ToolResult) -> Forms:
        """Return both forms of a result; notes come last, after what they are about."""
        structured = result.model_dump(mode="json", by_alias=True)
        make_text = self.served.operation.faces.text
        text = result_text(result, structured) if make_text is result_text else make_text(result)
        if NOTES in structured:
            structured[NOTES] = structured.pop(NOTES)
        return Forms(structured=structured, text=text)


class Gate:
    """The single path of every call, read, list and operation."""

    def __init__(
        self,
        toolboxes: Toolboxes,
        *,
        limiter: Limiter | None = None,
        observers: Sequence[Observer] = (),
        cache: AnswerCache | None = None,
        office: Office = NO_OFFICE,
        failures: Callable[[], int] = lambda: 0,
        on_storage_error: Callable[[], None] = lambda: None,
        hide_places: Callable[[str], str] = hide_places,
    ) -> None:
        """`failures` counts failures of optional parts (embedder, reranker); answers made meanwhile
        are not cached.

        `on_storage_error` is called when storage failed in a call; which catalogue it was is found
        out elsewhere. `hide_places` takes the paths of the server out of messages; administrators
        of the server see them.
        """
        self._toolboxes = toolboxes
        self._limiter = limiter
        self._office = office
        self._auditing = Auditing(
            observers, on_storage_error=on_storage_error, hide_places=hide_places
        )
        self._failures = failures
        self._damage = DamageCheck()
        self.cache = cache
        self.limit_waits = limiter is not None and limiter.waits
        """Whether to begin a call may wait for another process, and so is not for the event
        loop.
        """

    def refresh(self) -> bool:
        """Follow catalogues that were added, replaced or removed; tell whether callers have other
        lists now.
        """
        is_changed = self._toolboxes.refresh()
        if is_changed and self.cache is not None:
            self.cache.clear()
        return is_changed

    def list_tools(self, principal: Principal) -> list[Served]:
        """Return the tools that the principal may call, sorted by name."""
        return self.toolbox_of(principal).list_callable(principal)

    def instructions(self, principal: Principal) -> str:
        """Return what the principal's assistant reads when it connects: the catalogues, and how to
        ask.
        """
        toolbox = self.toolbox_of(principal)
        tools = toolbox.list_callable(principal)
        return instructions_for(
            toolbox.catalogues, tools, principal.visibility, unserved=toolbox.unserved
        )

    def call(
        self, principal: Principal, name: str, arguments: Mapping[str, Any], *, via: str = ""
    ) -> Answer:
        """Run a tool for a principal."""
        answer: Answer = self.run(name, origin_of(principal, via=via), tool_params(arguments))
        return answer

    def read(self, principal: Principal, uri: str, *, via: str = "") -> ResourceContent:
        """Read a resource for a principal."""
        origin = origin_of(principal, via=via)
        content: ResourceContent = self.run(
            read_resource, origin, address_params(uri), show=show_content
        )
        return content

    def ask(self, wanted: Operation[Any, ResultT], params: BaseModel) -> ResultT:
        """Run an operation for the user of this machine, whose parameters a program of theirs
        made.
        """
        result: ResultT = self.run(wanted, LOCAL, RawParams(values={}, ready=params))
        return result

    def run(
        self,
        wanted: AnyOperation | str,
        origin: Origin,
        raw: RawParams,
        *,
        show: Show = Shown,
    ) -> Any:
        """Run an operation, and return its result as `show` makes it; for a tool, its answer."""
        return self.begin(wanted, origin, raw, show=show).finish()

    def begin(
        self,
        wanted: AnyOperation | str,
        origin: Origin,
        raw: RawParams,
        *,
        show: Show = Shown,
    ) -> Pending[Any]:
        """Begin a call of an operation, or of the tool of this name: rate limit, validation,
        permission and cache look-up; only the limit may wait (`limit_waits`).

        A refused call, or one with a cached answer, is finished already. `show` makes of a result
        what the surface sends, before that is audited.
        """
        started, principal = time.perf_counter(), origin.principal
        toolbox = self.toolbox_of(principal)
        if isinstance(wanted, str):
            served = toolbox.find_callable(principal, wanted)
            noted_as, target = TOOL_CALL, served.name if served else wanted
        else:
            served, noted_as, target = toolbox.serve(wanted), wanted.noted_as, ""
        operation = served.operation if served else UNKNOWN
        context = CallContext(
            origin=origin,
            operation=noted_as,
            target=target,
            parameters=NOT_READ,
            cost=operation.cost_of(raw.values),
            is_noted=operation.faces.audit.is_noted,
        )
        try:
            if raw.ready is not None:
                context = _noted(context, operation, raw, raw.ready)
            if self._limiter and operation.faces.audit.is_limited:
                self._limiter.require(principal, context.cost)
            if served is None:
                _refuse_tool(toolbox, principal, target)
            params = raw.read(served.params)
            context = _noted(context, operation, raw, params)
            if noted_as != TOOL_CALL:  # one that a caller may not call is not found
                operation.needs.require(principal)
        except ExpectedError as error:
            return self._refused(context, error, started)
        call = Call(
            identity=origin.identity,
            server=toolbox,
            office=self._office,
            catalogues=served.catalogues,
            chosen=getattr(params, "catalogue", None) if served.has_choice else None,
            via=origin.via,
            call_id=context.call_id,
        )
        if noted_as == TOOL_CALL:
            reads = served.reads(params)
            asked = _ToolCall(
                served=served, call=call, params=params, values=raw.values, reads=reads
            )
            return self._begin_tool(context, asked, started)

        def work() -> Shown:
            return show(_result_of(operation, call, params))

        def finish() -> Any:
            return self._auditing.run(context, work).reply

        return Pending(context=context, work=finish, waits=operation.cost is Cost.SQL)

    def _begin_tool(self, context: CallContext, call: _ToolCall, started: float) -> Pending[Answer]:
        """Look up the answer of a tool. A call whose entry has to be durable is not answered here:
        to note it may block.
        """
        kept, missed = None, None
        if context.cost is Cost.READ:
            kept, missed = self._look_up(call, may_wait=False)
        if kept is not None:
            self._auditing.note(context, started, result=kept)
            return Pending(context=context, answer=kept)

        def finish() -> Answer:
            try:
                return self._auditing.run(context, partial(self._run, call, missed))
            except ExpectedError as error:
                return Answer.of_error(error)

        return Pending(context=context, work=finish, waits=call.served.operation.cost is Cost.SQL)

    def _refused(self, context: CallContext, error: ExpectedError, started: float) -> Pending[Any]:
        """Return the end of a call that is refused."""
        if context.parameters is NOT_READ:
            problem = error.problem if isinstance(error, InvalidParamsError) else error.message
            context = replace(context, parameters={"problem": problem})
        self._auditing.note(context, started, error)
        is_told = context.operation == TOOL_CALL and not isinstance(error, UnknownToolError)
        answer = Answer.of_error(error) if is_told else None
        return Pending(context=context, answer=answer, refusal=error)

    def list_resources(self, principal: Principal, cursor: str | None = None) -> ResourcePage:
        """Return a page of the resources that the principal may read; `cursor` is the one of the
        page before.
        """
        return list_resources(self.toolbox_of(principal), principal, cursor)

    def list_templates(self, principal: Principal) -> list[ResourceSpec]:
        """Return the resource templates that the principal may read."""
        readable = list_readable(self.toolbox_of(principal), principal)
        return [resource for resource in readable if resource.template]

    def toolbox_of(self, principal: Principal) -> Toolbox:
        """Return the tools, resources, media and catalogues that the principal may see."""
        return self._toolboxes.of(principal.visibility)

    def perform(self, context: CallContext, work: Callable[[], ResultT]) -> ResultT:
        """Do what is no operation, such as a login, limited and audited."""

        def limited() -> Shown:
            if self._limiter:
                self._limiter.require(context.origin.principal, context.cost)
            return Shown(work())

        result: ResultT = self._auditing.run(context, limited).reply
        return result

    def refuse(self, context: CallContext, error: ExpectedError) -> None:
        """Audit an operation that was refused before it reached the gate."""
        self._auditing.note(context, time.perf_counter(), error)

    def _look_up(
        self, call: _ToolCall, *, may_wait: bool
    ) -> tuple[Answer | None, _CacheKey | None]:
        """Return the cached answer of a call, and the key to keep one by; neither where it cannot
        be cached.
        """
        reads = call.served.operation.reads
        if self.cache is None or reads is None or not reads.kept(call.call, call.params):
            return None, None
        versions = call.find_versions(may_wait=may_wait)
        if versions is None:
            return None, None
        key = call.key_at(versions, self._failures())
        return self.cache.find(key.key), key

    def _run(self, call: _ToolCall, missed: _CacheKey | None) -> Answer:
        """Run a tool, or answer from the cache; `missed` is given where the look-up was made
        already.
        """
        operation = call.served.operation
        if not operation.is_read:
            return call.answer(None)
        # Versions are read before it is run: an answer may be newer than it says, and not older.
        kept, missed = (None, missed) if missed else self._look_up(call, may_wait=True)
        if kept is not None:
            return kept
        versions = missed.seen[0] if missed else call.find_versions() if operation.reads else None
        answer = self._damage.run(partial(call.answer, versions), call.list_catalogues)
        if (
            self.cache
            and missed
            and (call.find_versions(), self._failures()) == missed.seen
            and not answer.is_partial
        ):
            self.cache.keep(missed.key, answer)
        return answer


def tool_params(arguments: Mapping[str, Any]) -> RawParams:
    """Return the arguments of a tool."""
    return RawParams(values=arguments, noun="argument", shows_values=True)


def _result_of(operation: AnyOperation, call: Call, params: BaseModel) -> Any:
    """Run an operation; one that changes nothing is tried again after each pause where storage
    fails, unless it is known that it would fail again.
    """
    for pause_s in PAUSES_S if operation.is_read else ():
        try:
            return operation.run(call, params)
        except StorageError as error:
            if isinstance(error, FailingCatalogueError) and error.retry_in_s > pause_s:
                raise  # it would fail again
            time.sleep(pause_s)
    return operation.run(call, params)


def _noted(
    context: CallContext, operation: AnyOperation, raw: RawParams, params: BaseModel
) -> CallContext:
    """Return a call as it is audited, now that its parameters are validated."""
    if context.operation == TOOL_CALL:
        return replace(context, parameters=raw.values)
    face, parameters = operation.faces.audit, {}
    if face.notes_parameters:
        parameters = params.model_dump(mode="json", exclude_unset=True, exclude={face.target})
    target = str(getattr(params, face.target)) if face.target else ""
    return replace(context, target=target, parameters=parameters)


def _refuse_tool(toolbox: Toolbox, principal: Principal, name: str) -> NoReturn:
    known = [tool.name for tool in toolbox.list_callable(principal)]
    raise UnknownToolError(
        f"no tool '{name[:128]}'{did_you_mean(name, known)}; list the tools for those there are"
    )
