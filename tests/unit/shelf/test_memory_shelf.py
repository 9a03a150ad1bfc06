"""The reference shelf: what the others are held against is itself held against sums done by hand."""

import math

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.shelf.port import Put
from stackroom.text.analyser import TextQuery
from support.memory_shelf import K1, B, MemoryShelf

SPEC = compile_text(
    "name='x'\ntitle='X'\nsummary='x'\n[fields.title]\ntype='text'\nrole='title'\nsearch={boost=0.5}\n"
    "[fields.body]\ntype='text'\nsearch=true\n",
    origin="test",
)


def test_scores_are_bm25_over_the_catch_all_plus_a_share_of_the_boosted_field() -> None:
    shelf = MemoryShelf(SPEC)
    for name, title, body in [("one", "sea", "sea robot"), ("two", "land", "robot"), ("three", "sky", "")]:
        shelf.apply([Put(record=Record(id=RecordId(name), fields={"title": title, "body": body}))])
    ranking = shelf.reader().lexical(TextQuery(terms=(("sea", 2.0),)), scope=WHOLE, limit=5)
    rarity = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    in_all = 2 * (K1 + 1) / (2 + K1 * (1 - B + B * 3 / 2))  # 2 of 3 tokens; 2 tokens on average
    in_title = 1 * (K1 + 1) / (1 + K1)
    assert [hit.score for hit in ranking.best] == pytest.approx([2.0 * rarity * (in_all + 0.5 * in_title)])


def test_an_empty_shelf_without_a_model_answers() -> None:
    view = MemoryShelf(SPEC).reader()
    assert (view.model, view.stale, view.change_no, view.count(WHOLE)) == (None, None, 0, 0)
    assert view.vectors([]).shape == (0, 0)
