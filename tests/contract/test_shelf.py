"""What every shelf owes its callers, over every implementation of the port and every built-in
catalogue.
"""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from stackroom.errors import ConflictError, InputError
from stackroom.model.record import Key, RecordId
from stackroom.model.scope import (
    KEY_FIELD,
    KNOWN_FIELD,
    WHOLE,
    AnyOf,
    Range,
    Scope,
    Visibility,
)
from stackroom.shelf.port import EVERY_KEY, Author, Delete, Embedding, Op, Put
from stackroom.shelf.series import work_of
from stackroom.shelf.terms import name_lines
from stackroom.text.analyser import TextQuery, analyse_query, index_tokens

GUEST = Scope(visibility=Visibility(frozenset()))


def where(*conditions: Any) -> Scope:
    return Scope(conditions=conditions)


def query(text: str) -> Any:
    return analyse_query(text, synonyms={})


# Fetching


def test_frequencies_count_the_records_that_have_each_token(stock: Any) -> None:
    stock.put(
        stock.record("one", body="A robot and a robot."), stock.record("two", body="A robot sings.")
    )
    robot, sings = index_tokens("robot sings")
    assert stock.shelf.reader().frequencies([robot, sings, "absent"]) == [2, 1, 0]


def test_a_record_that_was_put_comes_back_as_it_was(stock: Any) -> None:
    record = stock.record(
        "one", body="A robot.", group=["Mecha"], number=2001, audiences=("staff",)
    )
    stock.put(record)
    view = stock.shelf.reader()
    keys = view.find([RecordId("one")], scope=WHOLE)
    assert view.fetch(list(keys.values()), scope=WHOLE) == {keys[RecordId("one")]: record}
    assert view.ids(list(keys.values())) == ["one"]


def test_the_names_and_the_series_of_records_are_those_of_their_fields_after_an_edit_too(
    stock: Any,
) -> None:
    stock.put(
        *(
            stock.record(f"r{number}", title=f"The Näme\tof\nTitle {number}: Part")
            for number in range(3)
        )
    )
    stock.put(stock.record("r1", title="Another One"))
    view = stock.shelf.reader()
    keys = view.scan(scope=WHOLE, limit=9)[::-1]
    records = view.fetch(keys, scope=WHOLE)
    if stock.spec.recommend:
        assert view.works(keys) == [work_of(records[key], stock.spec) for key in keys]
    if stock.spec.fields_searched_as_names:
        assert view.name_lines(keys) == [name_lines(records[key], stock.spec) for key in keys]


def test_tens_of_thousands_of_keys_can_be_fetched_at_once(stock: Any) -> None:
    stock.put(stock.record("one"))
    assert (
        len(stock.shelf.reader().fetch([Key(number) for number in range(40_000)], scope=WHOLE)) == 1
    )


def test_an_empty_shelf_answers_every_read_with_nothing(stock: Any) -> None:
    answers = stock.answers(stock.shelf.reader())
    assert answers["scan"] == answers["facets"] == answers["titles_like"] == []
    assert answers["lexical"] == ((), 0)
    assert answers["count"] == 0
    assert answers["nearest"] == [[], []]


def test_a_scan_in_pages_visits_every_record_once_in_key_order(stock: Any) -> None:
    stock.put(*(stock.record(f"r{number}") for number in range(7)))
    stock.put(stock.record("r2", body="changed"))
    view = stock.shelf.reader()
    pages, after = [], None
    while page := view.scan(scope=WHOLE, after=after, limit=3):
        pages.append(page)
        after = page[-1]
    keys = [key for page in pages for key in page]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert keys == sorted(keys)
    assert set(view.ids(keys)) == {f"r{number}" for number in range(7)}


# Words


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("The Running Robots", "robot runs"),
        ("Pokémon café", "POKEMON"),
        ("programming in C++", "c++"),
        ("進撃の巨人", "巨人"),
        ("나의 히어로 아카데미아", "히어로"),
        ("三体问题", "三体"),
        ("東京喰種", "喰"),
        ("Ёжик в тумане", "ежик"),
    ],
)
def test_words_are_found_folded_stemmed_and_within_unspaced_scripts(
    stock: Any, written: str, asked: str
) -> None:
    stock.put(stock.record("hit", body=written), stock.record("miss", body="something else"))
    assert stock.lexical(asked) == ["hit"]


