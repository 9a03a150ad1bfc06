"""The page of a catalogue for its owner: what there is to know of it, and commands, one at a time
in a process.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from stackroom.admin.uploads import OwnedLibrary, declare
from stackroom.background.processes import LibraryWork
from stackroom.embed.models import LOCAL_MODELS
from stackroom.errors import ConflictError, InputError, NotFoundError
from stackroom.grading.grade import GRADE_FILE, describe_grade, find_grade
from stackroom.library import PACK_FOLDER, Installed
from stackroom.model.principal import Cost
from stackroom.model.scope import WHOLE
from stackroom.packs.installed import InstalledPack
from stackroom.sources.location import SourceLocation
from stackroom.tools.operation import FOLLOWING, AnyOperation, Audit, Call
from stackroom.tools.spec import GenericParams, GenericResult

CATALOGUE_PATH = "/v1/catalogues/{name}"

What = Literal[
    "columns", "rebuild", "plan", "replace", "refresh", "rejects", "grade", "update", "rollback"
]


class WorkBody(GenericParams):
    """A command to be run on a catalogue."""

    what: What = Field(description="the command")
    table: str = Field(
        default="", max_length=40, description="plan, replace: the id of the uploaded file"
    )
    title: str = Field(
        default="", max_length=200, description="rebuild: the column that names a record"
    )
    roles: dict[str, str] = Field(
        default_factory=dict, max_length=500, description="rebuild: column → role, or none"
    )
    drop: list[str] = Field(
        default_factory=list, max_length=500, description="rebuild: columns to leave out"
    )
    model: str = Field(
        default="",
        max_length=200,
        description="refresh: the model to embed all texts with from now on",
    )


class OwnedCatalogue(GenericParams):
    """A catalogue by name."""

    name: str = Field(description="the catalogue's name")


class StartWork(WorkBody, OwnedCatalogue):
    """A command to be run on a catalogue of this name."""


class WorkResult(GenericResult):
    """The last command on a catalogue, and its report."""

    model_config = ConfigDict(from_attributes=True)

    what: str
    is_running: bool
    problem: str | None
    report: Any


class OwnedResult(GenericResult):
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


class OwnerPages:
    """The owners' pages of one server."""

    def __init__(self, app: OwnedLibrary, *, find_file: Callable[[Call, str, str], Path]) -> None:
        """`find_file` returns an uploaded file of the caller by the id of its table, and the
        catalogue that it is to update.
        """
        self._app = app
        self._find_file = find_file
        self._works: dict[str, LibraryWork] = {}
        self._lock = threading.Lock()

    def operations(self) -> list[AnyOperation]:
        """Return the operations of the owners' pages."""
        work = declare(
            f"POST {CATALOGUE_PATH}/work", 202, cost=Cost.WRITE, audit=Audit(target="name")
        )
        show = declare(f"GET {CATALOGUE_PATH}", audit=FOLLOWING)
        return [show(self.show_owned), work(self.start_work)]

    def stop(self) -> None:
        """End the commands that run."""
        for work in list(self._works.values()):
            work.end()

    def show_owned(self, call: Call, params: OwnedCatalogue) -> OwnedResult:
        """Tell everything that the owner of a catalogue wants to know of it."""
        installed = self._get(call, params.name)
        # its own: servers may not have followed a change yet
        with closing(self._app.open_shelf(installed)) as shelf:
            spec, reader = shelf.spec, shelf.reader()
            records, model, awaiting = reader.count(WHOLE), reader.model, reader.awaiting_vectors
        grade = find_grade(installed.folder / GRADE_FILE)
        pack = InstalledPack(installed.folder / PACK_FOLDER)
        release, former = (
            one.version if one else None for one in (pack.find_manifest(), pack.find_former())
        )
        work = self._works.get(installed.name)
        return OwnedResult(
            name=installed.name,
            title=spec.title,
            summary=spec.summary,
            editable=spec.editable,
            package=None if installed.own_declaration else installed.spec_name,
            sources=[
                Path(source).name if "://" not in source else source for source in installed.sources
            ],
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

    def start_work(self, call: Call, params: StartWork) -> WorkResult:
        """Run a command on a catalogue; its report is shown with the catalogue."""
        installed = self._get(call, params.name)
        command = self._command_of(installed, call, params)
        with self._lock:
            if (known := self._works.get(installed.name)) is not None and known.is_running:
                raise ConflictError(
                    f"'{known.what}' runs on '{installed.name}' already; wait until it has ended"
                )
            work = self._works[installed.name] = LibraryWork(
                params.what, self._app.settings.home, self._app.hide_places
            )
        name = f"'{work.what}' of '{installed.name}'"
        work.start(f"{work.what} {installed.name}", lambda running: running.run(name, *command))
        return WorkResult.model_validate(work)

    def _command_of(self, installed: Installed, call: Call, body: WorkBody) -> Sequence[str]:
        """Return the command of a request."""
        name = installed.name
        if body.what in ("rejects", "grade", "update", "rollback"):
            return "eval" if body.what == "grade" else body.what, name
        added = (
            "--name",
            name,
            "--yes",
            *(() if installed.own_declaration else ("--as", installed.spec_name)),
        )
        if body.what in ("plan", "replace"):
            file = str(self._find_file(call, body.table, name))
            return "add", file, *added, "--replace", *(["--plan"] if body.what == "plan" else [])
        if len(installed.sources) != 1:
            raise InputError(
                f"'{name}' has {len(installed.sources)} sources, and this is for one; use:"
                " stackroom add"
            )
        location = SourceLocation.parse(installed.sources[0]).location
        if body.what == "columns":
            return "spec", "infer", location, "--name", name
        chosen = [
            part for column, role in body.roles.items() for part in ("--role", f"{column}={role}")
        ]
        chosen += [part for column in body.drop for part in ("--drop", column)]
        chosen += ["--title", body.title] if body.title else []
        chosen += ["--model", body.model] if body.model else []
        return "add", location, *added, *chosen

    def _get(self, call: Call, name: str) -> Installed:
        if not call.principal.visibility.sees_catalogue(name):
            raise NotFoundError(
                f"no catalogue '{name[:80]}'; list the catalogues for those you see"
            )
        return self._app.library.get_installed(name)
