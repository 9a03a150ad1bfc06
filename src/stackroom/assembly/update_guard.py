"""A guard around the update of a graded catalogue: an update that answers worse beyond noise is undone and refused.

The view from before the update stays readable while the update is written, so both are asked the same questions
afterwards, and only where enough has changed. Undoing writes the former records as new changes: nothing is lost from
the history, and a server that is open follows.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from stackroom.assembly.workshop import GetEmbedder, Workshop
from stackroom.catalogue.compiler import LoadedSpec
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError, RegressionError
from stackroom.grading.asking import Asker, embed_for
from stackroom.grading.questions import Question, load_questions
from stackroom.grading.regression import Fall, GradedView, find_regressions
from stackroom.grading.tuned_file import TUNED_FILE, watch_tuned
from stackroom.ingest.embedding import build_puts
from stackroom.ingest.ledger import copy_ledger, put_back_ledger
from stackroom.ingest.pipeline import IngestReport
from stackroom.library import LEDGER_FILE, QUESTIONS_FILE, Installed
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.port import Author, BuildableShelf, Change, Delete, ShelfReader

LEDGER_COPY = "ledger.sqlite.new"
FEW_CHANGES = 20
FEW_CHANGES_SHARE = 0.01
"""An update of so few records, or of such a share of them, is not graded."""
CHANGES_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateGuard:
    """A graded catalogue as it was before an update."""

    workshop: Workshop
    installed: Installed
    loaded: LoadedSpec
    questions: tuple[Question, ...]
    shelf: EmbeddedShelf
    before: ShelfReader

    def begin(self) -> None:
        """Keep a copy of the ledger. The catalogue is locked for writing."""
        copy_ledger(self._ledger, self.installed.folder / LEDGER_COPY)

    def require_no_regression(
        self, reader: ShelfReader, spec: CatalogueSpec, report: IngestReport, embedder: Embedder | None
    ) -> None:
        """Refuse an update that answers the same questions worse than before; small ones are not graded."""
        if self._is_small(reader, spec, report):
            return
        falls = self.find_falls(reader, spec, (lambda _model: embedder) if embedder else None)
        if falls:
            raise RegressionError(
                f"the update of '{self.installed.name}' was refused, and its former records and index are kept: it "
                f"answers its questions worse than before, in nDCG@10: {describe_falls(falls)}; to update it anyway, "
                "add --force to stackroom add"
            )

    def find_falls(
        self, reader: ShelfReader, spec: CatalogueSpec | None = None, get_embedder: GetEmbedder | None = None
    ) -> list[Fall]:
        """Return what a later view answers worse, by the spec and the embedders of before where none are given."""
        return find_regressions(
            self._graded(self.before, self.loaded.spec, self.workshop.embedder_of),
            self._graded(reader, spec or self.loaded.spec, get_embedder or self.workshop.embedder_of),
            self.questions,
        )

    def undo(self, shelf: BuildableShelf, *, since: int, author: Author) -> None:
        """Write the records as they were, by the former model. The catalogue is locked, and its ledger closed."""
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
        with closing(EmbeddedShelf.open(self.installed.folder, self.loaded.spec)) as former:
            former.publish()

    @property
    def _ledger(self) -> Path:
        return self.installed.folder / LEDGER_FILE

    def _graded(self, reader: ShelfReader, spec: CatalogueSpec, get_embedder: GetEmbedder) -> GradedView:
        tuned = watch_tuned(self.installed.folder / TUNED_FILE, spec.search).find()
        asker = Asker(reader=reader, spec=spec, embed=embed_for(reader, get_embedder))
        return GradedView(asker=asker, search=tuned or spec.search)

    def _is_small(self, reader: ShelfReader, spec: CatalogueSpec, report: IngestReport) -> bool:
        if spec != self.loaded.spec or reader.model != self.before.model:
            return False
        few = max(FEW_CHANGES, FEW_CHANGES_SHARE * self.before.count(WHOLE))
        return report.written + report.removed <= few


def accept_rebuilt(workshop: Workshop, name: str) -> Callable[[ShelfReader], None]:
    """Return the check of a rebuilt index against the present one, for a catalogue that was graded."""
    guard = find_guard(workshop, name)

    def accept(reader: ShelfReader) -> None:
        if guard is None:
            return
        try:
            falls = guard.find_falls(reader)
        finally:
            guard.close()
        if falls:
            raise RegressionError(
                f"the rebuilt index of '{name}' was refused, and the former one kept: it answers worse, in nDCG@10: "
                f"{describe_falls(falls)}; to rebuild it anyway, remove {guard.installed.folder / QUESTIONS_FILE}"
            )

    return accept


def describe_falls(falls: list[Fall]) -> str:
    """Return the falls in one line."""
    return ", ".join(map(str, falls))


def find_guard(workshop: Workshop, name: str) -> UpdateGuard | None:
    """Open the view from before an update; None for a catalogue without questions, or that cannot be read."""
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
        workshop=workshop, installed=installed, loaded=loaded, questions=tuple(questions), shelf=shelf, before=before
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