def test_the_title_weighs_more_than_the_body_unless_it_is_searched_apart(stock: Any) -> None:
    stock.put(
        stock.record("in-body", title="Another name", body="lighthouse"),
        stock.record("in-title", title="Lighthouse", body="another name"),
    )
    is_apart = stock.spec.title_field.as_name
    assert stock.lexical("lighthouse") == (["in-body"] if is_apart else ["in-title", "in-body"])


def test_names_that_are_searched_apart_are_found_by_their_words_alone(stock: Any) -> None:
    stock.put(
        stock.record("in-title", title="The Lighthouse", body="another name"),
        stock.record("in-body", title="Another name", body="lighthouse"),
        stock.record("staff", title="Staff Lighthouse", audiences=("staff",)),
    )
    view = stock.shelf.reader()
    is_apart = bool(stock.spec.fields_searched_as_names)

    def found(text: str, scope: Scope) -> list[str]:
        ranking = view.lexical(query(text), scope=scope, limit=10, counted=False, in_names=True)
        assert ranking.total == len(ranking.keys)
        return [str(one) for one in view.ids(ranking.keys.tolist())]

    assert set(found("lighthouse", WHOLE)) == ({"in-title", "staff"} if is_apart else set())
    assert found("lighthouse", GUEST) == (["in-title"] if is_apart else [])
    assert found("absent", WHOLE) == found("", WHOLE) == []


def test_records_are_ranked_by_the_words_that_they_have_however_often(stock: Any) -> None:
    stock.put(stock.record("often", body="red red red"), stock.record("both", body="red green"))
    stock.put(
        stock.record("staff", body="red green", audiences=("staff",)),
        stock.record("none", body="blue"),
    )
    view, words = (
        stock.shelf.reader(),
        TextQuery(terms=(("red", 1.5), ("green", 2.0), ("absent", 3.0))),
    )
    ranking = view.having_words(words, scope=GUEST, limit=10)
    assert list(zip(view.ids(ranking.keys.tolist()), ranking.scores.tolist(), strict=True)) == [
        ("both", 3.5),
        ("often", 1.5),
    ]
    assert len(view.having_words(words, scope=WHOLE, limit=1).keys) == 1
    assert not len(view.having_words(TextQuery(terms=()), scope=WHOLE, limit=1).keys)


def test_how_much_is_known_of_a_record_changes_with_it(stock: Any) -> None:
    if not stock.spec.known:
        return
    stock.put(
        stock.record("little"), stock.record("much", body="word " * 200, group=["Mecha", "Space"])
    )
    view = stock.shelf.reader()
    little, much = view.numbers(KNOWN_FIELD, stock.keys("little", "much")).tolist()
    assert 0 <= little < much <= 1
    stock.put(stock.record("little", body="word " * 200, group=["Mecha", "Space"]))
    now = stock.shelf.reader().numbers(KNOWN_FIELD, stock.keys("little", "much")).tolist()
    assert now == pytest.approx([much, much])
    stock.shelf.rebuild()
    assert stock.shelf.reader().numbers(
        KNOWN_FIELD, stock.keys("little", "much")
    ).tolist() == pytest.approx(now)


def test_a_rarer_word_outranks_a_common_one(stock: Any) -> None:
    stock.put(*(stock.record(f"common{number}", body="robot story") for number in range(5)))
    stock.put(stock.record("rare", body="samurai story"))
    assert stock.lexical("robot samurai")[0] == "rare"


def test_a_scope_of_keys_has_these_records_in_every_read(stock: Any) -> None:
    stock.put(*(stock.record(name, body="a robot") for name in ("one", "two", "three")))
    first, second = stock.keys("one", "three")
    scope = Scope(conditions=(AnyOf(KEY_FIELD, (str(first), str(second), "4711")),))
    assert sorted(stock.lexical("robot", scope=scope)) == ["one", "three"]
    assert sorted(stock.nearest("two", scope=scope)) == ["one", "three"]
    assert stock.shelf.reader().count(scope) == 2
    none = Scope(conditions=(AnyOf(KEY_FIELD, ()),))
    assert (stock.lexical("robot", scope=none), stock.shelf.reader().count(none)) == ([], 0)


