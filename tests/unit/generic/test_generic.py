"""`search`, `fetch`, `similar` and `browse`, and the resources beside them, over small catalogues
in memory.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import StorageError
from stackroom.gate.gate import Gate
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import Record, RecordId, Tag
from stackroom.model.scope import WHOLE
from stackroom.search.evidence import calibrate
from stackroom.shelf.port import Delete, Put
from stackroom.tools.catalogue import OpenCatalogue, address_of, parse_address, uri_of
from stackroom.tools.resources import generic_resources
from stackroom.tools.spec import NOT_ALL_WORDS, NOTHING_ANSWERS
from stackroom.tools.toolbox import Toolbox
from support.memory_shelf import MemoryShelf
from support.served import Served, open_shelf

BOOKS = """
name = "books"
title = "Books"
summary = "Novels and handbooks."

[fields]
title = { type = "text", role = "title", search = { boost = 0.25, fuzzy = true } }
type = { type = "enum", values = ["NOVEL", "HANDBOOK"], filter = true, facet = true }
pages = { type = "int", filter = true }
year = { type = "int", filter = true }
subjects = { type = "tag[]", filter = true, facet = true }
blurb = { type = "text", role = "body", search = true }

[embed]
template = "{title}. {blurb}"
"""
PLANTS = (
    BOOKS.replace('"books"', '"plants"').replace('"Books"', '"Plants"').replace("NOVEL", "TREE")
)
WORDS = (
    "star",
    "pilot",
    "robot",
    "garden",
    "king",
    "winter",
    "summer",
    "river",
    "road",
    "war",
    "love",
    "song",
)


UNKNOWN = "no catalogue 'book' (did you mean 'books'?); there are anime, books"
CURSOR = "'cursor' is not valid here; "


def book(name: str, blurb: str = "", **fields: Any) -> Record:
    subjects = tuple(Tag("", one) for one in fields.pop("subjects", ()))
    values = {"title": name, "type": "NOVEL", "blurb": blurb, "subjects": subjects, **fields}
    return Record(
        id=RecordId(name),
        fields={key: value for key, value in values.items() if value not in ("", (), None)},
    )


class ServedCatalogues(Served):
    """The generic tools over catalogues."""

    def ids(self, query: str, **arguments: Any) -> list[str]:
        return [one["id"] for one in self.ask("search", query=query, **arguments)["results"]]


def labelled(found: dict[str, Any]) -> int:
    """Return how many results have a label."""
    return sum(one["relevance"] is not None for one in found["results"])


def opened(shelved: Any, *, name: str | None = None) -> OpenCatalogue:
    """Return a catalogue in memory as the app would open it."""
    calibration = calibrate(shelved.shelf.reader(), shelved.embedder)
    return open_shelf(shelved.shelf, shelved.embedder, name=name or "", calibration=calibration)


def serve(*catalogues: OpenCatalogue) -> ServedCatalogues:
    return ServedCatalogues(
        gate=Gate(Toolbox(generic_tools(catalogues), generic_resources(catalogues)))
    )


@pytest.fixture(scope="module")
def books_spec() -> CatalogueSpec:
    return compile_text(BOOKS, origin="books")


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Record]) -> Any:
    """The anime catalogue, with a few records."""
    shelved.put(
        anime(
            "Star Pilots",
            synopsis="Pilots race between stars.",
            tags=["space"],
            year=1998,
            episodes=26,
        ),
        anime(
            "The Baker",
            synopsis="Bread and butter in a small town.",
            tags=["gourmet"],
            year=2010,
            type="MOVIE",
        ),
        anime(
            "Space Bread", synopsis="A bakery among stars.", tags=["space", "gourmet"], year=2015
        ),
    )
    return shelved


@pytest.fixture
def novels(new_shelved: Callable[[CatalogueSpec], Any], books_spec: CatalogueSpec) -> Any:
    """The books catalogue, with a few records."""
    books = new_shelved(books_spec)
    books.put(
        book(
            "Bread at Home",
            "How to bake bread, rolls and cakes.",
            type="HANDBOOK",
            year=2001,
            subjects=["cooking"],
        ),
        book(
            "The Lighthouse",
            "A keeper alone with the sea.",
            year=1927,
            pages=209,
            subjects=["sea", "solitude"],
        ),
        book(
            "Pilots of the Night",
            "Pilots carry mail between stars and storms.",
            year=1931,
            subjects=["flight"],
        ),
    )
    return books


@pytest.fixture
def served(stories: Any, novels: Any) -> ServedCatalogues:
    return serve(opened(stories), opened(novels))


@pytest.mark.row("N9")
def test_a_merged_list_begins_with_the_strongest_and_keeps_the_order_of_each_catalogue(
    served: ServedCatalogues,
) -> None:
    found = served.ask("search", query="bread", limit=50)
    results = found["results"]
    own = {name: served.ids("bread", catalogue=name, limit=50) for name in ("anime", "books")}
    firsts = {
        one["id"]: one["score"]
        for one in results
        if one["id"] in (own["anime"][0], own["books"][0])
    }
    assert firsts[results[0]["id"]] == max(firsts.values())
    for name, ids in own.items():
        assert [one["id"] for one in results if one["catalogue"] == name] == ids
    assert served.ids("bread", limit=50) == [one["id"] for one in results]


@pytest.mark.row("N2")
@pytest.mark.row("N9")
def test_one_catalogue_that_answers_is_enough_for_evidence(served: ServedCatalogues) -> None:
    found = served.ask("search", query="a keeper alone with the sea", limit=50)
    assert found["evidence"] == "strong"
    assert NOTHING_ANSWERS not in found["notes"]
    assert (
        served.ask("search", query="a keeper alone with the sea", catalogue="anime")["evidence"]
        == "none"
    )
    assert [one["id"] for one in found["results"] if one["relevance"]] == ["books/The Lighthouse"]


@pytest.mark.row("N9")
@pytest.mark.parametrize("limit", [1, 3, 10])
def test_a_catalogue_full_of_weak_matches_does_not_push_the_right_record_of_another_down(
    stories: Any, novels: Any, anime: Callable[..., Record], limit: int
) -> None:
    stories.put(
        *(
            anime(
                f"Weak {place}",
                synopsis=" ".join(["keeper", *WORDS[place % 7 :], *WORDS[: place % 5]]),
            )
            for place in range(60)
        )
    )
    served = serve(opened(stories), opened(novels))
    assert served.ids("a keeper alone with the sea", limit=limit)[0] == "books/The Lighthouse"
    assert served.ids("the lighthouse", limit=limit)[0] == "books/The Lighthouse"


@pytest.mark.row("N9")
def test_the_order_in_which_catalogues_are_served_does_not_matter(
    stories: Any, novels: Any
) -> None:
    one_way = serve(opened(stories), opened(novels)).ask("search", query="bread and stars")
    other_way = serve(opened(novels), opened(stories)).ask("search", query="bread and stars")
    assert one_way == other_way


@pytest.mark.row("N9")
def test_a_catalogue_without_vectors_takes_part_by_its_words_and_it_is_said(
    stories: Any, books_spec: Any
) -> None:
    shelf = MemoryShelf(books_spec)
    shelf.apply(
        [Put(record=book("Glaciers", "Slow rivers of ice.")), Put(record=book("Deserts", "Sand."))]
    )
    found = serve(opened(stories), open_shelf(shelf, stories.embedder)).ask(
        "search", query="slow rivers of ice"
    )
    assert found["results"][0]["id"] == "books/Glaciers"
    assert found["results"][0]["relevance"] == "RELEVANT"
    assert found["notes"] == ["books: searched by words alone (the catalogue has no vectors)"]


@pytest.mark.row("N9")
def test_with_a_dead_embedder_the_merged_list_is_in_the_order_of_the_words(
    stories: Any, novels: Any
) -> None:
    served = serve(opened(stories), opened(novels))
    for one in (stories, novels):
        one.embedder.problem = "it is asleep"
    found = served.ask("search", query="a keeper alone with the sea")
    assert found["notes"] == ["anime, books: searched by words alone (it is asleep)"]
    assert (found["results"][0]["id"], found["evidence"] == "none") == (
        "books/The Lighthouse",
        False,
    )
    weaker = served.ask("search", query="a keeper of volcanoes and penguins and submarines")
    assert (weaker["results"][0]["id"], weaker["evidence"]) == ("books/The Lighthouse", "none")
    assert weaker["notes"] == [NOT_ALL_WORDS, *found["notes"]]


@pytest.mark.row("N1", "N8")
@pytest.mark.parametrize("budget", [{}, {"max_tokens": 100}])
def test_a_result_has_the_fields_that_say_most_once(
    served: ServedCatalogues, budget: dict[str, int]
) -> None:
    (first, *_rest) = served.ask("search", query="The Lighthouse", **budget)["results"]
    assert first["fields"] == {
        "year": 1927,
        "type": "NOVEL",
        "subjects": ["sea", "solitude"],
        "pages": 209,
    }
    assert first["text"] == "A keeper alone with the sea."
    (nearest,) = served.ask("similar", id="books/The Lighthouse", limit=1)["results"]
    assert set(nearest["fields"]) <= {"year", "type", "subjects", "pages"}


CHEESES = """
name = "cheeses"
title = "Cheeses"
summary = "Cheeses, in a table without a long column."

