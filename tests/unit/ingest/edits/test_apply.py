"""Edits: what a request comes to by the spec, plan and apply, undo, and what happens when others
are in the way.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import ConflictError, ExpectedError, InputError, NotFoundError, StorageError
from stackroom.ingest.edits import draft
from stackroom.ingest.edits.apply import ATTEMPTS, Applied
from stackroom.ingest.edits.draft import EditAction, EditPlan, EditRequest
from stackroom.ingest.embedding import LateEmbedding
from stackroom.model.record import Record, RecordId, Tag
from stackroom.model.scope import WHOLE, Visibility
from stackroom.packages import PACKAGES
from stackroom.shelf.port import LOCAL, Author, Op, Put
from stackroom.text.analyser import analyse_query
from support.editing import EditBench
from support.memory_shelf import MemoryShelf

pytestmark = [pytest.mark.row("Z5"), pytest.mark.row("N5")]

SPEC = compile_text(
    Path(__file__).with_name("library.toml").read_text(encoding="utf-8"), origin="test"
)
ADA, BOB = Author(principal="ada", call_id="c-ada"), Author(principal="bob", call_id="c-bob")


create, update, delete, undo = (
    partial(EditRequest, action=EditAction(action))
    for action in ("create", "update", "delete", "undo")
)


@dataclass(frozen=True, kw_only=True)
class Bench(EditBench):
    """A catalogue in memory, and short ways to edit it."""

    def create(
        self,
        kind: str | None,
        record_id: str | None = None,
        *,
        author: Author = LOCAL,
        **fields: Any,
    ) -> str:
        request = create(kind=kind, id=record_id, fields=fields)
        return self.edits.apply(request, author=author).plan.changes[0].id

    def update(
        self, record_id: str, *, author: Author = LOCAL, token: str | None = None, **fields: Any
    ) -> Applied:
        request = update(id=record_id, fields=fields)
        return self.edits.apply(request, author=author, token=token)

    def delete(self, record_id: str, *, author: Author = LOCAL, cascade: bool = False) -> Applied:
        request = delete(id=record_id, cascade=cascade)
        return self.edits.apply(request, author=author)

    def undo(self, what: str, *, author: Author = LOCAL, cascade: bool = False) -> Applied:
        return self.edits.apply(undo(id=what, cascade=cascade), author=author)


def new_bench(spec: CatalogueSpec, embedder: Any) -> Bench:
    return Bench(shelf=MemoryShelf(spec, model=embedder.model), embedder=embedder)


@pytest.fixture
def bench(embedder: Any) -> Bench:
    """An empty catalogue."""
    return new_bench(SPEC, embedder)


@pytest.fixture
def filled(bench: Bench) -> Bench:
    """Two authors, a book by each, one by both, and a chapter of the first."""
    bench.create("author", "woolf", title="Woolf")
    bench.create("author", "mann", title="Mann")
    bench.create("book", "waves", title="The Waves", author_ids=["woolf"])
    bench.create("book", "mountain", title="The Mountain", author_ids=["mann"])
    bench.create("book", "letters", title="Letters", author_ids=["mann", "woolf"])
    bench.create("chapter", "dawn", title="Dawn", book_id="waves")
    return bench


def refusal(what: Callable[[], Any], kind: type[ExpectedError] = InputError) -> str:
    with pytest.raises(kind) as refused:
        what()
    assert type(refused.value) is kind
    return refused.value.message


# Creating


def test_a_new_record_gets_an_id_made_of_its_kind_and_title_and_a_number_where_that_is_taken(
    bench: Bench,
) -> None:
    ids = [bench.create("author", title="Virginia  Woolf!") for _ in range(3)]
    assert ids == ["author-virginia-woolf", "author-virginia-woolf-2", "author-virginia-woolf-3"]
    assert bench.create("author", title="進撃の巨人") == "author-進撃の巨人"
    assert [bench.create("author", title="?!") for _ in range(2)] == ["author-1", "author-2"]
    assert len(bench.create("author", title="long " * 100)) < 80


def test_every_type_of_value_is_kept_as_the_field_has_it(bench: Bench) -> None:
    bench.create("author", "woolf", title="Woolf")
    bench.create(
        "book",
        "waves",
        title=" The Waves ",
        author_ids=["woolf", "woolf"],
        subjects=["sea", {"category": "mood", "value": "calm"}, ""],
        pages=324.0,
        price=7,
        published="1931-10-08",
        form="NOVEL",
        page="https://example.org/waves",
        scan="scans/the waves..pdf",
        extra={"deep": [1, {"two": None}]},
    )
    assert bench.get("waves") == {
        "title": "The Waves",
        "author_ids": ("woolf",),
        "authors": ("Woolf",),
        "subjects": (Tag("", "sea"), Tag("mood", "calm")),
        "pages": 324,
        "price": 7.0,
        "published": "1931-10-08",
        "form": "novel",
        "page": "https://example.org/waves",
        "scan": "scans/the waves..pdf",
        "extra": {"deep": [1, {"two": None}]},
    }
    assert type(bench.get("waves")["pages"]) is int


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"titel": "x"},
            (
                "no field 'titel' (did you mean 'title'?); book has: title, author_ids, authors,"
                " subjects"
            ),
        ),
        ({"book_id": "x"}, "'book_id' is a field of chapter, not of book; book has: title"),
        ({"id": "x"}, "'id' is given next to 'fields'"),
        ({"title": 5}, "'title' is '5'; expected a text"),
        ({"title": "a\x00b"}, "'title' has control or broken characters"),
        ({"title": "a\ud800b"}, "'title' has control or broken characters"),
        ({"title": "a\x9bb"}, "'title' has control or broken characters"),
        ({"title": "\u202enovel"}, "'title' has control or broken characters"),
        ({"subjects": ["se\u2066a"]}, "'subjects' has control or broken characters"),
        ({"title": "\u200b\ufeff "}, "book needs 'title'"),
        ({"title": "x" * 100_001}, "'title' has 100001 characters; the limit is 100000"),
        (
            {"author_ids": {"id": "woolf"}},
            "'author_ids' is \"{'id': 'woolf'}\"; expected a list such as [\"a\", \"b\"]",
        ),
        ({"author_ids": [1]}, "'author_ids' is '1'; expected a text"),
        ({"author_ids": ["x"] * 1_001}, "'author_ids' has 1001 items"),
        (
            {"subjects": [{"name": "sea"}]},
            '\'subjects\' is "{\'name\': \'sea\'}"; expected {"category": "c", "value": "b"}',
        ),
        ({"pages": "324"}, "'pages' is '324'; expected a whole number such as 1723"),
        ({"pages": 3.5}, "'pages' is '3.5'; expected a whole number"),
        ({"pages": True}, "'pages' is 'True'; expected a whole number"),
        ({"pages": 10**30}, "a whole number"),
        ({"pages": 0}, "'pages' is '0'; expected 1 to 9999"),
        ({"pages": 10_000}, "'pages' is '10000'; expected 1 to 9999"),
        ({"price": -0.01}, "'price' is '-0.01'; expected 0 or more"),
        ({"price": float("inf")}, "'price' is 'inf'; expected a number such as 2.5"),
        ({"price": float("nan")}, "'price' is 'nan'; expected a number"),
        ({"price": 10**400}, "'price'"),
        ({"published": "October"}, "'published' is 'October'; expected a date such as 2015-04-30"),
        ({"published": 1931}, "'published' is '1931'; expected a date"),
        ({"form": "poem"}, "'form' is 'poem'; expected one of novel, essay"),
        (
            {"page": "not an address"},
            "'page' is 'not an address'; expected an address without spaces",
        ),
        ({"scan": "/etc/passwd"}, "'scan' is '/etc/passwd'; expected a relative path without '..'"),
        ({"scan": " /etc/passwd"}, "'scan' is ' /etc/passwd'; expected a relative path"),
        ({"scan": "a/../../b.mp3"}, "'scan' is 'a/../../b.mp3'; expected a relative path"),
        ({"scan": "..\\b.mp3"}, "a relative path without '..'"),
        ({"scan": "C:\\b.mp3"}, "a relative path without '..'"),
        ({"extra": {"n": 2**70}}, "a value cannot be stored"),
        ({"extra": "x" * 2_000_000}, "the limit is 1000000"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_what_would(
    bench: Bench, fields: dict[str, Any], says: str
) -> None:
    assert says in refusal(lambda: bench.create("book", **{"title": "The Waves", **fields}))
    assert bench.ids() == []


def test_letters_are_kept_in_one_form_whatever_form_they_are_given_in(bench: Bench) -> None:
    bench.create("author", "zoe\u0308", title="Zoe\u0308")
    bench.create(
        "book", title="Ete\u0301", author_ids=["zo\u00eb"], subjects=["ro\u0302le", "r\u00f4le"]
    )
    assert bench.ids() == ["book-ete", "zo\u00eb"]
    assert bench.get("book-ete") == {
        "title": "Et\u00e9",
        "author_ids": ("zo\u00eb",),
        "authors": ("Zo\u00eb",),
        "subjects": (Tag("", "r\u00f4le"),),
    }


def test_a_record_of_a_source_is_named_by_its_id_to_the_letter(bench: Bench) -> None:
    source_id = RecordId("zoe\u0308")
    bench.shelf.apply([Put(record=Record(id=source_id, kind="author", fields={"title": "Zoë"}))])
    bench.create("book", "waves", title="The Waves", author_ids=[source_id])
    assert bench.get("waves")["author_ids"] == (source_id,)
    bench.update(source_id, title="Zoe")
    assert bench.get("waves")["authors"] == ("Zoe",)


@pytest.mark.parametrize("record_id", ["wave\u200bs", "\u202ewaves", "waves\x9b"])
def test_a_new_id_that_looks_like_another_is_refused(bench: Bench, record_id: str) -> None:
    message = refusal(lambda: bench.create("book", record_id, title="The Waves"))
    assert message == "'id' has control or invisible characters; remove them"


def test_a_tag_that_others_have_is_of_their_category(bench: Bench) -> None:
    tags = [{"category": "theme", "value": "Sea"}]
    bench.create("book", "waves", title="The Waves", subjects=tags)
    bench.create("book", "lighthouse", title="To the Lighthouse", subjects=["sea", "light"])
    assert bench.get("lighthouse")["subjects"] == (Tag("theme", "sea"), Tag("", "light"))
    bench.update("waves", subjects=[{"category": "place", "value": "Sea"}])
    bench.update("waves", subjects=["Sea", "light"])
    assert bench.get("waves")["subjects"] == (Tag("place", "Sea"), Tag("", "light"))


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (create(fields={"title": "x"}), "'kind' is missing; one of author, book, chapter"),
        (create(kind="bok", fields={"title": "x"}), "no kind 'bok' (did you mean 'book'?)"),
        (create(kind="book"), "'fields' is missing"),
        (create(kind="book", fields={"pages": 1}), "book needs 'title'"),
        (create(kind="chapter", fields={"title": "x"}), "chapter needs 'book_id'"),
        (create(kind="author", id=" x", fields={"title": "x"}), "; expected 1 to 200 characters"),
        (
            create(kind="author", id="x" * 201, fields={"title": "x"}),
            "; expected 1 to 200 characters",
        ),
        (update(fields={"title": "x"}), "'id' is missing"),
        (update(id="woolf"), "'fields' is missing"),
        (update(id="woolf", kind="book", fields={"title": "x"}), "cannot be changed"),
        (update(id="woolf", fields={"title": None}), "author needs 'title'"),
        (update(id="woolf", fields={"title": "  "}), "author needs 'title'"),
        (delete(), "'id' is missing"),
        (delete(id="woolf", fields={"title": "x"}), "a delete takes no 'fields'"),
        (undo(), "'id' is missing"),
        (undo(id="c", kind="book"), "an undo takes an 'id' alone"),
    ],
)
def test_a_request_without_sense_is_refused_with_what_is_missing(
    filled: Bench, request_: EditRequest, says: str
) -> None:
    assert says in refusal(lambda: filled.edits.plan(request_))


def test_a_catalogue_that_does_not_say_so_cannot_be_edited(embedder: Any) -> None:
    bench = new_bench(PACKAGES.get("anime").spec, embedder)
    assert "'anime' cannot be edited" in refusal(lambda: bench.create(None, title="x"))


def test_where_there_is_one_kind_it_need_not_be_named(embedder: Any) -> None:
    text = PACKAGES.get("anime").loaded.declaration.replace(
        'name = "anime"', 'name = "anime"\neditable = true', 1
    )
    bench = new_bench(compile_text(text, origin="test"), embedder)
    assert bench.create(None, title="Undine") == "record-undine"


# Relations


@pytest.mark.parametrize("ids", [["nobody"], ["waves"], ["woolf", "nobody"], ["WOLF-1"]])
def test_ids_of_records_that_are_not_there_or_of_another_kind_are_refused(
    filled: Bench, ids: list[str]
) -> None:
    message = refusal(lambda: filled.create("book", title="Another", author_ids=ids))
    assert message.startswith(f"'author_ids': there is no author '{ids[-1]}'; ")


def test_the_names_of_related_records_are_filled_in_and_follow_the_ids(filled: Bench) -> None:
    assert filled.get("letters")["authors"] == ("Mann", "Woolf")
    assert filled.get("dawn")["book"] == "The Waves"
    filled.update("letters", author_ids=["woolf"])
    assert filled.get("letters")["authors"] == ("Woolf",)
    filled.update("letters", author_ids=None)
    assert set(filled.get("letters")) == {"title"}


def test_a_name_that_is_written_otherwise_stays_so_when_another_is_renamed(filled: Bench) -> None:
    written = Record(
        id=RecordId("letters"),
        kind="book",
        fields={
            "title": "Letters",
            "author_ids": ("mann", "woolf"),
            "authors": ("Th. Mann", "V. Woolf"),
        },
    )
    filled.shelf.apply([Put(record=written)])
    filled.update("woolf", title="Virginia Woolf")
    assert filled.get("letters")["authors"] == ("Th. Mann", "Virginia Woolf")
    filled.update("letters", pages=10)
    assert filled.get("letters")["authors"] == ("Th. Mann", "Virginia Woolf")


def test_the_copied_names_are_not_set_by_hand_where_ids_say_them(filled: Bench) -> None:
    message = refusal(lambda: filled.update("waves", author_ids=["mann"], authors=["Woolf"]))
    assert (
        message
        == "'authors' has the names of the records in 'author_ids'; set that, or rename them"
    )
    assert "'authors': there is no author 'Somebody'" in refusal(
        lambda: filled.update("waves", authors=["Somebody"])
    )
    filled.update("waves", author_ids=["mann"], authors=["Mann"])
    filled.update("waves", author_ids=None, authors=["Anonymous"])
    assert filled.get("waves")["authors"] == ("Anonymous",)
    filled.update("waves", author_ids=None, authors=["Somebody", "Else"])
    assert filled.get("waves")["authors"] == ("Somebody", "Else")


# Deleting


def test_a_record_that_others_name_is_not_deleted_and_they_are_counted_and_named(
    filled: Bench,
) -> None:
    message = refusal(lambda: filled.delete("woolf"), ConflictError)
    assert (
        "author 'woolf' is named by 2 records: book 'waves', book 'letters'; change them first"
        in message
    )
    for number in range(9):
        filled.create("chapter", f"c{number}", title="A chapter", book_id="mountain")
    message = refusal(lambda: filled.delete("mountain"), ConflictError)
    assert "is named by 9 records: chapter 'c0'" in message
    assert "4 more" in message
    assert len(filled.ids()) == 15


def test_a_cascade_deletes_what_names_nothing_else_and_takes_the_id_out_of_the_rest(
    filled: Bench,
) -> None:
    applied = filled.delete("woolf", cascade=True)
    ops = {change.id: change.op for change in applied.plan.changes}
    assert ops == {"woolf": Op.DELETE, "waves": Op.DELETE, "dawn": Op.DELETE, "letters": Op.UPDATE}
    assert filled.ids() == ["letters", "mann", "mountain"]
    assert filled.get("letters") == {
        "title": "Letters",
        "author_ids": ("mann",),
        "authors": ("Mann",),
    }
    assert filled.delete("mann", cascade=True).plan.changes
    assert filled.ids() == []


def test_deleting_or_updating_what_is_not_there_is_refused(filled: Bench) -> None:
    assert "no record 'nobody'" in refusal(lambda: filled.delete("nobody"), NotFoundError)
    assert "no record 'nobody'" in refusal(
        lambda: filled.update("nobody", title="x"), NotFoundError
    )
    wrong = delete(id="woolf", kind="book")
    assert "no book 'woolf'" in refusal(lambda: filled.edits.apply(wrong), NotFoundError)


def test_an_edit_of_very_many_records_is_refused(
    filled: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft, "MOST_RECORDS", 2)
    assert "more than 2 records" in refusal(lambda: filled.update("woolf", title="Virginia Woolf"))
    assert filled.get("woolf")["title"] == "Woolf"


# Plans


def plan_of(bench: Bench, record_id: str, **fields: Any) -> EditPlan:
    return bench.edits.plan(update(id=record_id, fields=fields))


def test_a_plan_says_what_would_change_field_by_field_and_changes_nothing(filled: Bench) -> None:
    before = filled.state()
    plan = plan_of(filled, "waves", title="Waves", pages=324, subjects=["sea"])
    assert [(one.field, one.before, one.after) for one in plan.changes[0].fields] == [
        ("pages", None, 324),
        ("subjects", None, [{"category": "", "value": "sea"}]),
        ("title", "The Waves", "Waves"),
    ]
    assert [(one.field, one.before, one.after) for one in plan.changes[1].fields] == [
        ("book", "The Waves", "Waves")
    ]
    assert filled.state() == before


def test_a_plan_outlives_changes_that_do_not_matter_to_it(filled: Bench) -> None:
    plan = plan_of(filled, "woolf", title="Virginia Woolf")
    filled.update("mountain", pages=700)
    filled.create("author", title="Joyce")
    filled.update("woolf", title="Virginia Woolf", token=plan.token)
    assert filled.get("waves")["authors"] == ("Virginia Woolf",)


@pytest.mark.parametrize(
    ("move", "says"),
    [
        (
            lambda bench: bench.update("woolf", title="V. Woolf", author=BOB),
            "'woolf' was changed since by bob (change 7",
        ),
        (
            lambda bench: bench.update("letters", pages=3, author=BOB),
            "'letters' was changed since by bob (change 7",
        ),
        (
            lambda bench: bench.delete("dawn", author=BOB) and bench.delete("waves", author=BOB),
            "'waves' was deleted",
        ),
        (
            lambda bench: bench.create("book", "new", title="x", author_ids=["woolf"], author=BOB),
            "'new' was changed",
        ),
        (
            lambda bench: bench.delete("woolf", author=BOB, cascade=True),
            "'woolf' was deleted since by bob",
        ),
    ],
    ids=[
        "the record",
        "what follows",
        "what followed is gone",
        "more follows",
        "the record is gone",
    ],
)
def test_a_plan_is_refused_when_anything_moved_with_what_it_was_and_by_whom(
    filled: Bench, move: Callable[[Bench], Any], says: str
) -> None:
    plan = plan_of(filled, "woolf", title="Virginia Woolf")
    move(filled)
    before = filled.state()
    message = refusal(
        lambda: filled.update("woolf", title="Virginia Woolf", token=plan.token), ConflictError
    )
    assert says in message
    assert filled.state() == before


def test_a_plan_of_another_request_is_refused(filled: Bench) -> None:
    plan = plan_of(filled, "woolf", title="Virginia Woolf")
    message = refusal(lambda: filled.update("woolf", title="Someone Else", token=plan.token))
    assert "another request" in message
    for token in ("", "x", "12", "-", "12-", "²-x", f"{10**30}-x"):
        assert "'plan' is not valid" in refusal(
            lambda token=token: filled.update("woolf", title="x", token=token)
        )
    assert "nothing was changed" in refusal(
        lambda: filled.update("woolf", title="x", token="99-x"), ConflictError
    )


class Meddling:
    """An embedder that lets somebody else write while it works."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.model = inner.model
        self.meddle: Callable[[], Any] = lambda: None

    def embed_documents(self, texts: Any) -> Any:
        meddle, self.meddle = self.meddle, lambda: None
        meddle()
        return self.inner.embed_documents(texts)


