"""The tables that people add on the page: received in pieces, and built by `stackroom add` in a
process.

HOME/tables/ID/FILE    the file, private as the library is; it stays as long as a catalogue has it
for a source

A table is its sender's alone. A file that no catalogue was built of is deleted after a day, and at
the server's end. A catalogue has a page for its owner, too: what there is to know of it, and
commands, one at a time in a process.
"""

import logging
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import count
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal, cast

from pydantic import ConfigDict, Field

from stackroom.assembly.app import App
from stackroom.background.background import Task, TaskContext
from stackroom.background.processes import LibraryCommand
from stackroom.background.threads import start_thread
from stackroom.catalogue.infer.columns import catalogue_name
from stackroom.embed.models import LOCAL_MODELS
from stackroom.errors import (
    ConflictError,
    ExpectedError,
    ForbiddenError,
    InputError,
    NotFoundError,
    StorageError,
    TooLargeError,
)
from stackroom.grading.grade import GRADE_FILE, describe_grade, find_grade
from stackroom.library import PACK_FOLDER, Installed
from stackroom.model.principal import Action, Cost
from stackroom.model.scope import WHOLE
from stackroom.packs.installed import InstalledPack
from stackroom.sources.compressed import COMPRESSED
from stackroom.sources.location import SourceLocation, stem_of
from stackroom.sources.opener import ENDINGS, is_table_file
from stackroom.tools.faces.rest import WholeNumber
from stackroom.tools.operation import FOLLOWING, AnyOperation, Audit, Call, Needs, addressed
from stackroom.tools.spec import GenericParams, GenericResult


class BeginBody(GenericParams):
    """A table that is going to be sent."""

    file: str = Field(
        min_length=1, max_length=255, description="the name of the file, with its suffix"
    )
    size_bytes: int = Field(ge=0, description="the size of the file")
    catalogue: str = Field(
        default="", max_length=80, description="the catalogue that it is to update; else a new one"
    )


class BuildBody(GenericParams):
    """Another attempt to build a table, read in another way."""

    options: dict[
        Literal["skip", "header-rows", "encoding", "sheet", "records", "accept-losses"], str
    ] = Field(max_length=6, description="options of stackroom add, each with its value")


class NamedTable(GenericParams):
    """A table by its id."""

    id: str = Field(description="of the table, as `POST /v1/tables` answers it")


class BuildTable(BuildBody, NamedTable):
    """A table, and how to read it."""


class Piece(NamedTable):
    """A piece of the file, and its place."""

    offset: WholeNumber = Field(ge=0, description="how many bytes of the file come before it")
    content: bytes


class TableState(StrEnum):
    """The stages of an uploaded table."""

    RECEIVING = "receiving"
    RECEIVED = "received"  # to update a catalogue, when its owner has seen what would change
    BUILDING = "building"
    BUILT = "built"
    FAILED = "failed"


