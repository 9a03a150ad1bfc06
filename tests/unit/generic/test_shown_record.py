"""The one form in which every surface shows a record."""

from stackroom.generic.record import RecordForm, shape_hits
from stackroom.generic.shapes import ShownRecord
from stackroom.model.hits import Label
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import Key, RecordId
from stackroom.model.scope import WHOLE
from stackroom.search.result_set import Hit
from stackroom.tools.media import CallerMedia
from support.libraries import Library

WITH_TILES = RecordForm(media=CallerMedia(LOCAL_USER, ()))


def shown(plain: Library, form: RecordForm = WITH_TILES) -> ShownRecord:
    view = plain.app.open_catalogue("anime").view()
    record = view.find_record(RecordId("mal-1"), scope=WHOLE)
    assert record is not None
    (one,) = shape_hits([Hit(view, Key(1), record, 0.61234, Label.RELEVANT)], form)
    return one


def test_a_record_has_a_title_telling_fields_a_text_and_its_score(plain: Library) -> None:
    record = shown(plain, RecordForm())
    assert (record.id, record.title, record.score, record.relevance) == (
        "anime/mal-1",
        "Cowboy Bebop",
        0.6123,
        "RELEVANT",
    )
    assert record.fields["episodes"] == 26
    assert record.tile is None


def test_a_tile_has_a_line_telling_fields_and_a_text(plain: Library) -> None:
    tile = shown(plain).tile
    assert tile is not None
    assert (tile.line, tile.image, tile.audio) == ("1998", None, False)
    assert ("episodes", "Episodes", "26") in [
        (field.field, field.label, field.value) for field in tile.fields
    ]
    assert "year" not in [field.field for field in tile.fields], (
        "the line below the title has it already"
    )
    assert 0 < len(tile.text) <= 250
