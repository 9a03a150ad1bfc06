"""The tables that people add on the page: received in pieces, read, proposed, changed, built, and undone.

A table is its sender's alone. Reading and building are done by processes of their own (`worker`), few at a time; this
process keeps the states. A table that is not built is deleted after a day, at the end of the server, and at the start
of the next.
"""

import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stackroom.assembly.app import App
from stackroom.assembly.tables.forms import (
    BuildProgress,
    ProposalBody,
    ProposalResult,
    TableResult,
    TablesResult,
    TableState,
)
from stackroom.assembly.tables.process import run_worker
from stackroom.assembly.tables.uploads import (
    DAY_S,
    SUFFIXES,
    Upload,
    make_upload,
    remove_catalogue,
    remove_left_over,
    require_table,
)
from stackroom.background.processes import ChildProcess
from stackroom.background.task import Task, TaskContext
from stackroom.background.threads import start_thread
from stackroom.catalogue.infer.words import catalogue_name
from stackroom.errors import (
    ConflictError,
    ExpectedError,
    ForbiddenError,
    InputError,
    NotFoundError,
    TooLargeError,
)
from stackroom.sources.location import stem_of

logger = logging.getLogger(__name__)

PIECE_BYTES = 2 * 2**20
"""The size of a piece that is suggested; the largest body of the server is twice that."""
MOST_TABLES = 8
"""The most tables that wait to be built."""
MOST_PROCESSES = 2
LOOK_S = 30.0
WAIT_S = 60.0
"""How long a request waits for one of the processes to end."""
READ_S = 300.0
"""The time limit for reading a table and proposing a catalogue for it."""
END_S = 10.0
OPTION = re.compile(r"(?<!\w)--([a-z]+(?:-[a-z]+)*)")
"""An option of the command line in a message."""
WAITING = frozenset({TableState.RECEIVING, TableState.READING, TableState.PROPOSED, TableState.FAILED})


@dataclass(slots=True, kw_only=True)
class _Table:
    """One table, and what became of it."""

    id: str
    owner: str
    file: str
    upload: Upload
    name: str
    size_bytes: int
    created_at: float
    received: int = 0
    state: TableState = TableState.RECEIVING
    problem: str | None = None
    changes: ProposalBody = field(default_factory=ProposalBody)
    proposal: Mapping[str, Any] | None = None
    progress: BuildProgress | None = None
    report: list[str] = field(default_factory=list)
    child: ChildProcess | None = None
    thread: threading.Thread | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)
    is_discarded: bool = False

    @property
    def catalogue(self) -> str:
        """The name of the catalogue that is built of it."""
        return self.changes.name or self.name

    @property
    def is_busy(self) -> bool:
        """Whether a process is at work for it."""
        return self.child is not None or self.state in (TableState.READING, TableState.BUILDING)

    def result(self) -> TableResult:
        """Return its state."""
        return TableResult(
            id=self.id,
            file=self.file,
            size_bytes=self.size_bytes,
            received=self.received,
            state=self.state,
            problem=self.problem,
            catalogue=self.catalogue if self.state in (TableState.BUILDING, TableState.BUILT) else None,
            progress=self.progress,
            report=self.report,
        )


