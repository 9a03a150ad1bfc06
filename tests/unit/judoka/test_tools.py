"""The judoka tools over a small library, through the gate."""

import json
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from stackroom_catalogues.judoka.rows import build_code
from stackroom_catalogues.judoka.synonyms import synonyms_in
from support.libraries import add_package

pytestmark = pytest.mark.model


@pytest.mark.row("J2")
def test_a_search_answers_in_the_fixed_shape_with_ids_as_written(judokon: Any) -> None:
    answer = judokon.structured("judokon.search", query="powerful judoka from Japan")
    found = answer["results"]
    assert answer["evidence"] == "strong"
    assert list(found[0]["stats"]) == ["power", "speed", "technique", "kumikata", "newaza"]
    assert {hit["country"] for hit in found} == {"Japan"}
    powers = [hit["stats"]["power"] for hit in found]
    assert powers == sorted(powers, reverse=True)
    every = judokon.structured("judokon.search", query="cards with speed above 0", topK=50)[
        "results"
    ]
    assert {hit["id"] for hit in every} == {0, 1, 2, 3, 4, 5, 6, "ABEGENENOU_63"}


@pytest.mark.row("J2", "J3")
@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({"country": "france"}, {3, 6}),
        ({"country": "jp", "rarity": "Epic"}, {1}),
        ({"weightClass": "-60"}, {1, 2, 3}),
        ({"weightClass": "+100"}, {0, 5}),
        ({"weightClass": "100 kg"}, {4}),
        ({"gender": "female"}, {6, "ABEGENENOU_63"}),
        ({"country": ""}, {0, 1, 2, 3, 4, 5, 6, "ABEGENENOU_63"}),
        ({"weightMin": 63}, {0, 4, 5, "ABEGENENOU_63"}),
        ({"weightMin": 100, "weightMax": 100}, {4}),
        ({"weightMax": 60}, {1, 2, 3, 6}),
        ({"stats": ["power>=9"]}, {0, 4, 5}),
        ({"stats": ["average>=7.4"]}, {0, 1, 3}),
        ({"stats": ["average>7.4"]}, {0}),
        ({"stats": ["speed=8", "technique<8"]}, {2, 3}),
        ({"stats": "power>=9, newaza<=6"}, {4}),
        ({"stats": ["Power≥9"], "weightClass": "-100"}, {4}),
    ],
)
def test_filters_narrow_a_search(judokon: Any, filters: dict[str, Any], wanted: set[Any]) -> None:
    assert judokon.ids(**filters) == wanted


@pytest.mark.row("J3")
@pytest.mark.parametrize(
    ("filters", "says"),
    [
        ({"stats": ["pwer>=8"]}, "no stat 'pwer'"),
        ({"stats": ["power>=many"]}, "'power>=8' or 'average>=7.5' is one"),
        ({"stats": ["power"]}, "filters.stats.0"),
        ({"weightMin": 90, "weightMax": 60}, "weightMin 90 is above weightMax 60"),
        ({"country": "Atlantis"}, "'filters.country': no value 'Atlantis'; one of Japan, France"),
    ],
)
def test_a_wrong_filter_is_told_what_would_be_right(
    judokon: Any, filters: dict[str, Any], says: str
) -> None:
    answer = judokon.call("judokon.search", query="judoka", filters=filters)
    assert answer.error_code == "invalid_input"
    assert says in answer.text


@pytest.mark.row("J4")
@pytest.mark.parametrize("asked", [0, "0", " 0 ", 0.0])
def test_a_card_is_looked_up_by_number_or_text(judokon: Any, asked: Any, seed_code: str) -> None:
    card = judokon.structured("judokon.getById", id=asked)
    assert (card["id"], card["firstname"], card["country"]) == (0, "Tatsuuma", "Vanuatu")
    assert card["stats"] == {"power": 9, "speed": 9, "technique": 9, "kumikata": 9, "newaza": 9}
    assert (card["cardCode"], card["category"], card["isHidden"]) == (seed_code, "Judo", True)