@pytest.fixture
def meddled(filled: Bench, embedder: Any) -> Bench:
    """The filled catalogue, with an embedder that others are quicker than."""
    return Bench(shelf=filled.shelf, embedder=Meddling(embedder))


def test_an_edit_that_others_are_always_quicker_than_is_given_up(
    meddled: Bench, filled: Bench
) -> None:
    prices = iter(range(1_000))

    def meddle() -> None:
        filled.update("woolf", price=next(prices), author=BOB)
        meddled.embedder.meddle = meddle

    meddle()
    message = refusal(lambda: meddled.update("woolf", title="By Ada"), ConflictError)
    assert "'woolf' was changed since by bob" in message
    assert "nothing was changed, ask again" in message
    assert (filled.get("woolf")["title"], next(prices)) == ("Woolf", ATTEMPTS + 1)


# Undo


def test_every_edit_can_be_undone_by_its_call_or_its_change_number(filled: Bench) -> None:
    start = filled.state()
    for number in range(3):
        author = Author(principal="ada", call_id=f"c-{number}")
        filled.update("woolf", title="Virginia Woolf", author=author)
        last = filled.shelf.reader().change_no
        applied = filled.undo((author.call_id, str(last), str(last - 1))[number])
        assert [change.id for change in applied.plan.changes] == ["woolf", "waves", "letters"]
        assert filled.state() == start


