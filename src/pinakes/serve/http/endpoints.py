"""What the endpoints of REST have in common: who asks, a JSON object in, failures out in one form."""

import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from pinakes.errors import ExpectedError, InputError, TooLargeError, did_you_mean
from pinakes.gate.problems import message_of, place_of, refusal_of, require_few
from pinakes.model.principal import Identity
from pinakes.serve.caller import CALLER, Caller
from pinakes.serve.frames import MAX_FRAME_BYTES
from pinakes.serve.http.authenticate import IDENTITY
from pinakes.serve.http.replies import error_reply, status_reply
from pinakes.serve.strict_json import StrictJSONError, decode_json, has_half_pair
from pinakes.settings import Settings

PRIVATE = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}
"""Headers of an answer that is for this caller alone."""
CONTENT_HEADERS = {**PRIVATE, "Content-Security-Policy": "default-src 'none'; sandbox"}
"""Headers of an answer that is somebody's content, which must not run in a browser."""
SECRET = {"Cache-Control": "no-store"}
"""Headers of an answer that nobody may keep."""

SMALL_BODY = 16 * 1024
"""How many bytes are taken from somebody who is not known, or for what is always small."""
DECODED_AT_ONCE = 64 * 1024
"""Up to how many bytes decoding a body takes less time than handing it to a thread is worth."""

MOST_DIGITS = 9
MOST_OFFSET = 10**MOST_DIGITS - 1

_JSON_TYPE = re.compile(r'application/json(\s*;\s*charset="?utf-8"?)?\s*', re.IGNORECASE)

Endpoint = Callable[[Request], Awaitable[Response]]
BodyEndpoint = Callable[[Request, dict[str, Any]], Awaitable[Response]]
ModelT = TypeVar("ModelT", bound="BodyParams")


class BodyParams(BaseModel):
    """The body of a request; what is not declared is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def answering(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint, with its foreseen failures as replies."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ExpectedError as error:
            return error_reply(error, {"WWW-Authenticate": "Bearer"} if error.http_status == 401 else None)

    return answered


def with_json_body(endpoint: BodyEndpoint, *, most_bytes: int = MAX_FRAME_BYTES) -> Endpoint:
    """Return an endpoint that is given the object in the request's body; without a body, an empty one."""

    async def given(request: Request) -> Response:
        body = await request.body()
        if not _is_json(request.headers, body):
            return status_reply(415, "unsupported_media_type", "the body must be JSON: Content-Type: application/json")
        if len(body) > most_bytes:
            raise TooLargeError(f"a body is at most {most_bytes} bytes long here")
        if len(body) > DECODED_AT_ONCE:
            return await endpoint(request, await anyio.to_thread.run_sync(decode_object, body))
        return await endpoint(request, decode_object(body))

    return given


def by_method(endpoints: dict[str, Endpoint]) -> Endpoint:
    """Return one endpoint for a path whose methods do different things."""

    async def chosen(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await endpoints[method](request)

    return chosen


def asking(request: Request) -> Caller:
    """Return whom a request is from."""
    caller = request.scope[CALLER]
    assert isinstance(caller, Caller)
    return caller


def identity_of(request: Request) -> Identity:
    """Return whom a request is from, by which credential."""
    identity = request.scope[IDENTITY]
    assert isinstance(identity, Identity)
    return identity


def find_parameter(request: Request, name: str) -> str | None:
    """Return a parameter of the address; one that is there twice could mean either, and is refused."""
    given = request.query_params.getlist(name)
    if len(given) > 1:
        raise InputError(f"'{name}' is there {len(given)} times in the address; give it once")
    return given[0] if given else None


def page_of(request: Request, *, most: int) -> tuple[int, int]:
    """Return the offset and the limit of a list as the address gives them; else all of it is asked for."""
    offset = _whole_number(request, "offset", least=0, most=MOST_OFFSET, usual=0)
    return offset, _whole_number(request, "limit", least=1, most=most, usual=most)


def _whole_number(request: Request, name: str, *, least: int, most: int, usual: int) -> int:
    given = find_parameter(request, name)
    if given is None:
        return usual
    is_number = given.isascii() and given.isdecimal() and len(given) <= MOST_DIGITS
    if not is_number or not least <= int(given) <= most:
        raise InputError(f"'{name}' must be a whole number, {least:,} to {most:,} (given: {given[:60]!r})")
    return int(given)


def base_url(settings: Settings, scope: Scope) -> str:
    """Return what clients call this server by: as configured, else as this request did."""
    scheme = "https" if scope["scheme"] in ("https", "wss") else "http"
    return settings.server.public_url or f"{scheme}://{Headers(scope=scope).get('host', '')}"


def decode_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object of a body; what could be read in two ways is refused."""
    if not raw.strip():
        return {}
    try:
        decoded, text = decode_json(raw, is_finite=True)
    except StrictJSONError as error:
        raise InputError(f"the body is not valid JSON: {error}") from error
    if has_half_pair(decoded, text):
        raise InputError("a text in the body has half of a surrogate pair, which is no character")
    if not isinstance(decoded, dict):
        raise InputError("the body must be a JSON object: {…}")
    return decoded


def validated(model: type[ModelT], body: dict[str, Any]) -> ModelT:
    """Return the body as what it must be; what was given is not repeated, since it may be a secret."""
    require_few(body, "fields", known=list(model.model_fields))
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise refusal_of(error, lambda details: _problem(model, details)) from error


def _problem(model: type[BodyParams], details: Any) -> str:
    place, known = place_of(details), list(model.model_fields)
    if details["type"] == "extra_forbidden":
        return f"unknown field '{place[:80]}'{did_you_mean(place, known)}; known: {', '.join(known)}"
    if details["type"] == "missing":
        description = model.model_fields[place].description if place in known else None
        return f"'{place}' is missing{f': {description}' if description else ''}"
    return f"'{place}': {message_of(details)}"


def _is_json(headers: Headers, body: bytes) -> bool:
    given = headers.get("content-type")
    return not body if given is None else _JSON_TYPE.fullmatch(given) is not None
