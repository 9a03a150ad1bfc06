"""The gate for callers on the event loop: who they are, the threads that do their work, and calls
that are answered without the SDK.

Cached and refused calls need no thread. Work has a bounded queue, and callers take turns.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qs
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
import orjson
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.types import methods
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from stackroom.background.threads import new_pool
from stackroom.errors import (
    ExpectedError,
    InputError,
    OverloadedError,
    RateLimitedError,
    TooLargeError,
    UnauthenticatedError,
)
from stackroom.gate.answer import Answer, Shown
from stackroom.gate.auditing import CallContext
from stackroom.gate.gate import TOOL_CALL, Gate, Pending, Show, tool_params
from stackroom.model.principal import Cost, Principal
from stackroom.model.record import Flag
from stackroom.settings import ToolNames
from stackroom.tools.instructions import GENERAL
from stackroom.tools.operation import AnyOperation, Origin, RawParams
from stackroom.tools.toolbox import with_plain_names

logger = logging.getLogger(__name__)

# keys in the scope of a request: who asks, and the call that the transport has begun
CALLER, BEGUN = "stackroom.caller", "stackroom.begun"

Context = ServerRequestContext[Any]
Callers = Callable[[Context], Origin]


def caller_of(context: Context) -> Origin:
    """Return the caller that the transport has authenticated, in the scope of the request."""
    found = context.request.scope.get(CALLER) if context.request else None
    if not isinstance(found, Origin):
        raise UnauthenticatedError("authentication required: send a bearer token or log in")
    return found


KNOWN_CLIENTS = frozenset({"openai-mcp", "claude-ai", "cursor-vscode", "cursor"})
"""Clients that need plain names, by the name that they give themselves: ChatGPT and the Responses
API, Claude's apps (not Claude Code), and Cursor. docs/clients.md has the reports.
"""
QUERY = "tool_names"
FORMS: Mapping[str, ToolNames] = {"plain": "plain", "dotted": "dotted"}


def has_plain_names(context: Context, caller: Origin, usual: ToolNames) -> bool:
    """Tell whether the client of a request is shown plain names; what its address asks for comes
    first.
    """
    if caller.tool_names is not None:
        return caller.tool_names == "plain"
    client = context.session.client_params
    return usual == "plain" or (
        client is not None and client.client_info.name.casefold() in KNOWN_CLIENTS
    )


def asked_names(query: bytes) -> ToolNames | None:
    """Return the form of tool names that the query of an address asks for, as in
    `/mcp?tool_names=plain`.
    """
    given = parse_qs(query.decode("latin-1"), keep_blank_values=True).get(QUERY)
    if given is None:
        return None
    if len(given) != 1 or given[0] not in FORMS:
        raise InputError(
            f"'{QUERY}': '{', '.join(given)[:40]}' is not valid; one of: {', '.join(FORMS)}"
        )
    return FORMS[given[0]]


# the delay of each request of a throttled caller; their requests wait one after the other
PAUSE_S = 0.004
LONGEST_S = 2.0  # the longest delay of one request, with its turn
MOST_KNOWN = 10_000  # the most refused callers that are remembered; beyond that all are forgotten


class PerCallerLimit:
    """A semaphore for each caller, so that nobody's requests hold up another's."""

    def __init__(self, width: int) -> None:
        """`width` is how many requests of one caller run at once."""
        self._width = width
        self._semaphores: WeakValueDictionary[str, anyio.Semaphore] = WeakValueDictionary()

    def of(self, name: str) -> anyio.Semaphore:
        """Return a caller's semaphore; it is forgotten with their last request."""
        return self._semaphores.setdefault(name, anyio.Semaphore(self._width, fast_acquire=True))


class RefusalThrottle:
    """Delays callers whose last request exceeded their rate limit, so that the others are answered
    in time.
    """

    def __init__(self, *, pause_s: float = PAUSE_S, longest_s: float = LONGEST_S) -> None:
        self._pause_s = pause_s
        self._longest_s = longest_s
        self._turns = PerCallerLimit(1)
        self._refused: set[str] = set()

    async def wait(self, name: str) -> bool:
        """Return at once, or for a refused caller after their turn; tell whether there was a
        delay.
        """
        if name not in self._refused:
            return False
        with anyio.move_on_after(self._longest_s):
            async with self._turns.of(name):
                if name in self._refused:
                    await anyio.sleep(self._pause_s)
        return True

    def note(self, name: str, *, is_refused: bool) -> None:
        """Note whether a caller's last request was refused."""
        if not is_refused:
            self._refused.discard(name)
            return
        if len(self._refused) >= MOST_KNOWN:
            self._refused.clear()
        self._refused.add(name)