def test_what_the_terms_add_to_a_record_is_its_score_by_words(stock: Any) -> None:
    stock.put(
        stock.record("one", body="a robot in a garden of robots"),
        stock.record("two", body="a robot"),
    )
    stock.put(
        stock.record("three", body="nothing of the kind"), stock.record("four", body="a garden")
    )
    view, asked, keys = (
        stock.shelf.reader(),
        query("robot garden story"),
        stock.keys("three", "one", "two"),
    )
    scores = view.term_scores(asked, keys)
    ranking = view.lexical(asked, scope=WHOLE, limit=10)
    totals = dict(zip(ranking.keys.tolist(), ranking.scores.tolist(), strict=True))
    assert scores.sum(axis=1).tolist() == pytest.approx(
        [totals.get(key, 0.0) for key in keys], rel=1e-5
    )
    assert (scores > 0).tolist() == [
        [False, False, False],
        [True, True, False],
        [True, False, False],
    ]
    assert view.term_scores(asked, []).shape == (0, len(asked.terms))
    assert view.term_scores(query(" !? "), stock.keys("one")).shape == (1, 0)


def test_equal_scores_are_ordered_by_key_even_at_the_cut(stock: Any) -> None:
    stock.put(*(stock.record(f"r{number}", body="robot") for number in range(40)))
    for number in (3, 1, 0):  # written again, and so at the end of any index
        stock.put(replace(stock.record(f"r{number}", body="robot"), audiences=("staff",)))
    assert stock.lexical("robot", limit=4) == ["r0", "r1", "r2", "r3"]


# Vectors


def test_equal_cosines_are_ordered_by_key(stock: Any) -> None:
    names = [f"r{number}" for number in range(9)]
    stock.apply(*(stock.embedded(stock.record(name), like="the same") for name in names))
    assert stock.nearest("the same", limit=5) == names[:5]


def test_the_vectors_of_texts_are_given_as_the_model_made_them(stock: Any) -> None:
    stock.apply(
        stock.embedded(stock.record("one"), like="the same"), Put(record=stock.record("two"))
    )
    found = stock.shelf.reader().stored_vectors([b"the same", b"unknown"])
    assert list(found) == [b"the same"]
    assert found[b"the same"] == pytest.approx(stock.vector("the same"))
    assert stock.shelf.reader().stored_vectors([]) == {}


def test_an_embedding_given_once_is_not_missing_afterwards_even_if_the_record_is_deleted(
    stock: Any,
) -> None:
    writer = stock.shelf.writer()
    assert writer.missing_embeddings([b"one", b"two"]) == {b"one", b"two"}
    stock.put(stock.record("one"))
    stock.delete("one")
    assert writer.missing_embeddings([b"one", b"two"]) == {b"two"}
    stock.apply(Put(record=stock.record("again"), embedding=Embedding(digest=b"one")))
    assert stock.nearest("one") == ["again"]


def test_a_digest_without_a_vector_anywhere_is_still_missing_and_can_be_given_later(
    stock: Any,
) -> None:
    named = Put(record=stock.record("one"), embedding=Embedding(digest=b"one"))
    stock.apply(named)
    assert stock.nearest("one") == []
    assert stock.shelf.writer().missing_embeddings([b"one"]) == {b"one"}
    assert stock.shelf.writer().unchanged([named]) == {"one"}, (
        "a vector that is still to come is no change"
    )
    assert stock.shelf.writer().unchanged([stock.embedded(stock.record("one"))]) == set()
    stock.put(stock.record("one"))
    assert stock.nearest("one") == ["one"]


@pytest.mark.parametrize("vector", [np.ones(5, np.float32), np.full(16, np.nan, np.float32)])
def test_a_vector_that_cannot_be_the_models_is_refused_and_nothing_is_written(
    stock: Any, vector: Any
) -> None:
    wrong = Put(record=stock.record("one"), embedding=Embedding(digest=b"x", vector=vector))
    with pytest.raises(InputError, match="not one of test-model"):
        stock.apply(wrong)
    assert stock.shelf.reader().count(WHOLE) == 0


# Titles


