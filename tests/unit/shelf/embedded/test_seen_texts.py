"""The text indexes of callers who may not see everything follow changes, and are made for audiences
that there are.
"""

from pathlib import Path

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import SEES_EVERYTHING, SEES_PUBLIC, Visibility
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.embedded import text_index
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Delete, Put

pytestmark = pytest.mark.row("N21")

SPEC = compile_text(
    'name = "notes"\ntitle = "Notes"\nsummary = "Notes."\n'
    '[fields]\ntitle = { type = "text", role = "title", search = true }\n',
    origin="test",
)


@pytest.fixture
def shelf(tmp_path: Path) -> CatalogueShelf:
    made = create_shelf(tmp_path, SPEC, model=None)
    put(made, "one", "lantern")
    put(made, "two", "lantern", "staff")
    return made


def put(shelf: CatalogueShelf, name: str, title: str, *audiences: str) -> None:
    shelf.apply(
        [Put(record=Record(id=RecordId(name), fields={"title": title}, audiences=audiences))]
    )


def frequencies(shelf: CatalogueShelf, visibility: Visibility) -> list[int]:
    return shelf.reader().seen_by(visibility).frequencies(["lantern", "harbour"])


@pytest.mark.parametrize("rebuilt_below", [0, 5_000])
def test_words_are_counted_among_what_is_seen_after_every_change(
    shelf: CatalogueShelf, monkeypatch: pytest.MonkeyPatch, rebuilt_below: int
) -> None:
    monkeypatch.setattr(text_index, "REBUILT_BELOW", rebuilt_below)
    assert (frequencies(shelf, SEES_PUBLIC), frequencies(shelf, SEES_EVERYTHING)) == (
        [1, 0],
        [2, 0],
    )
    put(shelf, "three", "harbour")
    put(shelf, "four", "harbour", "staff")
    assert (frequencies(shelf, SEES_PUBLIC), frequencies(shelf, SEES_EVERYTHING)) == (
        [1, 1],
        [2, 2],
    )
    assert shelf.reader().seen_by(SEES_PUBLIC).awaiting_vectors == 0


def test_a_record_that_is_hidden_now_leaves_no_word_behind(shelf: CatalogueShelf) -> None:
    assert frequencies(shelf, SEES_PUBLIC) == [1, 0]
    put(shelf, "one", "lantern", "staff")
    put(shelf, "three", "harbour")
    assert frequencies(shelf, SEES_PUBLIC) == [0, 1]


def test_callers_who_see_the_same_share_an_index_and_those_who_see_all_need_none(
    shelf: CatalogueShelf,
) -> None:
    view = shelf.reader()
    assert view.seen_by(Visibility(frozenset({"user:ada"}))) is view.seen_by(
        Visibility(frozenset({"user:bob"}))
    )
    assert view.seen_by(Visibility(frozenset({"staff"}))) is view
    shelf.apply([Delete(id=RecordId("two"))])
    assert shelf.reader().seen_by(SEES_PUBLIC) is shelf.reader()