ResultT = TypeVar("ResultT")

WAITING_THREADS = 16
"""Threads for work that only waits for another process: more than there are such processes, so that
their pool, and not this queue, refuses one too many.
"""


LONGEST_WAIT_S = 2.0  # a call that would wait longer for its turn is refused at once
# how long one call counts at most, and over how many calls the usual time is
LONGEST_NOTED_S, NOTED_CALLS = 2.0, 20


class Workers:
    """Runs a few calls at once, queues some more, and refuses the rest."""

    def __init__(self, *, threads: int = 4, queue: int = 1000, usual_s: float = 0.05) -> None:
        """`usual_s` is how long a call takes at first; then it is measured."""
        self._threads = threads
        self._usual_s = usual_s
        self._working = new_pool("worker", threads), PerCallerLimit(threads)
        self._waiting = new_pool("waiting", WAITING_THREADS), PerCallerLimit(WAITING_THREADS)
        """Threads, and a limit on how many of them one caller may occupy."""
        self._most = threads + queue
        self.in_flight = 0
        """The number of calls that run or wait."""

    async def run(self, work: Callable[[], ResultT], *, of: str, waits: bool = False) -> ResultT:
        """Run a caller's work in a thread, in turn with that of others; refuse it where it would
        wait longer than clients do, by what calls have taken lately.

        Work that waits for another process has threads of its own. Where the caller cancels, work
        that has begun goes on in its thread, and counts until it ends.
        """
        wait_s = (self.in_flight - self._threads) * self._usual_s / self._threads
        if self.in_flight >= self._most or wait_s > LONGEST_WAIT_S:
            error = OverloadedError(
                f"the server is overloaded; try again in {LONGEST_WAIT_S:.0f} seconds"
            )
            error.retry_after_s = LONGEST_WAIT_S
            raise error
        self.in_flight += 1
        try:
            threads, per_caller = self._waiting if waits else self._working
            async with per_caller.of(of):
                running = asyncio.get_running_loop().run_in_executor(
                    threads, work if waits else partial(self._timed, work)
                )
                with anyio.CancelScope(shield=True):
                    await running
                return running.result()
        finally:
            self.in_flight -= 1

    def _timed(self, work: Callable[[], ResultT]) -> ResultT:
        """Do work, and note how long it took, a long one as at most `LONGEST_NOTED_S`."""
        began_at = time.perf_counter()
        try:
            return work()
        finally:
            took_s = min(time.perf_counter() - began_at, LONGEST_NOTED_S)
            self._usual_s += (took_s - self._usual_s) / NOTED_CALLS

    async def drain(self, timeout_s: float) -> None:
        """Wait until no call runs or waits, or until the timeout."""
        with anyio.move_on_after(timeout_s):
            while self.in_flight:
                await anyio.sleep(0.02)


# how long a client that connects is kept waiting for the catalogues, to be told about them
WAIT_S = 2.0
INTRODUCED_AT_ONCE = 4
LOADING = "loading"  # the caller name under which worker threads wait for the gate to load


