"""Every path but MCP's: one table of endpoints, and the routes that follow from it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route, request_response
from starlette.types import ASGIApp, Receive, Scope, Send

from stackroom.admin.operations import ADMIN_OPERATIONS
from stackroom.errors import ExpectedError, ForbiddenError, NotFoundError, UnknownResourceError
from stackroom.gate.auditing import CallContext
from stackroom.gate.gate import Gate, Shown
from stackroom.generic.tools import EXPORT
from stackroom.serve.async_gate import CALLER, AsyncGate
from stackroom.serve.frames import MAX_FRAME_BYTES
from stackroom.serve.http import replies
from stackroom.serve.http.accounts import ACCOUNT_ENDPOINTS
from stackroom.serve.http.guard import Authenticated, WithBody
from stackroom.serve.http.openapi import openapi_endpoint
from stackroom.serve.http.protocols import ProtocolLogins, Run, build_protocol_app, text_reply
from stackroom.serve.http.rest import REST_ENDPOINTS
from stackroom.serve.http.server import SERVER_ENDPOINTS
from stackroom.serve.http.service import ServerRequest, Service, read_raw, read_request
from stackroom.tools.endpoint import Download, Endpoint, EndpointRequest, EndpointSpec, TextReply
from stackroom.tools.faces.rest import OperationEndpoint, operation_endpoints
from stackroom.tools.media import CallerMedia, MediaFile, MediaKind
from stackroom.tools.operation import Origin

MEDIA_KINDS = tuple(kind.value for kind in MediaKind)
COMPRESSED_FROM = 2_000
"""From how many bytes on answers to `GET` are compressed; calls by `POST` come from programs
nearby, and are not.
"""
COMPRESSION = 5


def build_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of all endpoints, one for each path."""
    methods: dict[str, dict[str, ASGIApp]] = {}
    logins = ProtocolLogins(service)
    for endpoint in list_endpoints(service):
        app = _build_app(service, endpoint, logins)
        protocol = endpoint.protocol if isinstance(endpoint, Endpoint) else None
        addresses = [(endpoint.method, endpoint.path)]
        if protocol is not None:
            paths = (endpoint.path, f"{endpoint.path}{protocol.suffix}")
            addresses = [(method, path) for method in ("GET", "POST") for path in paths]
        for method, path in addresses:
            on_path = methods.setdefault(path, {})
            if method in on_path:
                raise ValueError(f"two endpoints answer {method} {path}")
            on_path[method] = app
    return [Route(path, _ByMethod(apps), methods=list(apps)) for path, apps in methods.items()]


def list_endpoints(service: Service) -> list[EndpointSpec]:
    """Return the server's own endpoints and those that catalogue packages bring."""
    endpoints = [
        *REST_ENDPOINTS,  # first, since routes are tried in this order
        *SERVER_ENDPOINTS,
        *ACCOUNT_ENDPOINTS,
        *operation_endpoints(ADMIN_OPERATIONS),
        MEDIA_FILE,
        EXPORT,
        *service.endpoints,
    ]
    return [*endpoints, openapi_endpoint(endpoints)]


def show_file(request: EndpointRequest[None, None]) -> MediaFile:
    """Return a file of a record, such as its cover, whole or a range of bytes."""
    kind, record_id = request.path["kind"], request.path["id"]
    if kind in MEDIA_KINDS:
        found = request.media.find_file_in(request.path["catalogue"], record_id, MediaKind(kind))
        if found is not None:
            return found
    asked = record_id[:200]
    raise UnknownResourceError(
        f"there is no {kind[:20]} of '{asked}'; get the record to see what it has", uri=asked
    )


MEDIA_FILE = Endpoint(
    "GET",
    "/v1/media/{catalogue}/{kind}/{id:path}",
    show_file,
    tag="page",
    action=None,
    target="id",
    result=MediaFile,
    is_limited=False,
    path_parameters={
        "catalogue": "the record's catalogue",
        "kind": " or ".join(MEDIA_KINDS),
        "id": "the record's id",
    },
    media_type="*/*",
    operation="media/file",
)


def _through_gate(async_gate: AsyncGate, endpoint: Endpoint) -> Run:
    """Return how an endpoint is answered: permission, rate limit and audit by the gate, then its
    function.
    """

    async def run(request: ServerRequest) -> Response:
        context = _context_of(endpoint, request)

        def work(gate: Gate) -> Response:
            def answer() -> Response:
                return _reply(
                    endpoint, request, context, _run_endpoint(endpoint, gate, request, context)
                )

            if not endpoint.is_audited:
                return answer()

            def count_sent(reply: Response) -> int:
                return replies.count_sent(request.http, reply)

            return gate.perform(context, answer, is_limited=endpoint.is_limited, size_of=count_sent)

        return await async_gate.run(
            context.principal, work, context if endpoint.is_audited else None
        )

    return run