def test_a_misspelt_title_is_found_and_nearly_alike(stock: Any) -> None:
    stock.put(
        stock.record("right", title="Neon Genesis: Evangelion!"),
        stock.record("wrong", title="The Garden of Words"),
    )
    view = stock.shelf.reader()
    best = view.titles_like("neon genisis evangelon", scope=WHOLE, limit=1)[0]
    assert view.has_name("neon genesis EVANGELION!", scope=WHOLE)
    assert not view.has_name("neon genisis evangelon", scope=WHOLE)
    assert view.ids([best.key]) == ["right"]
    assert 0.9 < best.likeness < 1.0


# Columns


# Conditions


@pytest.fixture
def grouped(stock: Any) -> Any:
    stock.put(
        stock.record("old", title="A robot", body="robot", group=["Mecha"], number=1995),
        stock.record("new", title="A robot", body="robot", group=["Drama"], number=2015),
        stock.record("bare", title="A robot", body="robot"),
    )
    return stock


def test_a_field_that_cannot_be_filtered_is_refused_with_the_names_of_those_that_can(
    grouped: Any,
) -> None:
    view, scope = grouped.shelf.reader(), where(AnyOf("no_such_field", ("x",)))
    known = f"filterable: {', '.join(field.name for field in grouped.spec.column_fields)}"
    reads = [
        lambda: view.lexical(query("robot"), scope=scope, limit=1),
        lambda: view.nearest(grouped.vector("old")[None], scope=scope, limit=1),
        lambda: view.titles_like("robot", scope=scope, limit=1),
        lambda: view.facets(grouped.group_field, scope=scope),
        lambda: view.occurrences(grouped.group_field, scope=scope),
        lambda: view.count(scope),
        lambda: view.scan(scope=scope, limit=1),
    ]
    for read in reads:
        with pytest.raises(InputError) as refused:
            read()
        assert "'no_such_field'" in refused.value.message
        assert known in refused.value.message


def test_a_condition_of_the_wrong_form_is_refused(grouped: Any) -> None:
    with pytest.raises(InputError, match="filtered by a range"):
        grouped.shelf.reader().count(where(AnyOf(grouped.number_field, ("1995",))))
    with pytest.raises(InputError, match="filtered by values"):
        grouped.shelf.reader().count(where(Range(grouped.group_field, at_least=1)))


def test_counting_a_field_without_values_to_count_is_refused_with_those_that_have(
    grouped: Any,
) -> None:
    for field in (grouped.number_field, grouped.body_field, "no_such_field"):
        with pytest.raises(InputError, match=grouped.group_field):
            grouped.shelf.reader().facets(field, scope=WHOLE)
        with pytest.raises(InputError, match=grouped.group_field):
            grouped.shelf.reader().occurrences(field, scope=WHOLE)


# Changes


def test_a_put_replaces_the_record_of_that_id_under_the_same_key(stock: Any) -> None:
    stock.put(stock.record("one", title="A robot", body="robot", group=["Mecha"]))
    before = stock.keys("one")
    stock.put(stock.record("one", title="A samurai", body="samurai", group=["Drama"]))
    view = stock.shelf.reader()
    assert stock.keys("one") == before
    assert (stock.lexical("robot"), stock.lexical("samurai")) == ([], ["one"])
    assert [facet.value for facet in view.facets(stock.group_field, scope=WHOLE)] == ["Drama"]
    assert view.titles_like("a samurai", scope=WHOLE, limit=1)[0].likeness == 1.0
    assert view.count(WHOLE) == 1


def test_a_record_that_returns_after_a_delete_has_a_new_key(stock: Any) -> None:
    stock.put(stock.record("one", body="robot"))
    before = stock.keys("one")
    stock.delete("one")
    stock.put(stock.record("one", body="robot"))
    assert stock.keys("one") != before
    assert stock.lexical("robot") == ["one"]


