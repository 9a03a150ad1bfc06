"""`catalog.mutate` and `changelog://recent`, through the gate, over music and another editable
catalogue.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError, StorageError
from stackroom.gate.answer import Answer, AnswerCache
from stackroom.gate.gate import Gate
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import (
    LOCAL_USER,
    Action,
    Cost,
    Principal,
)
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import Visibility
from stackroom.packages import PACKAGES
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Put, Shelf
from stackroom.tools.edits import edit_resources, edit_tools
from stackroom.tools.toolbox import Toolbox
from support.memory_shelf import MemoryShelf
from support.plain_tools import Notes
from support.served import Served, open_shelf

pytestmark = [pytest.mark.row("Z5"), pytest.mark.row("N5")]

MUSIC = PACKAGES.get("music").spec
BOOKS = compile_text(
    """
name = "books"
title = "Books"
summary = "For tests."
editable = true
[fields.title]
type = "text"
role = "title"
search = true
[embed]
template = "{title}"
""",
    origin="test",
)
EDITOR = Principal(name="ed", actions=frozenset({Action.ACCESS_CATALOG, Action.EDIT_CATALOG}))
GUEST = replace(EDITOR, name="guest", visibility=Visibility(frozenset()))
CHANGELOG = "changelog://recent"


@dataclass(frozen=True, kw_only=True)
class Editing(Served):
    """Editable catalogues behind a gate."""

    shelves: dict[str, Shelf]
    notes: Notes

    def change(self, principal: Principal = EDITOR, **arguments: Any) -> Answer:
        return self.call("catalog.mutate", principal=principal, **arguments)

    def mutate(self, principal: Principal = EDITOR, **arguments: Any) -> dict[str, Any]:
        return self.ask("catalog.mutate", principal=principal, **arguments)

    def create(self, kind: str = "artist", **fields: Any) -> dict[str, Any]:
        return self.mutate(action="create", kind=kind, fields=fields)

    def found(self, query: str, part: str) -> list[str]:
        """Return a part of each result of a search."""
        return [one[part] for one in self.ask("search", query=query)["results"]]

    def changelog(self, principal: Principal = EDITOR) -> list[dict[str, Any]]:
        text = self.gate.read(principal, CHANGELOG).text
        assert text is not None
        changes: list[dict[str, Any]] = json.loads(text)["changes"]
        return changes

    def iter_changelog(self, query: str) -> Iterator[str]:
        """Yield the pages of the changelog."""
        address = CHANGELOG + query
        while True:
            text = self.gate.read(EDITOR, address).text or ""
            yield text
            cursor = json.loads(text).get("cursor")
            if cursor is None:
                return
            address = f"{CHANGELOG}{query}&cursor={cursor}"


def serve(shelves: dict[str, Shelf], embedder: Any) -> Editing:
    catalogues = [open_shelf(shelf, embedder, name=name) for name, shelf in shelves.items()]
    notes = Notes()
    toolbox = Toolbox(
        [*generic_tools(catalogues), *edit_tools(catalogues)],
        edit_resources(catalogues),
        catalogues=catalogues,
    )
    gate = Gate(toolbox, observers=[notes], cache=AnswerCache(100))
    return Editing(gate=gate, shelves=shelves, notes=notes)


@pytest.fixture
def serve_specs(embedder: Any) -> Callable[..., Editing]:
    """Serve catalogues of these specs, each under its spec's name."""

    def make(*specs: CatalogueSpec) -> Editing:
        return serve(
            {spec.name: MemoryShelf(spec, model=embedder.model) for spec in specs}, embedder
        )

    return make


@pytest.fixture
def music(serve_specs: Callable[..., Editing]) -> Editing:
    """An empty music catalogue."""
    return serve_specs(MUSIC)


# The tool


def test_a_server_without_an_editable_catalogue_has_no_such_tool(
    serve_specs: Callable[..., Editing],
) -> None:
    served = serve_specs(PACKAGES.get("anime").spec)
    assert "catalog.mutate" not in [one.name for one in served.gate.list_tools(LOCAL_USER)]
    assert served.gate.list_resources(LOCAL_USER).entries == []


