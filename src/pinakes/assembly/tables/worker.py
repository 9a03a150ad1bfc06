"""The process that reads one uploaded table, proposes a catalogue for it and builds it, beside the server.

It is given requests on standard input, a JSON object a line, and answers each on standard output: lines of progress,
then one with the result or the error. It ends when its input does, also in the middle of a build: a server that is
killed leaves no process behind. What a file makes a reader do, memory that it takes or a crash, stays here.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Queue
from typing import Any, BinaryIO

import orjson

from pinakes.assembly.app import App
from pinakes.assembly.build import Recipe, add_catalogue, own_recipe
from pinakes.assembly.column_changes import compare_columns, save_columns
from pinakes.assembly.model_choice import find_brought_model, get_embedder, want_model
from pinakes.assembly.proposal import ProfiledTable, Proposal, profile_table
from pinakes.assembly.tables.forms import ProposalBody
from pinakes.assembly.tables.proposal_form import describe_proposal
from pinakes.errors import ExpectedError, ModelError, UnavailableError
from pinakes.ingest.pipeline import IngestReport
from pinakes.settings import Settings
from pinakes.sources.opener import open_file
from pinakes.sources.options import ReadOptions
from pinakes.sources.port import RowSource

logger = logging.getLogger(__name__)

Message = Mapping[str, Any]
Tell = Callable[[Message], None]

NICENESS = 10
"""Searches of the server go first."""
BETWEEN_TOLD_S = 0.2
BY_WORDS = "it is found by words alone: {}"


class TableWorker:
    """One table, as it was last read, and the library that a catalogue of it is built in."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._app: App | None = None
        self._read_as: tuple[Path, ReadOptions] | None = None
        self._source: RowSource | None = None
        self._table: ProfiledTable | None = None

    def answer(self, message: Message) -> Message:
        """Carry out a request, and return its result."""
        changes = ProposalBody.model_validate(message["changes"])
        source, table = self._read(Path(message["file"]), changes.reading.options())
        proposal = table.propose(name=message["name"], title=changes.title or "", choices=changes.choices())
        if message["do"] == "propose":
            return describe_proposal(table, proposal, source, name=message["name"])
        app = self._open(message["settings"])
        return self._build(
            app, source, proposal, name=message["name"], embed=message["embed"], upload=message["upload"]
        )

    def close(self) -> None:
        """Close the library."""
        if self._app is not None:
            self._app.close()

    def _open(self, settings: Message) -> App:
        if self._app is None:
            self._app = App(Settings.model_validate({**settings, "environment": dict(os.environ)}))
        return self._app

    def _read(self, file: Path, options: ReadOptions) -> tuple[RowSource, ProfiledTable]:
        """Return the table; it is read again where it is to be read in another way."""
        if self._source is None or self._table is None or self._read_as != (file, options):
            source = open_file(file, options)
            self._source, self._table, self._read_as = source, profile_table(source), (file, options)
        return self._source, self._table

    def _build(
        self, app: App, source: RowSource, proposal: Proposal, *, name: str, embed: bool, upload: str
    ) -> Message:
        recipe = own_recipe(proposal.loaded)
        model = find_brought_model(app, name, source, recipe.loaded.spec, is_own=True)
        problem = _find_model_problem(app, recipe, model) if embed else None
        try:
            report = add_catalogue(
                app,
                source,
                recipe=recipe,
                name=name,
                progress=_Telling(self._tell, source.count_rows()),
                embed=embed and problem is None,
                model=model,
                upload=upload,
            )
        except (ModelError, UnavailableError) as error:
            installed = app.library.find_installed(name)
            if installed is None or source.name not in installed.sources:
                raise
            return {"report": [BY_WORDS.format(error.message)]}
        folder = app.library.get_installed(name).folder
        columns = compare_columns(source, recipe.loaded, recipe.mapping, known=None).columns
        save_columns(folder, source.name, columns)
        return {"report": [*_sentences(report), *([BY_WORDS.format(problem)] if problem else [])]}


def _find_model_problem(app: App, recipe: Recipe, model: str | None) -> str | None:
    """Return why texts cannot be embedded now; None where they can."""
    try:
        embedder = get_embedder(app, want_model(app, recipe.loaded.spec, None, asked=model, is_own=True))
    except ModelError as error:
        return error.message
    return embedder.check() if app.settings.embedding.kind == "local" else None


def _sentences(report: IngestReport) -> list[str]:
    """Return the outcome of a build in sentences, without the counts that are nothing."""
    counts = {
        "{:,} records were written": report.written,
        "{:,} rows were left out, which make no record": report.rejected,
        "{:,} rows were left out, which repeat another": report.duplicates,
        "{:,} texts were embedded": report.embedded,
    }
    first = [f"the first one left out: {': '.join(report.rejects[0])}"] if report.rejects else []
    return [*(words.format(count) for words, count in counts.items() if count), *first, *report.notes]


class _Telling:
    """Tells the progress of a build, a few times a second."""

    def __init__(self, tell: Tell, rows: int | None) -> None:
        self._tell = tell
        self._rows = rows
        self._told_at = 0.0
        self._phase = ""

    def __call__(self, report: IngestReport) -> None:
        """Tell how far it is, unless that was told a moment ago."""
        phase, now = "texts" if report.to_embed else "rows", time.monotonic()
        if phase == self._phase and now - self._told_at < BETWEEN_TOLD_S:
            return
        self._phase, self._told_at = phase, now
        done, total = (report.embedded, report.to_embed) if phase == "texts" else (report.rows, self._rows)
        self._tell({"progress": {"phase": phase, "done": done, "total": total, "is_searchable": phase == "texts"}})


def _answered(worker: TableWorker, message: Message) -> Message:
    try:
        return {"result": worker.answer(message)}
    except ExpectedError as error:
        return {"error": {"code": error.code, "message": error.message}}
    except Exception:  # reported to the server, which answers for it
        logger.exception("a table could not be read or built")
        return {"error": {"code": "internal", "message": "internal error; the server's log has the details"}}


def _read_requests(requests: BinaryIO, waiting: "Queue[Message | None]", busy: threading.Event) -> None:
    """Hand on the requests; at their end, interrupt what is being done."""
    for line in requests:
        waiting.put(orjson.loads(line))
    waiting.put(None)
    if busy.is_set():
        signal.raise_signal(signal.SIGINT)


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Answer requests until there are no more."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever is printed is no answer
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    waiting: Queue[Message | None] = Queue()
    busy = threading.Event()
    worker = TableWorker(lambda message: _write(answers, message))
    threading.Thread(target=_read_requests, args=(requests, waiting, busy), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        while (message := waiting.get()) is not None:
            busy.set()
            _write(answers, _answered(worker, message))
            busy.clear()
    with contextlib.suppress(KeyboardInterrupt):
        worker.close()


def _write(answers: BinaryIO, message: Message) -> None:
    answers.write(orjson.dumps(message) + b"\n")


if __name__ == "__main__":
    main()
    sys.exit(0)