def test_a_view_does_not_change_after_it_was_taken(stock: Any) -> None:
    stock.put(
        stock.record("one", body="robot", group=["Mecha"], number=2000),
        stock.record("two", body="story", group=["Drama"], number=2001),
        stock.record("three", body="robot story"),
    )
    view = stock.shelf.reader()
    before = stock.answers(view)
    stock.put(
        stock.record("one", title="Another", body="samurai", group=["Secret"]),
        stock.record("four", body="robot"),
    )
    stock.delete("two")
    stock.put(stock.record("one", title="A third", body="dragon"))
    stock.delete("one")
    assert stock.answers(view) == before
    assert view.find([RecordId("four")], scope=WHOLE) == {}
    assert stock.answers(stock.shelf.reader()) != before


def test_every_change_gets_a_higher_number_and_views_tell_theirs(stock: Any) -> None:
    numbers = [stock.put(stock.record("one")), stock.put(stock.record("two")), stock.delete("one")]
    assert numbers == sorted(set(numbers))
    assert stock.shelf.reader().change_no == numbers[-1]
    assert stock.put(stock.record("three"), stock.record("four")) == numbers[-1] + 2


def test_a_put_that_changes_nothing_is_no_change(stock: Any) -> None:
    record = stock.record("one", body="robot", group=["Mecha"], number=2000)
    first = stock.put(record)
    same = replace(record, fields={**record.fields, "no_value": None})
    assert stock.shelf.writer().unchanged([stock.embedded(same)]) == {"one"}
    assert stock.put(same) == first
    changed = stock.embedded(stock.record("one", body="samurai"))
    assert stock.shelf.writer().unchanged([changed]) == set()
    assert stock.shelf.writer().unchanged([Put(record=record)]) == set()


def test_deleting_what_is_not_there_is_no_change(stock: Any) -> None:
    first = stock.put(stock.record("one"))
    assert stock.delete("none") == first


def test_a_batch_with_a_record_that_cannot_be_kept_changes_nothing(stock: Any) -> None:
    stock.put(stock.record("one"))
    before = stock.answers(stock.shelf.reader())
    bad = stock.embedded(stock.record("bad", body=object()))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        stock.shelf.writer().apply([stock.embedded(stock.record("two")), bad])
    assert stock.answers(stock.shelf.reader()) == before


def test_a_value_that_is_no_number_leaves_the_record_without_one(stock: Any) -> None:
    record = stock.record("odd", body="robot")
    odd = replace(record, fields={**record.fields, stock.number_field: "soon"})
    stock.put(odd, stock.record("even", body="robot", number=2000))
    assert stock.lexical("robot", scope=where(Range(stock.number_field))) == ["even"]
    assert stock.lexical("robot") == ["odd", "even"]


def test_hostile_text_is_kept_or_searched_without_harm(stock: Any) -> None:
    hostile = 'NUL \x00 bidi \u202e "quote" AND (OR) * ~ ^ : \\ DROP TABLE records; --'
    stock.put(stock.record("one", title=hostile, body=hostile, group=[hostile]))
    assert stock.lexical(hostile) == ["one"]
    assert stock.lexical("\ud800 table", scope=where(AnyOf(stock.group_field, (hostile,)))) == [
        "one"
    ]
    assert stock.titles_like(hostile) == ["one"]


# What was changed


ADA, BOB = Author(principal="ada", call_id="call-1"), Author(principal="bob", call_id="call-2")


@pytest.fixture
def changed(stock: Any) -> Any:
    """A shelf with five changes by two people, the last of them a removal."""
    writer = stock.shelf.writer()
    writer.apply(
        [stock.embedded(stock.record("one", body="first")), stock.embedded(stock.record("two"))],
        author=ADA,
    )
    writer.apply([stock.embedded(stock.record("one", body="second"))], author=BOB)
    writer.apply(
        [stock.embedded(stock.record("one", body="third")), Delete(RecordId("two"))], author=ADA
    )
    return stock


@pytest.mark.row("Z11")
def test_past_changes_are_listed_newest_first_with_who_made_them_and_what_was_before_and_after(
    changed: Any,
) -> None:
    started = datetime.now(UTC)
    found = changed.shelf.history().list_changes(limit=10)
    one = [changed.record("one", body=body) for body in ("first", "second", "third")]
    two = changed.record("two")
    assert [(change.change_no, change.id, change.op, change.author) for change in found] == [
        (5, "two", Op.DELETE, ADA),
        (4, "one", Op.UPDATE, ADA),
        (3, "one", Op.UPDATE, BOB),
        (2, "two", Op.INSERT, ADA),
        (1, "one", Op.INSERT, ADA),
    ]
    assert [(change.before, change.after) for change in found] == [
        (two, None),
        (one[1], one[2]),
        (one[0], one[1]),
        (None, two),
        (None, one[0]),
    ]
    assert all(abs(started - change.at) < timedelta(minutes=5) for change in found)