def test_a_change_is_applied_at_once_with_what_changed_and_the_call_it_can_be_undone_by(
    music: Editing,
) -> None:
    result = music.create(name="Clara Schumann", year=1819)
    assert result["applied"] is True
    assert result["plan"] is None
    assert (result["total"], result["has_more"], result["notes"]) == (1, False, [])
    assert result["changes"] == [
        {
            "id": "artist-clara-schumann",
            "kind": "artist",
            "op": "insert",
            "fields": [
                {"field": "name", "before": None, "after": "Clara Schumann"},
                {"field": "year", "before": None, "after": 1819},
            ],
        }
    ]
    assert music.found("clara schumann", "id") == ["music/artist-clara-schumann"]
    undone = music.mutate(action="undo", id=result["call_id"])
    assert [(one["id"], one["op"]) for one in undone["changes"]] == [
        ("artist-clara-schumann", "delete")
    ]
    assert music.found("clara schumann", "id") == []
    music.mutate(action="undo", id=undone["call_id"])
    assert music.found("clara schumann", "id") == ["music/artist-clara-schumann"]


def test_a_preview_changes_nothing_and_its_plan_is_applied_or_refused(music: Editing) -> None:
    music.create(name="Clara Schumann")
    request = {"action": "update", "id": "artist-clara-schumann", "fields": {"name": "Clara Wieck"}}
    preview = music.mutate(**request, preview=True)
    assert (preview["applied"], preview["call_id"]) == (False, None)
    assert preview["changes"][0]["fields"] == [
        {"field": "name", "before": "Clara Schumann", "after": "Clara Wieck"}
    ]
    assert music.found("wieck", "title") == ["Clara Schumann"]
    other = {**request, "fields": {"name": "Somebody"}}
    assert music.change(**other, plan=preview["plan"]).error_code == "invalid_input"
    music.mutate(LOCAL_USER, action="update", id=request["id"], fields={"year": 1819})
    refused = music.change(**request, plan=preview["plan"])
    assert refused.error_code == "conflict"
    assert "'artist-clara-schumann' was changed since by local (change 2" in refused.text
    again = music.mutate(**request, preview=True)
    assert music.mutate(**request, plan=again["plan"])["applied"] is True
    assert music.found("wieck", "title") == ["Clara Wieck"]


def test_a_preview_counts_as_a_read_and_an_edit_as_a_write(music: Editing) -> None:
    tool = music.gate.toolbox_of(EDITOR).tools["catalog.mutate"].operation
    assert tool.cost_of({"action": "create", "preview": True}) is Cost.READ
    for arguments in (
        {"action": "create"},
        {"preview": False},
        {"preview": "true"},
        {"preview": 1},
        {"preview": []},
    ):
        assert tool.cost_of(arguments) is Cost.WRITE


def test_nothing_to_change_is_said(music: Editing) -> None:
    music.create(name="Clara Schumann")
    for preview in (True, False):
        result = music.mutate(
            action="update",
            id="artist-clara-schumann",
            fields={"name": "Clara Schumann"},
            preview=preview,
        )
        assert (result["applied"], result["plan"], result["call_id"], result["total"]) == (
            False,
            None,
            None,
            0,
        )
        assert result["notes"] == ["nothing to change: it is so already"]


@pytest.mark.parametrize(
    "stated",
    ["Clara Schumann", "music/artist-clara-schumann", "stackroom://music/artist-clara-schumann"],
)
def test_a_name_that_one_record_has_is_as_good_as_its_id(music: Editing, stated: str) -> None:
    music.create(name="Clara Schumann")
    result = music.mutate(action="update", id=stated, fields={"year": 1819})
    assert [one["id"] for one in result["changes"]] == ["artist-clara-schumann"]
    assert music.mutate(action="delete", id=stated, kind="artist")["applied"]


def test_a_name_that_none_or_several_have_is_refused_with_what_may_be_meant(music: Editing) -> None:
    music.create(name="Clara Schumann")
    answer = music.change(action="delete", id="Clara Schuman")
    assert answer.error_code == "not_found"
    assert "did you mean Clara Schumann (artist, artist-clara-schumann)?" in answer.text
    music.create(name="Clara Schumann", year=1819)
    answer = music.change(action="delete", id="Clara Schumann")
    assert answer.error_code == "invalid_input"
    assert "several are called 'Clara Schumann'" in answer.text
    assert "artist-clara-schumann-2" in answer.text


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({"action": "drop"}, "invalid_input", "'action'"),
        (
            {"action": "create", "kind": "artist", "fields": {"nmae": "x"}},
            "invalid_input",
            "did you mean 'name'?",
        ),
        (
            {"action": "update", "id": "nobody", "fields": {"name": "x"}},
            "not_found",
            "no record 'nobody'",
        ),
        ({"action": "undo", "id": "nothing"}, "not_found", "no change 'nothing'"),
        ({"action": "delete", "id": "x", "plan": "?"}, "invalid_input", "'plan'"),
    ],
)
def test_what_is_wrong_is_answered_with_what_would_be_right(
    music: Editing, arguments: dict[str, Any], code: str, says: str
) -> None:
    answer = music.change(**arguments)
    assert answer.error_code == code
    assert says in answer.text


