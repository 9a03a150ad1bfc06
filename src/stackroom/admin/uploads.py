"""The tables that people add on the page: received in pieces, and built by `stackroom add` in a
process.

HOME/tables/ID/FILE    the file, private as the library is; it stays as long as a catalogue has it
for a source

A table is its sender's alone. A file that no catalogue was built of is deleted after a day, and at
the server's end.
"""

import secrets
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import ConfigDict, Field

from stackroom.background.background import Task, TaskContext
from stackroom.background.processes import LibraryWork
from stackroom.catalogue.infer.columns import catalogue_name
from stackroom.embed.port import Embedder
from stackroom.errors import (
    ConflictError,
    ExpectedError,
    ForbiddenError,
    InputError,
    NotFoundError,
    TooLargeError,
)
from stackroom.library import TABLES_FOLDER
from stackroom.model.principal import Action, Cost
from stackroom.shelf.opening import SpecLibrary
from stackroom.sources.location import stem_of
from stackroom.sources.received import SUFFIXES, ReceivedFile, make_file, require_table
from stackroom.tools.faces.rest import WholeNumber
from stackroom.tools.operation import FOLLOWING, AnyOperation, Call, Needs, addressed
from stackroom.tools.spec import GenericParams, GenericResult


class OwnedLibrary(SpecLibrary, Protocol):
    """The library of a server as its owners need it; `assembly.app.App` is one."""

    @property
    def embedder(self) -> Embedder:
        """The embedder that the settings name."""

    @property
    def hide_places(self) -> Callable[[str], str]:
        """Takes the paths of this library and machine out of a message."""


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


# the size of a piece that is suggested; the largest body of the server is twice that
PIECE_BYTES = 2 * 2**20
MOST_TABLES = 8
MOST_PROCESSES = 2
LOOK_S, DAY_S = 30.0, 86_400.0


@dataclass(slots=True, kw_only=True)
class _Table(ReceivedFile):
    """One table, and what became of it; `TableResult` shows some of it."""

    id: str
    owner: str
    file: str  # the name of the file as its sender wrote it
    catalogue: str
    created_at: float
    is_update: bool
    is_searchable: bool = False
    options: tuple[str, ...] = ()
    work: LibraryWork | None = None  # the last attempt to build it
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def state(self) -> TableState:
        """The stage that it is at."""
        if self.work is None:
            return TableState.RECEIVED if self.is_whole else TableState.RECEIVING
        if self.work.is_running:
            return TableState.BUILDING
        return TableState.FAILED if self.work.problem else TableState.BUILT

    @property
    def problem(self) -> str | None:
        """Why it cannot be built."""
        return self.work.problem if self.work else None

    @property
    def report(self) -> list[str]:
        """Sentences about a build that has ended."""
        return (self.work.report if self.work else None) or []


PATH = "/v1/tables"

declare = partial(addressed, tag="tables", needs=Needs(any_of=(Action.SERVER_ADMIN,)))


class Uploads:
    """The uploaded tables of one server."""

    def __init__(
        self, app: OwnedLibrary, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._monotonic = monotonic
        self._max_bytes = app.settings.server.max_upload_mb * 10**6
        self._folder = app.settings.home / TABLES_FOLDER
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
        for table in list(self._tables.values()):
            self._release(table)

    def list_tables(self, call: Call, _params: GenericParams) -> TablesResult:
        """Tell what can be uploaded, and list the caller's tables."""
        owner = _owner(call)
        newest_first = reversed(list(self._tables.values()))
        mine = [table for table in newest_first if table.owner == owner]
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
                path=make_file(self._folder / table_id, safe, size_bytes),
                file=file.replace("\\", "/").rpartition("/")[2],
                catalogue=params.catalogue or self._free_name(catalogue_name(stem_of(safe))),
                is_update=bool(params.catalogue),
                size_bytes=size_bytes,
                created_at=self._monotonic(),
            )
            self._tables[table_id] = table
        return TableResult.model_validate(table)

    def send_piece(self, call: Call, params: Piece) -> TableResult:
        """Take a piece of a table's file; after the last one the catalogue is built."""
        table = self._get(call, params.id)
        with table.lock:
            table.write(params.content, offset=params.offset)
            if table.is_whole and not table.is_update:
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
        inside = f"{TABLES_FOLDER}/{table.id}/"

        def hide(text: str) -> str:
            return self._app.hide_places(text).replace(inside, "")

        table.work = LibraryWork("build", self._app.settings.home, hide)
        table.work.start(f"table {table.id}", partial(self._build, table))

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
        taken = {
            table.catalogue
            for table in list(self._tables.values())
            if table.state is not TableState.FAILED
        }
        names = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
        return next(
            name
            for name in names
            if name not in taken and not (self._app.library.folder / name).exists()
        )

    def _build(self, table: _Table, work: LibraryWork) -> list[str]:
        """Build the catalogue of a table: first for words, then for meaning where there is a
        model.
        """
        report = self._run(table, work, "--no-embed")
        table.is_searchable = True
        return [*_sentences(report), self._embed(table, work)]

    def _embed(self, table: _Table, work: LibraryWork) -> str:
        try:
            if (problem := self._app.embedder.check()) is None:
                return f"{self._run(table, work)['embedded']:,} texts were embedded"
        except ExpectedError as error:
            problem = error.message
        return f"it is found by words alone: {work.hide_places(problem)}"

    def _run(self, table: _Table, work: LibraryWork, *options: str) -> dict[str, Any]:
        """Run `stackroom add`, and return its report."""
        name, added = table.catalogue, ("--yes", *table.options, *options)
        with self._places:
            report: dict[str, Any] = work.run(
                f"the process that builds '{name}'", "add", str(table.path), "--name", name, *added
            )
            return report

    def _release(self, table: _Table) -> None:
        """Let go of a table: end its process, and delete its file unless a catalogue was built of
        it.
        """
        self._tables.pop(table.id, None)
        if table.work is not None:
            table.work.end()
        if table.is_searchable or table.id in self._list_used():
            return
        place = self._app.library.find_place(table.catalogue) if table.work is not None else None
        if place is not None and not place.is_complete:
            self._app.library.abandon(place)
        shutil.rmtree(table.path.parent, ignore_errors=True)

    def look(self, _context: TaskContext | None = None) -> None:
        """Forget tables a day old, and delete files of no catalogue, unless one is damaged: its
        sources are unknown.
        """
        for table in list(self._tables.values()):
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


def _owner(call: Call) -> str:
    """Return whose tables a call is about; a credential for some catalogues makes no others."""
    if call.principal.visibility.only is not None:
        raise ForbiddenError(
            "a token that is confined to catalogues cannot add tables: use one for all catalogues"
        )
    return call.principal.name


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
