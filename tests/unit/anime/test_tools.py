"""The four anime tools over the sample library, through the gate."""

import json
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.model.scope import WHOLE
from stackroom.settings import Settings
from stackroom_catalogues.anime.tools import first_names
from support.libraries import add_package, opened

pytestmark = pytest.mark.model


@pytest.mark.row("A1")
@pytest.mark.row("A2")
def test_a_search_answers_in_the_fixed_shape(sample: Any) -> None:
    answer = sample.call("search_anime", query="giant robots in space")
    assert len(answer.text.encode()) <= 4 * 1_500
    found = answer.structured
    assert (found["searchMode"], found["degraded"], len(found["results"])) == ("hybrid", None, 10)
    assert {hit["matchType"] for hit in found["results"]} <= {"fts", "vector", "hybrid"}


@pytest.mark.row("N8")
def test_a_result_is_told_by_the_name_that_was_asked_for_an_english_and_a_native_one() -> None:
    names = [
        "Kinos Reise",
        "Le Voyage de Kino",
        "Kino's Journey",
        "キノの旅",
        "Kino: The Traveller",
    ]
    assert first_names(names, "kino the traveller") == [
        "Kino: The Traveller",
        "Kino's Journey",
        "キノの旅",
    ]
    assert first_names([*names[:2], "奇诺之旅"], "a talking motorcycle")[0] == "奇诺之旅"


@pytest.mark.row("N8")
def test_a_call_that_states_the_usual_limit_gets_all_of_it_though_one_that_did_not_was_kept(
    sample: Any,
) -> None:
    usual = sample.structured("search_anime", query="a girl falls in love at high school")
    whole = sample.structured("search_anime", query="a girl falls in love at high school", limit=10)
    assert "to fit max_tokens" in str(usual.get("notes"))
    assert "to fit max_tokens" not in str(whole.get("notes"))
    assert len(str(whole)) > len(str(usual))


@pytest.mark.row("A4")
def test_the_synopses_of_other_providers_are_searched_and_not_shown(sample: Any) -> None:
    assert sample.app.open_catalogue("anime").spec.fields["other_synopses"].searched
    answer = sample.call("search_anime", query="Cowboy Bebop")
    assert "other_synopses" not in json.dumps(answer.structured)
    assert "other_synopses" not in answer.text


@pytest.mark.row("A1")
@pytest.mark.parametrize("tag", ["history", "school life", "magical girl"])
def test_a_tag_is_never_a_silent_zero(sample: Any, tag: str) -> None:
    found = sample.structured("search_anime", query="story", filters={"tags": [tag]})
    assert any(note.startswith(f"'{tag}' taken as '") for note in found["notes"])
    assert found["results"] or any("no record has" in note for note in found["notes"])
    assert (
        found["notes"][0]
        in sample.call("search_anime", query="story", filters={"tags": [tag]}).text
    )


@pytest.mark.row("A1")
def test_an_unknown_tag_is_refused_and_excluded_tags_do_not_come(sample: Any) -> None:
    wrong = sample.call("search_anime", query="story", filters={"excludeTags": ["qwertyuiop"]})
    assert wrong.error_code == "invalid_input"
    assert "'filters.excludeTags': no value 'qwertyuiop'" in wrong.text
    found = sample.structured(
        "search_anime", query="love", limit=50, filters={"excludeTags": ["romantic", "Comedy"]}
    )
    tags = {tag["value"] for hit in found["results"] for tag in hit["tags"]}
    assert tags.isdisjoint({"romance", "comedy"})


@pytest.mark.row("A9")
@pytest.mark.parametrize(
    ("search", "tag"), [("magical girl", "mahou shoujo"), ("vampyre", "vampire")]
)
def test_the_taxonomy_is_searched_by_synonyms_and_misspellings_too(
    sample: Any, search: str, tag: str
) -> None:
    (shape,) = sample.structured("browse_taxonomy", search=search)["categories"]
    assert [one["value"] for one in shape["tags"]] == [tag]