@pytest.mark.row("N8")
def test_many_changes_are_cut_to_a_budget_and_the_answer_says_where_the_others_are(
    music: Editing,
) -> None:
    artist = music.create(name="Bach")["changes"][0]["id"]
    for number in range(60):
        music.create("album", name=f"Album {number}", artist_ids=[artist])
    change = {"action": "update", "id": artist, "fields": {"name": "J. S. Bach"}}
    preview = music.mutate(**change, preview=True, max_tokens=400)
    assert len(json.dumps(preview)) <= 1_600
    assert (preview["total"], preview["has_more"]) == (61, True)
    assert preview["notes"][-1].endswith("of 61 fit max_tokens; more with a greater max_tokens")
    made = music.mutate(**change, plan=preview["plan"], max_tokens=400)
    assert len(json.dumps(made)) <= 1_600
    assert made["notes"][-1].endswith("of 61 fit max_tokens; changelog://recent has the others")


def test_the_text_says_what_a_field_was_and_becomes(music: Editing) -> None:
    fields = {"name": "Clara\nSchumann", "year": 1819, "about": "x" * 500}
    made = music.change(action="create", kind="artist", fields=fields).text
    about = '"' + "x" * 500 + '"'
    assert made.splitlines()[1:] == [
        f'insert artist artist-clara-schumann: about {about}; name "Clara\\nSchumann"; year 1819'
    ]
    change = {"action": "update", "id": "artist-clara-schumann"}
    preview = music.change(
        **change, fields={"name": "Clara Wieck", "year": None, "genres": ["Lied"]}, preview=True
    ).text
    assert preview.startswith("preview: 1 record would change (plan ")
    assert preview.splitlines()[1:] == [
        'update artist artist-clara-schumann: genres null → [{"category":"","value":"Lied"}]; '
        'name "Clara\\nSchumann" → "Clara Wieck"; year 1819 → null'
    ]
    gone = music.change(action="delete", id="artist-clara-schumann").text
    assert gone.splitlines()[1:] == [made.splitlines()[1].replace("insert", "delete")]


# Several catalogues


def test_where_several_can_be_edited_one_is_named_and_an_undo_finds_its_own(
    serve_specs: Callable[..., Editing],
) -> None:
    served = serve_specs(BOOKS, MUSIC)
    schema = served.gate.toolbox_of(EDITOR).tools["catalog.mutate"].input_schema
    assert schema["properties"]["catalogue"] == {"type": "string", "enum": ["books", "music"]}
    served.mutate(
        action="create", catalogue="music", kind="artist", fields={"name": "Clara Schumann"}
    )
    made = served.mutate(action="create", catalogue="books", fields={"title": "Letters"})
    assert served.found("clara", "id")[0] == "music/artist-clara-schumann"
    assert served.found("letters", "id")[0] == "books/record-letters"
    assert served.change(action="delete", catalogue="book", id="x").error_code == "not_found"
    served.mutate(action="undo", id=made["call_id"])
    assert served.found("letters", "id") == ["music/artist-clara-schumann"]


@pytest.mark.parametrize("other", ["papers", "music"])
def test_where_several_can_be_edited_one_must_be_named_whatever_they_are_called(
    serve_specs: Callable[..., Editing], other: str
) -> None:
    served = serve_specs(BOOKS, replace(BOOKS, name=other))
    answer = served.change(action="create", fields={"title": "x"})
    assert (answer.error_code, answer.text) == (
        "invalid_input",
        f"invalid_input: 'catalogue' is missing; one of books, {other}",
    )


