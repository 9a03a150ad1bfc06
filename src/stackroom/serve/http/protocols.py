"""Endpoints that follow another API's rules: its parameters, credentials and errors, by the same
gate as every call.

A password that comes with each request is checked once: it begins a session, whose secret is kept
in memory under a keyed hash of the pair, and ends as every session does.
"""

import hmac
import math
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import request_response
from starlette.types import ASGIApp

from stackroom.control.accounts.users import fold_name
from stackroom.errors import ExpectedError, ForbiddenError, InputError, UnauthenticatedError
from stackroom.model.principal import Identity
from stackroom.serve.async_gate import CALLER, PerCallerLimit
from stackroom.serve.http.accounts import WRONG_PAIR, LoginParams, begin_session
from stackroom.serve.http.guard import WithBody, require_password_chosen
from stackroom.serve.http.replies import PRIVATE
from stackroom.serve.http.service import PARAMETER, STRANGER, ServerRequest, Service
from stackroom.text.safe import safe_json, safe_text
from stackroom.tools.faces.rest import ClientProtocol, Door, GivenLogin, TextReply
from stackroom.tools.media import MediaFile
from stackroom.tools.operation import LOCAL, Origin, RawParams
from stackroom.tools.spec import validate_fields

MOST_FORM_BYTES = 512 * 1024
MOST_PARAMETERS = 10_000
MOST_PASSWORDS = 1_000  # the most checked passwords that are remembered
FORM = "application/x-www-form-urlencoded"
COMPRESSED_FROM = 2_000

Run = Callable[[Request, RawParams], Awaitable[Response]]


def build_protocol_app(
    service: Service,
    logins: "ProtocolLogins",
    door: Door,
    protocol: ClientProtocol,
    run: Run,
) -> ASGIApp:
    """Return the application of an endpoint that follows another API's rules."""

    async def handle(request: Request) -> Response:
        first: dict[str, str] = {}
        try:
            sent = await _read_parameters(request)
            first = {name: values[0] for name, values in sent.items()}
            _require_own_page(request.headers)
            identity = await logins.identify(door, protocol, request, first)
            request.scope[CALLER] = Origin(identity=identity, via="rest")
            return await run(request, _declared(door, sent))
        except ExpectedError as error:
            return _refusal(error, protocol.reply_error(error, first))

    app: ASGIApp = request_response(handle)
    if door.result is not MediaFile:
        app = GZipMiddleware(app, minimum_size=COMPRESSED_FROM)
    return WithBody(app, service.bodies, most_bytes=MOST_FORM_BYTES, is_public=True)


def text_reply(reply: TextReply) -> Response:
    """Return an answer in a form of its own, safe to show."""
    text = (
        safe_json(reply.text) if reply.media_type == "application/json" else safe_text(reply.text)
    )
    return Response(text, media_type=reply.media_type, headers=PRIVATE)


def _refusal(error: ExpectedError, reply: TextReply) -> Response:
    """Return an error; its status is 200, as clients expect, unless it is worth to try again."""
    response = text_reply(reply)
    if error.retry_after_s is not None:
        response.status_code = error.http_status
        response.headers["Retry-After"] = str(math.ceil(error.retry_after_s))
    return response


def _declared(door: Door, sent: Mapping[str, list[str]]) -> RawParams:
    """Return those parameters that are declared."""
    fields = door.query.model_fields if door.query else {}
    known = {field.alias or name for name, field in fields.items()}
    values = {
        name: some if len(some) > 1 else some[0] for name, some in sent.items() if name in known
    }
    return RawParams(values=values, noun=PARAMETER, shows_values=True)


async def _read_parameters(request: Request) -> dict[str, list[str]]:
    """Return the parameters of the query string and of a form, each with its values in order."""
    body = await request.body()
    is_form = request.headers.get("content-type", "").partition(";")[0].strip().lower() == FORM
    if body and not is_form:
        raise InputError(f"the body must be a form: Content-Type: {FORM}")
    query = request.scope["query_string"].decode("latin-1")
    try:
        return parse_qs(
            "&".join(filter(None, [query, body.decode()])), True, max_num_fields=MOST_PARAMETERS
        )
    except ValueError as error:
        raise InputError(f"the parameters cannot be read: {error}") from error


def _require_own_page(headers: Headers) -> None:
    """Refuse what a browser asks for on behalf of another site: without accounts it would be the
    local user's.
    """
    is_foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    if is_foreign and "origin" not in headers:  # an allowed origin has passed the guard
        raise ForbiddenError("a page of another site may not ask for this")


class ProtocolLogins:
    """Authenticates requests by the credentials among their parameters."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._key = secrets.token_bytes(32)
        self._sessions: OrderedDict[bytes, str] = OrderedDict()
        """Secrets of the sessions that began with a password, by a keyed hash of name and
        password.
        """
        self._checking = PerCallerLimit(1)

    async def identify(
        self,
        door: Door,
        protocol: ClientProtocol,
        request: Request,
        parameters: Mapping[str, str],
    ) -> Identity:
        """Return the caller; without accounts every request is the local user's."""
        if self._service.control is None:
            return LOCAL.identity
        if door.needs.is_public:
            return STRANGER.identity
        given = protocol.find_login(parameters)
        identity = await self._service.authenticator.identify_secret(given.secret)
        if identity is None and given.user:
            identity = await self._by_password(request, given)
        if identity is None or (given.user and identity.principal.name != fold_name(given.user)):
            raise UnauthenticatedError(
                WRONG_PAIR if given.user else "the token is not valid; create another one"
            )
        require_password_chosen(identity)
        return identity

    async def _by_password(self, request: Request, given: GivenLogin) -> Identity | None:
        """Return the identity of a user by their password, which is checked where it is not
        remembered.
        """
        pair = hmac.digest(
            self._key, f"{given.user}\0{given.secret}".encode("utf-8", "replace"), "sha256"
        )
        identify_secret = self._service.authenticator.identify_secret
        # clients ask for much at once, and each password costs
        async with self._checking.of(pair.hex()):
            known = await identify_secret(self._sessions[pair]) if pair in self._sessions else None
            if known is not None:
                return known
            wanted = validate_fields(LoginParams, {"name": given.user, "password": given.secret})
            asked = ServerRequest(service=self._service, http=request)
            begun = await begin_session(asked, wanted, takes_one_time=False)
            self._sessions[pair] = begun.secret
            while len(self._sessions) > MOST_PASSWORDS:
                self._sessions.popitem(last=False)
            return await identify_secret(begun.secret)
