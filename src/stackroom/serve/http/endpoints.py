"""Requests as the server's endpoints get them: authenticated, with query and body read strictly and validated."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.requests import Request

from stackroom.control.control import Control
from stackroom.errors import InputError, UnsupportedMediaTypeError
from stackroom.model.principal import Identity
from stackroom.serve.async_gate import CALLER, Caller
from stackroom.serve.frames import StrictJSONError, decode_json, has_half_pair
from stackroom.serve.http.service import Service, base_url
from stackroom.tools.endpoint import EndpointSpec
from stackroom.tools.spec import validate_fields

TOOL_PATH = "/v1/tools/{name}"
"""The path of every tool; the OpenAPI document has them one by one."""
PARAMETER = "parameter"
"""The word for a value of a query string."""
DECODED_AT_ONCE = 64 * 1024
"""Up to how many bytes a body is decoded on the event loop; decoding more is worth a thread."""

_DECODERS = anyio.CapacityLimiter(2)
"""Decoding holds the interpreter's lock, and memory many times the size of a body: more at once would gain nothing."""
_JSON_TYPE = re.compile(r'application/json(\s*;\s*charset="?utf-8"?)?\s*', re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRequest:
    """A request to an endpoint of the server, with what its declaration promises."""

    service: Service
    http: Request
    query: Any = None
    body: Any = None

    @property
    def caller(self) -> Caller:
        """The authenticated caller."""
        caller = self.http.scope[CALLER]
        assert isinstance(caller, Caller)
        return caller

    @property
    def control(self) -> Control:
        """The accounts; only for endpoints that need them."""
        assert self.service.control is not None, "endpoints that need accounts are refused without them"
        return self.service.control

    @property
    def base_url(self) -> str:
        """The address that the client uses for this server."""
        return base_url(self.service.settings, self.http.scope)

    @property
    def identity(self) -> Identity:
        """The authenticated caller, with their credential."""
        identity = self.caller.identity
        assert identity is not None, "every caller over HTTP has one"
        return identity


async def read_request(service: Service, spec: EndpointSpec, request: Request) -> ServerRequest:
    """Return a request with its body and query validated; refuse it where they are not as declared."""
    body: Any = None
    query = None
    if spec.takes_bytes:
        body = await request.body()
    elif spec.body:
        body = validate_fields(spec.body, await read_object(request))
    if spec.query:
        sent = _read_query(request, spec.query.model_fields)
        query = validate_fields(spec.query, sent, noun=PARAMETER, shows_values=True)
    return ServerRequest(service=service, http=request, query=query, body=body)


async def read_object(request: Request) -> dict[str, Any]:
    """Return the JSON object in a request's body; an empty one where there is no body."""
    body = await request.body()
    if not _is_json(request.headers, body):
        raise UnsupportedMediaTypeError("the body must be JSON: Content-Type: application/json")
    if len(body) <= DECODED_AT_ONCE:
        return decode_object(body)
    decoded = await anyio.to_thread.run_sync(_decode_taken, [body], limiter=_DECODERS)
    if isinstance(decoded, str):  # an error kept in a variable here would keep this frame, and with it the body
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
        raise InputError("a text in the body has half of a surrogate pair, which is no character; send both halves")
    if not isinstance(decoded, dict):
        raise InputError("the body must be a JSON object: {…}")
    return decoded


def _decode_taken(bodies: list[bytes]) -> dict[str, Any] | str:
    """Decode the last body of a list, or return what is wrong with it.

    An idle thread remembers its last arguments and the exception that it raised, with all that they refer to.
    """
    try:
        return decode_object(bodies.pop())
    except InputError as error:
        return error.message


def _read_query(request: Request, names: Mapping[str, Any]) -> dict[str, str]:
    """Return the declared parameters of the query string; a repeated one is ambiguous, and refused."""
    found: dict[str, str] = {}
    for name in names:
        values = request.query_params.getlist(name)
        if len(values) > 1:
            raise InputError(f"'{name}' is in the query string {len(values)} times; give it once")
        if values:
            found[name] = values[0]
    return found


def _is_json(headers: Headers, body: bytes) -> bool:
    declared = headers.get("content-type")
    return not body if declared is None else _JSON_TYPE.fullmatch(declared) is not None
