"""Records and recommendations as the page shows them: `fetch`, `similar` and `recommend` with parts
for pages.
"""

from collections.abc import Callable
from typing import Any

import pytest

from stackroom.generic.tools import generic_tools
from stackroom.tools.edits import edit_tools
from stackroom.tools.toolbox import Toolbox
from support.stories import open_stories


@pytest.fixture
def stories(make_site: Callable[..., Any]) -> Any:
    """A server of a few stories, with a reader and an editor."""
    catalogue = open_stories()
    tools = [*generic_tools([catalogue]), *edit_tools([catalogue])]
    site = make_site(toolboxes=Toolbox(tools, catalogues=[catalogue]))
    site.add_user("ada")
    site.add_user("ed", "editor")
    return site


def call(site: Any, tool: str, user: str, **given: Any) -> Any:
    return site.by_token(user).post(f"/v1/tools/{tool}", json=given)


def show(site: Any, record_id: str, user: str = "ada") -> Any:
    return call(
        site, "fetch", user, id=f"stories/{record_id}", include=["fields"], max_tokens=100_000
    )


def taste(site: Any, user: str = "ada", **given: Any) -> Any:
    return call(site, "recommend", user, **{"catalogue": "stories", "include": ["tiles"], **given})


def titles(reply: Any) -> list[str]:
    assert reply.status_code == 200, reply.text
    return [one["title"] for one in reply.json()["results"]]


def shown_fields(reply: Any) -> dict[str, Any]:
    return {field["field"]: field for field in reply.json()["fields"] if field["is_shown"]}


def test_a_record_is_shown_with_its_fields_by_role(stories: Any) -> None:
    reply = show(stories, "Winter Road")
    shown = reply.json()
    assert (shown["title"], shown["tile"]["line"]) == ("Winter Road", "Story · Ida · 1998")
    fields = shown_fields(reply)
    assert fields["text"]["role"] == "body"
    assert (fields["moods"]["filter"], fields["moods"]["text"]) == ("values", "cold, calm")
    assert fields["year"]["filter"] == "range"
    assert "author_ids" not in fields, "the records that it names are shown themselves"


def test_relations_are_shown_from_both_sides_without_what_the_caller_may_not_see(
    stories: Any,
) -> None:
    (wrote,) = show(stories, "Winter Road").json()["relations"]
    assert (wrote["name"], [one["id"] for one in wrote["results"]]) == ("Authors", ["stories/ida"])
    (by,) = show(stories, "ida").json()["relations"]
    assert by["name"] == "Stories"
    assert ([one["title"] for one in by["results"]], by["total"]) == (
        ["Snow House", "Winter Road"],
        2,
    )
    assert show(stories, "Secret Snow").status_code == 404


def test_a_name_without_a_record_of_its_own_stays_a_field(stories: Any) -> None:
    assert shown_fields(show(stories, "Fire Island"))["authors"]["text"] == "Nobody"
    assert "authors" not in shown_fields(show(stories, "Winter Road")), (
        "its author is shown as a record"
    )


def test_the_fields_of_a_record_are_those_of_a_form_whose_call_changes_them(
    stories: Any,
) -> None:
    shown = show(stories, "Ice Lake").json()
    year = next(field for field in shown["fields"] if field["field"] == "year")
    assert (shown["editable"], year["is_edited"], year["value"]) == (True, True, 2012)
    change = {"id": "Ice Lake", "kind": "story", "action": "update", "fields": {"year": 2013}}
    assert call(stories, "catalog.mutate", "ed", **change).json()["applied"]
    assert show(stories, "Ice Lake").json()["tile"]["line"] == "Story · 2013"


def test_likes_find_more_of_the_kind_and_say_what_each_signal_says(stories: Any) -> None:
    reply = taste(stories, likes=["Winter Road"])
    assert titles(reply)[:2] == ["Snow House", "Ice Lake"]
    answer = reply.json()
    assert {one["tile"]["kind"] for one in answer["results"]} == {"story"}
    assert "Secret Snow" not in titles(reply)
    signals = {one["name"]: one["weight"] for one in answer["signals"]}
    assert signals == {"semantic": 0.5, "taxonomy": 0.0, "temporal": 0.0, "wish": 0.5}
    assert answer["results"][0]["signals"]["taxonomy"] == 0.5


def test_a_record_counts_once_however_it_is_named(stories: Any) -> None:
    named_twice = taste(
        stories, likes=["Winter Road", "stories/Winter Road", "River of Fire"]
    ).json()
    assert [one["title"] for one in named_twice["likes"]] == ["Winter Road", "River of Fire"]
    assert (
        named_twice["results"]
        == taste(stories, likes=["Winter Road", "River of Fire"]).json()["results"]
    )


def test_weights_change_the_order_by_name(stories: Any) -> None:
    by_meaning = titles(taste(stories, likes=["River of Fire"]))
    by_time = titles(
        taste(stories, likes=["River of Fire"], weights={"semantic": 0, "temporal": 1})
    )
    assert by_meaning[0] == by_time[0] == "Fire Island"
    assert by_time[1:] == ["Snow House", "Ice Lake", "Winter Road"], (
        "by the distance of their years from 2005"
    )


def test_what_is_disliked_is_left_out_and_moves_others_down(stories: Any) -> None:
    assert titles(taste(stories, likes=["Winter Road"]))[0] == "Snow House"
    spoilt = titles(
        taste(
            stories,
            likes=["Winter Road", "River of Fire"],
            dislikes=["Snow House"],
            weights={"wish": 1},
        )
    )
    assert "Snow House" not in spoilt
    assert spoilt[0] == "Fire Island", "Ice Lake is like what is disliked"


def test_a_sentence_is_understood_and_will_do_without_a_like(stories: Any) -> None:
    answer = taste(stories, wishes="snow and ice, after 2010")
    assert titles(answer) == ["Ice Lake"]
    assert {"phrase": "after 2010", "text": "year ≥ 2011"} in answer.json()["understood"]
    assert {"phrase": "snow", "text": "by its meaning"} in answer.json()["understood"]
    assert answer.json()["not_understood"] == []


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({}, 400, "'likes' and 'wishes' are empty"),
        ({"likes": ["Nothing"]}, 400, "'likes': 'Nothing' is not in the catalogue"),
        ({"likes": ["Secret Snow"]}, 400, "'likes': 'Secret Snow' is not in the catalogue"),
        ({"likes": ["Ice Lake"], "weights": {"semantics": 1}}, 400, "did you mean 'semantic'"),
        ({"likes": ["Ice Lake"], "weights": {"wish": 2}}, 400, "'weights.wish' is 2"),
        (
            {"likes": ["Ice Lake"], "dislikes": ["stories/Ice Lake"]},
            400,
            "'dislikes': 'Ice Lake' is among the 'likes' too",
        ),
    ],
)
def test_a_taste_that_cannot_be_answered_says_why(
    stories: Any, body: dict[str, Any], status: int, says: str
) -> None:
    reply = taste(stories, **body)
    assert reply.status_code == status
    assert says in reply.json()["error"]["message"]


def test_a_record_that_is_gone_from_a_tray_is_noted_and_the_rest_counts(stories: Any) -> None:
    answer = taste(stories, likes=["Winter Road", "Gone"]).json()
    assert answer["results"]
    assert answer["notes"] == ["'Gone' is not in the catalogue, so it was left aside"]
