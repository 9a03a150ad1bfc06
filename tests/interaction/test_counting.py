"""Counting, summing, and listing the records behind a figure, by a client over every transport."""

from typing import Any

import pytest

from stackroom.model.principal import Action

pytestmark = pytest.mark.row("N1")


@pytest.fixture(scope="module")
def ask(hosted: Any, connect: Any, way: str, request_of: Any) -> Any:
    """Call a tool as a user, and return its structured answer."""
    secret = hosted.accounts.token(
        hosted.accounts.user(*Action, name=f"counter-{way.replace(' ', '-')}")
    )
    with connect(way, hosted, secret) as asker:

        def call(tool: str, **arguments: Any) -> Any:
            reply = asker.ask(request_of("tools/call", tool, **arguments))
            return reply if reply.error else reply.value

        yield call


def test_the_records_behind_every_figure_are_one_call_away(ask: Any) -> None:
    (found,) = ask("browse", catalogue="anime", by=["year/decade", "tags"], of="episodes", limit=8)[
        "catalogues"
    ]
    assert len(found["groups"]) == 8
    for group in found["groups"]:
        listed = ask("search", **found["list_with"], filters=group["filters"], limit=50)
        assert listed["total"] == group["count"]
        ids = {one["id"] for one in listed["results"]}
        assert len(ids) == min(group["count"], 50)
        assert {group["min_record"]["id"], group["max_record"]["id"]} <= ids or group["count"] > 50


def test_the_highest_and_the_lowest_come_with_their_records(ask: Any) -> None:
    (found,) = ask(
        "browse", catalogue="anime", of="episodes", filters={"type": ["TV"]}, query="robot"
    )["catalogues"]
    overall = found["overall"]
    for end in ("min", "max"):
        whole = ask("fetch", id=overall[f"{end}_record"]["id"])
        assert whole["metadata"]["episodes"] == overall[end]
        assert whole["title"] == overall[f"{end}_record"]["title"]


def test_a_field_that_is_not_there_is_refused_with_the_one_that_is_meant(ask: Any) -> None:
    refused = ask("browse", catalogue="anime", by=["yaer"])
    assert (refused.error, "did you mean 'year'?" in refused.message) == ("invalid_input", True)