def _run_endpoint(
    endpoint: Endpoint, gate: Gate, request: ServerRequest, context: CallContext
) -> Any:
    principal, action = context.principal, endpoint.action
    if action is not None and action not in principal.actions:
        raise ForbiddenError(f"this needs the permission {action}, and you do not have it")
    toolbox = gate.toolbox_of(principal)
    return endpoint.run(
        EndpointRequest(
            identity=request.identity,
            call_id=context.call_id,
            path=_path_of(request),
            query=request.query,
            body=request.body,
            catalogues=toolbox.catalogues,
            media=CallerMedia(principal, toolbox.media),
        )
    )


def _reply(
    endpoint: Endpoint, request: ServerRequest, context: CallContext, result: Any
) -> Response:
    if isinstance(result, MediaFile):
        return replies.file_reply(request.http, result, context.target)
    if isinstance(result, Download):
        saved = {"Content-Disposition": f"attachment; filename*=utf-8''{quote(result.name)}"}
        return StreamingResponse(
            result.pieces, 200, {**replies.CONTENT_HEADERS, **saved}, result.media_type
        )
    if isinstance(result, TextReply):
        return text_reply(result)
    if endpoint.result is None:
        return Response(status_code=endpoint.status)
    headers = replies.NO_STORE if endpoint.is_secret else replies.PRIVATE
    return replies.model_reply(result, status=endpoint.status, headers=headers)


def _context_of(endpoint: Endpoint, request: ServerRequest) -> CallContext:
    """Return a request as it is audited: its target, and what was sent beside it where that is
    noted.
    """
    name, target = endpoint.target, ""
    parameters: dict[str, Any] = _path_of(request)
    if name is not None:
        target = parameters[name] if name in parameters else str(getattr(request.body, name))
    for part in (request.query, request.body) if endpoint.notes_parameters else ():
        parameters |= part.model_dump(mode="json", exclude_unset=True) if part else {}
    parameters.pop(name or "", None)
    noted = parameters if endpoint.notes_parameters else {}
    return request.caller.asking(endpoint.audited_as, target, noted, cost=endpoint.cost)


async def _run_operation(
    service: Service, endpoint: OperationEndpoint, request: Request
) -> Response:
    """Answer a request to an operation by the gate."""
    operation, caller = endpoint.declared, request.scope[CALLER]
    raw, origin = await read_raw(endpoint, request), Origin(identity=caller.identity, via="rest")
    headers = replies.NO_STORE if operation.faces.secret else replies.PRIVATE

    def show(result: Any) -> Shown:
        return Shown(replies.model_reply(result, status=endpoint.status, headers=headers))

    reply: Response = await service.gate.operate(operation, origin, raw, show)
    return reply


class _ByMethod:
    """ASGI: the applications of one path, by HTTP method."""

    def __init__(self, apps: Mapping[str, ASGIApp]) -> None:
        self._apps = apps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await self._apps[method](scope, receive, send)


def _build_app(service: Service, endpoint: EndpointSpec, logins: ProtocolLogins) -> ASGIApp:
    if endpoint.needs_accounts and service.control is None:
        return request_response(replies.with_error_replies(_refuse_without_accounts))
    run: Run = (
        _through_gate(service.gate, endpoint) if isinstance(endpoint, Endpoint) else endpoint.run
    )
    if isinstance(endpoint, Endpoint) and endpoint.protocol:
        return build_protocol_app(service, logins, endpoint, endpoint.protocol, run)

    async def handle(request: Request) -> Response:
        if isinstance(endpoint, OperationEndpoint):
            return await _run_operation(service, endpoint, request)
        try:
            asked = await read_request(service, endpoint, request)
        except ExpectedError as error:
            raise await service.refused(request, endpoint.audited_as, error) from None
        return await run(asked)

    answering: ASGIApp = request_response(replies.with_error_replies(handle))
    if endpoint.method == "GET" and endpoint.result not in (MediaFile, Download):
        answering = GZipMiddleware(
            answering, minimum_size=COMPRESSED_FROM, compresslevel=COMPRESSION
        )
    most_bytes = endpoint.max_body_bytes or MAX_FRAME_BYTES
    app = WithBody(answering, service.bodies, most_bytes=most_bytes, is_public=endpoint.is_public)
    if endpoint.is_public:
        return app
    return Authenticated(
        app, service.authenticator, via="rest", before_password=endpoint.before_password
    )


async def _refuse_without_accounts(_request: Request) -> Response:
    raise NotFoundError(
        "this server has no accounts: every request is the local user's, and needs no token"
    )


def _path_of(request: ServerRequest) -> dict[str, str]:
    return {name: str(value) for name, value in request.http.path_params.items()}