class AsyncGate:
    """Asynchronous access to the gate; requests that are refused for lack of workers are audited
    too.
    """

    def __init__(
        self, gate: "Future[Gate]", workers: Workers, *, throttle: RefusalThrottle | None = None
    ) -> None:
        """`gate` may still be loading; `throttle` is notified of callers who exceed their rate
        limit.
        """
        self._gate = gate
        self._loaded: Gate | None = None
        self._introducing = anyio.CapacityLimiter(INTRODUCED_AT_ONCE)
        self._workers = workers
        self._throttle = throttle or RefusalThrottle()

    async def run(
        self, wanted: AnyOperation | str, origin: Origin, raw: RawParams, *, show: Show = Shown
    ) -> Any:
        """Run an operation or a tool; refused and cached calls are answered without a thread."""
        return await self.finish(await self.begin(wanted, origin, raw, show=show))

    async def begin(
        self, wanted: AnyOperation | str, origin: Origin, raw: RawParams, *, show: Show = Shown
    ) -> Pending[Any]:
        """Begin a call, and note whether it exceeds the rate limit."""
        gate = self.find_loaded() or await self._load()
        begin = partial(gate.begin, wanted, origin, raw, show=show)
        pending = await anyio.to_thread.run_sync(begin) if gate.limit_waits else begin()
        is_refused = isinstance(pending.refusal, RateLimitedError)
        self._throttle.note(origin.principal.name, is_refused=is_refused)
        return pending

    async def finish(self, pending: Pending[Any]) -> Any:
        """Finish a call: at once, or in a thread. A tool answers that all are busy."""
        if pending.work is None:
            return pending.finish()
        try:
            return await self._work(pending)
        except OverloadedError as error:
            if pending.context.operation == TOOL_CALL:
                return Answer.of_error(error)
            raise

    async def call(self, origin: Origin, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool."""
        try:
            begun = await self.begin(name, origin, tool_params(arguments))
        except OverloadedError as error:  # too many wait for the gate to load
            return Answer.of_error(error)
        answer: Answer = await self.finish(begun)
        return answer

    async def look(self, who: Principal, work: Callable[[Gate, Principal], ResultT]) -> ResultT:
        """Ask the gate for what it serves to a caller, such as a list, in a thread."""
        gate = self.find_loaded() or await self._load()
        return await self._workers.run(partial(work, gate, who), of=who.name)

    async def perform(self, ask: CallContext, work: Callable[[Gate], ResultT]) -> ResultT:
        """Do what is no operation, such as a login, limited and audited."""
        gate = self.find_loaded() or await self._load()
        done = partial(gate.perform, ask, partial(work, gate))
        return await self._work(Pending(context=ask, work=done))

    async def refuse_invalid(self, ask: CallContext, error: ExpectedError) -> None:
        """Count and audit an operation whose input has not its form; raise RateLimitedError where
        it is one too many.
        """
        # Another error of the same words: that one refers to the input, and a thread remembers what
        # it worked on.
        kind = TooLargeError if isinstance(error, TooLargeError) else InputError
        wrong = kind(error.message)

        def refuse(_gate: Gate) -> None:
            raise wrong

        with suppress(kind):
            await self.perform(ask, refuse)

    async def introduce(self, principal: Principal, *, is_plain: bool) -> str:
        """Return a caller's instructions; general ones where the catalogues take long to load, or
        cannot be.
        """

        def make() -> str:
            gate = self._gate.result()
            text = gate.instructions(principal)
            return (
                with_plain_names(text, gate.toolbox_of(principal).plain_names) if is_plain else text
            )

        with anyio.move_on_after(WAIT_S):
            try:
                return await anyio.to_thread.run_sync(
                    make, abandon_on_cancel=True, limiter=self._introducing
                )
            except ExpectedError:  # the catalogues could not be loaded, which is reported elsewhere
                return GENERAL
            except Exception:
                logger.exception("instructions could not be made")
        return GENERAL

    async def _work(self, pending: Pending[ResultT]) -> ResultT:
        """Finish a call in a thread; audit its refusal where all are busy."""
        context = pending.context
        of = context.origin.principal.name
        try:
            return await self._workers.run(pending.finish, of=of, waits=pending.waits)
        except OverloadedError as error:
            gate = self.find_loaded() or await self._load()
            await anyio.to_thread.run_sync(gate.refuse, context, error)
            raise

    def find_loaded(self) -> Gate | None:
        """Return the gate if it is loaded, without waiting; None also where it could not be."""
        if self._loaded is None and self._gate.done() and self._gate.exception() is None:
            self._loaded = self._gate.result()
        return self._loaded

    def find_problem(self) -> str | None:
        """Return why the gate could not be loaded, which is not tried again; None where it is, or
        may yet be.
        """
        error = self._gate.exception() if self._gate.done() else None
        if error is None or isinstance(error, ExpectedError):
            return error.message if error else None
        return "internal error; the server's log has the details"

    async def _load(self) -> Gate:
        """Return the gate; wait in a thread while it loads."""
        return await self._workers.run(self._gate.result, of=LOADING)


# the extension by which clients show views (`hits_view`)
EXTENSION = "io.modelcontextprotocol/ui"
# the key in a refused call's `_meta` that says when to retry
RETRY_AFTER = "io.stackroom/retryAfterS"
# marks an answer that a client which shows views asked for; which clients do, the SDK knows
DRAWN = "drawn"
FLAGGED = "io.stackroom/flagged"
"""The key in the `_meta` of an answer or a resource that has the places whose text reads like an
instruction.
"""


def tool_result(answer: Answer) -> dict[str, Any]:
    """Return a `CallToolResult` as JSON values; the SDK checks it, and drops fields that the
    revision does not have.
    """
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": answer.text}],
        "isError": answer.error is not None,
        "resultType": "complete",
    }
    if answer.structured is not None:
        result["structuredContent"] = answer.structured
    if answer.error is not None and answer.error.retry_after_s is not None:
        result["_meta"] = {RETRY_AFTER: math.ceil(answer.error.retry_after_s)}
    if answer.flags:
        result["_meta"] = flagged(answer.flags)
    return result


def flagged(flags: Sequence[Flag]) -> dict[str, Any] | None:
    """Return the `_meta` of an answer with its flags; None without any."""
    return {FLAGGED: [flag.plain() for flag in flags]} if flags else None


class DirectCalls:
    """Answers calls as bytes without the SDK: refused ones, those whose answer is cached, and reads
    without a session.

    The SDK makes tasks, queues and models for every request, which takes several times as long as
    such an answer. Requests are checked by its own functions; one that does not plainly pass goes
    on to the SDK, with what was begun of its call.
    """

    def __init__(self, gate: AsyncGate, server_info: Mapping[str, Any]) -> None:
        """`server_info` describes the server in answers of the revisions without sessions."""
        self._gate = gate
        self._server_info = server_info

    async def answer(
        self,
        caller: Origin,
        message: types.JSONRPCMessage,
        revision: str,
        *,
        may_wait: bool = False,
    ) -> bytes | Pending[Answer] | None:
        """Return the answer to a message as JSON; or the call that was begun, for the SDK; None
        where none was.

        Where nothing else waits for it, a read is finished, unless its client shows views, which
        the SDK knows of.
        """
        if not isinstance(message, types.JSONRPCRequest) or message.method != TOOL_CALL:
            return None
        params = message.params or {}
        if self._gate.find_loaded() is None:
            return None
        try:
            methods.validate_client_request(TOOL_CALL, revision, params)
        except (KeyError, ValidationError):
            return None
        arguments = tool_params(params.get("arguments") or {})
        begun = await self._gate.begin(params["name"], caller, arguments)
        is_finished = (
            may_wait and begun.context.cost is Cost.READ and EXTENSION not in str(params["_meta"])
        )
        if is_finished and begun.work is not None:
            try:
                begun = replace(begun, work=None, answer=await self._gate.finish(begun))
            except Exception as error:  # for the SDK to say why
                begun = replace(begun, work=None, refusal=error)
        if begun.answer is not None and (is_finished or DRAWN not in begun.answer.encodings):
            with suppress(TypeError):  # an integer of more than 64 bits, or an unpaired surrogate
                result = self._encoded(begun.answer, revision)
                return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(message.id), result)
        return begun

    def _encoded(self, answer: Answer, revision: str) -> bytes:
        """Return the result of a call as JSON, which is kept with a cached answer."""
        kept = answer.encodings.get(revision)
        if kept is None:
            told = tool_result(answer)
            if answer.structured is not None:  # nothing to check
                told["structuredContent"] = {}
            result = methods.serialize_server_result(TOOL_CALL, revision, told)
            if answer.structured is not None:
                result["structuredContent"] = orjson.Fragment(answer.encoded)
            if revision in MODERN_PROTOCOL_VERSIONS:
                result["_meta"] = {
                    **result.get("_meta", {}),
                    types.SERVER_INFO_META_KEY: self._server_info,
                }
            kept = answer.encodings[revision] = orjson.dumps(result)
        return kept
