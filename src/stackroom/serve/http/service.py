"""Dependencies of the HTTP endpoints, and requests as they get them: authenticated, read strictly
and validated.

Requests that no endpoint sees, since they have not their form, are audited here.
"""

import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from stackroom.assembly.server_health import ServerHealth
from stackroom.control.accounts.limits import LoginLimiter
from stackroom.control.control import Control
from stackroom.errors import ExpectedError, InputError, RateLimitedError, UnsupportedMediaTypeError
from stackroom.frozen import frozen
from stackroom.gate.auditing import CallContext
from stackroom.gate.gate import Gate
from stackroom.model.principal import ANONYMOUS, Principal
from stackroom.serve.async_gate import CALLER, AsyncGate, RefusalThrottle, Workers
from stackroom.serve.connections import Streams
from stackroom.serve.frames import StrictJSONError, decode_json, has_half_pair
from stackroom.serve.http.guard import Authenticator, Bodies
from stackroom.serve.http.metrics import Metrics
from stackroom.settings import Settings
from stackroom.text.safe import hide_places
from stackroom.tools.faces.rest import Door
from stackroom.tools.operation import AnyOperation, Origin, RawParams, origin_of

ResultT = TypeVar("ResultT")

STRANGER = origin_of(ANONYMOUS, via="rest")


@dataclass(slots=True, kw_only=True)
class Service:
    """The gate, and what the endpoints need beside it."""

    settings: Settings
    opened_gate: "Future[Gate]"  # it listens before the catalogues are loaded
    control: Control | None  # accounts and audit; None on a server without accounts
    workers: Workers
    streams: Streams
    metrics: Metrics
    health: ServerHealth
    hide_places: Callable[[str], str] = hide_places
    """Takes paths and addresses out of a reason, for callers who do not administer the server."""
    operations: Sequence[AnyOperation] = ()  # those that packages and uploads bring
    bodies: Bodies = field(default_factory=Bodies)
    gate: AsyncGate = field(init=False)
    authenticator: Authenticator = field(init=False)
    audited_strangers: LoginLimiter = field(default_factory=LoginLimiter)
    """Of refused requests by unauthenticated callers, only so many a minute are audited as may try
    to log in.
    """
    started_at: float = field(default_factory=time.monotonic)
    is_ending: bool = False  # whether it takes no more requests, and drains before it stops

    def __post_init__(self) -> None:
        """Make what follows from gate and accounts."""
        throttle = RefusalThrottle()
        self.gate = AsyncGate(self.opened_gate, self.workers, throttle=throttle)
        identities = self.control.identities if self.control else None
        self.authenticator = Authenticator(identities, base_url=self.base_url, throttle=throttle)

    def base_url(self, scope: Scope) -> str:
        """Return the address that clients use for this server: the configured one, else that of
        this request.
        """
        scheme = "https" if scope["scheme"] in ("https", "wss") else "http"
        return (
            self.settings.server.public_url or f"{scheme}://{Headers(scope=scope).get('host', '')}"
        )

    async def refused(
        self, request: Request, name: str, error: ExpectedError, *, target: str = ""
    ) -> ExpectedError:
        """Audit a request that is refused by an error, and return the error; raise RateLimitedError
        where it is one too many.
        """
        caller: Origin | None = request.scope.get(CALLER)
        if caller is None:
            try:
                self.audited_strangers.require("", request.client.host if request.client else "")
            except RateLimitedError:
                return error
        asked = CallContext(
            origin=caller or STRANGER,
            operation=name,
            target=target,
            parameters={"problem": error.message},  # no value of a body is in it
        )
        await self.gate.refuse_invalid(asked, error)
        return error


TOOL_PATH = "/v1/tools/{name}"  # the path of every tool; the OpenAPI document has them one by one
PARAMETER = "parameter"  # the word for a value of a query string
# up to how many bytes a body is decoded on the event loop; decoding more is worth a thread
DECODED_AT_ONCE = 64 * 1024

