"""A user's own questions, and what is said of a wrong file."""

from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.self_grading import grade_catalogue, keep_own_questions
from stackroom.errors import InputError
from stackroom.grading.golden_set import GoldenSetRequest
from stackroom.grading.questions import load_own_questions

pytestmark = pytest.mark.row("N6")


@pytest.mark.usefixtures("dishes")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("questions = 3", "'questions'"),
        ("", "'questions' is missing"),
        ('[[questions]]\nquery = "soup"', "question 1: 'expect' is missing"),
        ('[[questions]]\nquery = "soup"\nexpect = "dish-1"', "question 1: 'expect' input should be a valid list"),
        ('[[questions]]\nquery = ""\nexpect = ["dish-1"]', "question 1: 'query' string should have at least 1"),
        ('[[questions]]\nqeury = "soup"\nexpect = ["dish-1"]', "question 1: 'qeury' is not a known key"),
        ('[[questions]]\nquery = "soup"\nexpect = ["dish-1"]\n[[question]]', "'question' is not a known key"),
        ('[[questions]]\nquery = "soup"\nexpect = ["dish-1000"]', "'expect' has 'dish-1000', which is no id"),
        ("[[questions", "not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_the_key_and_what_would_be_right(
    app: App, tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load_own_questions(path, app.open_catalogue("dishes").shelf.reader())
    assert problem in refused.value.message
    assert "query = " in refused.value.message or "'dish-0'" in refused.value.message


@pytest.mark.usefixtures("dishes")
def test_own_questions_are_kept_with_the_catalogue_and_graded(app: App, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[[questions]]\nquery = "of 7"\nexpect = ["dish-7"]\n', encoding="utf-8")
    assert keep_own_questions(app, "dishes", path) == 1
    path.unlink()
    graded = grade_catalogue(app, "dishes", GoldenSetRequest(questions=20))
    assert graded.grade.kinds["own"].questions == 1
