"""Self-grading of a catalogue in the library: its questions, its grade and its tuned weights, kept in its folder."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from pinakes.assembly.app import App
from pinakes.catalogue.spec import SearchSpec
from pinakes.control.database.time_columns import utc_now
from pinakes.errors import InputError
from pinakes.grading.asking import AskedQuestion, Asker, embed_for
from pinakes.grading.drift import NO_SEARCHES, SearchCounts, find_drift, measure_state
from pinakes.grading.golden_set import GoldenSetRequest, write_golden_set
from pinakes.grading.grade import GRADE_FILE, LATEST_FILE, Grade, find_grade, grade_questions, save_grade
from pinakes.grading.own_questions import OWN_FILE, load_own_questions
from pinakes.grading.questions import (
    QUESTIONS_FILE,
    Question,
    digest_of_questions,
    load_questions,
    save_questions,
)
from pinakes.grading.recorded_queries import find_recorded_questions
from pinakes.grading.tuned_file import TUNED_FILE, difference, save_tuned
from pinakes.grading.tuning import Tuning, tune
from pinakes.model.audit import AuditEntry
from pinakes.model.scope import WHOLE
from pinakes.shelf.port import Checkpoint, ShelfReader, never_stop
from pinakes.tools.catalogue import OpenCatalogue

Asking = Callable[[int, int], None]
"""Called with the number of questions asked so far, and of all."""


def _silent(_done: int, _all: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedCatalogue:
    """A catalogue that was just graded, with its questions as they were asked."""

    catalogue: OpenCatalogue
    folder: Path
    grade: Grade
    asked: Sequence[AskedQuestion]


def grade_catalogue(
    app: App,
    name: str,
    request: GoldenSetRequest,
    *,
    recorded: Iterable[AuditEntry] = (),
    asking: Asking = _silent,
    now: Callable[[], datetime] = utc_now,
) -> GradedCatalogue:
    """Write the questions of a catalogue, ask them, and keep both the questions and the grade."""
    catalogue, folder = app.open_catalogue(name), app.library.get_installed(name).folder
    reader = catalogue.shelf.reader()
    own = folder / OWN_FILE
    questions = [
        *(load_own_questions(own, reader) if own.is_file() else ()),
        *find_recorded_questions(recorded, reader, catalogue=name),
        *write_golden_set(reader, catalogue.spec, request),
    ]
    if not questions:
        raise InputError(f"no question can be made from the {reader.count(WHOLE)} records of '{name}'")
    asked = _ask(app, catalogue, reader, questions, asking=asking)
    grade = _grade(reader, questions, asked, catalogue.searcher.search_spec, at=now())
    save_questions(questions, folder / QUESTIONS_FILE)
    save_grade(grade, folder / GRADE_FILE)
    (folder / LATEST_FILE).unlink(missing_ok=True)
    return GradedCatalogue(catalogue=catalogue, folder=folder, grade=grade, asked=asked)


def tune_catalogue(graded: GradedCatalogue, *, checkpoint: Checkpoint = never_stop) -> Tuning:
    """Tune the weights of a catalogue; where they are accepted, keep them and the grade that they have."""
    spec = graded.catalogue.spec
    tuning = tune(graded.asked, graded.catalogue.searcher.search_spec, spec, checkpoint=checkpoint)
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
    path = app.library.get_installed(name).folder / TUNED_FILE
    was_tuned = path.is_file()
    path.unlink(missing_ok=True)
    return was_tuned


def regrade(
    app: App,
    name: str,
    *,
    searches: Callable[[datetime], SearchCounts] = lambda _since: NO_SEARCHES,
    checkpoint: Checkpoint = never_stop,
    now: Callable[[], datetime] = utc_now,
) -> Grade | None:
    """Ask a catalogue's questions again, and keep the grade, with the signs of drift since `pinakes eval`.

    Returns None for a catalogue that was never graded. `searches` counts the searches since a time.
    """
    catalogue, folder = app.open_catalogue(name), app.library.get_installed(name).folder
    questions, before = load_questions(folder / QUESTIONS_FILE), find_grade(folder / GRADE_FILE)
    if not questions or before is None:
        return None
    reader = catalogue.shelf.reader()
    asked = _ask(app, catalogue, reader, questions, asking=lambda _done, _all: checkpoint())
    if not asked:
        raise InputError("none of its questions has an answer in it any more; grade it again: pinakes eval")
    grade = _grade(reader, questions, asked, catalogue.searcher.search_spec, at=now())
    signs = find_drift(reader, before=before, now=grade, searches=searches(before.at))
    latest = replace(grade, drift=tuple(signs))
    save_grade(latest, folder / LATEST_FILE)
    return latest


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


def _grade(
    reader: ShelfReader,
    questions: Sequence[Question],
    asked: Sequence[AskedQuestion],
    search: SearchSpec,
    *,
    at: datetime,
) -> Grade:
    return Grade(
        at=at,
        records=reader.count(WHOLE),
        model=str(reader.model),
        questions=digest_of_questions(questions),
        kinds=grade_questions(asked, search),
        state=measure_state(reader),
    )
