"""Facets of a result set: the values that were chosen are marked."""

from pinakes.catalogue.loader import compile_text
from pinakes.model.principal import LOCAL_USER
from pinakes.model.record import Record, RecordId
from pinakes.recommend.recommender import Recommender
from pinakes.search.searcher import Searcher
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.explore.explore import Reader, explore_catalogue
from pinakes.tools.explore.request import parse_address
from pinakes.tools.media import CallerMedia
from support.libraries import Shelved

SPEC = compile_text(
    """
name = "tickets"
title = "Tickets"
summary = "Tickets of a zoo."

[fields.title]
type = "text"
role = "title"
search = true

[fields.adult]
type = "enum"
values = ["true", "false"]
filter = true
facet = true

[embed]
template = "{title}"
""",
    origin="tickets",
)


def open_tickets() -> OpenCatalogue:
    shelved = Shelved(spec=SPEC)
    shelved.put(
        *(
            Record(id=RecordId(f"t{one}"), fields={"title": "Day", "adult": "true" if one else "false"})
            for one in range(3)
        )
    )
    return OpenCatalogue(
        name="tickets",
        spec=SPEC,
        shelf=shelved.shelf,
        searcher=Searcher(spec=SPEC, embedder=shelved.embedder),
        recommender=Recommender(spec=SPEC, embedder=shelved.embedder, this_year=lambda: 2026),
    )


def test_a_field_that_is_named_adult_is_marked_as_chosen_like_any_other() -> None:
    reader = Reader(principal=LOCAL_USER, media=CallerMedia(LOCAL_USER, ()))
    found = explore_catalogue(open_tickets(), parse_address([("f.adult", "true")]), reader)
    (facet,) = [one for one in found["facets"] if one["field"] == "adult"]
    assert {value["value"]: value["chosen"] for value in facet["values"]} == {"true": True, "false": False}
    assert found["total"] == 2
