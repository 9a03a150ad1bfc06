"""A catalogue's own page for its owner: what there is to know of it, and commands that are run on it.

Each command runs in a process of its own beside calls, as `stackroom` runs it at a terminal, one at a time for a
catalogue; its report is kept until the next one, and with the server.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from stackroom.assembly.app import App
from stackroom.assembly.uploads import find_problem
from stackroom.background.processes import LibraryCommand
from stackroom.background.threads import start_thread
from stackroom.embed.models import LOCAL_MODELS
from stackroom.errors import ConflictError, InputError, NotFoundError
from stackroom.grading.grade import GRADE_FILE, describe_grade, find_grade
from stackroom.library import PACK_FOLDER, Installed
from stackroom.model.principal import Action, Cost
from stackroom.model.scope import WHOLE
from stackroom.packs.installed import InstalledPack
from stackroom.sources.location import SourceLocation
from stackroom.tools.endpoint import BodyParams, Endpoint, EndpointRequest, EndpointResult

PATH = "/v1/catalogues/{name}"
LONGEST_S = 86_400.0

What = Literal["columns", "rebuild", "plan", "replace", "refresh", "rejects", "grade", "update", "rollback"]


class WorkBody(BodyParams):
    """A command to be run on a catalogue."""

    what: What = Field(description="the command")
    table: str = Field(default="", max_length=40, description="plan, replace: the id of the uploaded file")
    title: str = Field(default="", max_length=200, description="rebuild: the column that names a record")
    roles: dict[str, str] = Field(default_factory=dict, max_length=500, description="rebuild: column → role, or none")
    drop: list[str] = Field(default_factory=list, max_length=500, description="rebuild: columns to leave out")
    model: str = Field(default="", max_length=200, description="refresh: the model to embed all texts with from now on")


class WorkResult(EndpointResult):
    """The last command on a catalogue, and its report."""

    model_config = ConfigDict(from_attributes=True)

    what: str
    is_running: bool
    problem: str | None
    report: Any


class OwnedResult(EndpointResult):
    """A catalogue as its owner sees it."""

    name: str
    title: str
    summary: str
    editable: bool
    package: str | None
    """The package that it follows; null where its spec is its own."""
    sources: list[str]
    records: int
    model: str | None
    models: list[str]
    """The models that run on this machine."""
    awaiting_vectors: int
    grade: str | None
    release: str | None
    former_release: str | None
    fields: list[dict[str, str | None]]
    """Its fields: name, type, role and the column that each is read from."""
    work: WorkResult | None


@dataclass(slots=True, kw_only=True)
class _Work:
    """A command that runs or has ended."""

    what: str
    is_running: bool = True
    problem: str | None = None
    report: Any = None
    child: LibraryCommand | None = field(default=None, repr=False)


class OwnerPages:
    """The owners' pages of one server."""

    def __init__(self, app: App, *, find_file: Callable[[EndpointRequest[Any, Any], str], Path]) -> None:
        """`find_file` returns an uploaded file of the caller by the id of its table."""
        self._app = app
        self._find_file = find_file
        self._works: dict[str, _Work] = {}
        self._lock = threading.Lock()

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints of the owners' pages."""
        one = partial(
            Endpoint, tag="tables", action=Action.SERVER_ADMIN, path_parameters={"name": "the catalogue's name"}
        )
        return [
            one("GET", PATH, self.show_owned, result=OwnedResult, is_limited=False, is_audited=False),
            one(
                "POST",
                f"{PATH}/work",
                self.start_work,
                body=WorkBody,
                result=WorkResult,
                status=202,
                cost=Cost.WRITE,
                target="name",
                notes_parameters=True,
            ),
        ]

    def stop(self) -> None:
        """End the commands that run."""
        for work in list(self._works.values()):
            if work.child is not None and work.is_running:
                work.child.end()

    def show_owned(self, request: EndpointRequest[Any, Any]) -> OwnedResult:
        """Tell everything that the owner of a catalogue wants to know of it."""
        installed = self._get(request)
        with closing(self._app.open_shelf(installed)) as shelf:  # its own: servers may not have followed a change yet
            spec, reader = shelf.spec, shelf.reader()
            records, model, awaiting = reader.count(WHOLE), reader.model, reader.awaiting_vectors
        grade, pack = find_grade(installed.folder / GRADE_FILE), InstalledPack(installed.folder / PACK_FOLDER)
        manifests = [pack.find_manifest(), pack.find_former()]
        release, former = (manifest.version if manifest else None for manifest in manifests)
        work = self._works.get(installed.name)
        return OwnedResult(
            name=installed.name,
            title=spec.title,
            summary=spec.summary,
            editable=spec.editable,
            package=None if installed.own_declaration else installed.spec_name,
            sources=[Path(source).name if "://" not in source else source for source in installed.sources],
            records=records,
            model=str(model) if model else None,
            models=list(LOCAL_MODELS),
            awaiting_vectors=awaiting,
            grade=describe_grade(grade) if grade else None,
            release=release,
            former_release=former,
            fields=[
                {"name": one.name, "type": one.type, "role": one.role, "column": one.source_path}
                for one in spec.fields.values()
            ],
            work=WorkResult.model_validate(work) if work else None,
        )

    def start_work(self, request: EndpointRequest[Any, WorkBody]) -> WorkResult:
        """Run a command on a catalogue; its report is shown with the catalogue."""
        installed = self._get(request)
        command = self._command_of(installed, request)
        with self._lock:
            known = self._works.get(installed.name)
            if known is not None and known.is_running:
                raise ConflictError(f"'{known.what}' runs on '{installed.name}' already; wait until it has ended")
            work = self._works[installed.name] = _Work(what=request.body.what)
        start_thread(f"{work.what} {installed.name}", lambda: self._run(work, installed.name, command))
        return WorkResult.model_validate(work)

    def _command_of(self, installed: Installed, request: EndpointRequest[Any, WorkBody]) -> Sequence[str]:
        """Return the command of a request."""
        body, name = request.body, installed.name
        simple = {"rejects": "rejects", "grade": "eval", "update": "update", "rollback": "rollback"}
        if body.what in simple:
            return simple[body.what], name
        added = ("--name", name, "--yes", *(() if installed.own_declaration else ("--as", installed.spec_name)))
        if body.what in ("plan", "replace"):
            file = str(self._find_file(request, body.table))
            return "add", file, *added, "--replace", *(["--plan"] if body.what == "plan" else [])
        if len(installed.sources) != 1:
            raise InputError(f"'{name}' has {len(installed.sources)} sources, and this is for one; use: stackroom add")
        location = SourceLocation.parse(installed.sources[0]).location
        if body.what == "columns":
            return "spec", "infer", location, "--name", name
        chosen = [part for column, role in body.roles.items() for part in ("--role", f"{column}={role}")]
        chosen += [part for column in body.drop for part in ("--drop", column)]
        chosen += ["--title", body.title] if body.title else []
        chosen += ["--model", body.model] if body.model else []
        return "add", location, *added, *chosen

    def _run(self, work: _Work, name: str, command: Sequence[str]) -> None:
        def run() -> None:
            work.child = LibraryCommand(f"'{work.what}' of '{name}'", self._app.settings.home, *command)
            work.report = work.child.read_report(longest_s=LONGEST_S)

        problem = find_problem(run)
        work.problem, work.is_running = problem and self._app.hide_places(problem), False

    def _get(self, request: EndpointRequest[Any, Any]) -> Installed:
        name = request.path["name"]
        if not request.principal.visibility.sees_catalogue(name):
            raise NotFoundError(f"no catalogue '{name[:80]}'; list the catalogues for those you see")
        return self._app.library.get_installed(name)