class TableResult(GenericResult):
    """An uploaded table, and what became of it."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    file: str
    size_bytes: int
    received: int
    state: TableState
    problem: str | None
    """Why it cannot be built, and what would be right."""
    catalogue: str
    """The name of the catalogue that is built of it."""
    is_searchable: bool
    """Whether its records can be searched by words already."""
    report: list[str]
    """Sentences about a build that has ended."""


class TablesResult(GenericResult):
    """The limits of an upload, and the tables of the caller."""

    max_bytes: int
    piece_bytes: int
    suffixes: list[str]
    tables: list[TableResult]


logger = logging.getLogger(__name__)

FOLDER = "tables"
# the size of a piece that is suggested; the largest body of the server is twice that
PIECE_BYTES = 2 * 2**20
MOST_TABLES = 8
MOST_PROCESSES = 2
LOOK_S, DAY_S = 30.0, 86_400.0
END_S = 10.0
# how many times the size of a file has to be free: for the file, the catalogue and its indexes
ROOM = 3
LEAST_FREE_BYTES = 200 * 2**20  # the bytes that stay free beside that
UNSAFE = re.compile(r"[^\w.-]+")
LONGEST_NAME_BYTES = 200
SUFFIXES = [*ENDINGS, *(f"{ending}{packed}" for ending in ENDINGS for packed in COMPRESSED)]


@dataclass(slots=True, kw_only=True)
class _Table:
    """One table, and what became of it; `TableResult` shows some of it."""

    id: str
    owner: str
    path: Path
    file: str  # the name of the file as its sender wrote it
    catalogue: str
    size_bytes: int
    created_at: float
    received: int = 0
    state: TableState = TableState.RECEIVING
    problem: str | None = None
    report: list[str] = field(default_factory=list)
    is_searchable: bool = False
    is_update: bool = False
    options: tuple[str, ...] = ()
    is_discarded: bool = False
    child: LibraryCommand | None = None
    thread: threading.Thread | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)


PATH = "/v1/tables"

declare = partial(addressed, tag="tables", needs=Needs(any_of=(Action.SERVER_ADMIN,)))


class Uploads:
    """The uploaded tables of one server."""

    def __init__(self, app: App, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._monotonic = monotonic
        self._max_bytes = app.settings.server.max_upload_mb * 10**6
        self._folder = app.settings.home / FOLDER
        self._tables: dict[str, _Table] = {}
        self._lock = threading.RLock()
        self._places = threading.BoundedSemaphore(MOST_PROCESSES)

    def task(self) -> Task:
        """Return the task that deletes the tables that are a day old and of no catalogue."""
        return Task(
            name="look after uploaded tables",
            description="Deletes uploaded tables that are a day old or left over.",
            run=self.look,
            period_s=LOOK_S,
        )

    def operations(self) -> list[AnyOperation]:
        """Return the operations on a server's uploaded tables."""
        change, one = partial(declare, cost=Cost.WRITE), f"{PATH}/{{id}}"
        return [
            declare(f"GET {PATH}", audit=FOLLOWING)(self.list_tables),
            change(f"POST {PATH}", 201, target="file")(self.begin_table),
            declare(f"PUT {one}/content", audit=FOLLOWING)(self.send_piece),
            declare(f"GET {one}", audit=FOLLOWING)(self.show_table),
            change(f"POST {one}/build", target="id")(self.build_table),
            change(f"DELETE {one}", 204, target="id")(self.discard_table),
        ]

    def stop(self) -> None:
        """End all processes; the files of tables that are not built are deleted."""
        for table in self._list():
            self._release(table)

    def _list(self) -> list[_Table]:
        with self._lock:
            return list(self._tables.values())

    def list_tables(self, call: Call, _params: GenericParams) -> TablesResult:
        """Tell what can be uploaded, and list the caller's tables."""
        owner = _owner(call)
        mine = sorted(
            (table for table in self._list() if table.owner == owner),
            key=lambda table: -table.created_at,
        )
        return TablesResult(
            max_bytes=self._max_bytes,
            piece_bytes=PIECE_BYTES,
            suffixes=SUFFIXES,
            tables=list(map(TableResult.model_validate, mine)),
        )

    def begin_table(self, call: Call, params: BeginBody) -> TableResult:
        """Announce a table; it is then sent in pieces."""
        owner, file, size_bytes = _owner(call), params.file, params.size_bytes
        if not self._max_bytes:
            raise ForbiddenError(
                "tables cannot be added on the page: the setting 'server.max_upload_mb' is 0"
            )
        if not size_bytes:
            raise InputError(
                "'size_bytes': the file is empty, or a folder; choose a file with a table"
            )
        if size_bytes > self._max_bytes:
            raise TooLargeError(
                f"'size_bytes': {size_bytes:,} is more than {self._max_bytes:,}, the most that is"
                " taken (setting 'server.max_upload_mb'); on the server itself: stackroom add FILE"
            )
        safe = require_table(file)
        with self._lock:
            if (
                sum(table.state is not TableState.BUILT for table in self._tables.values())
                >= MOST_TABLES
            ):
                raise ConflictError(
                    f"{MOST_TABLES} tables wait to be built already; wait, or discard one of them"
                )
            table_id = secrets.token_hex(8)
            table = _Table(
                id=table_id,
                owner=owner,
                path=self._make_file(table_id, safe, size_bytes),
                file=file.replace("\\", "/").rpartition("/")[2],
                catalogue=params.catalogue or self._free_name(catalogue_name(stem_of(safe))),
                is_update=bool(params.catalogue),
                size_bytes=size_bytes,
                created_at=self._monotonic(),
            )
            self._tables[table_id] = table
        return TableResult.model_validate(table)

    def _make_file(self, table_id: str, name: str, size_bytes: int) -> Path:
        """Make an empty file in a folder of its own; refuse where the disk has too little room."""
        folder = self._folder / table_id
        try:
            folder.mkdir(parents=True, mode=0o700)
            (folder / name).touch(mode=0o600)
            free = shutil.disk_usage(folder).free
        except OSError as error:
            raise StorageError(
                f"the library cannot be written: {error.strerror}; check its permissions"
            ) from error
        if free < ROOM * size_bytes + LEAST_FREE_BYTES:
            shutil.rmtree(folder, ignore_errors=True)
            raise StorageError(
                "'size_bytes': there is too little room on the server's disk for"
                f" {size_bytes / 2**20:,.1f} MiB: {free / 2**20:,.0f} MiB are free, and {ROOM}"
                f" times the file and {LEAST_FREE_BYTES >> 20} MiB are needed"
            )
        return folder / name

    def send_piece(self, call: Call, params: Piece) -> TableResult:
        """Take a piece of a table's file; after the last one the catalogue is built."""
        table, piece, offset = self._get(call, params.id), params.content, params.offset
        with table.lock:
            if table.state is not TableState.RECEIVING:
                raise ConflictError(
                    "the whole file was received already; begin another table to send another"
                )
            if offset != table.received:
                raise ConflictError(
                    f"'offset': {offset} is not where the next piece begins, which is"
                    f" {table.received}"
                )
            if table.received + len(piece) > table.size_bytes:
                message = (
                    f"the file has {table.size_bytes} bytes, as was said, and this piece ends after"
                    " it; send less"
                )
                raise TooLargeError(message)
            try:
                with table.path.open("ab") as file:
                    file.truncate(offset)
                    file.write(piece)
            except OSError as error:
                message = (
                    f"the file cannot be written: {error.strerror}; make room, and send the piece"
                    " again"
                )
                raise StorageError(message) from error
            table.received += len(piece)
            if table.received == table.size_bytes and table.is_update:
                table.state = TableState.RECEIVED
            elif table.received == table.size_bytes:
                self._start(table)
        return TableResult.model_validate(table)

    def build_table(self, call: Call, params: BuildTable) -> TableResult:
        """Try again to build a table that could not be built, read in another way."""
        table = self._get(call, params.id)
        with table.lock:
            if table.state is not TableState.FAILED:
                raise ConflictError(
                    "only a table that could not be built is built again; wait, or send another"
                    " file"
                )
            given = params.options.items()
            table.options = tuple(
                f"--{key}" if key == "accept-losses" else f"--{key}={text}" for key, text in given
            )
            self._start(table)
        return TableResult.model_validate(table)

    def _start(self, table: _Table) -> None:
        table.state, table.problem = TableState.BUILDING, None
        table.thread = start_thread(f"table {table.id}", lambda: self._build(table))

    def show_table(self, call: Call, params: NamedTable) -> TableResult:
        """Tell how far a table is."""
        return TableResult.model_validate(self._get(call, params.id))

    def find_file(self, call: Call, table_id: str, catalogue: str) -> Path:
        """Return the received file of a table that is to update a catalogue."""
        table = self._get(call, table_id)
        if table.state is not TableState.RECEIVED or table.catalogue != catalogue:
            raise ConflictError(
                "the file was sent for another catalogue, or has not arrived; send it again"
            )
        return table.path

    def discard_table(self, call: Call, params: NamedTable) -> None:
        """Discard a table: stop its build; a catalogue that can be searched already stays until it
        is removed.
        """
        self._release(self._get(call, params.id))

    def _get(self, call: Call, table_id: str) -> _Table:
        owner = _owner(call)
        if (table := self._tables.get(table_id)) is None or table.owner != owner:
            raise NotFoundError(
                f"no table '{table_id[:40]}' of yours; it may have been discarded: send the file"
                " again"
            )
        return table

    def _free_name(self, wanted: str) -> str:
        taken = {table.catalogue for table in self._list() if table.state is not TableState.FAILED}
        names = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
        return next(
            name
            for name in names
            if name not in taken and not (self._app.library.folder / name).exists()
        )

    def _build(self, table: _Table) -> None:
        """Build the catalogue of a table: first for words, then for meaning where there is a
        model.
        """

        def build() -> None:
            report = self._run(table, "--no-embed")
            table.is_searchable = True
            table.report = [*_sentences(report), *self._embed(table)]

        problem = find_problem(build)
        table.problem = problem and self._plain(table, problem)
        table.state = TableState.FAILED if problem else TableState.BUILT

    def _embed(self, table: _Table) -> list[str]:
        try:
            problem = self._app.embedder.check()
            embedded = 0 if problem else self._run(table)["embedded"]
        except ExpectedError as error:
            problem = error.message
        if problem:
            return [f"it is found by words alone: {self._plain(table, problem)}"]
        return [f"{embedded:,} texts were embedded"]

    def _run(self, table: _Table, *options: str) -> dict[str, Any]:
        """Run `stackroom add` beside calls, and return its report."""
        command = (
            "add",
            str(table.path),
            "--name",
            table.catalogue,
            "--yes",
            *table.options,
            *options,
        )
        with self._places:
            process = LibraryCommand(
                f"the process that builds '{table.catalogue}'", self._app.settings.home, *command
            )
            with self._lock:
                table.child = process
            if table.is_discarded:
                process.kill()
            return cast(dict[str, Any], process.read_report(longest_s=DAY_S))

    def _plain(self, table: _Table, text: str) -> str:
        """Return a message without places of this server."""
        folder = table.path.parent
        return self._app.hide_places(
            text.replace(f"{folder}/", "").replace(f"{folder.resolve()}/", "")
        )

    def _release(self, table: _Table) -> None:
        """Let go of a table: end its process, and delete its file unless a catalogue was built of
        it.
        """
        with self._lock:
            table.is_discarded = True
            self._tables.pop(table.id, None)
            child = table.child
        if child is not None and table.state is TableState.BUILDING:
            child.end()
        if table.thread is not None:
            table.thread.join(END_S)
        if table.is_searchable or table.id in self._list_used():
            return
        place = self._app.library.find_place(table.catalogue) if table.thread is not None else None
        if place is not None and not place.is_complete:
            self._app.library.abandon(place)
        shutil.rmtree(table.path.parent, ignore_errors=True)

    def look(self, _context: TaskContext | None = None) -> None:
        """Forget tables a day old, and delete files of no catalogue, unless one is damaged: its
        sources are unknown.
        """
        for table in self._list():
            if (
                self._monotonic() - table.created_at >= DAY_S
                and table.state is not TableState.BUILDING
            ):
                self._release(table)
        if not self._folder.is_dir() or self._app.library.check():
            return
        self._app.library.purge(now=time.time())
        used = self._list_used()
        for folder in self._folder.iterdir():
            # also where the library was moved since
            is_known = folder.name in self._tables or folder.name in used
            if not is_known and time.time() - folder.stat().st_mtime >= DAY_S:
                shutil.rmtree(folder, ignore_errors=True)

    def _list_used(self) -> str:
        """Return the sources of all catalogues in one text, also of those that were removed and can
        be put back.
        """
        library = self._app.library
        kept = [*library.list_installed(), *library.list_removed()]
        return " ".join(source for installed in kept for source in installed.sources)


