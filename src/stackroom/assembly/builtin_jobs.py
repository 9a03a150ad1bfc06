"""The built-in jobs of a library with accounts (`list_builtin_jobs`), and the parts of a server
that packages bring.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial

from stackroom.analytics.events import EventLog
from stackroom.api.server import NO_PARTS, ServerContext, ServerParts, join_parts
from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, own_recipe, package_recipe
from stackroom.control.audit import AuditReport
from stackroom.control.control import Control
from stackroom.control.database.engine import check_database
from stackroom.control.database.tables import REFRESH_PREFIX, utc_now
from stackroom.errors import ExpectedError, ForbiddenError, ModelError, StorageError
from stackroom.frozen import frozen
from stackroom.grading.graded_catalogue import accept_rebuilt
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.pipeline import UNREQUESTED, IngestReport, IngestRequest
from stackroom.jobs.backup import (
    BACKUP_JOB,
    BACKUPS,
    backups_folder,
    make_backup,
    plan_backup,
    size_of_backup,
)
from stackroom.jobs.board import BACKUP_SCHEDULE, MANUAL, JobBoard
from stackroom.jobs.job import JobContext, JobSpec
from stackroom.library import LEDGER_FILE, Installed
from stackroom.model.principal import Principal
from stackroom.packages import CataloguePackage, PackageRegistry, load_target
from stackroom.packs.update import list_released, update_catalogue
from stackroom.settings import read_section
from stackroom.shelf.port import Checkpoint, Problem
from stackroom.sources.location import LIMIT_MARK, TABLE_PREFIX, SourceLocation
from stackroom.sources.port import RowSource
from stackroom.tools.health import check_catalogue
from stackroom.tools.operation import AnyOperation, Rest

# called with the number of rows read so far; may raise to stop reading
RowsRead = Callable[[int], None]


@frozen
class Source:
    """A source of a catalogue."""

    catalogue: str
    location: str
    is_folder: bool

    def __str__(self) -> str:
        return f"{self.catalogue} from {self.location}"


def list_sources(app: App) -> list[Source]:
    """Return the sources that catalogues can be read from again: no synced tables, no samples that
    were removed.
    """
    sources = []
    for installed in app.library.list_installed():
        for location in (one for one in installed.sources if not one.startswith(TABLE_PREFIX)):
            package = None if installed.own_declaration else app.find_package(installed.spec_name)
            if package is None or not package.is_former_sample(location):
                is_folder = (
                    not _is_provider(app, location) and SourceLocation.parse(location).is_folder
                )
                sources.append(
                    Source(catalogue=installed.name, location=location, is_folder=is_folder)
                )
    return sources


def refresh_from_source(
    app: App, source: Source, rows_read: RowsRead, *, request: IngestRequest = UNREQUESTED
) -> IngestReport:
    """Bring a catalogue up to one of its sources, as a request of the ingest asks."""
    installed = app.library.get_installed(source.catalogue)
    model = app.open_catalogue(installed.name).shelf.reader().model
    if model is not None and model != app.embedder_of(model).model:
        raise ModelError(
            f"its vectors are by {model}, but the embedder is {app.embedder.model}; set that, or"
            " add the source again"
        )
    package = None if installed.own_declaration else app.package_of(installed)
    return add_catalogue(
        app,
        _open(app, installed, package, source.location),
        recipe=package_recipe(package) if package else own_recipe(app.spec_of(installed)),
        name=installed.name,
        progress=lambda report: rows_read(report.rows),
        embed=model is not None,
        request=request,
    )


def rebuild_index(app: App, name: str) -> str:
    """Build the indexes of a catalogue anew; keep the former ones of a graded catalogue if it
    answers worse.
    """
    return (
        f"{app.open_catalogue(name).shelf.rebuild(accept=accept_rebuilt(app, name))} records"
        " indexed"
    )


def check_installed(app: App, name: str, checkpoint: Checkpoint) -> list[Problem]:
    """Return what is wrong with a catalogue, which the app then reports as degraded until the next
    check.
    """
    problems = list(check_catalogue(app.open_catalogue(name), checkpoint=checkpoint))
    app.note_problems(name, problems)
    return problems


def _open(app: App, installed: Installed, package: CataloguePackage | None, name: str) -> RowSource:
    """Return the source that a catalogue was built from, by its name; a provider is asked for as
    many as are known.
    """
    if _is_provider(app, name):
        with closing(Ledger(installed.folder / LEDGER_FILE)) as ledger:
            known = len(ledger.origins(name))
        return open_rows(package, f"{name}{LIMIT_MARK}{known}" if known else name, workshop=app)
    place = SourceLocation.parse(name)
    return open_rows(package, place.location, options=place.options, workshop=app)


def _is_provider(app: App, name: str) -> bool:
    prefix, colon, _query = name.partition(":")
    return bool(colon) and app.packages.find_provider(prefix) is not None


AUDIT_DAYS, LOGS_DAYS = 365, 180


@frozen
class MaintainedLibrary:
    """The library that the built-in jobs look after, with its control database."""

    app: App
    control: Control
    parts: ServerParts = NO_PARTS
    backups: int = BACKUPS
    now: Callable[[], datetime] = utc_now

    def list_catalogues(self) -> list[str]:
        """Return the names of all catalogues, also of those whose marker is damaged."""
        library = self.app.library
        return sorted(
            {*(installed.name for installed in library.list_installed()), *library.check()}
        )


# what a job does; its docstring is what is shown of the job
Work = Callable[[MaintainedLibrary, JobContext], None]


def list_builtin_jobs(maintained: MaintainedLibrary) -> list[JobSpec]:
    """Return the built-in jobs with their default schedules; those that need the network are off
    until enabled.
    """

    def declare(name: str, work: Work, schedule: str, **more: bool) -> JobSpec:
        about, body = " ".join((work.__doc__ or "").split()), partial(work, maintained)
        return JobSpec(name=name, description=about, schedule=schedule, body=body, **more)

    return [
        declare(BACKUP_JOB, back_up, BACKUP_SCHEDULE, resumes=True),
        declare("integrity_check", check_integrity, "30 3 * * *"),
        declare("prune_audit", prune_audit, "0 5 * * 0", resumes=True),
        declare("prune_logs", prune_logs, "15 5 * * *", resumes=True),
        declare("rebuild_indexes", rebuild_indexes, MANUAL, resumes=True),
        declare("refresh_sources", refresh_sources, "0 2 * * *", enabled=False, resumes=True),
        declare("rescan_folders", rescan_folders, "1h", resumes=True),
        declare("update_releases", update_releases, "0 1 * * *", enabled=False, resumes=True),
        declare("verify_indexes", verify_indexes, "0 4 * * 0"),
    ]


def open_board(app: App, control: Control, parts: ServerParts) -> JobBoard:
    """Return the jobs of a library: the built-in ones, those of packages, and one for each
    catalogue with sources.
    """
    jobs = [
        *list_builtin_jobs(MaintainedLibrary(app=app, control=control, parts=parts)),
        *parts.jobs,
    ]
    return JobBoard(control.database, jobs, list_more=lambda: list_refresh_jobs(app))


def list_refresh_jobs(app: App) -> list[JobSpec]:
    """Return a job for each catalogue with sources, which runs by a schedule once it is given
    one.
    """
    return [
        JobSpec(
            name=f"{REFRESH_PREFIX}{installed.name}",
            description=(
                f"Bring the catalogue '{installed.name}' up to the sources that it was built from."
            ),
            schedule=MANUAL,
            body=partial(_refresh, app, catalogue=installed.name),
            resumes=True,
            is_quiet=True,
        )
        for installed in app.library.list_installed()
        if any(not source.startswith(TABLE_PREFIX) for source in installed.sources)
    ]


def rescan_folders(maintained: MaintainedLibrary, context: JobContext) -> None:
    """Bring every catalogue up to the folders that it was built from."""
    _refresh(maintained.app, context, is_folder=True)


def refresh_sources(maintained: MaintainedLibrary, context: JobContext) -> None:
    """Bring every catalogue up to the files, databases and providers that it was built from."""
    _refresh(maintained.app, context, is_folder=False)


def update_releases(maintained: MaintainedLibrary, context: JobContext) -> None:
    """Bring catalogues that were installed from a place to its newest release."""

    def update(name: str) -> str:
        report = update_catalogue(maintained.app, name)
        if report.version == report.former:
            return f"{report.version} is the newest release"
        conflicts = f"; {len(report.conflicts)} hand edits kept over it" if report.conflicts else ""
        return (
            f"{report.former} → {report.version}, {report.fetch_bytes:,} bytes fetched{conflicts}"
        )

    _each(
        context, "updating", [installed.name for installed in list_released(maintained.app)], update
    )


def rebuild_indexes(maintained: MaintainedLibrary, context: JobContext) -> None:
    """Build the indexes of every catalogue anew from its records."""
    _each(context, "indexing", maintained.list_catalogues(), partial(rebuild_index, maintained.app))


def verify_indexes(maintained: MaintainedLibrary, context: JobContext) -> None:
    """Check that the indexes of every catalogue have exactly its records."""

    def verify(name: str) -> str:
        problems = list(
            maintained.app.open_catalogue(name).shelf.check(checkpoint=context.check_stopped)
        )
        return _require_none(problems, "its indexes have exactly its records")

    _each(context, "verifying", maintained.list_catalogues(), verify)


def check_integrity(maintained: MaintainedLibrary, context: JobContext) -> None:
    """Check the files of every catalogue, the control database, and the chain of the audit."""
    app, control = maintained.app, maintained.control

    def check_catalogue(name: str) -> str:
        done = app.open_catalogue(name).shelf.mend(checkpoint=context.check_stopped)
        return "; ".join(
            (_require_none(check_installed(app, name, context.check_stopped), "whole"), *done)
        )

    checks: dict[str, Callable[[], str]] = {
        **{
            f"catalogue {name}": partial(check_catalogue, name)
            for name in maintained.list_catalogues()
        },
        "control database": lambda: _require_none(check_database(control.database), "whole"),
        "audit": lambda: _audit_state(control.audit.verify()),
    }
    _each(context, "checking", list(checks), lambda what: checks[what]())


def back_up(maintained: MaintainedLibrary, context: JobContext) -> None:
    """Copy records, accounts and audit to the place of the setting backup.to, with checksums."""
    plan = plan_backup(maintained.app, maintained.control, now=maintained.now)
    folder = backups_folder(None, maintained.app.settings)
    place = make_backup(plan, folder, at=maintained.now(), keep=maintained.backups, context=context)
    for note in plan.notes:
        context.write(note)
    context.write(
        f"{len(plan.items)} items, {size_of_backup(place) / 1_000_000:,.1f} MB, in {place}"
    )


def prune_audit(maintained: MaintainedLibrary, context: JobContext) -> None:
    """Remove old rows of the audit, in a way that leaves it verifiable."""
    audit = maintained.control.audit
    before = maintained.now() - timedelta(days=AUDIT_DAYS)
    removed = audit.prune(before)
    context.write(
        f"{removed} rows from before {before:%Y-%m-%d} removed; {_audit_state(audit.verify())}"
    )


def prune_logs(maintained: MaintainedLibrary, context: JobContext) -> None:
    """Remove old events and other notes."""
    before = maintained.now() - timedelta(days=LOGS_DAYS)
    prunings = {**maintained.parts.prunings, "events": EventLog(maintained.control.database).prune}

    def prune(what: str) -> str:
        return f"{prunings[what](before)} from before {before:%Y-%m-%d} removed"

    _each(context, "pruning", sorted(prunings), prune)


def _refresh(
    app: App, context: JobContext, *, catalogue: str | None = None, is_folder: bool | None = None
) -> None:
    """Bring catalogues up to their sources: those of one catalogue, those that are folders, or
    those that are not.
    """
    by_name = {
        str(source): source
        for source in list_sources(app)
        if catalogue in (None, source.catalogue) and is_folder in (None, source.is_folder)
    }

    def refresh(name: str) -> str:
        report = refresh_from_source(
            app, by_name[name], lambda rows: context.progress(rows, None, f"reading {name}")
        )
        left_out = report.rejected + report.duplicates
        parts = [
            f"{report.rows} rows",
            f"{report.written} written",
            f"{report.unchanged} unchanged",
            f"{report.removed} removed" if report.removed else "",
            f"{left_out} left out" if left_out else "",
        ]
        return "; ".join([", ".join(filter(None, parts)), *report.notes])

    _each(context, "reading", list(by_name), refresh)


def _each(
    context: JobContext, doing: str, names: Sequence[str], work: Callable[[str], str]
) -> None:
    """Run `work` for each name, report each outcome, and fail at the end if any failed."""
    problems = []
    for number, name in enumerate(names):
        context.progress(number, len(names), f"{doing} {name}")
        try:
            context.write(f"{name}: {work(name)}")
        except ExpectedError as error:
            context.write(f"{name}: failed: {error.message}")
            problems.append(f"{name}: {error.message}")
    context.progress(len(names), len(names), f"{len(names)} looked at")
    if not names:
        context.write("there is nothing to do")
    if problems:
        raise StorageError(f"{len(problems)} of {len(names)} failed: {'; '.join(problems)}")


def _require_none(problems: Sequence[Problem | str], otherwise: str) -> str:
    """Return `otherwise` where there are no problems; else raise them."""
    if problems:
        raise StorageError("; ".join(str(problem) for problem in problems))
    return otherwise


def _audit_state(report: AuditReport) -> str:
    if report.first_problem is not None:
        raise StorageError(
            f"the audit is not whole: {report.first_problem}; see stackroom audit verify"
        )
    pruned = f" (after {report.pruned} that were pruned)" if report.pruned else ""
    return f"the audit's {report.rows} rows{pruned} are as they were written"


logger = logging.getLogger(__name__)


def build_server_parts(app: App, control: Control, events: EventLog) -> ServerParts:
    """Build the parts of every installed package, with their tables; one that fails other than
    expected is left out.
    """
    found = []
    for package in app.packages.iter_packages():
        try:
            if package.server:
                parts: ServerParts = load_target(package.server)(
                    build_context(app, control, events, package)
                )
                if parts.tables is not None:
                    control.database.create_missing(parts.tables)
                found.append(parts)
        except ExpectedError:
            raise
        except Exception:  # foreign code: whatever it raises, the other packages must go on
            logger.exception(
                "catalogue package '%s' failed; its parts of the server are left out", package.name
            )
    return join_parts(found)


def list_operations(packages: PackageRegistry, parts: ServerParts) -> list[AnyOperation]:
    """Return the operations of all packages that have an address; those of server parts replace
    others with the same one.
    """
    declared = _by_address(
        one for package in packages.iter_packages() for one in package.endpoints()
    )
    return list((declared | _by_address(parts.endpoints)).values())


def _by_address(operations: Iterable[AnyOperation]) -> dict[str, AnyOperation]:
    """Return operations by address; refuse two of one address, since one would hide the other."""
    found: dict[str, AnyOperation] = {}
    for one in operations:
        rest = one.faces.rest
        address = rest.address if isinstance(rest, Rest) else ""
        if (other := found.setdefault(address, one)) is not one:
            names = f"{other.run.__module__} and {one.run.__module__}"
            raise ValueError(f"two endpoints answer {address}: of {names}")
    return found


def build_context(
    app: App, control: Control, events: EventLog, package: CataloguePackage
) -> ServerContext:
    """Build what a package is given of this server."""
    return ServerContext(
        home=app.settings.home,
        offline=app.settings.offline,
        read_settings=partial(read_section, app.settings),
        database=control.database,
        events=events,
        get_principal=partial(_get_principal, control),
        list_catalogues=lambda: _list_catalogues(app, package),
        refresh=partial(_refresh_at, app, package),
        wake=app.background.wake,
    )


def _get_principal(control: Control, name: str) -> Principal:
    user = control.accounts.get_user(name)
    if user.disabled:
        raise ForbiddenError(f"user '{name}' is disabled; enable it first, or name another")
    return control.identities.principal_of(user)


def _list_catalogues(app: App, package: CataloguePackage) -> list[Installed]:
    return [
        installed
        for installed in app.library.list_installed()
        if installed.spec_name == package.name and not installed.own_declaration
    ]


def _refresh_at(
    app: App, package: CataloguePackage, name: str, location: str, request: IngestRequest
) -> IngestReport:
    """Bring a catalogue of a package up to a location; build it where it is not installed."""
    if any(catalogue.name == name for catalogue in _list_catalogues(app, package)):
        source = Source(catalogue=name, location=location, is_folder=True)
        return refresh_from_source(app, source, lambda _rows: None, request=request)
    rows, recipe = open_rows(package, location), package_recipe(package)
    return add_catalogue(
        app, rows, recipe=recipe, name=name, progress=lambda _report: None, request=request
    )