def test_a_creation_is_undone_unless_others_name_it_by_now(filled: Bench) -> None:
    filled.create("author", "joyce", title="Joyce", author=ADA)
    filled.create("book", "ulysses", title="Ulysses", author_ids=["joyce"])
    assert "book 'ulysses'" in refusal(lambda: filled.undo("c-ada"), ConflictError)
    filled.undo("c-ada", cascade=True)
    assert not {"joyce", "ulysses"} & set(filled.ids())


def test_a_record_does_not_come_back_when_what_it_names_is_gone(filled: Bench) -> None:
    filled.delete("dawn", author=ADA)
    filled.delete("waves")
    assert "the book 'waves' no longer exists" in refusal(
        lambda: filled.undo("c-ada"), ConflictError
    )


def test_a_change_that_never_was_cannot_be_undone(filled: Bench) -> None:
    for what in ("nothing", "0", "99999", "9" * 40):
        assert "there is no change" in refusal(lambda what=what: filled.undo(what), NotFoundError)


# What the caller may see


GUEST = Visibility(frozenset())


@pytest.fixture
def guarded(filled: Bench) -> Bench:
    """The filled catalogue with a book that only the staff sees."""
    fields = {"title": "Secret", "author_ids": ("woolf",), "authors": ("Woolf",)}
    secret = Record(id=RecordId("secret"), kind="book", fields=fields, audiences=("staff",))
    filled.shelf.apply([Put(record=secret)], author=ADA)
    return filled