@pytest.mark.row("J4")
def test_an_unknown_id_is_told_which_are_alike(judokon: Any) -> None:
    answer = judokon.call("judokon.getById", id="ABEGENENOU-36")
    assert answer.error_code == "not_found"
    assert "ABEGENENOU_63 (Aiko Mori)" in answer.text
    assert "1 (Kenji Tanaka)" in judokon.call("judokon.getById", id="Kenji Tanaca").text
    assert judokon.call("judokon.getById", id="passage:rules-1").error_code == "not_found"
    assert judokon.call("judokon.getById", id=True).error_code == "invalid_input"


@pytest.mark.row("J5")
def test_a_random_card_meets_the_filters_and_is_not_hidden(judokon: Any) -> None:
    drawn = {judokon.structured("judokon.random")["id"] for _ in range(60)}
    assert len(drawn) > 1
    assert drawn <= {1, 2, 3, 4, 5, 6, "ABEGENENOU_63"}
    assert judokon.structured("judokon.random", filters={"country": "it"})["id"] == 4
    nobody = judokon.call("judokon.random", filters={"country": "Vanuatu"})
    assert nobody.error_code == "not_found"
    assert "listCountries" in nobody.text


@pytest.mark.row("J2")
def test_values_are_excluded_from_a_search_and_notes_say_what_was_taken_for_what(
    judokon: Any,
) -> None:
    found = judokon.structured(
        "judokon.search",
        query="judoka",
        topK=50,
        exclude={"country": ["JPN", "france"], "rarity": ["Legendary"]},
    )
    assert {hit["country"] for hit in found["results"]}.isdisjoint({"Japan", "France"})
    assert {hit["rarity"] for hit in found["results"]} == {"Common", "Epic"}
    assert found["notes"] == ["'JPN' taken as 'Japan'"]
    wrong = judokon.call("judokon.search", query="x", exclude={"contry": ["Japan"]})
    assert "'exclude.contry': nothing can be excluded by it (did you mean 'country'?)" in wrong.text


@pytest.mark.row("J5")
def test_a_code_leads_to_its_card_however_it_is_written(judokon: Any, seed_code: str) -> None:
    own = judokon.structured("judokon.getById", id=1)["cardCode"]
    assert own == build_code("1|Kenji|Tanaka")
    for code, wanted in (
        (own, 1),
        (own.lower().replace("-", " "), 1),
        (seed_code.replace("-", "").lower(), 0),
    ):
        assert judokon.structured("judokon.resolveCode", code=code)["id"] == wanted
    unknown = judokon.call("judokon.resolveCode", code="JDKN-2222-2222-2222")
    assert unknown.error_code == "not_found"
    assert "last letter" in unknown.text


@pytest.mark.row("J5")
def test_a_code_is_checked_for_form_check_letter_and_existence(
    judokon: Any, seed_code: str
) -> None:
    own = build_code("1|Kenji|Tanaka")
    wrong = own[:-1] + ("A" if own[-1] != "A" else "B")
    checked = {
        code: judokon.structured("judokon.validateCardCode", code=code)
        for code in (own, seed_code, wrong, build_code("99|No|Body"), "O0I1", "abc-234")
    }
    told = {
        code: tuple(one[key] for key in ("valid", "format", "checksum", "known"))
        for code, one in checked.items()
    }
    assert told == {
        own: (True, True, True, True),
        seed_code: (True, True, None, True),
        wrong: (False, True, False, False),
        build_code("99|No|Body"): (False, True, True, False),
        "O0I1": (False, False, None, False),
        "abc-234": (False, True, None, False),
    }
    assert (checked[own]["id"], checked[own]["reason"]) == (1, None)
    assert "no card here has it" in checked["abc-234"]["reason"]


