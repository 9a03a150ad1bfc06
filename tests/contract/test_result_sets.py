"""What every operation finds, in every catalogue: its order, pages, total and evidence, why each
record is there, and that nothing is in it that the caller may not see.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from stackroom.model.hits import Evidence
from stackroom.model.principal import LOCAL_USER, Principal
from stackroom.model.record import RecordId
from stackroom.model.scope import KIND_FIELD, WHOLE, Scope, Visibility
from stackroom.search.result_set import NEAREST_SHOWN, Hit, ResultSet
from stackroom.settings import Settings
from stackroom.shelf.opening import open_shelf
from stackroom.shelf.port import Put
from stackroom.shelf.terms import term_of
from stackroom.tools.operation import Call, identity_of
from support.libraries import Library, copy_samples, opened

OUTSIDER = Principal(
    name="eve", actions=LOCAL_USER.actions, visibility=Visibility(audiences=frozenset())
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A call of an operation, about one catalogue."""

    tool: str
    catalogue: str
    arguments: Mapping[str, Any]
    chosen: Mapping[str, Any] = field(default_factory=dict)
    """The arguments that choose the catalogue."""

    def __str__(self) -> str:
        return f"{self.tool} {self.catalogue} {' '.join(map(str, self.arguments.values()))}"

    @property
    def given(self) -> dict[str, Any]:
        """All arguments."""
        return {**self.chosen, **self.arguments}


OWN = {
    "anime": ("search_anime", ["space adventure", "movies from the 90s", "qwxzv blorp"]),
    "papers": ("search_papers", ["theory of light", "papers before 1950", "qwxzv blorp"]),
    "handbook": ("search_handbook", ["on call", "qwxzv blorp"]),
    "dnd": ("search_documents", ["how does initiative work", "fire"]),
    "judoka": ("judokon.search", ["powerful judoka", "French judoka", "newest Japanese film"]),
    "music": ("catalog.search", ["bach", "Op. 27 No. 2", "symphonies before 1800"]),
}
"""Each catalogue's own search, with queries: of words, of conditions, or of nothing there is."""
OWN_CASES = [
    Case(tool=tool, catalogue=name, arguments={"query": query})
    for name, (tool, queries) in OWN.items()
    for query in queries
]
GENERIC_CASES = [
    Case(tool="search", catalogue=name, arguments={"query": query}, chosen={"catalogue": name})
    for name, (_, queries) in OWN.items()
    for query in [*queries, "*"]
]
SEARCHES = [*OWN_CASES, *GENERIC_CASES]
RANKED = [case for case in SEARCHES if case.arguments["query"] != "*"]
ANSWERED = [case for case in SEARCHES if case.arguments["query"] != "qwxzv blorp"]
RECOMMENDED = [
    Case(tool="recommend_similar", catalogue="anime", arguments={"titles": ["Cowboy Bebop"]}),
    Case(tool="recommend", catalogue="anime", arguments={"likes": ["anime/mal-1"]}),
    Case(tool="recommend", catalogue="music", arguments={"likes": ["artist-johann-pachelbel"]}),
]


def find(library: Library, case: Case, principal: Principal = LOCAL_USER) -> ResultSet:
    """Return what a call finds, without an answer."""
    toolbox = library.gate.toolbox_of(principal)
    tool = toolbox.tools[case.tool]
    assert tool.operation.finds is not None
    call = Call(
        identity=identity_of(principal),
        server=toolbox,
        catalogues=[one for one in toolbox.catalogues if one.name == case.catalogue],
        chosen=case.catalogue,
    )
    found: ResultSet = tool.operation.finds(call, tool.params.model_validate(case.given))
    return found


def ids(hits: list[Hit]) -> list[str]:
    return [hit.record.id for hit in hits]


def by_kind(found: ResultSet) -> Iterator[ResultSet]:
    """Yield a set for each part: the parts of one catalogue are of different kinds."""
    yield from (replace(found, parts=[part]) for part in found.parts)


def test_every_operation_that_finds_is_here(whole: Library) -> None:
    able = {
        tool.name
        for tool in whole.gate.toolbox_of(LOCAL_USER).tools.values()
        if tool.operation.finds is not None
    }
    assert able == {case.tool for case in [*SEARCHES, *RECOMMENDED]} | {"query_rag"}