def test_what_may_not_be_seen_can_be_neither_changed_nor_named_nor_undone(guarded: Bench) -> None:
    hidden = [update(id="secret", fields={"title": "x"}), delete(id="secret"), undo(id="c-ada")]
    for request in hidden:
        with pytest.raises(NotFoundError):
            guarded.edits.apply(request, visibility=GUEST)
    naming = create(kind="chapter", fields={"title": "x", "book_id": "secret"})
    assert "there is no book 'secret'" in refusal(
        lambda: guarded.edits.apply(naming, visibility=GUEST)
    )


def test_what_may_not_be_seen_follows_a_rename_and_is_not_deleted_with_what_it_names(
    guarded: Bench,
) -> None:
    rename = update(id="woolf", fields={"title": "Virginia Woolf"})
    guarded.edits.apply(rename, visibility=GUEST)
    assert guarded.get("secret")["authors"] == ("Virginia Woolf",)
    for cascade in (False, True):
        request = delete(id="woolf", cascade=cascade)
        message = refusal(partial(guarded.edits.apply, request, visibility=GUEST), ConflictError)
        assert "you may not see" in message
        assert "secret" not in message


def test_a_rename_that_hidden_records_followed_can_be_undone_by_who_made_it(guarded: Bench) -> None:
    rename = update(id="woolf", fields={"title": "Virginia Woolf"})
    undoing = undo(id="c-guest")
    before = guarded.state()
    guest = Author(principal="guest", call_id="c-guest")
    guarded.edits.apply(rename, author=guest, visibility=GUEST)
    guarded.edits.apply(undoing, visibility=GUEST)
    assert guarded.state() == before
    guarded.edits.apply(rename, author=replace(guest, call_id="c-again"), visibility=GUEST)
    guarded.update("secret", authors=None, author_ids=None)
    again = replace(undoing, id="c-again")
    message = refusal(lambda: guarded.edits.apply(again, visibility=GUEST), ConflictError)
    assert message == "a record that you may not see has changed since; undo that first"


