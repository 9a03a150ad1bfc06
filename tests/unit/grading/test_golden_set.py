"""The questions that a catalogue writes for itself, those of a user, and the grades of the sample
catalogues.
"""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.errors import InputError, StorageError
from stackroom.grading.golden_set import (
    Question,
    QuestionKind,
    describe,
    load_own_questions,
    load_questions,
    misspell,
    name_topic,
    save_questions,
    shorten,
    write_golden_set,
)
from stackroom.grading.graded_catalogue import grade_catalogue, tune_catalogue
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.record import RecordId
from stackroom.settings import Settings
from stackroom.text.analyser import query_tokens
from support.dishes import write_dishes

pytestmark = pytest.mark.row("N6")


def questions_of(app: App, count: int) -> list[Question]:
    catalogue = app.open_catalogue("dishes")
    return write_golden_set(catalogue.shelf.reader(), catalogue.spec, count)


@pytest.mark.usefixtures("dishes")
def test_a_catalogue_writes_questions_of_every_kind_that_it_has_fields_for(app: App) -> None:
    questions = questions_of(app, 60)
    kinds = {
        kind: sum(one.kind is kind for one in questions) for kind in {one.kind for one in questions}
    }
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
def test_the_same_records_give_the_same_questions(app: App) -> None:
    assert questions_of(app, 40) == questions_of(app, 40)


def test_most_questions_stay_when_records_are_added(
    app: App, dishes: Path, add_dishes: Callable[..., IngestReport]
) -> None:
    before = {one.query for one in questions_of(app, 60) if one.kind is QuestionKind.MISSPELT}
    add_dishes(write_dishes(dishes, range(100)))
    after = {one.query for one in questions_of(app, 60) if one.kind is QuestionKind.MISSPELT}
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


@pytest.mark.usefixtures("dishes")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("questions = 3", "'questions'"),
        ("", "'questions' is missing"),
        ('[[questions]]\nquery = "soup"', "question 1: 'expect' is missing"),
        (
            '[[questions]]\nquery = "soup"\nexpect = "dish-1"',
            "question 1: 'expect' input should be a valid list",
        ),
        (
            '[[questions]]\nquery = ""\nexpect = ["dish-1"]',
            "question 1: 'query' string should have at least 1",
        ),
        (
            '[[questions]]\nqeury = "soup"\nexpect = ["dish-1"]',
            "question 1: 'qeury' is not a known key",
        ),
        (
            '[[questions]]\nquery = "soup"\nexpect = ["dish-1"]\n[[question]]',
            "'question' is not a known key",
        ),
        (
            '[[questions]]\nquery = "soup"\nexpect = ["dish-1000"]',
            "'expect' has 'dish-1000', which is no id",
        ),
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


def all_alike(tokens: list[str]) -> list[int]:
    return [1 for _ in tokens]


@pytest.mark.parametrize("seed", range(20))
def test_a_misspelt_name_differs_by_one_slip(seed: int) -> None:
    name = "Cowboy Bebop"
    misspelt = misspell(name, random.Random(seed))
    assert misspelt is not None
    assert misspelt != name
    assert abs(len(misspelt) - len(name)) <= 1
    assert misspelt[0] == "C"


@pytest.mark.parametrize("name", ["", "Up", "AKIRA"[:4], "鋼の錬金術師", "1984 2001"])
def test_a_name_that_is_short_or_of_another_script_is_not_misspelt(name: str) -> None:
    assert misspell(name, random.Random(0)) is None


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Fullmetal Alchemist: Brotherhood", "Fullmetal Alchemist"),
        ("Attention Is All You Need for the Translation of Speech", "Attention Is All You Need"),
        ("Amber Garlic and mint of 7", "Amber Garlic and mint"),
        ("Heat", None),
        ("The Mill: a story", None),
    ],
)
def test_a_name_is_shortened_to_what_people_say(name: str, short: str | None) -> None:
    assert shorten(name) == short


def test_a_description_has_words_of_the_text_and_some_others_but_none_of_the_name() -> None:
    text = "The baker hides golden coins inside every loaf before the winter market opens again."
    query = describe(
        text,
        without=set(query_tokens("Golden Loaf")),
        others="merchants secretly carry silver",
        frequencies=all_alike,
        generator=random.Random(1),
    )
    assert query is not None
    words = set(query.split())
    assert not words & {"golden", "loaf", "the", "before"}
    assert words & {"merchants", "secretly", "carry", "silver"}
    assert words & {"baker", "hides", "coins", "winter", "market", "opens"}


def test_a_topic_is_a_heading_with_the_rarest_words_below_it() -> None:
    rare = {
        token: count
        for count, token in enumerate(query_tokens("tides moon harbour pilots ropes ships anchor"))
    }
    topic = name_topic(
        "Sailing",
        "Ships anchor ropes pilots harbour moon tides",
        frequencies=lambda tokens: [rare[token] for token in tokens],
    )
    assert topic == "Sailing tides moon"


@pytest.fixture
def samples(whole_home: Path, tmp_path: Path) -> Iterator[App]:
    """A library of one's own with every sample catalogue, without vectors."""
    shutil.copytree(whole_home, tmp_path / "home")
    app = App(Settings(home=tmp_path / "home"))
    yield app
    app.close()


@pytest.mark.parametrize(
    "name", ["anime", "papers", "handbook", "dnd", "personal", "judoka", "music"]
)
def test_tuning_raises_or_keeps_the_grade_of_the_held_out_half(samples: App, name: str) -> None:
    graded = grade_catalogue(samples, name, 120)
    before = graded.search
    tuning = tune_catalogue(graded)
    kept = tuning.other_half[1] if tuning.is_accepted else tuning.other_half[0]
    assert kept.mean >= tuning.other_half[0].mean > 0.4
    assert samples.open_catalogue(name).searcher.search_spec == tuning.search
    assert tuning.is_accepted or tuning.search == before