def test_where_one_of_several_cannot_be_read_an_edit_must_name_its_catalogue(
    serve_specs: Callable[..., Editing], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise StorageError("the disk is away")

    served = serve_specs(BOOKS, replace(BOOKS, name="other"))
    for name in ("books", "other"):
        served.mutate(action="create", catalogue=name, fields={"title": "Letters"})
    monkeypatch.setattr(served.shelves["books"], "reader", fail)
    answer = served.change(action="delete", id="record-letters")
    assert (answer.error_code, answer.text) == (
        "invalid_input",
        "invalid_input: 'catalogue' is missing; one of books, other",
    )
    served.mutate(action="delete", catalogue="other", id="record-letters")


def test_where_several_can_be_edited_an_id_that_cannot_be_one_is_refused(
    serve_specs: Callable[..., Editing], tmp_path: Path, embedder: Any
) -> None:
    specs = {"books": BOOKS, "music": MUSIC}
    shelves = {
        name: create_shelf(tmp_path / name, spec, model=None) for name, spec in specs.items()
    }
    answer = serve(dict(shelves), embedder).change(action="undo", id="\ud800")
    assert (answer.error_code, "; expected 1 to 512 characters" in answer.text) == (
        "invalid_input",
        True,
    )
    for shelf in shelves.values():
        shelf.close()


# The changelog, the audit, the cache


@pytest.mark.row("Z11")
def test_the_changelog_says_who_changed_what_when_and_by_which_call(music: Editing) -> None:
    made = music.create(name="Clara Schumann")
    music.mutate(
        LOCAL_USER, action="update", id="artist-clara-schumann", fields={"name": "Clara Wieck"}
    )
    newest, oldest = music.changelog()
    assert newest["fields"] == {"name": ["Clara Schumann", "Clara Wieck"]}
    assert {
        key: newest[key] for key in ("catalogue", "change_no", "principal", "id", "kind", "op")
    } == {
        "catalogue": "music",
        "change_no": 2,
        "principal": "local",
        "id": "artist-clara-schumann",
        "kind": "artist",
        "op": "update",
    }
    assert (oldest["principal"], oldest["call_id"], oldest["op"]) == (
        "ed",
        made["call_id"],
        "insert",
    )
    assert oldest["at"].endswith("+00:00")
    music.mutate(action="undo", id=str(newest["change_no"]))
    assert music.changelog()[0]["fields"] == {"name": ["Clara Wieck", "Clara Schumann"]}


@pytest.mark.row("Z11")
def test_the_changelog_is_of_all_editable_catalogues_in_pages_that_fit_whatever_changes_meanwhile(
    serve_specs: Callable[..., Editing],
) -> None:
    served = serve_specs(BOOKS, MUSIC)
    for number in range(60):
        served.mutate(action="create", catalogue="books", fields={"title": f"Book {number}"})
        served.mutate(
            action="create", catalogue="music", kind="artist", fields={"name": f"Artist {number}"}
        )
    texts = served.iter_changelog("?max_tokens=400")
    pages = [next(texts)]
    assert json.loads(pages[0])["total"] == 120
    served.mutate(action="create", catalogue="books", fields={"title": "Meanwhile"})
    pages += texts
    assert all(len(text) <= 1_600 for text in pages)
    assert [one["id"] for text in pages for one in json.loads(text)["changes"]] == [
        f"{made}-{number}"
        for number in reversed(range(60))
        for made in ("artist-artist", "record-book")
    ]


@pytest.mark.row("Z11")
def test_a_build_is_one_entry_of_the_changelog(music: Editing) -> None:
    records = [
        Record(id=RecordId(f"a-{number}"), kind="artist", fields={"name": f"A {number}"})
        for number in range(50)
    ]
    music.shelves["music"].writer().apply([Put(record=record) for record in records])
    music.create(name="Bach")
    made, build = music.changelog()
    assert made["id"] == "artist-bach"
    assert (build["op"], build["insert"], build["kinds"]) == ("import", 50, {"artist": 50})
    assert (build["first_change_no"], build["change_no"]) == (1, 50)


@pytest.mark.row("Z11")
def test_a_wrong_part_of_the_changelog_s_address_is_refused_by_name(music: Editing) -> None:
    with pytest.raises(InputError, match="'cursor' is not valid here"):
        music.gate.read(EDITOR, f"{CHANGELOG}?cursor=nothing")


@pytest.mark.row("Z11")
def test_changes_of_records_that_may_not_be_seen_are_not_told(music: Editing) -> None:
    music.create(name="Clara Schumann")
    secret = Record(
        id=RecordId("secret"), kind="artist", fields={"name": "A Secret"}, audiences=("staff",)
    )
    music.shelves["music"].writer().apply([Put(record=secret)])
    music.create(name="Bach")
    assert [one["id"] for one in music.changelog()] == [
        "artist-bach",
        "secret",
        "artist-clara-schumann",
    ]
    assert [one["id"] for one in music.changelog(GUEST)] == ["artist-bach", "artist-clara-schumann"]
