"""Self-grading of a catalogue in the library: its questions, its grade and its tuned weights, kept in its folder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stackroom.assembly.app import App
from stackroom.control.database.tables import utc_now
from stackroom.errors import InputError
from stackroom.grading.asking import AskedQuestion, Asker, embed_for
from stackroom.grading.golden_set import write_golden_set
from stackroom.grading.grade import GRADE_FILE, Grade, grade_questions, save_grade
from stackroom.grading.questions import OWN_FILE, Question, load_own_questions, save_questions
from stackroom.grading.tuned_file import TUNED_FILE, difference, save_tuned
from stackroom.grading.tuning import Tuning, tune
from stackroom.library import QUESTIONS_FILE, remove_file
from stackroom.model.scope import WHOLE
from stackroom.shelf.port import ShelfReader
from stackroom.tools.catalogue import OpenCatalogue

Asking = Callable[[int, int], None]
"""Called with the number of questions asked so far, and of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedCatalogue:
    """A catalogue that was just graded, with its questions as they were asked."""

    catalogue: OpenCatalogue
    folder: Path
    grade: Grade
    asked: Sequence[AskedQuestion]


def grade_catalogue(app: App, name: str, count: int, *, asking: Asking = lambda _done, _all: None) -> GradedCatalogue:
    """Write so many questions of a catalogue, ask them, and keep both the questions and the grade."""
    catalogue, folder = app.open_catalogue(name), app.library.get_installed(name).folder
    reader = catalogue.shelf.reader()
    own = folder / OWN_FILE
    questions = [
        *(load_own_questions(own, reader) if own.is_file() else ()),
        *write_golden_set(reader, catalogue.spec, count),
    ]
    if not questions:
        raise InputError(
            f"no question can be made from the {reader.count(WHOLE)} records of '{name}'; write some in {own}"
        )
    asked = _ask(app, catalogue, reader, questions, asking=asking)
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
    """Tune the weights of a catalogue; where they are accepted, keep them and the grade that they have."""
    spec = graded.catalogue.spec
    tuning = tune(graded.asked, graded.catalogue.searcher.search_spec, spec)
    if tuning.is_accepted:
        figures = {
            "tuned_half_before": str(tuning.tuned_half[0]),
            "tuned_half_after": str(tuning.tuned_half[1]),
            "other_half_before": str(tuning.other_half[0]),
            "other_half_after": str(tuning.other_half[1]),
        }
        save_tuned(difference(tuning.search, spec.search), graded.folder / TUNED_FILE, figures=figures)
        kinds = grade_questions(graded.asked, tuning.search)
        save_grade(replace(graded.grade, kinds=kinds), graded.folder / GRADE_FILE)
    return tuning


def reset_tuning(app: App, name: str) -> bool:
    """Return to the declared weights, and tell whether there were tuned ones."""
    return remove_file(app.library.get_installed(name).folder / TUNED_FILE)


def keep_own_questions(app: App, name: str, file: Path) -> int:
    """Copy a user's questions into the catalogue's folder after checking them, and return how many there are."""
    catalogue, folder = app.open_catalogue(name), app.library.get_installed(name).folder
    questions = load_own_questions(file, catalogue.shelf.reader())
    if file.resolve() != (folder / OWN_FILE).resolve():
        (folder / OWN_FILE).write_bytes(file.read_bytes())
    return len(questions)


def _ask(
    app: App, catalogue: OpenCatalogue, reader: ShelfReader, questions: Sequence[Question], *, asking: Asking
) -> list[AskedQuestion]:
    asker = Asker(reader=reader, spec=catalogue.spec, embed=embed_for(reader, app.embedder_of))
    asked = []
    for one in asker.ask(questions):
        asked.append(one)
        asking(len(asked), len(questions))
    return asked
