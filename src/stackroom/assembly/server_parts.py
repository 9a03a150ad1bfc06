"""The parts of a shared server that catalogue packages bring."""

import logging
from collections.abc import Iterable
from functools import partial

from stackroom.analytics.events import EventLog
from stackroom.api.server import PackageCatalogue, ServerContext, ServerParts, join_parts
from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, package_recipe
from stackroom.assembly.builtin_jobs import Source, refresh_from_source
from stackroom.control.control import Control
from stackroom.control.database.tables import utc_now
from stackroom.errors import ExpectedError, ForbiddenError
from stackroom.ingest.pipeline import IngestReport, IngestRequest
from stackroom.model.principal import Principal
from stackroom.packages import CataloguePackage, PackageRegistry, load_target
from stackroom.settings import read_section
from stackroom.tools.endpoint import Endpoint

logger = logging.getLogger(__name__)


def build_server_parts(app: App, control: Control, events: EventLog) -> ServerParts:
    """Build the parts of every installed package that has some, and create their tables where they are missing.

    Expected errors, such as a wrong setting, propagate. A package that fails otherwise is logged and left out.
    """
    found = []
    for package in app.packages.iter_packages():
        try:
            if package.server:
                parts: ServerParts = load_target(package.server)(build_context(app, control, events, package))
                if parts.tables is not None:
                    control.database.create_missing(parts.tables)
                found.append(parts)
        except ExpectedError:
            raise
        except Exception:  # foreign code: whatever it raises, the other packages must go on
            logger.exception("catalogue package '%s' failed; its parts of the server are left out", package.name)
    return join_parts(found)


def list_endpoints(packages: PackageRegistry, parts: ServerParts) -> list[Endpoint]:
    """Return the HTTP endpoints of all packages; those of server parts replace others with the same address."""
    declared = _by_address(endpoint for package in packages.iter_packages() for endpoint in package.endpoints())
    return list((declared | _by_address(parts.endpoints)).values())


def _by_address(endpoints: Iterable[Endpoint]) -> dict[tuple[str, str], Endpoint]:
    """Return endpoints by method and path; refuse two of one address, since one would hide the other."""
    found: dict[tuple[str, str], Endpoint] = {}
    for endpoint in endpoints:
        other = found.setdefault((endpoint.method, endpoint.path), endpoint)
        if other is not endpoint:
            names = f"{other.run.__module__} and {endpoint.run.__module__}"
            raise ValueError(f"two endpoints answer {endpoint.method} {endpoint.path}: of {names}")
    return found


def build_context(app: App, control: Control, events: EventLog, package: CataloguePackage) -> ServerContext:
    """Build what a package is given of this server."""
    return ServerContext(
        home=app.settings.home,
        offline=app.settings.offline,
        read_settings=partial(read_section, app.settings),
        database=control.database,
        events=events,
        get_principal=partial(_get_principal, control),
        list_catalogues=lambda: _list_catalogues(app, package),
        refresh=partial(_refresh, app, package),
        now=utc_now,
        wake=app.background.wake,
    )


def _get_principal(control: Control, name: str) -> Principal:
    user = control.accounts.get_user(name)
    if user.disabled:
        raise ForbiddenError(f"user '{name}' is disabled; enable it first, or name another")
    return control.identities.principal_of(user)


def _list_catalogues(app: App, package: CataloguePackage) -> list[PackageCatalogue]:
    return [
        PackageCatalogue(name=installed.name, sources=tuple(installed.sources))
        for installed in app.library.list_installed()
        if installed.spec_name == package.name and not installed.own_declaration
    ]


def _refresh(app: App, package: CataloguePackage, name: str, location: str, request: IngestRequest) -> IngestReport:
    """Bring a catalogue of a package up to a location; build it where it is not installed."""
    if any(catalogue.name == name for catalogue in _list_catalogues(app, package)):
        source = Source(catalogue=name, location=location, is_folder=True)
        return refresh_from_source(app, source, lambda _rows: None, request=request)
    return add_catalogue(
        app,
        open_rows(package, location),
        recipe=package_recipe(package),
        name=name,
        progress=lambda _report: None,
        request=request,
    )
