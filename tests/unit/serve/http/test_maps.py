"""`map`, for pages: a map of the records that the caller may see, and of no others."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stackroom.generic import maps
from stackroom.generic.tools import generic_tools
from stackroom.maps import labels, making
from stackroom.tools.toolbox import Toolbox
from support.libraries import Shelved
from support.stories import SPEC, make_story, open_stories

SNOW, FIRE = "a long road through snow and ice", "a river burns and nobody sleeps"


@pytest.fixture
def stories(make_site: Callable[..., Any]) -> Any:
    """A server with forty stories of two topics, and one that only curators may see, with a mood of
    its own.
    """
    shelved = Shelved(spec=SPEC)
    shelved.put(
        *(make_story(f"snow {one}", SNOW, moods=("cold",), year=1980 + one) for one in range(20))
    )
    shelved.put(
        *(make_story(f"fire {one}", FIRE, moods=("wild",), year=1990 + one) for one in range(20))
    )
    shelved.put(
        make_story("secret", SNOW, moods=("hidden mood",), year=1700, audiences=("curator",))
    )
    catalogue = replace(open_stories(), shelf=shelved.shelf)
    boxes = Toolbox(generic_tools([catalogue]), catalogues=[catalogue])
    site = make_site(toolboxes=boxes)
    site.add_user("ada")
    site.shelved = shelved
    return site


def call(site: Any, tool: str, user: str = "ada", **given: Any) -> Any:
    return site.by_token(user).post(f"/v1/tools/{tool}", json=given)


def get_map(site: Any, user: str = "ada", **given: Any) -> Any:
    return call(site, "map", user, catalogue="stories", **given)


def decoded(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind)


def test_a_map_has_a_place_and_a_colour_for_each_record_that_the_caller_sees(stories: Any) -> None:
    shown = get_map(stories).json()
    assert (shown["state"], shown["count"], shown["unplaced"]) == ("ready", 40, 0)
    places = decoded(shown["places"], "<i2").reshape(-1, 2).astype(float)
    is_snow = np.array([one.startswith("snow") for one in shown["ids"]])
    middles = places[is_snow].mean(axis=0), places[~is_snow].mean(axis=0)
    assert (
        np.linalg.norm(places[is_snow] - middles[0], axis=1).mean()
        < np.linalg.norm(middles[0] - middles[1]) / 2
    )
    colour = shown["colour"]
    assert colour["field"] == "moods"
    names = [colour["values"][code - 1]["value"] for code in decoded(colour["codes"], "u1")]
    assert names == ["cold" if one else "wild" for one in is_snow]
    assert {word for label in shown["labels"] for word in label["text"].split(" · ")} >= {
        "cold",
        "wild",
    }
    assert (stories.last_note().operation, stories.last_note().target) == ("tools/call", "map")


def test_nothing_of_a_hidden_record_is_in_a_map_its_labels_or_its_colours(stories: Any) -> None:
    reply = get_map(stories)
    assert "secret" not in reply.text
    assert "hidden mood" not in reply.text
    years = get_map(stories, colour="year", only="colour").json()["colour"]
    assert years["ordered"]
    assert "1700" not in json.dumps(years)
    found = call(stories, "search", query="*", ids=["snow 3", "secret", "fire 2", "snow 1"]).json()
    assert [one["title"] for one in found["results"]] == ["snow 3", "fire 2", "snow 1"]


def test_a_map_is_made_once_for_callers_who_see_the_same_until_something_changes(
    stories: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def find_labels(places: Any, fields: Any) -> Any:
        made.append(len(places))
        return labels.find_labels(places, fields)

    monkeypatch.setattr(maps, "find_labels", find_labels)
    stories.add_user("bob")
    stories.add_user("root", "admin")
    first = get_map(stories)
    assert get_map(stories).json() == get_map(stories, user="bob").json() == first.json()
    assert made == [40]
    assert "secret" in get_map(stories, user="root").json()["ids"], (
        "who sees more gets a map of their own"
    )
    assert made == [40, 41]
    assert get_map(stories, colour="year").json()["colour"]["field"] == "year"
    assert "secret" not in get_map(stories).text
    assert made == [40, 41, 40]
    stories.shelved.put(make_story("fire 20", FIRE, moods=("new mood",)))
    assert "new mood" in get_map(stories).text
    assert made == [40, 41, 40, 41]


def test_an_area_of_the_map_is_a_filter_of_the_one_result_set(stories: Any) -> None:
    shown = get_map(stories).json()
    places = decoded(shown["places"], "<i2").reshape(-1, 2)
    snow = places[[one.startswith("snow") for one in shown["ids"]]]
    (left, top), (right, bottom) = snow.min(axis=0).tolist(), (snow.max(axis=0) + 1).tolist()
    box = f"{left}_{top}_{right}_{bottom}"
    polygon = f"{left}_{top}_{right}_{top}_{right}_{bottom}_{left}_{bottom}"
    for area in (box, polygon):
        asked = {
            "catalogue": "stories",
            "query": "*",
            "area": area,
            "include": ["counts", "facets", "keys"],
        }
        found = call(stories, "search", **asked).json()
        assert (found["total"], found["listed"], found["left_out"]["filtered"]) == (20, 20, 20)
        assert {key.split()[0] for key in found["keys"]} == {"stories/snow"}
        assert [
            one["count"]
            for one in found["facets"]
            if one["field"] == "moods"
            for one in one["values"]
        ] == [20]
    found = call(stories, "search", catalogue="stories", query="river burns", area=box).json()
    assert {one["title"].split()[0] for one in found["results"]} <= {"snow"}
    told = call(
        stories, "explain", id="stories/fire 1", arguments={"query": "river burns", "area": box}
    ).json()
    assert "it lies outside of the area of the map" in told["because"]


@pytest.mark.parametrize("area", ["1_2_3", "a_b_c_d", "1_2", "99999_0_1_1", "_".join(["1"] * 300)])
def test_an_area_that_is_none_is_refused_with_what_is_right(stories: Any, area: str) -> None:
    refused = call(stories, "search", catalogue="stories", query="*", area=area)
    assert refused.status_code == 400
    assert "right are x_y_x_y" in refused.text


def test_a_legend_has_the_filter_of_each_colour(stories: Any) -> None:
    colour = get_map(stories, colour="year", only="colour").json()["colour"]
    assert colour["filter"] == "year"
    for value in colour["values"]:
        low, high = value["wanted"].split("..")
        found = call(
            stories,
            "search",
            catalogue="stories",
            query="*",
            filters={"year": {"min": low, "max": high}},
        )
        assert found.json()["total"] == value["count"]


def test_titles_are_in_the_order_of_ids(stories: Any) -> None:
    assert get_map(stories, only="titles").json()["titles"] == get_map(stories).json()["ids"]


def test_an_unknown_field_is_refused_with_those_that_there_are(stories: Any) -> None:
    refused = get_map(stories, colour="mood")
    assert refused.status_code == 400
    assert "no field 'mood' (did you mean 'moods'?); there are moods, year, _kind" in refused.text


def test_a_catalogue_says_that_its_map_is_still_being_made(
    stories: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "SMALL", 10)
    assert get_map(stories).json()["state"] == "being made"