@pytest.mark.row("N5")
@pytest.mark.parametrize(
    "expected",
    [{"one": 3}, {"one": 0}, {"one": 4, "two": 2}, {"three": 1}, {"one": 4, "three": 9}],
)
def test_changes_that_expect_other_versions_are_refused_whole(
    changed: Any, expected: dict[RecordId, int]
) -> None:
    before = changed.answers(changed.shelf.reader())
    changes = [
        changed.embedded(changed.record("one", body="fourth")),
        changed.embedded(changed.record("new")),
    ]
    with pytest.raises(ConflictError, match="changed since it was read"):
        changed.shelf.writer().apply(changes, expected=expected)
    assert changed.answers(changed.shelf.reader()) == before
    assert len(changed.shelf.history().list_changes(limit=10)) == 5


@pytest.mark.row("N5")
def test_changes_that_expect_what_is_there_are_made(changed: Any) -> None:
    put = changed.embedded(changed.record("one", body="fourth"))
    last = changed.shelf.writer().apply(
        [put], author=BOB, expected={RecordId("one"): 4, RecordId("two"): 5}
    )
    assert last == 6
    again = changed.embedded(changed.record("three"))
    assert changed.shelf.writer().apply([again], expected={RecordId("three"): 0}) == 7


@pytest.mark.row("N5")
def test_of_writers_that_expect_the_same_version_at_once_exactly_one_succeeds(stock: Any) -> None:
    stock.put(stock.record("one"))
    start = threading.Barrier(4)
    refused: list[int] = []

    def write(number: int) -> None:
        start.wait()
        try:
            put = stock.embedded(stock.record("one", body=f"by {number}"))
            stock.shelf.writer().apply([put], expected={RecordId("one"): 1})
        except ConflictError:
            refused.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3
    assert stock.shelf.history().versions([RecordId("one")]) == {"one": 2}


def test_a_writer_can_keep_others_out_for_several_steps(stock: Any) -> None:
    writer = stock.shelf.writer()
    seen: list[int] = []
    other = threading.Thread(
        target=lambda: seen.append(writer.apply([stock.embedded(stock.record("other"))]))
    )
    with writer.exclusive():
        other.start()
        writer.apply([stock.embedded(stock.record("one"))])
        assert stock.shelf.reader().change_no == 1
        writer.apply([stock.embedded(stock.record("two"))])
        writer.publish()
        assert seen == []
    other.join()
    assert seen == [3]


def test_a_vector_that_comes_later_is_a_change_of_the_record_that_changes_nothing_in_it(
    stock: Any,
) -> None:
    record = stock.record("one")
    stock.apply(Put(record=record))
    stock.put(record)
    newest = stock.shelf.history().list_changes(limit=1)[0]
    assert (newest.op, newest.before, newest.after) == (Op.UPDATE, record, record)


# Health


def test_a_shelf_is_found_sound_whatever_was_put_changed_and_deleted(stock: Any) -> None:
    assert list(stock.shelf.check()) == []
    stock.put(*(stock.record(f"r{number}", body="a robot") for number in range(9)))
    stock.put(stock.record("r1", body="a story"))
    stock.delete("r2")
    stock.shelf.writer().apply([Put(record=stock.record("late"))])
    assert list(stock.shelf.check()) == []


def test_a_check_ends_where_its_checkpoint_says_so(stock: Any) -> None:
    class EnoughError(Exception):
        pass

    def stop() -> None:
        raise EnoughError

    stock.put(stock.record("one"))
    with pytest.raises(EnoughError):
        list(stock.shelf.check(checkpoint=stop))


def test_changes_made_while_a_shelf_is_checked_are_no_problem(stock: Any) -> None:
    stock.put(*(stock.record(f"r{number}") for number in range(9)))
    written: list[int] = []

    def write() -> None:
        if not written:
            written.append(stock.put(stock.record("r1", body="changed"), stock.record("new")))
            stock.delete("r2")

    assert list(stock.shelf.check(checkpoint=write)) == []
    assert written