_DECODERS = anyio.CapacityLimiter(2)
"""Decoding holds the interpreter's lock, and memory many times the size of a body: more at once
would gain nothing.
"""
_JSON_TYPE = re.compile(r'application/json(\s*;\s*charset="?utf-8"?)?\s*', re.IGNORECASE)


@frozen
class ServerRequest:
    """A request to an endpoint of the server, with what its declaration promises."""

    service: Service
    http: Request
    params: Any = None

    @property
    def caller(self) -> Origin:
        """The authenticated caller."""
        caller: Origin = self.http.scope[CALLER]
        return caller

    async def look(self, work: Callable[[Gate, Principal], ResultT]) -> ResultT:
        """Ask the gate for what it serves to the caller."""
        return await self.service.gate.look(self.caller.principal, work)

    @property
    def control(self) -> Control:
        """The accounts; only for endpoints that need them."""
        assert self.service.control is not None, (
            "endpoints that need accounts are refused without them"
        )
        return self.service.control

    @property
    def base_url(self) -> str:
        """The address that the client uses for this server."""
        return self.service.base_url(self.http.scope)


async def read_raw(door: Door, request: Request) -> RawParams:
    """Return the parameters of a request to an operation, as they were sent."""
    apart = {name: str(value) for name, value in request.path_params.items()}
    try:
        if door.body is not None:
            return RawParams(values=await read_object(request), apart=apart)
        values: dict[str, Any] = _read_query(door.query, request)
        if door.raw_body:
            values[door.raw_body] = await request.body()
        return RawParams(values=values, apart=apart, noun=PARAMETER, shows_values=True)
    except ExpectedError as error:
        # another error of the same words: that one refers to the input, and a thread remembers what
        # it worked on
        return RawParams(values={}, problem=type(error)(error.message))


def _read_query(shape: type[BaseModel] | None, request: Request) -> dict[str, Any]:
    """Return those parameters of a query string that are declared."""
    sent: dict[str, Any] = {}
    for name in shape.model_fields if shape else ():
        values = request.query_params.getlist(name)
        if len(values) > 1:
            raise InputError(f"'{name}' is in the query string {len(values)} times; give it once")
        if values:
            sent[name] = values[0]
    return sent


async def read_object(request: Request) -> dict[str, Any]:
    """Return the JSON object in a request's body; an empty one where there is no body."""
    body, declared = await request.body(), request.headers.get("content-type")
    is_json = not body if declared is None else _JSON_TYPE.fullmatch(declared)
    if not is_json:
        raise UnsupportedMediaTypeError("the body must be JSON: Content-Type: application/json")
    if len(body) <= DECODED_AT_ONCE:
        return decode_object(body)
    decoded = await anyio.to_thread.run_sync(_decode_taken, [body], limiter=_DECODERS)
    # an error kept in a variable here would keep this frame, and with it the body
    if isinstance(decoded, str):
        raise InputError(decoded)
    return decoded


def decode_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object of a body; ambiguous JSON, such as duplicate keys, is refused."""
    if not raw.strip():
        return {}
    try:
        decoded, text = decode_json(raw, is_finite=True)
    except StrictJSONError as error:
        raise InputError(f"the body is not valid JSON: {error}") from error
    if has_half_pair(decoded, text):
        raise InputError(
            "a text in the body has half of a surrogate pair, which is no character; send both"
            " halves"
        )
    if not isinstance(decoded, dict):
        raise InputError("the body must be a JSON object: {…}")
    return decoded


def _decode_taken(bodies: list[bytes]) -> dict[str, Any] | str:
    """Decode the last body of a list, or return what is wrong with it.

    An idle thread remembers its last arguments and the exception that it raised, with all that they
    refer to.
    """
    try:
        return decode_object(bodies.pop())
    except InputError as error:
        return error.message
