"""Every path but MCP's: one table of endpoints, and the routes that follow from it."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, request_response
from starlette.types import ASGIApp, Receive, Scope, Send

from stackroom.admin.access import ACCESS_OPERATIONS, TOKEN_OPERATIONS
from stackroom.admin.audit import AUDIT_OPERATIONS
from stackroom.admin.catalogues import CATALOGUE_OPERATIONS
from stackroom.admin.jobs import JOB_OPERATIONS
from stackroom.admin.users import ROLE_OPERATIONS, USER_OPERATIONS
from stackroom.errors import ExpectedError, NotFoundError, UnknownResourceError
from stackroom.gate.answer import ResultSummary, Shown
from stackroom.gate.resources import show_content
from stackroom.generic.export import export_records
from stackroom.serve.async_gate import CALLER
from stackroom.serve.frames import MAX_FRAME_BYTES
from stackroom.serve.http import replies
from stackroom.serve.http.accounts import ACCOUNT_DOORS
from stackroom.serve.http.guard import Authenticated, WithBody
from stackroom.serve.http.openapi import openapi_door
from stackroom.serve.http.protocols import ProtocolLogins, Run, build_protocol_app, text_reply
from stackroom.serve.http.rest import REST_DOORS, content_reply
from stackroom.serve.http.server import SERVER_DOORS
from stackroom.serve.http.service import ServerRequest, Service, read_raw
from stackroom.tools.faces.rest import Door, Download, TextReply, list_doors
from stackroom.tools.media import MediaFile, MediaKind
from stackroom.tools.operation import (
    ANY_CALLER,
    OFF,
    AnyOperation,
    Audit,
    Call,
    Faces,
    Operation,
    RawParams,
    Rest,
    operation,
)
from stackroom.tools.resources import ResourceContent
from stackroom.tools.spec import GenericParams

ADMIN_OPERATIONS: tuple[AnyOperation, ...] = (
    *(*USER_OPERATIONS, *ROLE_OPERATIONS, *TOKEN_OPERATIONS, *ACCESS_OPERATIONS),
    *(*CATALOGUE_OPERATIONS, *JOB_OPERATIONS, *AUDIT_OPERATIONS),
)
"""Every operation of an administrator, in the order in which documents list them."""
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
    for door in list_endpoints(service):
        app, protocol = _build_app(service, door, logins), door.rest.protocol
        addresses = [(door.method, door.path)]
        if protocol is not None:
            paths = (door.path, f"{door.path}{protocol.suffix}")
            addresses = [(method, path) for method in ("GET", "POST") for path in paths]
        for method, path in addresses:
            on_path = methods.setdefault(path, {})
            if method in on_path:
                raise ValueError(f"two endpoints answer {method} {path}")
            on_path[method] = app
    return [Route(path, _ByMethod(apps), methods=list(apps)) for path, apps in methods.items()]


def list_endpoints(service: Service) -> list[Door]:
    """Return the endpoints of the server and of the operations that it offers."""
    doors = [
        *REST_DOORS,  # first, since routes are tried in this order
        *SERVER_DOORS,
        *ACCOUNT_DOORS,
        *list_doors([*ADMIN_OPERATIONS, show_file, export_records, *service.operations]),
    ]
    return [*doors, openapi_door(doors)]


class FileParams(GenericParams):
    """A file of a record."""

    catalogue: str = Field(description="the record's catalogue")
    kind: str = Field(description=" or ".join(MEDIA_KINDS))
    id: str = Field(description="the record's id")


@operation(
    "media/file",
    needs=ANY_CALLER,
    faces=Faces(
        tool=OFF,
        rest=Rest(
            "GET /v1/media/{catalogue}/{kind}/{id:path}",
            tag="page",
            operation_id="showFile",
            media_type="*/*",
        ),
        audit=Audit(target="id", notes_parameters=False, is_limited=False),
    ),
)
def show_file(call: Call, params: FileParams) -> MediaFile:
    """Return a file of a record, such as its cover, whole or a range of bytes."""
    if params.kind in MEDIA_KINDS:
        found = call.media.find_file_in(params.catalogue, params.id, MediaKind(params.kind))
        if found is not None:
            return found
    asked = params.id[:200]
    raise UnknownResourceError(
        f"there is no {params.kind[:20]} of '{asked}'; get the record to see what it has", uri=asked
    )


def _answer_of(service: Service, wanted: AnyOperation) -> Run:
    """Return how requests to an operation are answered, by the gate."""
    rest, faces = wanted.faces.rest, wanted.faces
    assert isinstance(rest, Rest), "it has an address"
    status, headers = rest.status, replies.NO_STORE if faces.secret else replies.PRIVATE

    async def run(request: Request, raw: RawParams) -> Response:
        def show(result: Any) -> Shown:
            if isinstance(result, MediaFile):
                given = {**raw.values, **raw.apart}
                reply = replies.file_reply(request, result, str(given.get(faces.audit.target, "")))
                return Shown(reply, ResultSummary(replies.count_sent(request, reply), ""))
            if isinstance(result, ResourceContent):
                return Shown(content_reply(result), show_content(result).summary)
            if isinstance(result, Download):
                return Shown(replies.download_reply(result))
            if isinstance(result, TextReply):
                return Shown(text_reply(result))
            if result is None:
                return Shown(Response(status_code=status))
            return Shown(replies.model_reply(result, status=status, headers=headers))

        reply: Response = await service.gate.run(wanted, request.scope[CALLER], raw, show=show)
        return reply

    return run


class _ByMethod:
    """ASGI: the applications of one path, by HTTP method."""

    def __init__(self, apps: Mapping[str, ASGIApp]) -> None:
        self._apps = apps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await self._apps[method](scope, receive, send)


def _build_app(service: Service, door: Door, logins: ProtocolLogins) -> ASGIApp:
    if door.needs.accounts and service.control is None:
        return request_response(replies.with_error_replies(_refuse_without_accounts))
    run = _answer_of(service, door.behind) if isinstance(door.behind, Operation) else None
    shape = door.body or door.query
    if run and door.rest.protocol:
        return build_protocol_app(service, logins, door, door.rest.protocol, run)

    async def handle(request: Request) -> Response:
        raw = await read_raw(door, request)
        if run is not None:
            return await run(request, raw)
        try:
            params = raw.read(shape) if shape else None
        except ExpectedError as error:
            raise await service.refused(request, door.name, error) from None
        asked = ServerRequest(service=service, http=request, params=params)
        reply: Response = await door.behind(asked)
        return reply

    answering: ASGIApp = request_response(replies.with_error_replies(handle))
    if door.method == "GET" and door.result not in (MediaFile, Download):
        answering = GZipMiddleware(
            answering, minimum_size=COMPRESSED_FROM, compresslevel=COMPRESSION
        )
    most_bytes, is_public = door.rest.max_body_bytes or MAX_FRAME_BYTES, door.needs.is_public
    app = WithBody(answering, service.bodies, most_bytes=most_bytes, is_public=is_public)
    if is_public:
        return app
    return Authenticated(
        app, service.authenticator, via="rest", before_password=door.before_password
    )


async def _refuse_without_accounts(_request: Request) -> Response:
    raise NotFoundError(
        "this server has no accounts: every request is the local user's, and needs no token"
    )
