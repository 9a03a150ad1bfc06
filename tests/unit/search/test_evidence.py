"""Evidence: how strongly a record answers a query, on one scale for every catalogue."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stackroom.model.hits import EVIDENCE_AT, STRONG_AT, Evidence, Label
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE, Scope
from stackroom.search.evidence import Calibration
from stackroom.search.searcher import Searcher
from support.embedders import WORD_MODEL
from support.searching import Hit, ShelfSearcher, searcher_of

pytestmark = pytest.mark.row("N2")

UNRELATED = (
    "how do I file my income taxes as a freelancer",
    "fix a leaking pipe under the kitchen sink",
    "mortgage refinancing rates in Ohio",
    "postgres replication lag troubleshooting",
    "dosage of ibuprofen for adults",
)


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Record]) -> Any:
    """Three stories among twenty others."""
    shelved.put(
        anime(
            "Star Pilots", synopsis="Pilots race between distant stars.", tags=["space"], year=1998
        ),
        anime(
            "The Baker", synopsis="Bread and butter in a small town.", tags=["gourmet"], year=2010
        ),
        anime(
            "Space Bread",
            alternatives=("Uchuu Pan", "宇宙パン"),
            synopsis="A bakery among stars.",
            year=2015,
        ),
        *(
            anime(f"Tale {place}", synopsis="A knight rides out to the sea.", year=2000)
            for place in range(20)
        ),
    )
    return shelved


@pytest.fixture
def searcher(stories: Any) -> ShelfSearcher:
    """A searcher of the stories, which were measured."""
    return searcher_of(stories, is_graded=True)


def hit_of(searcher: ShelfSearcher, name: str, query: str, scope: Scope = WHOLE) -> Hit:
    """Return the hit of one record."""
    return next(
        hit for hit in searcher.search(query, scope=scope, limit=50).hits if hit.record.id == name
    )


def evidence_of(searcher: ShelfSearcher, query: str, scope: Scope = WHOLE) -> Evidence:
    return searcher.search(query, scope=scope, limit=10).evidence


@pytest.mark.parametrize(
    ("strength", "label"),
    [
        (0.0, None),
        (0.49, None),
        (0.5, Label.RELEVANT),
        (0.7, Label.SIMILAR),
        (0.85, Label.HIGHLY_SIMILAR),
        (0.96, Label.HIGHLY_SIMILAR),
        (0.97, Label.IDENTICAL),
        (1.0, Label.IDENTICAL),
    ],
)
def test_labels_begin_at_fixed_strengths(strength: float, label: Label | None) -> None:
    assert Label.of(strength) is label


@pytest.mark.parametrize(
    ("strength", "evidence"),
    [
        (0.0, Evidence.NONE),
        (0.49, Evidence.NONE),
        (EVIDENCE_AT, Evidence.WEAK),
        (0.69, Evidence.WEAK),
        (STRONG_AT, Evidence.STRONG),
        (1.0, Evidence.STRONG),
    ],
)
def test_evidence_begins_where_the_first_label_does(strength: float, evidence: Evidence) -> None:
    assert Evidence.of(strength) is evidence
    assert (Label.of(strength) is None) == (evidence is Evidence.NONE)


@pytest.mark.row("A3")
@pytest.mark.parametrize(
    "query",
    ["Space Bread", "space bread", "SPACE  BREAD!", "“Space Bread”", "Uchuu Pan", "宇宙パン"],
)
@pytest.mark.parametrize("has_vectors", [True, False])
def test_the_record_of_that_very_name_is_identical_and_first(
    stories: Any, searcher: ShelfSearcher, query: str, has_vectors: bool
) -> None:
    asked = searcher if has_vectors else ShelfSearcher(shelf=stories.shelf)
    page = asked.search(query)
    assert page.hits[0].record.id == "Space Bread"
    assert page.hits[0].label is Label.IDENTICAL
    assert page.hits[0].score == 1.0
    assert page.evidence is Evidence.STRONG


@pytest.mark.row("A3")
@pytest.mark.parametrize(
    ("typed", "name"), [("abcd", "abce"), ("Monk", "Monster"), ("Akyra", "Akira")]
)
def test_a_short_word_that_is_nearly_a_name_is_none(
    stories: Any, searcher: ShelfSearcher, anime: Callable[..., Record], typed: str, name: str
) -> None:
    stories.put(anime(name, synopsis="Somebody goes somewhere."))
    assert hit_of(searcher, name, typed).reasons["name"] == 0
    assert hit_of(searcher, name, name).label is Label.IDENTICAL


def test_a_query_without_a_letter_is_no_name(stories: Any, searcher: ShelfSearcher) -> None:
    for one in (searcher, ShelfSearcher(shelf=stories.shelf)):
        assert evidence_of(one, "?!") is Evidence.NONE


@pytest.mark.parametrize("has_vectors", [True, False])
def test_a_record_with_more_of_the_words_is_not_weaker(
    stories: Any, searcher: ShelfSearcher, anime: Callable[..., Record], has_vectors: bool
) -> None:
    texts = [
        "Engines roar over deserts.",
        "Engines roar in autumn.",
        "Engines sleep in autumn.",
        "Owls sleep in autumn.",
    ]
    stories.put(*(anime(f"Film {place}", synopsis=text) for place, text in enumerate(texts)))
    asked = searcher if has_vectors else ShelfSearcher(shelf=stories.shelf)
    query = "engines roar over deserts"
    found = {hit.record.id: hit.score for hit in asked.search(query, limit=50).hits}
    strengths = [found.get(f"Film {place}", 0.0) for place in range(4)]
    assert strengths == sorted(strengths, reverse=True)
    assert strengths[0] > strengths[-1]
    assert Label.of(strengths[0]) is not None
    assert Label.of(strengths[-1]) is None


@pytest.mark.parametrize("query", ["bread in a small town", "submarines", "stars"])
def test_a_record_is_not_weaker_where_unrelated_queries_are_farther_away(
    stories: Any, query: str
) -> None:
    strengths = [
        hit_of(
            searcher_of(
                stories,
                calibration=Calibration(model=WORD_MODEL, middle=middle, spread=0.1),
            ),
            "The Baker",
            query,
        ).score
        for middle in (0.9, 0.6, 0.3, 0.0)
    ]
    assert strengths == sorted(strengths)
    assert all(0 <= strength <= 1 for strength in strengths)


def test_a_rare_word_tells_more_than_a_common_one(
    stories: Any, anime: Callable[..., Record]
) -> None:
    stories.put(
        anime("Rare", synopsis="A walrus rides out at night."),
        anime("Common", synopsis="A knight rides out at night."),
    )
    by_words = ShelfSearcher(shelf=stories.shelf)
    query = "walrus and knight"
    assert hit_of(by_words, "Rare", query).score > hit_of(by_words, "Common", query).score


def test_words_of_no_meaning_of_their_own_do_not_count(stories: Any) -> None:
    by_words = ShelfSearcher(shelf=stories.shelf)
    plain = hit_of(by_words, "The Baker", "bread butter").score
    for noisy in (
        "what is the one about bread and butter",
        "does everybody remember the movie: bread and butter",
    ):
        assert hit_of(by_words, "The Baker", noisy).score == pytest.approx(plain)


@pytest.mark.parametrize(
    "query", ["municipal wastewater permits", "quarterly earnings guidance", "zzzz qqqq"]
)
def test_a_question_about_something_else_has_no_evidence_and_what_is_nearest_has_no_label(
    stories: Any, searcher: ShelfSearcher, query: str
) -> None:
    page = searcher.search(query)
    assert (page.evidence, page.total_matches) == (Evidence.NONE, 0)
    assert page.hits
    assert {hit.label for hit in page.hits} == {None}


def test_a_catalogue_of_three_records_abstains_as_a_larger_one_does(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    shelved.put(
        anime("Star Pilots", synopsis="Pilots race between distant stars."),
        anime("The Baker", synopsis="Bread and butter in a small town."),
        anime("Salt", synopsis="Fishers on a frozen lake."),
    )
    searcher = searcher_of(shelved, is_graded=True)
    assert evidence_of(searcher, "municipal wastewater permits") is Evidence.NONE
    assert evidence_of(searcher, "pilots race between distant stars") is Evidence.STRONG
    assert evidence_of(searcher, "The Baker") is Evidence.STRONG


@pytest.mark.row("A4")
def test_the_words_of_a_title_are_no_description(stories: Any, searcher: ShelfSearcher) -> None:
    """A title that has a word of a description by chance is not what is described."""
    described = searcher.search("a bakery among distant stars near the sea")
    assert described.hits[0].record.id == "Space Bread"
    assert hit_of(searcher, "Star Pilots", "pilots").reasons["bm25"] > 0
    assert hit_of(searcher, "The Baker", "baker").reasons["bm25"] == 0


@pytest.mark.row("A4")
def test_of_two_records_of_one_name_the_one_of_which_more_is_known_is_first(
    stories: Any, searcher: ShelfSearcher, anime: Callable[..., Record]
) -> None:
    stories.put(
        anime("a", title="Twin Peaks", synopsis="Twins."),
        anime(
            "b",
            title="Twin Peaks",
            synopsis="Twins on a mountain. " * 30,
            sources=[f"page-{n}" for n in range(12)],
        ),
    )
    hits = searcher.search("twin peaks", limit=2).hits
    assert [hit.record.id for hit in hits] == ["b", "a"]
    assert [hit.label for hit in hits] == [Label.IDENTICAL, Label.IDENTICAL]


@pytest.mark.parametrize(
    ("query", "notes"),
    [
        ("bread and submarines", ("no record has 'submarines'",)),
        ("small town's pilots?", ("the best match lacks 'pilots'",)),
        ("does everybody see bread and butter", ()),
        ("bread and butter in a small town with submarines", ()),
        ("Spcae Bread", ()),
    ],
)
def test_an_answer_says_which_word_of_weight_is_missing(
    stories: Any, query: str, notes: tuple[str, ...]
) -> None:
    searcher = Searcher(spec=stories.shelf.spec, embedder=stories.embedder)
    ranked = searcher.rank(stories.shelf.reader(), query, scope=WHOLE, limit=5)
    first = ranked.first(1)
    assert ranked.notes_on(replace(first, scores=np.array([STRONG_AT]))) == list(notes)


def labels(sample: Any, query: str) -> list[Label | None]:
    catalogue = sample.app.open_catalogue("anime")
    assert catalogue.searcher.calibration_of(catalogue.shelf.reader().model) is not None
    hits = catalogue.view().search(query, scope=WHOLE).hits(10)
    assert len(hits) == 10
    return [hit.label for hit in hits]


@pytest.mark.model
@pytest.mark.parametrize("query", UNRELATED)
def test_with_the_real_model_a_question_about_something_else_gets_no_label(
    sample: Any, query: str
) -> None:
    assert labels(sample, query) == [None] * 10


@pytest.mark.model
def test_with_the_real_model_what_the_catalogue_is_about_gets_labels(sample: Any) -> None:
    assert labels(sample, "giant robots")[0] is not None
    assert labels(sample, "Cowboy Bebop")[0] is Label.IDENTICAL
    assert labels(sample, "bounty hunters travelling through space")[0] is not None


@pytest.mark.model
def test_with_the_real_model_a_question_in_another_language_is_told_in_which_to_ask(
    sample: Any,
) -> None:
    view = sample.app.open_catalogue("anime").view()
    for query in ("traurige Geschichte über Freundschaft", "宇宙を舞台にしたロボットアニメ"):
        (note,) = view.search(query, scope=WHOLE).word_notes
        assert "ask in English" in note
    assert view.search("qwxzv blorp fnord", scope=WHOLE).word_notes == []
