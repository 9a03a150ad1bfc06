"""The process that reads one uploaded table and proposes a catalogue for it, or builds that, beside the server.

It is given one request on standard input, a JSON object in a line, and answers on standard output: lines of progress,
then one with the result or the error. It ends when its input does, also in the middle of a build: a server that is
killed leaves no process behind. What a file makes a reader do, memory that it takes or a crash, stays here.
"""

import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from stackroom.assembly.app import App
from stackroom.assembly.build import Recipe, add_catalogue, own_recipe
from stackroom.assembly.model_choice import find_brought_model, get_embedder, want_model
from stackroom.assembly.proposal import profile_table
from stackroom.assembly.tables.forms import ProposalBody
from stackroom.assembly.tables.proposal_form import describe_proposal
from stackroom.background.threads import start_thread
from stackroom.errors import ExpectedError, ModelError, UnavailableError
from stackroom.ingest.pipeline import IngestReport
from stackroom.settings import Settings
from stackroom.sources.opener import open_file
from stackroom.sources.port import RowSource

logger = logging.getLogger(__name__)

Message = Mapping[str, Any]
Tell = Callable[[Message], None]

BETWEEN_TOLD_S = 0.2
BY_WORDS = "it is found by words alone: {}"


def answer(request: Message, tell: Tell) -> Message:
    """Read the table of a request, and propose a catalogue for it, or build the one that is proposed."""
    changes, name = ProposalBody.model_validate(request["changes"]), request["name"]
    source = open_file(Path(request["file"]), changes.reading.options())
    table = profile_table(source)
    proposal = table.propose(name=name, title=changes.title or "", choices=changes.choices())
    if request["do"] == "propose":
        return describe_proposal(table, proposal, source, name=name)
    settings = Settings.model_validate({**request["settings"], "environment": dict(os.environ)})
    with contextlib.closing(App(settings)) as app:
        recipe = own_recipe(proposal.loaded)
        return _build(app, source, recipe, name=name, embed=request["embed"], upload=request["upload"], tell=tell)


def _build(app: App, source: RowSource, recipe: Recipe, *, name: str, embed: bool, upload: str, tell: Tell) -> Message:
    model = find_brought_model(app, name, source, recipe.loaded.spec, is_own=True)
    problem = _find_model_problem(app, recipe, model) if embed else None
    try:
        report = add_catalogue(
            app,
            source,
            recipe=recipe,
            name=name,
            progress=_Telling(tell, source.count_rows()),
            embed=embed and problem is None,
            model=model,
            upload=upload,
        )
    except (ModelError, UnavailableError) as error:
        installed = app.library.find_installed(name)
        if installed is None or source.name not in installed.sources:
            raise
        return {"report": [BY_WORDS.format(error.message)]}
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


def _answered(request: Message, tell: Tell) -> Message:
    try:
        return {"result": answer(request, tell)}
    except ExpectedError as error:
        return {"error": {"code": error.code, "message": error.message}}
    except Exception:  # reported to the server, which answers for it
        logger.exception("a table could not be read or built")
        return {"error": {"code": "internal", "message": "internal error; the server's log has the details"}}


def _end_with(requests: BinaryIO) -> None:
    """Interrupt what is being done at the end of the input: the server has ended."""
    requests.read()
    signal.raise_signal(signal.SIGINT)


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Answer one request."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever is printed is no answer
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)

    def tell(message: Message) -> None:
        answers.write(orjson.dumps(message) + b"\n")

    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        if line := requests.readline():
            start_thread("end with the server", lambda: _end_with(requests))
            tell(_answered(orjson.loads(line), tell))


if __name__ == "__main__":
    main()
    sys.exit(0)
