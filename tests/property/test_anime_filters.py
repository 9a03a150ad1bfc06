"""Filters of the search tool, in every combination, against looking at every record."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.search.result_set import NEAREST_SHOWN
from stackroom.text.analyser import analyse_query

pytestmark = [pytest.mark.row("A1"), pytest.mark.model]

TYPES = ["TV", "MOVIE", "OVA", "ONA", "SPECIAL", "UNKNOWN"]
STATUSES = ["FINISHED", "ONGOING", "UPCOMING", "UNKNOWN"]
TAGS = [
    "drama",
    "Comedy",
    "sci-fi",
    "SPACE",
    "school",
    "shounen",
    "mecha",
    "romance",
    "psychological",
]
QUERIES = [
    "space",
    "a quiet village",
    "robots at war",
    "進撃",
    "love",
    "the",
    "?!",
    "cowboy bebop",
    "zzzz",
]
YEARS = st.one_of(st.none(), st.integers(1960, 2027))

FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.lists(st.sampled_from(TYPES), max_size=3),
        "status": st.lists(st.sampled_from(STATUSES), max_size=2),
        "yearMin": YEARS,
        "yearMax": YEARS,
        "tags": st.lists(st.sampled_from(TAGS), max_size=3),
    },
).filter(lambda wanted: (wanted.get("yearMin") or 0) <= (wanted.get("yearMax") or 9999))


def meets(record: Record, filters: dict[str, Any]) -> bool:
    """Tell by looking at it whether a record passes the filters."""
    tags = {tag.value.lower() for tag in record.get("tags") or ()}
    year = record.get("year")
    low, high = filters.get("yearMin"), filters.get("yearMax")
    return (
        (not filters.get("type") or record.get("type") in filters["type"])
        and (not filters.get("status") or record.get("status") in filters["status"])
        and (low is None or (year is not None and year >= low))
        and (high is None or (year is not None and year <= high))
        and all(tag.lower() in tags for tag in filters.get("tags") or ())
    )


@pytest.fixture(scope="module")
def records(sample: Any) -> dict[str, Record]:
    reader = sample.app.open_catalogue("anime").shelf.reader()
    keys = reader.scan(scope=WHOLE, limit=10_000)
    return {str(record.id): record for record in reader.fetch(keys, scope=WHOLE).values()}


@pytest.fixture(scope="module")
def matching(sample: Any) -> dict[str, set[str]]:
    """The ids that each query finds by words, without filters."""
    catalogue = sample.app.open_catalogue("anime")
    reader = catalogue.shelf.reader()
    found = {}
    for query in QUERIES:
        ranking = reader.lexical(
            analyse_query(query, synonyms=catalogue.spec.synonyms), scope=WHOLE, limit=10_000
        )
        found[query] = {str(one) for one in reader.ids([hit.key for hit in ranking.best])}
    return found


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(query=st.sampled_from(QUERIES), filters=FILTERS)
def test_by_words_alone_the_ids_are_those_of_looking_at_every_record(
    plain: Any,
    records: dict[str, Record],
    matching: dict[str, set[str]],
    query: str,
    filters: dict[str, Any],
) -> None:
    found = plain.structured("search_anime", query=query, filters=filters, limit=50)
    wanted = {record_id for record_id in matching[query] if meets(records[record_id], filters)}
    ids = {hit["id"] for hit in found["results"]}
    titles_alone = {one for one in ids - wanted if meets(records[one], filters)}
    # a title like the whole query counts without sharing a word with it
    assert ids - wanted == titles_alone
    shown = 50 if found["totalMatches"] else NEAREST_SHOWN
    assert len(ids) == min(shown, len(wanted) + len(titles_alone))