class Tables:
    """The uploaded tables of one server."""

    def __init__(self, app: App, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._monotonic = monotonic
        self._max_bytes = app.settings.server.max_upload_mb * 10**6
        self._tables: dict[str, _Table] = {}
        self._lock = threading.RLock()
        self._places = threading.BoundedSemaphore(MOST_PROCESSES)
        self._is_cleared = False

    def task(self) -> Task:
        """Return the task that deletes what former servers left over, and looks after the tables of this one."""
        return Task(
            name="look after uploaded tables",
            description="Deletes uploaded tables that are a day old or left over.",
            run=self._run,
            period_s=LOOK_S,
        )

    def stop(self) -> None:
        """End all processes; tables that are not built, and catalogues that are not whole, are deleted."""
        for table in self._list():
            self._release(table)

    def _list(self) -> list[_Table]:
        with self._lock:
            return list(self._tables.values())

    def wait(self, owner: str, table_id: str, timeout_s: float) -> TableResult:
        """Wait until a table is read or built, and return its state."""
        table = self._get(owner, table_id)
        if table.thread is not None:
            table.thread.join(timeout_s)
        return table.result()

    def list_of(self, owner: str) -> TablesResult:
        """Return what can be uploaded, and the tables of a caller, newest first."""
        mine = sorted((table for table in self._list() if table.owner == owner), key=lambda table: -table.created_at)
        return TablesResult(
            max_bytes=self._max_bytes,
            piece_bytes=PIECE_BYTES,
            suffixes=SUFFIXES,
            tables=[table.result() for table in mine],
        )

    def begin(self, owner: str, *, file: str, size_bytes: int) -> TableResult:
        """Make room for a file that is going to be sent."""
        if not self._max_bytes:
            raise ForbiddenError("tables cannot be added on the page: the setting 'server.max_upload_mb' is 0")
        if not size_bytes:
            raise InputError("'size_bytes': the file is empty, or a folder; choose a file with a table")
        if size_bytes > self._max_bytes:
            raise TooLargeError(
                f"'size_bytes': {size_bytes:,} is more than {self._max_bytes:,}, the most that is taken (setting "
                f"'server.max_upload_mb'); on the server itself: stackroom add FILE"
            )
        safe, now = require_table(file), self._monotonic()
        with self._lock:
            if sum(table.state in WAITING for table in self._tables.values()) >= MOST_TABLES:
                raise ConflictError(f"{MOST_TABLES} tables wait to be built already; build or discard one of them")
            table_id = secrets.token_hex(8)
            table = _Table(
                id=table_id,
                owner=owner,
                file=file.replace("\\", "/").rpartition("/")[2],
                upload=make_upload(self._app.settings.home, table_id, safe, size_bytes=size_bytes),
                name=self._free_name(catalogue_name(stem_of(safe))),
                size_bytes=size_bytes,
                created_at=now,
            )
            self._tables[table_id] = table
        return table.result()

    def receive(self, owner: str, table_id: str, piece: bytes, *, offset: int) -> TableResult:
        """Write a piece of a file; the last one begins its reading."""
        table = self._get(owner, table_id)
        with table.lock:
            if table.state is not TableState.RECEIVING:
                raise ConflictError("the whole file was received already")
            if offset != table.received:
                raise ConflictError(f"'offset': {offset} is not where the next piece begins, which is {table.received}")
            if table.received + len(piece) > table.size_bytes:
                raise TooLargeError(f"the file has {table.size_bytes} bytes, as was said, and this piece ends after it")
            table.upload.append(piece, offset=offset)
            table.received += len(piece)
            if table.received == table.size_bytes:
                self._begin(table, TableState.READING, lambda: self._read(table))
        return table.result()

    def find_state(self, owner: str, table_id: str) -> TableResult:
        """Return the state of a table."""
        return self._get(owner, table_id).result()

    def get_proposal(self, owner: str, table_id: str) -> ProposalResult:
        """Return the catalogue that is proposed for a table."""
        table = self._get(owner, table_id)
        if table.proposal is None:
            raise ConflictError(table.problem or f"there is no proposal yet: the table is {table.state}")
        return ProposalResult.model_validate({**table.proposal, "changes": table.changes})

    def change(self, owner: str, table_id: str, changes: ProposalBody) -> ProposalResult:
        """Propose anew with these changes; where one of them is wrong, the proposal stays as it is."""
        table = self._get(owner, table_id)
        with table.lock:
            self._require_proposed(table)
            if changes.name is not None:
                self._require_free(changes.name)
            proposal = self._propose(table, changes)
            table.changes, table.proposal = changes, proposal
            table.state, table.problem = TableState.PROPOSED, None
        return self.get_proposal(owner, table_id)

    def build(self, owner: str, table_id: str, *, embed: bool) -> TableResult:
        """Begin to build the catalogue that is proposed."""
        table = self._get(owner, table_id)
        with table.lock, self._lock:
            self._require_proposed(table)
            if table.proposal is None:
                raise ConflictError(table.problem or "there is no proposal to build")
            self._require_free(table.catalogue)
            table.upload.note()
            table.progress, table.problem, table.report = BuildProgress(), None, []
            self._begin(table, TableState.BUILDING, lambda: self._build(table, embed=embed))
        return table.result()

    def discard(self, owner: str, table_id: str) -> None:
        """Delete a table; stop its build, or remove the catalogue that was built of it, if that has nothing else."""
        table = self._get(owner, table_id)
        if table.state is not TableState.BUILT:
            self._release(table)
        if table.state is TableState.BUILT:  # maybe only now
            with table.lock:
                remove_catalogue(self._app.library, table.catalogue, table.upload)
            self._release(table)
            table.upload.remove()

    def _get(self, owner: str, table_id: str) -> _Table:
        table = self._tables.get(table_id)
        if table is None or table.owner != owner:
            raise NotFoundError(f"no table '{table_id[:40]}' of yours; it may have been discarded: send the file again")
        return table

    def _require_proposed(self, table: _Table) -> None:
        if table.state not in (TableState.PROPOSED, TableState.FAILED):
            raise ConflictError(f"the table is {table.state}; it can be changed and built when it is proposed")

    def _require_free(self, name: str) -> None:
        if not self._is_free(name):
            raise ConflictError(f"'name': there is a catalogue '{name}' already; choose another name")

    def _is_free(self, name: str) -> bool:
        building = (table.catalogue for table in self._list() if table.state is TableState.BUILDING)
        return not (self._app.library.folder / name).exists() and name not in building

    def _free_name(self, wanted: str) -> str:
        number, name = 1, wanted
        while not self._is_free(name):
            number += 1
            name = f"{wanted}-{number}"
        return name

    def _begin(self, table: _Table, state: TableState, work: Callable[[], None]) -> None:
        """Do work about a table in a thread of its own."""
        table.state = state
        table.thread = start_thread(f"table {table.id}", work)

    def _read(self, table: _Table) -> None:
        """Read a table that was received, and propose a catalogue for it."""
        try:
            table.proposal = self._propose(table, table.changes)
            table.state = TableState.PROPOSED
        except Exception as error:
            self._fail(table, error)

    def _propose(self, table: _Table, changes: ProposalBody) -> Mapping[str, Any]:
        proposal = self._ask(table, "propose", changes)
        return {**proposal, "notes": [self._plain(table, note) for note in proposal["notes"]]}

    def _build(self, table: _Table, *, embed: bool) -> None:
        """Build the catalogue of a table; of one that fails before words find its records, nothing stays."""

        def note(progress: Mapping[str, Any]) -> None:
            table.progress = BuildProgress.model_validate(progress)

        more = {"embed": embed, "upload": table.id, "settings": self._app.settings.model_dump(mode="json")}
        try:
            told = self._ask(table, "build", table.changes, on_progress=note, **more)
        except Exception as error:
            if not self._is_built(table):
                self._fail_build(table, error)
                return
            told = {"report": [f"not all of it is found by meaning: {_message_of(error)}"]}  # its words are
        table.report = [self._plain(table, sentence) for sentence in told["report"]]
        table.upload.keep()
        self._app.library.removed.discard(table.catalogue)
        table.state = TableState.BUILT

    def _is_built(self, table: _Table) -> bool:
        """Whether words find the records of a table."""
        try:
            installed = self._app.library.find_installed(table.catalogue)
        except ExpectedError:
            return False
        return installed is not None and table.upload.has_built(installed)

    def _fail_build(self, table: _Table, error: Exception) -> None:
        """Note why a build failed, and delete what there is of it; a catalogue of others with its name stays."""
        with table.lock:
            self._fail(table, error)
            try:
                remove_catalogue(self._app.library, table.catalogue, table.upload)
            except ConflictError:
                return
            except ExpectedError as left:
                table.problem = (
                    f"{table.problem}; what there is of it is not deleted: {self._plain(table, left.message)}"
                )

    def _fail(self, table: _Table, error: Exception) -> None:
        """Note why a table could not be read or built."""
        table.problem = self._plain(table, _message_of(error))
        table.state = TableState.FAILED

    def _plain(self, table: _Table, text: str) -> str:
        """Return a message without places of this server, and with options named as fields."""
        bare = text.replace(f"{table.upload.file.parent}/", "").replace(f"{table.upload.file.parent.resolve()}/", "")
        return OPTION.sub(r"'\1'", self._app.hide_places(bare))

    def _ask(
        self,
        table: _Table,
        do: str,
        changes: ProposalBody,
        *,
        on_progress: Callable[[Mapping[str, Any]], None] = lambda _progress: None,
        **more: Any,
    ) -> Mapping[str, Any]:
        """Have a request carried out by a process; only reading has a time limit."""
        message = {
            "do": do,
            "file": str(table.upload.file),
            "name": changes.name or table.name,
            "changes": changes.model_dump(mode="json"),
            **more,
        }
        if not self._places.acquire(timeout=WAIT_S):
            raise ConflictError(f"{MOST_PROCESSES} tables are being read or built; try again when one of them is done")
        try:
            return run_worker(
                message,
                timeout_s=READ_S if do == "propose" else None,
                on_start=lambda child: self._note_child(table, child),
                on_progress=on_progress,
            )
        except ExpectedError as error:
            error.message = self._plain(table, error.message)
            raise
        finally:
            table.child = None
            self._places.release()

    def _note_child(self, table: _Table, child: ChildProcess) -> None:
        """Remember the process that is at work for a table, so that it can be ended."""
        with self._lock:
            if table.is_discarded:
                raise NotFoundError("the table was discarded")
            table.child = child

    def _release(self, table: _Table) -> None:
        """Let go of a table: end its process, and delete its file and its catalogue unless that is whole."""
        with self._lock:
            table.is_discarded = True
            self._tables.pop(table.id, None)
            child = table.child
        if child is not None:
            child.end()
        if table.thread is not None:
            table.thread.join(END_S)
        if table.state is not TableState.BUILT:
            table.upload.remove()

    def _run(self, _context: TaskContext) -> None:
        self.look()
        if not self._is_cleared:
            remove_left_over(self._app.settings.home, self._app.library)
        self._is_cleared = True

    def look(self) -> None:
        """Forget the tables that are a day old."""
        for table in self._list():
            if self._monotonic() - table.created_at >= DAY_S and not table.is_busy:
                self._release(table)


def _message_of(error: Exception) -> str:
    """Return why something failed; a bug is logged."""
    if isinstance(error, ExpectedError):
        return error.message
    logger.error("a table could not be read or built", exc_info=error)
    return "internal error; the server's log has the details"