@pytest.mark.row("A2")
@pytest.mark.parametrize("case", SEARCHES, ids=str)
def test_strengths_never_rise_and_labels_evidence_and_totals_follow_from_them(
    whole: Library, case: Case
) -> None:
    for found in by_kind(find(whole, case)):
        hits = found.page(0, 99)
        strengths = [hit.score for hit in hits]
        assert strengths == sorted(strengths, reverse=True)
        assert found.evidence is Evidence.of(max(strengths, default=0.0))
        assert len(set(ids(hits))) == len(hits)
        answering = sum(hit.label is not None for hit in hits)
        assert answering <= found.total
        if found.evidence is Evidence.NONE:
            assert (answering, found.total) == (0, 0)
            assert len(hits) <= NEAREST_SHOWN
            assert found.cursor_after(0) is None


@pytest.mark.row("A4")
@pytest.mark.parametrize("case", SEARCHES, ids=str)
@pytest.mark.parametrize("size", [1, 7, 50])
def test_pages_are_one_list_that_ends_where_the_cursor_does(
    whole: Library, case: Case, size: int
) -> None:
    found = replace(find(whole, case), page_size=size)
    if found.rule is not None:
        found = replace(found, most=size)
    every = ids(list(found.records())) if found.is_list else ids(found.page(0, 99))
    read: list[str] = []
    start: str | None = "0"
    while start is not None:
        assert int(start) == len(read)
        read += ids(found.page(int(start)))
        start = found.cursor_after(int(start))
    assert read == every[: len(read)]
    assert len(read) == len(every) or found.rule is not None or found.shows_few


def ids_in(value: Any) -> Iterator[str]:
    """Yield the ids of the records in an answer, in their order."""
    if isinstance(value, dict) and "score" in value:
        yield str(value["id"] if "id" in value else value["metadata"]["id"])
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from ids_in(one)


@pytest.mark.parametrize("case", OWN_CASES, ids=str)
def test_an_answer_lists_what_was_found_in_its_order(whole: Library, case: Case) -> None:
    answered = list(ids_in(whole.structured(case.tool, **case.given)))
    for found in by_kind(find(whole, case)):
        hits = set(ids(found.page(0, 99)))
        listed = [one for one in answered if one in hits]
        assert listed == ids(found.page(0, len(listed)))
        assert listed or not hits


def explained(library: Library, case: Case, record: str) -> dict[str, Any]:
    """Return why a record is in the answer to a call."""
    asked = {
        "id": f"{case.catalogue}/{record}",
        "tool": case.tool,
        "arguments": case.given,
    }
    answer = library.gate.call(LOCAL_USER, "explain", asked)
    assert answer.structured is not None, answer.text
    return answer.structured


@pytest.mark.row("N3")
@pytest.mark.parametrize("case", RANKED, ids=str)
def test_every_record_that_is_found_is_explained_with_its_place_and_score(
    whole: Library, case: Case
) -> None:
    for found in by_kind(replace(find(whole, case), explains=True)):
        if found.parts[0].ranked is None:  # a list has no ranking to explain
            continue
        hits = found.page(0, 99)
        for hit in [hit for hit in hits if hit.why]:
            assert sum(hit.why.strength.values()) == pytest.approx(hit.score)
        for place in [*range(min(len(hits), 5)), *range(5, len(hits), 20)]:
            told = explained(whole, case, hits[place].record.id)
            assert (told["found"], told["rank"], told["cut"]) == (True, place + 1, None), told
            assert told["score"] == pytest.approx(hits[place].score, abs=1e-4)


@pytest.mark.parametrize("case", RECOMMENDED, ids=str)
def test_what_is_recommended_is_one_set_of_which_every_record_is_explained(
    whole: Library, case: Case
) -> None:
    found = find(whole, case)
    hits = found.page()
    assert 0 < len(hits) <= found.page_size
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    ranks = [explained(whole, case, one)["rank"] for one in ids(hits)]
    assert sorted(ranks) == list(range(1, len(hits) + 1))