def test_indexes_that_are_rebuilt_give_the_same_answers(stock: Any) -> None:
    stock.put(
        *(
            stock.record(f"r{number}", body="a robot", group=["Mecha"], number=2001)
            for number in range(5)
        )
    )
    view = stock.shelf.reader()
    before = stock.answers(view)
    assert stock.shelf.rebuild() == 5
    assert stock.answers(stock.shelf.reader()) == before
    assert stock.answers(view) == before
    stock.put(stock.record("after", body="a robot"))
    assert "after" in stock.lexical("robot")
    assert list(stock.shelf.check()) == []


def test_a_shelf_is_not_rebuilt_while_another_writes(stock: Any) -> None:
    stock.put(stock.record("one"))
    rebuilt: list[int] = []
    other = threading.Thread(target=lambda: rebuilt.append(stock.shelf.rebuild()))
    with stock.shelf.writer().exclusive():
        other.start()
        stock.put(stock.record("two"))
        assert stock.shelf.reader().count(WHOLE) == 2
    other.join()
    assert rebuilt == [2]


def test_a_shelf_describes_itself_as_its_reader_does(
    stock: Any, request: pytest.FixtureRequest
) -> None:
    last = stock.put(stock.record("one"), stock.record("two"))
    description = stock.shelf.describe()
    view = stock.shelf.reader()
    assert (description.records, description.change_no) == (2, last)
    assert (description.model, description.stale) == (view.model, None)
    made = request.node.callspec.params["make_shelf"]
    kinds = {"postgresql": "embedded", "postgresql_searched": "postgresql"}  # of the index
    assert description.kind == kinds.get(made, made)


# Vectors that come later than their records


def _words_only(stock: Any, *names: str) -> None:
    stock.apply(
        *(
            Put(record=stock.record(name), embedding=Embedding(digest=name.encode()))
            for name in names
        )
    )


@pytest.mark.row("N12")
def test_vectors_that_come_later_are_found_without_being_changes_of_their_records(
    stock: Any,
) -> None:
    _words_only(stock, "one", "two")
    writer, before = stock.shelf.writer(), stock.shelf.reader()
    assert (before.awaiting_vectors, writer.count_unembedded(), stock.nearest("one")) == (2, 2, [])
    assert [record.id for _, record in writer.list_unembedded(limit=5)] == ["one", "two"]
    with writer.sole_embedder(wait_s=1.0):
        assert writer.add_vectors({RecordId("one"): b"one"}, {b"one": stock.vector("one")}) == 1
        writer.publish_vectors()
    after = stock.shelf.reader()
    assert stock.nearest("one") == ["one"]
    assert (after.awaiting_vectors, writer.count_unembedded()) == (1, 1)
    assert after.change_no == before.change_no
    assert after.vector_no > before.vector_no
    assert len(stock.shelf.history().list_changes(limit=10)) == 2
    (key, _), *rest = writer.list_unembedded(limit=5)
    assert (rest, writer.list_unembedded(within=EVERY_KEY._replace(after=key), limit=5)) == ([], [])


@pytest.mark.row("N12")
def test_a_vector_for_a_text_that_a_record_no_longer_has_is_not_taken_for_its_own(
    stock: Any,
) -> None:
    _words_only(stock, "one", "two")
    stock.apply(
        Put(record=stock.record("one", body="rewritten"), embedding=Embedding(digest=b"rewritten"))
    )
    stock.delete("two")
    writer = stock.shelf.writer()
    digests, vectors = (
        {RecordId("one"): b"one", RecordId("two"): b"two"},
        {b"one": stock.vector("one")},
    )
    assert writer.add_vectors(digests, vectors) == 0
    writer.publish_vectors()
    assert stock.nearest("one") == []
    assert stock.shelf.reader().awaiting_vectors == 1


@pytest.mark.row("N12")
def test_a_shelf_without_a_model_awaits_no_vectors(stock: Any) -> None:
    stock.apply(Put(record=stock.record("one")))
    assert stock.shelf.reader().awaiting_vectors == 0