def find_problem(work: Callable[[], None]) -> str | None:
    """Do work in a thread that has nobody to tell; return why it failed."""
    try:
        work()
    except ExpectedError as error:
        return error.message
    except Exception:  # a bug, which the log has
        logger.exception("work beside calls failed")
        return "internal error; the server's log has the details"
    return None


def _owner(call: Call) -> str:
    """Return whose tables a call is about; a credential for some catalogues makes no others."""
    if call.principal.visibility.only is not None:
        raise ForbiddenError(
            "a token that is confined to catalogues cannot add tables: use one for all catalogues"
        )
    return call.principal.name


def require_table(file: str) -> str:
    """Return the safe form of a file's name; refuse one whose suffix is of no table."""
    bare = PureWindowsPath(PurePosixPath(file).name).name
    safe = UNSAFE.sub("_", bare).encode()[-LONGEST_NAME_BYTES:].decode(errors="ignore").strip("._-")
    if not is_table_file(Path(safe)):
        raise InputError(
            f"'file': '{bare[:80]}' is no table, by its suffix; right are {', '.join(ENDINGS)},"
            f" each also compressed ({', '.join(COMPRESSED)})"
        )
    return safe


def _sentences(report: dict[str, Any]) -> list[str]:
    """Return the outcome of a build in sentences, without the counts that are nothing."""
    counts = {
        "{:,} records were written": report["written"],
        "{:,} rows were left out, which make no record": report["rejected"],
        "{:,} rows were left out, which repeat another": report["duplicates"],
    }
    first = (
        [f"the first one left out: {': '.join(report['rejects'][0])}"] if report["rejects"] else []
    )
    return [
        *(words.format(count) for words, count in counts.items() if count),
        *first,
        *report["notes"],
    ]


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

    def __init__(self, app: App, *, find_file: Callable[[Call, str, str], Path]) -> None:
        """`find_file` returns an uploaded file of the caller by the id of its table, and the
        catalogue that it is to update.
        """
        self._app = app
        self._find_file = find_file
        self._works: dict[str, _Work] = {}
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
            if work.child is not None and work.is_running:
                work.child.end()

    def show_owned(self, call: Call, params: OwnedCatalogue) -> OwnedResult:
        """Tell everything that the owner of a catalogue wants to know of it."""
        installed = self._get(call, params.name)
        # its own: servers may not have followed a change yet
        with closing(self._app.open_shelf(installed)) as shelf:
            spec, reader = shelf.spec, shelf.reader()
            records, model, awaiting = reader.count(WHOLE), reader.model, reader.awaiting_vectors
        grade, pack = (
            find_grade(installed.folder / GRADE_FILE),
            InstalledPack(installed.folder / PACK_FOLDER),
        )
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
            work = self._works[installed.name] = _Work(what=params.what)
        start_thread(
            f"{work.what} {installed.name}", lambda: self._run(work, installed.name, command)
        )
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

    def _run(self, work: _Work, name: str, command: Sequence[str]) -> None:
        def run() -> None:
            work.child = LibraryCommand(
                f"'{work.what}' of '{name}'", self._app.settings.home, *command
            )
            work.report = work.child.read_report(longest_s=DAY_S)

        problem = find_problem(run)
        work.problem, work.is_running = problem and self._app.hide_places(problem), False

    def _get(self, call: Call, name: str) -> Installed:
        if not call.principal.visibility.sees_catalogue(name):
            raise NotFoundError(
                f"no catalogue '{name[:80]}'; list the catalogues for those you see"
            )
        return self._app.library.get_installed(name)