@pytest.mark.row("N20")
@pytest.mark.parametrize("catalogue", OWN)
def test_a_facet_counts_what_a_filter_by_its_value_lists(whole: Library, catalogue: str) -> None:
    asked = {"query": "*", "catalogue": catalogue, "include": ["facets", "counts"], "limit": 1}
    page = whole.structured("search", **asked)
    records = whole.app.open_catalogue(catalogue).shelf.reader().count(WHOLE)
    assert page["listed"] + sum(page["left_out"].values()) == records
    values = [
        (facet["field"], value) for facet in page["facets"] for value in facet.get("values", ())[:2]
    ]
    assert values
    for name, value in values:
        listed = whole.structured("search", **asked, filters={name: [value["value"]]})
        assert listed["total"] == listed["listed"] == value["count"], (name, value)
        assert listed["listed"] + sum(listed["left_out"].values()) == records
        (again,) = [one for one in listed["facets"] if one["field"] == name]
        (chosen,) = [one for one in again["values"] if one["chosen"]]
        assert chosen["count"] == value["count"]
        words = {**asked, "query": OWN[catalogue][1][0], "filters": {name: [value["value"]]}}
        searched = whole.structured("search", **words)
        counts = [
            one["count"]
            for facet in searched["facets"]
            for one in facet.get("values", ())
            if one["chosen"]
        ]
        assert counts in ([], [searched["listed"]])


@pytest.fixture(scope="module")
def half_hidden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The library with every sample catalogue, of which every second record is for the board."""
    home: Path = copy_samples(tmp_path_factory.mktemp("hidden"))
    with opened(Settings(home=home)) as library:
        specs = {one.name: one.spec for one in library.gate.toolbox_of(LOCAL_USER).catalogues}
    for name, spec in specs.items():
        with closing(open_shelf(home / "catalogues" / name, spec)) as shelf:
            reader = shelf.reader()
            keys = reader.scan(scope=WHOLE, limit=100_000)[1::2]
            hidden = reader.fetch(keys, scope=WHOLE).values()
            shelf.apply([Put(record=replace(one, audiences=("board",))) for one in hidden])
            shelf.publish()
    with opened(Settings(home=home)) as library:
        yield library


def visible(library: Library, catalogue: str) -> set[RecordId]:
    """Return the ids of the records that an outsider may see."""
    reader = library.app.open_catalogue(catalogue).shelf.reader()
    scope = Scope(visibility=OUTSIDER.visibility)
    return set(reader.ids(reader.scan(scope=scope, limit=100_000)))


def require_of_visible(library: Library, catalogue: str, facet: Mapping[str, Any]) -> None:
    """Require that an outsider's facet has only values and numbers of records that they see."""
    reader = library.app.open_catalogue(catalogue).shelf.reader()
    keys = reader.scan(scope=Scope(visibility=OUTSIDER.visibility), limit=100_000)
    if "values" not in facet:
        known = reader.numbers(facet["field"], keys)
        ends = [facet["min"], facet["max"]]
        assert facet["type"] == "date" or set(ends) <= {float(one) for one in known}
        return
    name = KIND_FIELD if facet["field"] == "kind" else facet["field"]
    values = Counter(term for some in reader.terms(name, keys) for term in set(some))
    for value in facet["values"]:
        assert value["count"] <= values[term_of(value["value"])], (facet["field"], value)


@pytest.mark.row("N5")
@pytest.mark.parametrize("case", [*ANSWERED, *RECOMMENDED], ids=str)
def test_nothing_is_found_listed_counted_or_explained_that_the_caller_may_not_see(
    half_hidden: Library, case: Case
) -> None:
    seen = visible(half_hidden, case.catalogue)
    every = find(half_hidden, case)
    found = find(half_hidden, case, OUTSIDER)
    for some in by_kind(found):
        assert set(ids(list(some.records()) if some.is_list else some.page(0, 99))) <= seen
        assert some.total <= len(seen)
    hidden = [hit.record.id for hit in every.page(0, 99) if hit.record.id not in seen]
    assert hidden, "the control: those who may see them find them"
    answer = half_hidden.gate.call(
        OUTSIDER,
        "explain",
        {"id": f"{case.catalogue}/{hidden[0]}", "tool": case.tool, "arguments": case.given},
    )
    assert answer.error_code == "not_found", answer.text
    if case.tool == "search":
        parts = half_hidden.gate.call(
            OUTSIDER, "search", {**case.given, "include": ["counts", "facets", "keys"]}
        ).structured
        assert parts is not None
        assert {one.removeprefix(f"{case.catalogue}/") for one in parts["keys"]} <= seen
        assert parts["listed"] + sum(parts["left_out"].values()) <= len(seen)
        for facet in parts["facets"]:
            require_of_visible(half_hidden, case.catalogue, facet)