def test_who_moved_what_may_not_be_seen_is_not_told(guarded: Bench) -> None:
    rename = update(id="woolf", fields={"title": "Virginia Woolf"})
    plan = guarded.edits.plan(rename, visibility=GUEST)
    guarded.update("secret", pages=3, author=BOB)
    message = refusal(
        lambda: guarded.edits.apply(rename, token=plan.token, visibility=GUEST), ConflictError
    )
    assert message == "the catalogue has changed since; nothing was changed, ask for a new preview"


# Vectors


def nearest(bench: Bench, embedder: Any, text: str) -> list[str]:
    reader = bench.shelf.reader()
    (ranking,) = reader.nearest(embedder.embed_query(text)[None, :], scope=WHOLE, limit=3)
    return [str(one) for one in reader.ids([hit.key for hit in ranking.best])]


def test_without_an_embedder_an_edit_succeeds_says_so_and_is_found_by_words(
    filled: Bench, embedder: Any
) -> None:
    embedder.problem = "the embedder is away"
    applied = filled.update("woolf", title="Virginia Lighthouse")
    (note,) = applied.notes
    assert "3 records have no vector yet" in note
    assert "the embedder is away" in note
    reader = filled.shelf.reader()
    assert reader.lexical(analyse_query("lighthouse", synonyms={}), scope=WHOLE, limit=5).total == 3
    embedder.problem = None
    assert "woolf" not in nearest(filled, embedder, "Virginia Lighthouse")
    LateEmbedding(spec=filled.shelf.spec, writer=filled.shelf, embedder=embedder).run()
    assert nearest(filled, embedder, "Virginia Lighthouse")[0] == "woolf"


def test_a_catalogue_without_vectors_is_edited_without_an_embedder(embedder: Any) -> None:
    bench = Bench(shelf=MemoryShelf(SPEC), embedder=embedder)
    bench.create("author", title="Woolf")
    assert bench.update("author-woolf", title="x").notes == ()
    assert not embedder.documents


def test_an_edit_that_cannot_be_indexed_says_that_it_is_made(
    filled: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: MemoryShelf) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(MemoryShelf, "publish", fail)
    applied = filled.update("woolf", title="x", author=ADA)
    assert applied.notes == (
        "the change is stored, and shown once it can be indexed: the disk is full",
    )
    assert filled.get("woolf")["title"] == "x"
