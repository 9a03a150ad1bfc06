"""The form in which every view of the page shows a record."""

from pinakes.model.principal import LOCAL_USER
from pinakes.model.record import RecordId
from pinakes.model.scope import WHOLE
from pinakes.tools.media import CallerMedia
from pinakes.tools.page.hits import shape_hit
from support.libraries import Library


def test_a_hit_has_a_title_a_line_telling_fields_and_a_text(plain: Library) -> None:
    catalogue = plain.app.open_catalogue("anime")
    record = catalogue.view().find_record(RecordId("mal-1"), scope=WHOLE)
    assert record is not None
    hit = shape_hit(catalogue, record, CallerMedia(LOCAL_USER, ()), strength=0.6)
    assert (hit["key"], hit["title"], hit["subtitle"]) == ("anime/mal-1", "Cowboy Bebop", "1998")
    assert {"field": "episodes", "label": "Episodes", "value": "26"} in hit["fields"]
    assert "year" not in [field["field"] for field in hit["fields"]], "the line below the title has it already"
    assert 0 < len(hit["text"]) <= 250
    assert (hit["score"], hit["evidence"], hit["image"], hit["audio"]) == (0.6, "weak", None, False)


def test_a_record_that_nobody_searched_for_has_no_evidence(plain: Library) -> None:
    catalogue = plain.app.open_catalogue("anime")
    record = catalogue.view().find_record(RecordId("mal-1"), scope=WHOLE)
    assert record is not None
    hit = shape_hit(catalogue, record, CallerMedia(LOCAL_USER, ()))
    assert (hit["score"], hit["evidence"]) == (None, None)