@pytest.mark.row("J5")
def test_two_cards_are_compared_stat_by_stat(judokon: Any) -> None:
    answer = judokon.structured("judokon.compare", idA=1, idB="2")
    assert (answer["a"]["name"], answer["b"]["name"]) == ("Kenji Tanaka", "Haruto Sato")
    assert {stat: row["winner"] for stat, row in answer["stats"].items()} == {
        "power": "b",
        "speed": "a",
        "technique": "a",
        "kumikata": "draw",
        "newaza": "a",
    }
    assert answer["stats"]["power"] == {"a": 5, "b": 6, "winner": "b"}
    assert answer["totals"] == {"a": 37, "b": 35}
    assert answer["winner"] == "a"
    assert judokon.structured("judokon.compare", idA="kenji tanaka", idB=1)["winner"] == "draw"
    assert "no judoka '77'" in judokon.call("judokon.compare", idA=1, idB=77).text


@pytest.mark.row("J5")
def test_opponents_are_of_the_same_gender_and_class_first_and_near_in_average(judokon: Any) -> None:
    opponents = judokon.structured("judokon.suggestOpponent", id=1, topK=10)["opponents"]
    assert [one["id"] for one in opponents] == [3, 2, 5, 4, 6, "ABEGENENOU_63"]
    assert opponents[0]["reasons"] == ["same gender", "same weight class -60", "equal average"]
    assert opponents[1]["reasons"][2] == "average 0.4 lower"
    assert len(judokon.structured("judokon.suggestOpponent", id=1)["opponents"]) == 3


@pytest.mark.row("J1")
def test_a_question_is_answered_from_passages_techniques_and_cards(judokon: Any) -> None:
    answer = judokon.structured("query_rag", query="how does scoring work")
    best = answer["results"][0]
    assert (best["id"], best["source"], best["tags"]) == ("rules-1", "docs/rules.md", ["rules"])
    assert best["qaContext"] == "How do I score a point?"
    assert answer["hint"] is None
    assert judokon.structured("query_rag", query="uchi mata")["results"][0]["id"] == "technique:1"
    assert judokon.structured("query_rag", query="Kenji Tanaka")["results"][0]["id"] == 1
    assert best["text"] in judokon.call("query_rag", query="how does scoring work").text


@pytest.mark.row("J8")
def test_a_query_is_expanded_with_the_synonyms_of_the_folder(judokon: Any) -> None:
    assert judokon.structured("query_rag", query="flibber")["results"][0]["id"] == "snackbar-1"
    found = judokon.structured("judokon.search", query="who does the circle-throw over")["results"]
    assert found[0]["id"] == 5


@pytest.mark.row("J8")
def test_synonyms_hold_both_ways_as_whole_words_of_any_length() -> None:
    table = {"armbar": ["juji-gatame"], "battle engine facade": ["engine facade"]}
    assert synonyms_in("An Armbar!", table) == ["juji-gatame"]
    assert synonyms_in("the Juji Gatame", table) == ["armbar"]
    assert synonyms_in("armbars", table) == []
    assert synonyms_in("our engine facade", table) == ["battle engine facade"]
    assert synonyms_in("", table) == []


def library(home: Path, rows: list[dict[str, Any]]) -> App:
    """Return a library of these cards without vectors."""
    home.mkdir()
    (home / "judoka.json").write_text(json.dumps(rows), encoding="utf-8")
    app = App(Settings(home=home))
    add_package(app, "judoka", home / "judoka.json")
    return app


@pytest.mark.row("J1")
def test_what_is_missing_is_said_with_how_to_set_it_up(tmp_path: Path) -> None:
    bare = library(
        tmp_path / "bare", [{"id": 1, "firstname": "A", "surname": "Bee", "stats": {"power": 1}}]
    )
    gate = bare.build_gate(["judoka"])
    found = gate.call(LOCAL_USER, "query_rag", {"query": "bee"}).structured
    assert found is not None
    assert "the catalogue has no vectors; run: stackroom rag prepare" in found["hint"]
    nothing = gate.call(LOCAL_USER, "query_rag", {"query": "scoring"})
    assert nothing.error_code == "not_found"
    assert "run: stackroom rag prepare" in nothing.text
    bare.close()