[fields]
name = { type = "text", role = "title", search = { boost = 0.25, fuzzy = true } }
milk = { type = "text", search = true, filter = true, facet = true }
fat = { type = "float", unit = "%", filter = true }
maker = { type = "text", search = true }
aged = { type = "int" }
picture = { type = "url" }
page = { type = "url" }

[embed]
template = "{name}. {milk}"
"""


@pytest.mark.row("N8")
def test_a_result_of_a_table_without_a_long_column_has_its_fields_and_its_own_page(
    new_shelved: Callable[[CatalogueSpec], Any],
) -> None:
    cheeses = new_shelved(compile_text(CHEESES, origin="cheeses"))
    links = {"picture": "https://example.org/brie.jpg", "page": "https://example.org/brie"}
    fields = {"name": "Brie", "milk": "cow", "fat": 45.5, "maker": "Rouzaire", "aged": 4, **links}
    cheeses.put(Record(id=RecordId("brie"), fields=fields))
    (first,) = serve(opened(cheeses)).ask("search", query="brie")["results"]
    assert first["fields"] == {"maker": "Rouzaire", "milk": "cow", "fat": "45.5 %", "aged": 4}
    assert first["url"] == "https://example.org/brie"


def test_many_catalogues_without_vectors_are_named_in_one_note(
    books_spec: CatalogueSpec, novels: Any
) -> None:
    def without_vectors(number: int) -> OpenCatalogue:
        shelf = MemoryShelf(books_spec)
        shelf.apply([Put(record=book(f"Glaciers {number}", "Slow rivers of ice."))])
        return open_shelf(shelf, novels.embedder, name=f"shelf{number:02}")

    found = serve(*(without_vectors(number) for number in range(22))).ask(
        "search", query="slow rivers of ice"
    )
    (note,) = found["notes"]
    assert note.startswith(
        "shelf00, shelf01, shelf02, shelf03, shelf04 and 17 more: searched by words alone ("
    )


def test_a_long_body_is_cut_at_a_word_unless_there_is_a_budget_for_all_of_it(novels: Any) -> None:
    novels.put(book("Long", "sentence " * 200))
    served = serve(opened(novels))
    text = served.ask("search", query="Long")["results"][0]["text"]
    assert len(text) <= 242
    assert text.endswith("sentence …")
    whole = served.ask("search", query="Long", max_tokens=2_000)["results"][0]["text"]
    assert whole == ("sentence " * 200).strip()


SOME = {"min": 1}


@pytest.mark.row("N1", "N9")
@pytest.mark.parametrize(
    ("tool", "arguments", "code", "says"),
    [
        ("search", {"query": "x", "catalogue": "book"}, "not_found", UNKNOWN),
        ("browse", {"catalogue": "book"}, "not_found", UNKNOWN),
        ("similar", {"id": "books/The Lighthouse", "catalogue": "book"}, "not_found", UNKNOWN),
        ("fetch", {"id": "book/The Lighthouse"}, "not_found", UNKNOWN),
        ("fetch", {"id": "stackroom://book/The%20Lighthouse"}, "not_found", UNKNOWN),
        ("fetch", {"id": "books/Nothing"}, "not_found", "there is no record 'books/Nothing'; give"),
        ("similar", {"id": "stackroom://books/Nothing"}, "not_found", "give the id of a result"),
        ("similar", {"id": "books/the lighthuose"}, "not_found", "there is no record"),
        ("fetch", {"id": "The Darkhouse"}, "invalid_input", "must be CATALOGUE/ID, as search"),
        (
            "search",
            {"query": "x", "filters": {"episodes": SOME, "pages": SOME}},
            "invalid_input",
            "no catalogue has these filters; episodes: anime; pages: books",
        ),
        (
            "search",
            {"query": "x", "filters": {"episode": SOME}},
            "invalid_input",
            "'episode' is in none (did you mean 'episodes'?)",
        ),
        (
            "search",
            {"query": "x", "filters": {"episode": SOME}},
            "invalid_input",
            "books: year*, pages*, type, subjects",
        ),
        (
            "search",
            {"query": "x", "catalogue": "books", "filters": {"episodes": SOME}},
            "invalid_input",
            "'filters.episodes': 'books' cannot be filtered by it; filterable: year*, pages*, type,"
            ' subjects; as in {"year": {"min": 1, "max": 9}, "type": ["NOVEL"]}',
        ),
        ("search", {"query": "x", "cursor": "next"}, "invalid_input", CURSOR),
        ("search", {"query": "x", "cursor": "201"}, "invalid_input", CURSOR),
        ("search", {"query": "x", "cursor": "0" * 9 + "9" * 5_000}, "invalid_input", CURSOR),
        (
            "browse",
            {"catalogue": "books", "field": "subject"},
            "invalid_input",
            "'books' has no field 'subject' (did you mean 'subjects'?)",
        ),
    ],
)
def test_what_is_asked_wrongly_is_refused_with_what_would_be_right(
    served: ServedCatalogues, tool: str, arguments: dict[str, Any], code: str, says: str
) -> None:
    found, text = served.refusal(tool, **arguments)
    assert found == code
    assert says in text


def test_a_catalogue_that_has_no_such_filter_is_skipped_and_it_is_said(
    served: ServedCatalogues,
) -> None:
    found = served.ask("search", query="pilots", filters={"episodes": {"min": 1}})
    assert [one["id"] for one in found["results"]] == ["anime/Star Pilots"]
    assert found["notes"] == ["not searched, without these filters: books"]


@pytest.mark.row("N9")
def test_a_catalogue_whose_enum_lacks_the_value_is_skipped_and_the_others_are_searched(
    served: ServedCatalogues,
) -> None:
    answer = served.call("search", query="bread", filters={"type": ["MOVIE"]})
    assert not answer.is_error, answer.text
    assert answer.structured is not None
    assert [one["id"] for one in answer.structured["results"]] == ["anime/The Baker"]
    assert "books" in " ".join(answer.structured["notes"])


def test_a_record_is_fetched_whole_by_its_id_and_by_its_address(served: ServedCatalogues) -> None:
    by_id = served.ask("fetch", id="books/The Lighthouse")
    assert served.ask("fetch", id="stackroom://books/The%20Lighthouse") == by_id
    assert by_id["text"] == (
        "title: The Lighthouse\ntype: NOVEL\npages: 209\nyear: 1927\n"
        "subjects: sea, solitude\nblurb: A keeper alone with the sea."
    )
    told = {"id", "kind", "title", "type", "pages", "year", "subjects", "blurb"}
    assert set(by_id["metadata"]) == told


@pytest.mark.parametrize(
    "record_id", ["a/b/c.md", "50% off?", "a b#c", "/odd", "日本 語", "%2F", "a//b", "x&y=z"]
)
def test_any_id_can_be_fetched_by_what_search_says_it_is(novels: Any, record_id: str) -> None:
    novels.put(replace(book("Oddly named", "Nothing else is said."), id=RecordId(record_id)))
    served = serve(opened(novels))
    (first, *_rest) = served.ask("search", query="Oddly named")["results"]
    for address in (first["id"], first["url"]):
        assert served.ask("fetch", id=address)["metadata"]["id"] == record_id
    content = served.gate.read(LOCAL_USER, first["url"])
    assert json.loads(content.text or "")["id"] == record_id
    assert parse_address(address_of("books", RecordId(record_id))) == ("books", record_id)
    assert parse_address(uri_of("books", RecordId(record_id))) == ("books", record_id)


def test_an_id_that_only_one_catalogue_has_may_stand_alone(
    novels: Any, served: ServedCatalogues
) -> None:
    assert serve(opened(novels)).ask("fetch", id="The Lighthouse")["id"] == "books/The Lighthouse"
    assert served.ask("fetch", id="The Lighthouse")["id"] == "books/The Lighthouse"
    assert served.ask("fetch", id="books/the lighthouse")["id"] == "books/The Lighthouse", (
        "an exact title will do"
    )


def test_the_most_similar_records_come_first_and_never_the_record_itself(
    stories: Any, novels: Any
) -> None:
    stories.put(replace(stories.shelf.reader().fetch([1], scope=WHOLE)[1], id=RecordId("Twin")))
    results = serve(opened(stories), opened(novels)).ask("similar", id="anime/Star Pilots")[
        "results"
    ]
    assert results[0]["id"] == "anime/Twin"
    assert results[0]["score"] == pytest.approx(1.0, abs=1e-3)
    assert "anime/Star Pilots" not in [one["id"] for one in results]
    scores = [one["score"] for one in results]
    assert scores == sorted(scores, reverse=True)


def test_a_record_that_goes_meanwhile_is_compared_as_it_was(novels: Any) -> None:
    whole = opened(novels)

    class Emptying:
        """Implements what is read of a `Shelf`: after the first look the record is gone."""

        def reader(self) -> Any:
            reader = novels.shelf.reader()
            novels.shelf.apply([Delete(RecordId("The Lighthouse"))])
            return reader

    near = serve(replace(whole, shelf=Emptying())).ask("similar", id="books/The Lighthouse")[
        "results"
    ]
    assert {one["title"] for one in near} == {"Bread at Home", "Pilots of the Night"}


def test_similar_records_are_found_in_another_catalogue_also_under_the_same_id(
    stories: Any, novels: Any
) -> None:
    def nearest() -> list[str]:
        served = serve(opened(stories), opened(novels))
        return [
            one["id"]
            for one in served.ask("similar", id="anime/Star Pilots", catalogue="books")["results"]
        ]

    assert nearest()[0] == "books/Pilots of the Night"
    novels.put(book("Star Pilots", "Pilots race between stars."))
    assert nearest()[0] == "books/Star Pilots"


@pytest.mark.parametrize(
    ("address", "target"),
    [("plants/Oak", None), ("plants/Oak", "books"), ("books/The Lighthouse", "plants")],
)
def test_what_has_no_vectors_is_not_compared_and_it_is_said(
    novels: Any, address: str, target: str | None
) -> None:
    shelf = MemoryShelf(compile_text(PLANTS, origin="plants"))
    shelf.apply([Put(record=book("Oak", "A tree."))])
    served = serve(open_shelf(shelf), opened(novels))
    code, text = served.refusal("similar", id=address, **({"catalogue": target} if target else {}))
    assert code == "invalid_input"
    assert (
        f"'{address}' cannot be compared with '{target or 'plants'}': vectors are missing or by"
        " different models" in text
    )
    assert served.ask("fetch", id="plants/Oak")["title"] == "Oak"


def test_a_record_without_a_vector_in_a_catalogue_with_vectors_is_not_compared(novels: Any) -> None:
    novels.put(book("Bare", "No vector."), embed=False)
    assert serve(opened(novels)).refusal("similar", id="books/Bare")[0] == "invalid_input"


def values_in(served: ServedCatalogues, **arguments: Any) -> dict[str, dict[str, int]]:
    """Return the values of each field of the only catalogue that is browsed."""
    (catalogue,) = served.ask("browse", **arguments)["catalogues"]
    return {
        field["field"]: {one["value"]: one["count"] for one in field["values"]}
        for field in catalogue["fields"]
    }


def test_catalogues_and_fields_may_be_written_in_another_case(served: ServedCatalogues) -> None:
    assert (
        served.ask("browse", catalogue="Books", field="Subjects")["catalogues"][0]["fields"][0][
            "field"
        ]
        == "subjects"
    )
    assert served.ids("stars", filters={"Type": ["novel"]}) == served.ids(
        "stars", filters={"type": ["NOVEL"]}
    )
    in_books = {"query": "stars", "catalogue": "BOOKS"}
    assert (
        served.call("search", **in_books).structured
        == served.call("search", query="stars", catalogue="books").structured
    )


def test_the_overview_of_a_field_is_short_and_the_field_itself_is_long(novels: Any) -> None:
    novels.put(*(book(f"Book {place}", subjects=[f"subject {place:02}"]) for place in range(40)))
    served = serve(opened(novels))
    assert len(values_in(served)["subjects"]) == 10
    for limit in (30, 5):
        values = values_in(served, catalogue="books", field="subjects", limit=limit)
        assert [(name, len(some)) for name, some in values.items()] == [("subjects", limit)]


def test_values_are_searched_with_a_misspelling(served: ServedCatalogues) -> None:
    for search, found in (("solitud", {"solitude": 1}), ("qqqqq", {})):
        values = values_in(served, catalogue="books", field="subjects", search=search)
        assert values == {"subjects": found}


def test_a_field_that_cannot_be_counted_is_shown_without_values(served: ServedCatalogues) -> None:
    (books,) = served.ask("browse", catalogue="books", field="blurb")["catalogues"]
    assert books["fields"] == [{"field": "blurb", "type": "text", "values": []}]


def test_a_field_without_its_catalogue_is_refused_where_there_are_several(
    served: ServedCatalogues, novels: Any
) -> None:
    assert (
        "'field' needs a 'catalogue'; there are anime, books"
        in served.refusal("browse", field="year")[1]
    )
    assert serve(opened(novels)).ask("browse", field="type")["catalogues"]


def test_a_record_is_read_as_json_by_its_id_and_by_its_title(
    stories: Any, anime: Callable[..., Record]
) -> None:
    stories.put(anime("mal-1", title="Fate/Zero: A Tale", synopsis="Knights."))
    gate = serve(opened(stories)).gate
    for rest in ("mal-1", "Fate/Zero: A Tale", "fate%2Fzero%3A%20a%20tale"):
        content = gate.read(LOCAL_USER, f"stackroom://anime/{rest}")
        assert content.mime_type == "application/json"
        assert json.loads(content.text or "")["id"] == "mal-1"


class Unreadable:
    """A shelf whose storage fails."""

    def __init__(self, spec: CatalogueSpec) -> None:
        self.spec = spec

    def reader(self) -> Any:
        raise StorageError("books/records.sqlite: cannot be read")


@pytest.mark.row("T4")
def test_a_catalogue_whose_storage_fails_is_skipped_and_named_by_browse_and_search(
    stories: Any, novels: Any
) -> None:
    failing = replace(opened(novels), shelf=Unreadable(novels.spec))
    both = serve(opened(stories), failing)
    answer = both.gate.call(LOCAL_USER, "browse", {}).structured or {}
    browsed = {one["name"]: one.get("skipped") for one in answer["catalogues"]}
    assert browsed == {"anime": None, "books": "skipped, its storage cannot be read"}
    found = both.ask("search", query="bread")
    assert found["results"]
    assert found["notes"] == ["books: skipped, its storage cannot be read"]
    assert both.refusal("browse", catalogue="books")[0] == "storage"
    assert serve(failing).refusal("search", query="bread")[0] == "storage"


TICKETS = """
name = "tickets"
title = "Tickets"
summary = "Tickets of a zoo."

[fields]
title = { type = "text", role = "title", search = true }
adult = { type = "enum", values = ["true", "false"], filter = true, facet = true }
"""


def test_a_field_that_is_named_adult_is_marked_as_chosen_like_any_other() -> None:
    shelf = MemoryShelf(compile_text(TICKETS, origin="tickets"))
    for one, adult in enumerate(("false", "true", "true")):
        fields = {"title": "Day", "adult": adult}
        shelf.apply([Put(record=Record(id=RecordId(f"t{one}"), fields=fields))])
    asked = {"query": "*", "filters": {"adult": True}, "include": ["facets"]}
    found = serve(open_shelf(shelf)).gate.call(LOCAL_USER, "search", asked).structured
    assert found is not None
    (facet,) = [one for one in found["facets"] if one["field"] == "adult"]
    assert {one["value"]: one["chosen"] for one in facet["values"]} == {
        "true": True,
        "false": False,
    }
    assert found["total"] == 2
