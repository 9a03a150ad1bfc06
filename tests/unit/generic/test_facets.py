"""Facets of a result set: the values that were chosen are marked."""

from stackroom.assembly.app import gate_over
from stackroom.catalogue.compiler import compile_text
from stackroom.generic import tools
from stackroom.generic.shapes import SearchParams
from stackroom.model.record import Record, RecordId
from stackroom.tools.catalogue import OpenCatalogue
from support.libraries import Shelved
from support.served import open_shelf

SPEC = compile_text(
    """
name = "tickets"
title = "Tickets"
summary = "Tickets of a zoo."

[fields]
title = { type = "text", role = "title", search = true }
adult = { type = "enum", values = ["true", "false"], filter = true, facet = true }

[embed]
template = "{title}"
""",
    origin="tickets",
)


def open_tickets() -> OpenCatalogue:
    shelved = Shelved(spec=SPEC)
    shelved.put(
        *(
            Record(
                id=RecordId(f"t{one}"), fields={"title": "Day", "adult": "true" if one else "false"}
            )
            for one in range(3)
        )
    )
    return open_shelf(shelved.shelf, shelved.embedder)


def test_a_field_that_is_named_adult_is_marked_as_chosen_like_any_other() -> None:
    params = SearchParams(query="*", filters={"adult": True}, include=["facets"])
    found = gate_over(open_tickets()).ask(tools.search, params)
    (facet,) = [one for one in found.facets or () if one.field == "adult"]
    assert {value.value: value.chosen for value in facet.values or ()} == {
        "true": True,
        "false": False,
    }
    assert found.total == 2
