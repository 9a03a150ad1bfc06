"""Every path but MCP's, in one table."""

from collections.abc import Sequence

from starlette.routing import BaseRoute, Route, request_response

from pinakes.control.control import Control
from pinakes.serve.http.accounts import AccountEndpoints, LocalEndpoints
from pinakes.serve.http.authenticate import METADATA_PATH, Authenticated
from pinakes.serve.http.endpoints import SMALL_BODY, BodyEndpoint, Endpoint, answering, by_method, with_json_body
from pinakes.serve.http.health import HealthEndpoints
from pinakes.serve.http.metadata import MetadataEndpoint
from pinakes.serve.http.openapi import OpenapiEndpoint
from pinakes.serve.http.page import PageEndpoint
from pinakes.serve.http.player import MediaEndpoints, PlayerEndpoints
from pinakes.serve.http.rest import RestEndpoints
from pinakes.serve.http.scrape import MetricsEndpoint
from pinakes.serve.http.service import Service

LIKED_PATH = "/v1/likes/{id:path}"
"""A record's id may have slashes."""
ACCOUNT_METHODS = {
    "/v1/login": ["POST"],
    "/v1/logout": ["POST"],
    "/v1/me/password": ["POST"],
    "/v1/tokens": ["GET", "POST"],
    "/v1/tokens/{id}": ["DELETE"],
    "/v1/likes": ["GET"],
    LIKED_PATH: ["PUT", "DELETE"],
    "/v1/playlists": ["GET", "POST"],
    "/v1/playlists/{id}": ["GET", "PUT", "DELETE"],
    "/v1/plays": ["POST"],
    METADATA_PATH: ["GET"],
    f"{METADATA_PATH}/mcp": ["GET"],
}
"""The paths that need accounts."""


def build_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of REST, accounts, health, metrics, the page and the descriptions of all that."""
    rest, health, media = RestEndpoints(service), HealthEndpoints(service), MediaEndpoints(service)
    accounts = _local_routes(service) if service.control is None else _account_routes(service, service.control)
    return [
        _open_route("/", PageEndpoint(service).show),
        _open_route("/openapi.json", OpenapiEndpoint(service).show),
        _open_route("/health", health.show),
        _open_route("/health/live", health.show_live),
        _open_route("/health/ready", health.show_ready),
        _known_route(service, "/metrics", MetricsEndpoint(service).show),
        _known_route(service, "/v1/tools", rest.list_tools),
        _known_route(service, "/v1/tools/{name}", with_json_body(rest.call_tool), ["POST"]),
        _known_route(service, "/v1/resources", rest.list_resources),
        _known_route(service, "/v1/resources/read", rest.read_resource),
        _known_route(service, "/v1/resource-templates", rest.list_templates),
        _known_route(service, "/v1/tracks/{id:path}/audio", media.play),
        _known_route(service, "/v1/records/{id:path}/cover", media.show_cover),
        *accounts,
    ]


def _account_routes(service: Service, control: Control) -> list[BaseRoute]:
    accounts, metadata = AccountEndpoints(service, control), MetadataEndpoint(service)
    tokens = by_method({"GET": accounts.list_tokens, "POST": _small(accounts.create_token)})
    return [
        _open_route("/v1/login", _small(accounts.log_in), ["POST"]),
        _known_route(service, "/v1/logout", accounts.log_out, ["POST"]),
        _known_route(service, "/v1/me", accounts.show_me),
        _known_route(service, "/v1/me/password", _small(accounts.set_password), ["POST"]),
        _known_route(service, "/v1/tokens", tokens, ["GET", "POST"]),
        _known_route(service, "/v1/tokens/{id}", accounts.revoke_token, ["DELETE"]),
        _open_route(METADATA_PATH, metadata.show),
        _open_route(f"{METADATA_PATH}/mcp", metadata.show),
        *_player_routes(service, control),
    ]


def _player_routes(service: Service, control: Control) -> list[BaseRoute]:
    if service.events is None:
        return []
    player = PlayerEndpoints(service, control, service.events)
    like = by_method({"PUT": player.like, "DELETE": player.unlike})
    playlists = by_method({"GET": player.list_playlists, "POST": with_json_body(player.create_playlist)})
    playlist = by_method(
        {"GET": player.get_playlist, "PUT": with_json_body(player.put_playlist), "DELETE": player.delete_playlist}
    )
    return [
        _known_route(service, "/v1/likes", player.list_likes),
        _known_route(service, LIKED_PATH, like, ["PUT", "DELETE"]),
        _known_route(service, "/v1/playlists", playlists, ["GET", "POST"]),
        _known_route(service, "/v1/playlists/{id}", playlist, ["GET", "PUT", "DELETE"]),
        _known_route(service, "/v1/plays", _small(player.note_play), ["POST"]),
    ]


def _local_routes(service: Service) -> list[BaseRoute]:
    local = LocalEndpoints(service)
    refused = [_open_route(path, local.refuse, methods) for path, methods in ACCOUNT_METHODS.items()]
    return [_known_route(service, "/v1/me", local.show_me), *refused]


def _small(endpoint: BodyEndpoint) -> Endpoint:
    return with_json_body(endpoint, most_bytes=SMALL_BODY)


def _open_route(path: str, endpoint: Endpoint, methods: Sequence[str] = ("GET",)) -> Route:
    """Return a route for everybody."""
    return Route(path, answering(endpoint), methods=list(methods))


def _known_route(service: Service, path: str, endpoint: Endpoint, methods: Sequence[str] = ("GET",)) -> Route:
    """Return a route for callers who are known."""
    app = Authenticated(request_response(answering(endpoint)), service.authenticator, via="rest")
    return Route(path, app, methods=list(methods))
