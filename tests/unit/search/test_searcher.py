"""A search, end to end, over a shelf in memory."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.catalogue.spec import Fusion, SearchSpec
from stackroom.model.hits import Evidence, MatchType, SearchMode
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId
from stackroom.search.evidence import Calibration
from stackroom.search.searcher import Searcher
from stackroom.shelf.port import Embedding, Put
from support.searching import ShelfSearcher, first_hits, searcher_of


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Record]) -> Any:
    shelved.put(
        anime("Star Pilots", synopsis="Pilots race between stars.", tags=["space"], year=1998),
        anime(
            "The Baker", synopsis="Bread and butter in a small town.", tags=["gourmet"], year=2010
        ),
        anime(
            "Space Bread", synopsis="A bakery among stars.", tags=["space", "gourmet"], year=2015
        ),
    )
    return shelved


@pytest.fixture
def searcher(stories: Any) -> ShelfSearcher:
    return searcher_of(stories)


@pytest.mark.row("A4")
def test_a_mood_finds_the_records_that_have_its_tags_and_not_those_with_its_word(
    stories: Any, anime: Any
) -> None:
    stories.put(
        anime("Tea House", synopsis="Tea and rain.", tags=["iyashikei"]),
        anime("Mud", synopsis="A cosy trench, a war."),
    )
    searcher = searcher_of(stories)
    (hit,) = searcher.search("cosy anime", limit=1).hits
    assert (hit.record.id, hit.score > 0.6) == ("Tea House", True)
    assert searcher.ids("not cosy")[0] == "Mud"


@pytest.mark.row("A2")
def test_without_an_embedder_the_search_goes_by_words_and_says_so(stories: Any) -> None:
    page = ShelfSearcher(shelf=stories.shelf).search("bread")
    assert page.mode is SearchMode.FTS_ONLY
    assert page.degraded == "no embedder is configured"
    assert {hit.match_type for hit in page.hits} == {MatchType.FTS}
    assert {hit.record.id for hit in page.hits} == {"The Baker", "Space Bread"}


@pytest.mark.parametrize(
    "other",
    [ModelId(name="other", dimension=64), ModelId(name="word-hash", dimension=8)],
    ids=["name", "dimension"],
)
def test_vectors_of_another_model_are_never_compared(
    stories: Any, new_embedder: Callable[[ModelId], Any], other: ModelId
) -> None:
    stranger = new_embedder(other)
    page = ShelfSearcher(shelf=stories.shelf, embedder=stranger).search("bread")
    assert page.mode is SearchMode.FTS_ONLY
    assert str(other) in (page.degraded or "")
    assert stranger.queries == []


@pytest.mark.row("A2")
@pytest.mark.parametrize(
    "query", ["bread", "pilots race between stars", "Space Bread", "stars", "submarines", "?!"]
)
@pytest.mark.parametrize("has_vectors", [True, False])
def test_the_total_is_how_many_records_have_evidence(
    stories: Any, searcher: ShelfSearcher, query: str, has_vectors: bool
) -> None:
    asked = searcher if has_vectors else ShelfSearcher(shelf=stories.shelf)
    page = asked.search(query)
    assert page.total_matches == sum(hit.label is not None for hit in page.hits)
    assert (page.total_matches > 0) == (page.evidence is not Evidence.NONE)


@pytest.mark.row("A2")
def test_the_total_does_not_depend_on_how_many_hits_are_asked_for(
    stories: Any, anime: Callable[..., Record]
) -> None:
    stories.put(*(anime(f"Loaf {number}", synopsis="Bread, again.") for number in range(20)))
    searcher = searcher_of(stories)
    totals = {searcher.search("bread", limit=limit).total_matches for limit in (1, 3, 20)}
    assert len(totals) == 1
    assert totals.pop() >= 20


@pytest.mark.row("A2", "A3", "N7")
@pytest.mark.parametrize(
    ("name", "part", "other", "others"),
    [
        ("カウボーイビバップ", "ウボーイ", "ボーイ{}", 9),
        ("天空の城ラピュタ", "ラピュタ", "ピュタの{}ラピ", 30),
    ],
)
def test_a_part_of_a_name_in_another_script_finds_it_first(
    shelved: Any, anime: Callable[..., Record], name: str, part: str, other: str, others: int
) -> None:
    shelved.put(
        anime(
            "Sought",
            alternatives=(name, *(f"Name {number}" for number in range(20))),
            synopsis="Hunters.",
        ),
        *(
            anime(f"Other {number}", alternatives=(other.format(number),), synopsis="O.")
            for number in range(others)
        ),
    )
    assert searcher_of(shelved).ids(part, limit=3)[0] == "Sought"


@pytest.mark.parametrize("fusion", list(Fusion))
def test_ties_are_broken_by_id_whatever_the_order_of_arrival(
    shelved: Any, anime: Callable[..., Record], fusion: Fusion
) -> None:
    shelved.put(
        *(anime(name, title="Same", synopsis="The same words.") for name in ("c", "a", "d", "b"))
    )
    searcher = searcher_of(shelved, override=SearchSpec(fusion=fusion))
    if fusion is Fusion.BLEND:
        assert searcher.ids("same words") == ["a", "b", "c", "d"]
        assert searcher.ids("same words", limit=2) == ["a", "b"]
    else:
        # ranks have no ties; rankings break theirs by key
        assert searcher.ids("same words") == ["c", "a", "d", "b"]


def test_a_query_with_broken_characters_reaches_the_embedder_clean(
    stories: Any, searcher: ShelfSearcher
) -> None:
    searcher.search("bread \udcff\x00 \u202e butter", limit=1)
    stories.embedder.queries[-1].encode()
    assert "\x00" not in stories.embedder.queries[-1]


def test_a_search_for_many_hits_ranks_like_one_that_looks_at_every_record(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    generator = random.Random(3)
    words = ["bread", "butter", "stars", "pilots", "town", "race"]
    shelved.put(
        *(anime(f"S{n}", synopsis=" ".join(generator.choices(words, k=9))) for n in range(60))
    )
    few, all_of_them = (
        searcher_of(shelved, override=SearchSpec(depth=depth)) for depth in (10, 60)
    )
    query = "pilots race for bread"
    assert few.ids(query, limit=20) == all_of_them.ids(query, limit=20)


# While vectors are still to come


@pytest.fixture
def half_embedded(shelved: Any, anime: Callable[..., Record]) -> ShelfSearcher:
    """Two records with vectors, and one whose text is still to be embedded."""
    shelved.put(
        anime("Star Pilots", synopsis="Pilots race between stars and planets."),
        anime("Night Bread", synopsis="A bakery among stars."),
    )
    late = anime("Lighthouse Keepers", synopsis="Two keepers mend a lighthouse in a storm.")
    shelved.shelf.apply([Put(record=late, embedding=Embedding(digest=b"late"))])
    return searcher_of(shelved)


@pytest.mark.row("N12")
@pytest.mark.parametrize("fusion", list(Fusion))
def test_a_record_whose_vector_is_still_to_come_ranks_by_its_words_as_if_they_spoke_for_both_arms(
    half_embedded: ShelfSearcher, fusion: Fusion
) -> None:
    searcher = replace(
        half_embedded,
        override=half_embedded.shelf.spec.search.model_copy(update={"fusion": fusion}),
    )
    page = searcher.search("keepers of a lighthouse among stars", limit=3)
    assert page.hits[0].record.id == "Lighthouse Keepers"
    assert page.hits[0].match_type is MatchType.FTS
    assert page.mode is SearchMode.HYBRID


@pytest.mark.row("N12")
def test_a_search_says_which_part_of_the_records_can_be_found_by_meaning(
    half_embedded: ShelfSearcher,
) -> None:
    page = half_embedded.search("stars", limit=3)
    assert page.degraded == "66 % of the records can be found by meaning so far"


@pytest.mark.row("N12")
def test_the_strength_of_a_record_without_its_vector_is_that_of_its_words_and_its_parts_add_up(
    half_embedded: ShelfSearcher,
) -> None:
    reader, spec, embedder = (
        half_embedded.shelf.reader(),
        half_embedded.shelf.spec,
        half_embedded.embedder,
    )
    assert embedder is not None
    calibration = Calibration(model=embedder.model, middle=0.3, spread=0.1)
    searcher = Searcher(spec=spec, embedder=embedder, calibration_of=lambda _model: calibration)
    (hit,), (plain,) = (
        first_hits(one.rank(reader, "lighthouse storm", scope=WHOLE), 1).hits
        for one in (searcher, Searcher(spec=spec))
    )
    assert hit.record.id == plain.record.id == "Lighthouse Keepers"
    assert hit.score == pytest.approx(plain.score)
    assert hit.why is not None
    assert sum(hit.why.strength.values()) == pytest.approx(hit.score)