@pytest.mark.row("A7")
def test_what_was_understood_of_the_preferences_is_returned(sample: Any) -> None:
    answer = sample.structured(
        "recommend_similar",
        titles=["Steins Gate", "qqqqqq zzzzzz"],
        preferences="post-2010, not horror, under 13 episodes and flibbertigibbet",
    )
    told = " | ".join(answer["understood"])
    for words in ("post-2010", "not horror", "under 13 episodes", "the title 'Steins;Gate'"):
        assert words in told
    missed = " | ".join(answer["notUnderstood"])
    assert "flibbertigibbet" in missed
    assert "qqqqqq zzzzzz" in missed
    for one in answer["recommendations"]:
        assert one["year"] > 2010
        assert one["episodes"] < 13
        assert "horror" not in {tag["value"] for tag in one["tags"]}


@pytest.mark.row("A8")
def test_details_have_the_full_shape_by_id_and_by_a_misspelt_title(sample: Any) -> None:
    by_id = sample.structured("get_anime_details", id="mal-1")
    misspelt = sample.structured("get_anime_details", title="cowbow bebop")
    assert misspelt["anime"] == by_id["anime"]
    assert 0.5 < misspelt["confidence"] < 1
    anime = by_id["anime"]
    assert anime["titles"]["canonical"] == "Cowboy Bebop"
    assert anime["titles"]["alternatives"]
    assert anime["season"] == {"year": 1998, "season": "SPRING"}
    assert anime["duration"] > 0
    assert anime["sources"] == ["https://myanimelist.net/anime/1"]


@pytest.mark.row("A8")
@pytest.mark.parametrize(
    "stated", ["anime/mal-1", "http://www.myanimelist.net/anime/1/Cowboy_Bebop/", "1"]
)
def test_an_id_is_accepted_in_every_form_in_which_it_is_shown(sample: Any, stated: str) -> None:
    assert sample.structured("get_anime_details", id=stated)["anime"]["id"] == "mal-1"


@pytest.mark.row("A8")
@pytest.mark.parametrize(
    "named",
    [{"id": "mal-0"}, *({"title": name} for name in ("Breaking Bad", "Game of Thrones", "a"))],
)
def test_details_are_null_when_nothing_matches(sample: Any, named: dict[str, str]) -> None:
    answer = sample.call("get_anime_details", **named)
    assert (answer.structured["anime"], answer.structured["suggestions"]) == (None, [])
    assert (
        "title" in named or "no record with the id 'mal-0'; an id looks like 'mal-" in answer.text
    )


@pytest.mark.row("A8")
@pytest.mark.parametrize("named", [{"id": "Cowboy Bebop"}, {"title": "Cowboy Bishop"}])
def test_a_title_that_is_near_or_given_as_an_id_is_suggested(
    sample: Any, named: dict[str, str]
) -> None:
    answer = sample.structured("get_anime_details", **named)
    assert (answer["anime"], answer["suggestions"]) == (None, ["Cowboy Bebop (TV, 1998, mal-1)"])


@pytest.mark.row("A9")
def test_the_taxonomy_lists_every_tag_under_its_category_with_its_count(sample: Any) -> None:
    categories = sample.structured("browse_taxonomy")["categories"]
    names = [one["category"] for one in categories]
    assert names == [
        name for name in ("genre", "theme", "demographic", "setting", "other") if name in names
    ]
    reader = sample.app.open_catalogue("anime").shelf.reader()
    counted = {
        (one["category"], tag["value"]): tag["count"] for one in categories for tag in one["tags"]
    }
    assert counted == {
        (facet.category, facet.value): facet.count for facet in reader.facets("tags", scope=WHOLE)
    }
    for one in categories:
        counts = [tag["count"] for tag in one["tags"]]
        assert counts == sorted(counts, reverse=True)


@pytest.mark.row("A9")
def test_tags_that_the_table_does_not_know_are_listed_under_other(
    tmp_path: Any,
) -> None:
    row = {
        "title": "A",
        "sources": ["https://myanimelist.net/anime/1"],
        "tags": ["drama", "made up"],
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    app = App(Settings(home=tmp_path / "home"))
    add_package(app, "anime", tmp_path / "rows.jsonl")
    app.close()
    with opened(Settings(home=tmp_path / "home")) as library:
        categories = library.structured("browse_taxonomy")["categories"]
    assert categories[-1] == {"category": "other", "tags": [{"value": "made up", "count": 1}]}
