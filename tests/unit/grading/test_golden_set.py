"""The questions that a catalogue writes for itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.errors import StorageError
from stackroom.grading.golden_set import GoldenSetRequest, write_golden_set
from stackroom.grading.questions import Question, QuestionKind, load_questions, save_questions
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.record import RecordId
from support.dishes import write_dishes

pytestmark = pytest.mark.row("N6")


def questions_of(app: App, **request: int) -> list[Question]:
    catalogue = app.open_catalogue("dishes")
    return write_golden_set(catalogue.shelf.reader(), catalogue.spec, GoldenSetRequest(**request))


@pytest.mark.usefixtures("dishes")
def test_a_catalogue_writes_questions_of_every_kind_that_it_has_fields_for(app: App) -> None:
    questions = questions_of(app, questions=60)
    kinds = {kind: sum(one.kind is kind for one in questions) for kind in {one.kind for one in questions}}
    assert set(kinds) == {
        QuestionKind.MISSPELT,
        QuestionKind.SHORT,
        QuestionKind.DESCRIPTION,
        QuestionKind.FIELDS,
    }
    assert sum(kinds.values()) == 60
    assert min(kinds.values()) >= 10
    assert all(one.query and one.expected for one in questions)


@pytest.mark.usefixtures("dishes")
def test_the_same_seed_gives_the_same_questions_and_another_seed_others(app: App) -> None:
    assert questions_of(app, questions=40) == questions_of(app, questions=40)
    assert questions_of(app, questions=40) != questions_of(app, questions=40, seed=1)


def test_most_questions_stay_when_records_are_added(
    app: App, dishes: Path, add_dishes: Callable[..., IngestReport]
) -> None:
    before = {one.query for one in questions_of(app, questions=60) if one.kind is QuestionKind.MISSPELT}
    add_dishes(write_dishes(dishes, range(100)))
    after = {one.query for one in questions_of(app, questions=60) if one.kind is QuestionKind.MISSPELT}
    assert len(before & after) >= 0.7 * len(before)


@pytest.mark.usefixtures("dishes")
def test_questions_are_kept_in_a_file_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    questions = [
        Question(kind=QuestionKind.OWN, query="größe", expected=(RecordId("1"), RecordId("2"))),
        Question(kind=QuestionKind.FIELDS, query="x", expected=(RecordId("1"),), made_from=("a",)),
    ]
    save_questions(questions, path)
    assert load_questions(path) == questions
    assert load_questions(tmp_path / "none.jsonl") == []
    path.write_text('{"kind": "unheard of"}\n', encoding="utf-8")
    with pytest.raises(StorageError, match=r"golden\.jsonl is damaged; remove it"):
        load_questions(path)
