"""Self-grading of a catalogue in the library: its questions, its grade and its tuned weights, kept
in its folder.

An update of a graded catalogue that answers worse beyond noise is undone and refused: the view from
before it stays readable, so both are asked the same questions. Undoing writes the former records as
new changes.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from stackroom.assembly.app import App
from stackroom.assembly.workshop import GetEmbedder, Workshop
from stackroom.catalogue.compiler import LoadedSpec
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.control.database.tables import utc_now
from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError, InputError, RegressionError
from stackroom.grading.golden_set import write_golden_set
from stackroom.grading.grade import (
    GRADE_FILE,
    AskedQuestion,
    Asker,
    Fall,
    Grade,
    GradedView,
    embed_for,
    find_regressions,
    grade_questions,
    save_grade,
)
from stackroom.grading.questions import (
    OWN_FILE,
    Question,
    load_own_questions,
    load_questions,
    save_questions,
)
from stackroom.grading.tuning import TUNED_FILE, Tuning, difference, save_tuned, tune, watch_tuned
from stackroom.ingest.embedding import build_puts
from stackroom.ingest.ledger import copy_ledger, put_back_ledger
from stackroom.ingest.pipeline import IngestReport
from stackroom.library import LEDGER_FILE, QUESTIONS_FILE, Installed
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.opening import open_shelf
from stackroom.shelf.port import Author, BuildableShelf, Change, Delete, ShelfReader
from stackroom.tools.catalogue import OpenCatalogue

Asking = Callable[[int, int], None]  # called with the number of questions asked so far, and of all


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedCatalogue:
    """A catalogue that was just graded, with its questions as they were asked."""

    catalogue: OpenCatalogue
    folder: Path
    grade: Grade
    asked: Sequence[AskedQuestion]


def grade_catalogue(
    app: App, name: str, count: int, *, asking: Asking = lambda _done, _all: None
) -> GradedCatalogue:
    """Write so many questions of a catalogue, ask them, and keep both the questions and the
    grade.
    """
    catalogue, folder = app.open_catalogue(name), app.library.get_installed(name).folder
    reader = catalogue.shelf.reader()
    own = folder / OWN_FILE
    questions = [*(load_own_questions(own, reader) if own.is_file() else ())]
    questions += write_golden_set(reader, catalogue.spec, count)
    if not questions:
        message = (
            f"no question can be made from the {reader.count(WHOLE)} records of '{name}'; write"
            f" some in {own}"
        )
        raise InputError(message)
    asked = []
    for one in Asker(
        reader=reader, spec=catalogue.spec, embed=embed_for(reader, app.embedder_of)
    ).ask(questions):
        asked.append(one)
        asking(len(asked), len(questions))
    grade = Grade(
        at=utc_now(),
        records=reader.count(WHOLE),
        model=str(reader.model),
        kinds=grade_questions(asked, catalogue.searcher.search_spec),
    )
    save_questions(questions, folder / QUESTIONS_FILE)
    save_grade(grade, folder / GRADE_FILE)
    return GradedCatalogue(catalogue=catalogue, folder=folder, grade=grade, asked=asked)


def tune_catalogue(graded: GradedCatalogue) -> Tuning:
    """Tune the weights of a catalogue; where they are accepted, keep them and the grade that they
    have.
    """
    spec = graded.catalogue.spec
    tuning = tune(graded.asked, graded.catalogue.searcher.search_spec, spec)
    if tuning.is_accepted:
        figures = {
            "tuned_half_before": str(tuning.tuned_half[0]),
            "tuned_half_after": str(tuning.tuned_half[1]),
            "other_half_before": str(tuning.other_half[0]),
            "other_half_after": str(tuning.other_half[1]),
        }
        save_tuned(
            difference(tuning.search, spec.search), graded.folder / TUNED_FILE, figures=figures
        )
        kinds = grade_questions(graded.asked, tuning.search)
        save_grade(replace(graded.grade, kinds=kinds), graded.folder / GRADE_FILE)
    return tuning


def keep_own_questions(app: App, name: str, file: Path) -> int:
    """Copy a user's questions into the catalogue's folder after checking them, and return how many
    there are.
    """
    catalogue, folder = app.open_catalogue(name), app.library.get_installed(name).folder
    questions = load_own_questions(file, catalogue.shelf.reader())
    if file.resolve() != (folder / OWN_FILE).resolve():
        (folder / OWN_FILE).write_bytes(file.read_bytes())
    return len(questions)


LEDGER_COPY = "ledger.sqlite.new"
FEW_CHANGES = 20
FEW_CHANGES_SHARE = 0.01  # an update of so few records, or of such a share of them, is not graded
CHANGES_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateGuard:
    """A graded catalogue as it was before an update."""

    workshop: Workshop
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
        return find_regressions(
            self._graded(self.before, self.loaded.spec, self.workshop.embedder_of),
            self._graded(
                reader, spec or self.loaded.spec, get_embedder or self.workshop.embedder_of
            ),
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
        self.workshop.library.put_back_declaration(self.installed, self.loaded.declaration)

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

    def _graded(
        self, reader: ShelfReader, spec: CatalogueSpec, get_embedder: GetEmbedder
    ) -> GradedView:
        tuned = watch_tuned(self.installed.folder / TUNED_FILE, spec.search).find()
        asker = Asker(reader=reader, spec=spec, embed=embed_for(reader, get_embedder))
        return GradedView(asker=asker, search=tuned or spec.search)


def accept_rebuilt(workshop: Workshop, name: str) -> Callable[[ShelfReader], None]:
    """Return the check of a rebuilt index against the present one, for a catalogue that was
    graded.
    """
    guard = find_guard(workshop, name)

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


def find_guard(workshop: Workshop, name: str) -> UpdateGuard | None:
    """Open the view from before an update; None for a catalogue without questions, or that cannot
    be read.
    """
    installed = workshop.library.find_installed(name)
    if installed is None or not (installed.folder / QUESTIONS_FILE).is_file():
        return None
    questions = load_questions(installed.folder / QUESTIONS_FILE)
    try:
        loaded = workshop.spec_of(installed)
        shelf = workshop.open_shelf(installed)
        before = shelf.reader()
    except ExpectedError:
        return None  # there is nothing to compare with: the update may mend it
    return UpdateGuard(
        workshop=workshop,
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
