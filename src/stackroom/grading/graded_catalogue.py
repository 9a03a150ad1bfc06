"""A catalogue of the library that is graded: its questions, its grade and its tuned weights, kept
in its folder, and the guard of its updates.

An update of a graded catalogue that answers worse beyond noise is undone and refused: the view from
before it stays readable, so both are asked the same questions. Undoing writes the former records as
new changes.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from stackroom.catalogue.compiler import LoadedSpec
from stackroom.catalogue.spec import CatalogueSpec, SearchSpec
from stackroom.control.database.tables import utc_now
from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError, InputError, RegressionError
from stackroom.frozen import frozen
from stackroom.grading.golden_set import (
    OWN_FILE,
    Question,
    load_own_questions,
    load_questions,
    save_questions,
    write_golden_set,
)
from stackroom.grading.grade import (
    GRADE_FILE,
    AskedQuestion,
    Asker,
    Fall,
    GetEmbedder,
    Grade,
    embed_for,
    find_regressions,
    grade_questions,
    save_grade,
)
from stackroom.grading.tuning import TUNED_FILE, Tuning, difference, save_tuned, tune, watch_tuned
from stackroom.ingest.embedding import build_puts
from stackroom.ingest.ledger import copy_ledger, put_back_ledger
from stackroom.ingest.pipeline import IngestReport
from stackroom.library import LEDGER_FILE, QUESTIONS_FILE, Installed
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.opening import SpecLibrary, open_shelf
from stackroom.shelf.port import Author, BuildableShelf, Change, Delete, ShelfReader

Asking = Callable[[int, int], None]  # called with the number of questions asked so far, and of all


@frozen
class GradedCatalogue:
    """A catalogue that was just graded, with its questions as they were asked."""

    spec: CatalogueSpec
    search: SearchSpec  # in force when it was graded
    folder: Path
    grade: Grade
    asked: Sequence[AskedQuestion]


class GradingLibrary(SpecLibrary, Protocol):
    """A library with the embedders of its catalogues."""

    def embedder_of(self, model: ModelId | None) -> Embedder:
        """Return the embedder of a model, or the default one."""


def grade_catalogue(
    library: GradingLibrary, name: str, count: int, *, asking: Asking = lambda _done, _all: None
) -> GradedCatalogue:
    """Write so many questions of a catalogue, ask them, and keep both the questions and the
    grade.
    """
    installed = library.library.get_installed(name)
    folder = installed.folder
    with closing(library.open_shelf(installed)) as shelf:
        reader, spec, own = shelf.reader(), shelf.spec, folder / OWN_FILE
        questions = [*(load_own_questions(own, reader) if own.is_file() else ())]
        questions += write_golden_set(reader, spec, count)
        if not questions:
            raise InputError(
                f"no question can be made from the {reader.count(WHOLE)} records of '{name}'; write"
                f" some in {own}"
            )
        asker = _asker(folder, reader, spec, library.embedder_of)
        asked = []
        for one in asker.ask(questions):
            asked.append(one)
            asking(len(asked), len(questions))
        grade = Grade(
            at=utc_now(),
            records=reader.count(WHOLE),
            model=str(reader.model),
            kinds=grade_questions(asked, asker.weights),
        )
    save_questions(questions, folder / QUESTIONS_FILE)
    save_grade(grade, folder / GRADE_FILE)
    return GradedCatalogue(spec=spec, search=asker.weights, folder=folder, grade=grade, asked=asked)


def _asker(
    folder: Path, reader: ShelfReader, spec: CatalogueSpec, get_embedder: GetEmbedder
) -> Asker:
    """Return what asks questions of a view of a catalogue, with the weights that are in force."""
    tuned = watch_tuned(folder / TUNED_FILE, spec.search).find()
    embed = embed_for(reader, get_embedder)
    return Asker(reader=reader, spec=spec, weights=tuned or spec.search, embed=embed)


def tune_catalogue(graded: GradedCatalogue) -> Tuning:
    """Tune the weights of a catalogue; where they are accepted, keep them and the grade that they
    have.
    """
    tuning = tune(graded.asked, graded.search, graded.spec)
    if tuning.is_accepted:
        save_tuned(difference(tuning.search, graded.spec.search), graded.folder / TUNED_FILE)
        kinds = grade_questions(graded.asked, tuning.search)
        save_grade(replace(graded.grade, kinds=kinds), graded.folder / GRADE_FILE)
    return tuning


def keep_own_questions(library: SpecLibrary, name: str, file: Path) -> None:
    """Copy a user's questions into the catalogue's folder after checking them."""
    installed = library.library.get_installed(name)
    with closing(library.open_shelf(installed)) as shelf:
        load_own_questions(file, shelf.reader())
    own = installed.folder / OWN_FILE
    if file.resolve() != own.resolve():
        own.write_bytes(file.read_bytes())


LEDGER_COPY = "ledger.sqlite.new"
FEW_CHANGES = 20
FEW_CHANGES_SHARE = 0.01  # an update of so few records, or of such a share of them, is not graded
CHANGES_AT_ONCE = 1_000


@frozen
class UpdateGuard:
    """A graded catalogue as it was before an update."""

    library: GradingLibrary
    installed: Installed
    loaded: LoadedSpec
    questions: tuple[Question, ...]
    shelf: CatalogueShelf
    before: ShelfReader

    def begin(self) -> None:
        """Keep a copy of the ledger. The catalogue is locked for writing."""
        copy_ledger(self._ledger, self.installed.folder / LEDGER_COPY)

    def require_no_regression(
        self,
        reader: ShelfReader,
        spec: CatalogueSpec,
        report: IngestReport,
        embedder: Embedder | None,
    ) -> None:
        """Refuse an update that answers the same questions worse than before; small ones are not
        graded.
        """
        few = max(FEW_CHANGES, FEW_CHANGES_SHARE * self.before.count(WHOLE))
        is_alike = spec == self.loaded.spec and reader.model == self.before.model
        if is_alike and report.written + report.removed <= few:
            return
        if falls := self.find_falls(reader, spec, (lambda _model: embedder) if embedder else None):
            raise RegressionError(
                f"the update of '{self.installed.name}' was refused, and its former records and"
                " index are kept: it answers its questions worse than before, in nDCG@10:"
                f" {', '.join(map(str, falls))}; to update it anyway, add --force to stackroom add"
            )

    def find_falls(
        self,
        reader: ShelfReader,
        spec: CatalogueSpec | None = None,
        get_embedder: GetEmbedder | None = None,
    ) -> list[Fall]:
        """Return what a later view answers worse, by the spec and the embedders of before where
        none are given.
        """
        folder, embedder_of = self.installed.folder, self.library.embedder_of
        return find_regressions(
            _asker(folder, self.before, self.loaded.spec, embedder_of),
            _asker(folder, reader, spec or self.loaded.spec, get_embedder or embedder_of),
            self.questions,
        )

    def undo(self, shelf: BuildableShelf, *, since: int, author: Author) -> None:
        """Write the records as they were, by the former model. The catalogue is locked, and its
        ledger closed.
        """
        if self.before.model is not None:
            shelf.switch_model(self.before.model)
        changes = list(_inverse(shelf, self.loaded.spec, since))
        shelf.writer().apply(changes, author=author)  # commit point: the records are as they were
        put_back_ledger(self.installed.folder / LEDGER_COPY, self._ledger)
        self.library.library.put_back_declaration(self.installed, self.loaded.declaration)

    def close(self) -> None:
        """Close the view from before, and remove what was kept."""
        (self.installed.folder / LEDGER_COPY).unlink(missing_ok=True)
        self.shelf.close()

    def publish_former(self) -> None:
        """Update the index to the records that were put back."""
        with closing(open_shelf(self.installed.folder, self.loaded.spec)) as former:
            former.publish()

    @property
    def _ledger(self) -> Path:
        return self.installed.folder / LEDGER_FILE


def accept_rebuilt(library: GradingLibrary, name: str) -> Callable[[ShelfReader], None]:
    """Return the check of a rebuilt index against the present one, for a catalogue that was
    graded.
    """
    guard = find_guard(library, name)

    def accept(reader: ShelfReader) -> None:
        if guard is None:
            return
        with closing(guard):
            falls = guard.find_falls(reader)
        if falls:
            raise RegressionError(
                f"the rebuilt index of '{name}' was refused, and the former one kept: it answers"
                f" worse, in nDCG@10: {', '.join(map(str, falls))}; to rebuild it anyway, remove"
                f" {guard.installed.folder / QUESTIONS_FILE}"
            )

    return accept


def find_guard(library: GradingLibrary, name: str) -> UpdateGuard | None:
    """Open the view from before an update; None for a catalogue without questions, or that cannot
    be read.
    """
    installed = library.library.find_installed(name)
    if installed is None or not (installed.folder / QUESTIONS_FILE).is_file():
        return None
    questions = load_questions(installed.folder / QUESTIONS_FILE)
    try:
        loaded = library.spec_of(installed)
        shelf = library.open_shelf(installed)
        before = shelf.reader()
    except ExpectedError:
        return None  # there is nothing to compare with: the update may mend it
    return UpdateGuard(
        library=library,
        installed=installed,
        loaded=loaded,
        questions=tuple(questions),
        shelf=shelf,
        before=before,
    )


def _inverse(shelf: BuildableShelf, spec: CatalogueSpec, since: int) -> Iterator[Change]:
    """Yield the changes that make every record what it was at a change number."""
    was: dict[RecordId, Record | None] = {}
    last: int | None = None
    while True:
        page = shelf.history().list_changes(limit=CHANGES_AT_ONCE, before=last)
        later = [one for one in page if one.change_no > since]
        was.update({one.id: one.before for one in later})
        if len(later) < CHANGES_AT_ONCE:
            break
        last = later[-1].change_no
    yield from (Delete(record_id) for record_id, record in was.items() if record is None)
    yield from build_puts([record for record in was.values() if record is not None], spec)[0]
