"""Several changes in one edit: all or none, in any order, related by name; an album with its tracks
in one; and undo by field: what the call changed is restored, and what others changed in the same
records since stays.
"""

from typing import Any

import pytest

from stackroom.errors import ConflictError, ExpectedError, InputError, NotFoundError
from stackroom.ingest.edits.draft import EditAction, EditRequest
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import Visibility
from stackroom.shelf.port import Put
from support.editing import MusicBench, batch_of, request_of

pytestmark = pytest.mark.row("Z5", "Z15", "N5")


def create(kind: str, **fields: Any) -> dict[str, Any]:
    return {"action": "create", "kind": kind, "fields": fields}


def update(record_id: str, **fields: Any) -> dict[str, Any]:
    return {"action": "update", "id": record_id, "fields": fields}


def delete(record_id: str, **more: Any) -> dict[str, Any]:
    return {"action": "delete", "id": record_id, **more}


ARTIST = create("artist", name="The Tin Foxes")
ALBUM = create("album", name="Night Ferry", artists=["The Tin Foxes"])
TRACK = create("track", name="Salt", album="Night Ferry", position=1)


def creation(kind: str, **fields: Any) -> EditRequest:
    return request_of(create(kind, **fields))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_records_of_a_batch_name_each_other_in_any_order(order: tuple[int, ...]) -> None:
    bench = MusicBench()
    given = [ARTIST, ALBUM, TRACK]
    made = bench.batch(*(given[number] for number in order))
    assert sorted(made) == ["album-night-ferry", "artist-the-tin-foxes", "track-salt"]
    assert bench.get("album-night-ferry")["artist_ids"] == ("artist-the-tin-foxes",)
    assert bench.get("track-salt") == {
        "name": "Salt",
        "album": "Night Ferry",
        "album_id": "album-night-ferry",
        "position": 1,
    }
    bench.undo(bench.calls[-1])
    assert bench.state() == {}


def test_a_batch_is_made_whole_or_not_at_all_and_every_problem_is_named_with_its_place() -> None:
    bench = MusicBench()
    bach = bench.create("artist", name="Bach")
    changes: list[dict[str, Any]] = [
        update(bach, year=1685),
        create("track", name="Air", year="long ago", yaer=1),
        create("sonata", name="Air"),
        {"action": "update", "fields": {"name": "x"}},
        delete("nobody"),
    ]
    message = bench.refusal(*batch_of(changes), kind=InputError)
    assert message.startswith("'changes.1.fields.year' is 'long ago'; expected a whole number")
    assert "'changes.1.fields.yaer': no field 'yaer' (did you mean 'year'?)" in message
    assert "'changes.2': no kind 'sonata'" in message
    assert "'changes.3.id' is missing" in message
    assert "'changes.4': there is no record 'nobody'" in message
    relations = [create("album", name="Air", artist_ids=["nobody"]), create("artist", name="Clara")]
    assert bench.refusal(*batch_of(relations), kind=InputError).startswith(
        "'changes.0.fields.artist_ids': there is no artist"
    )


@pytest.mark.parametrize(
    ("changes", "kind", "says"),
    [
        ([], InputError, "'changes' is empty; give 1 to 100 changes"),
        ([ARTIST] * 101, InputError, "more than 100 records at once"),
        (
            [{"action": "undo", "id": "c0"}, ARTIST],
            InputError,
            "'changes.0': an undo cannot be one of several changes",
        ),
        (
            [update("artist-bach", year=year) for year in (1685, 1750)],
            InputError,
            "'changes.1': 'artist-bach' is changed twice",
        ),
        (
            [delete("artist-bach"), delete("artist-bach")],
            NotFoundError,
            "'changes.1': there is no record 'artist-bach'",
        ),
        ([delete("artist-bach")], ConflictError, "is named by 1 record: album 'album-air'"),
        (
            [delete("artist-bach", cascade=True), update("album-air", year=1730)],
            ConflictError,
            "'changes.1': 'album-air' would be deleted by the cascade of another change",
        ),
        (
            [delete("artist-bach"), update("album-air", artists=["Bach"])],
            ConflictError,
            "is named by 1 record",
        ),
        (
            [delete("artist-bach", cascade=True), create("album", name="Suite", artists=["Bach"])],
            InputError,
            "'changes.1.fields.artists': there is no artist 'Bach'",
        ),
    ],
)
def test_changes_that_cannot_be_made_together_are_refused(
    changes: list[dict[str, Any]], kind: type[ExpectedError], says: str
) -> None:
    bench = MusicBench()
    bench.create("artist", name="Bach")
    bench.create("album", name="Air", artists=["Bach"])
    assert says in bench.refusal(*batch_of(changes), kind=kind)


def test_a_renamed_record_of_a_batch_is_named_by_its_new_name() -> None:
    bench = MusicBench()
    bach = bench.create("artist", name="Bach")
    changes = [create("album", name="Air", artists=["J. S. Bach"]), update(bach, name="J. S. Bach")]
    bench.batch(*changes)
    assert bench.get("album-air")["artist_ids"] == (bach,)
    old_name = create("album", name="Suite", artists=["Bach"])
    assert "no artist 'Bach'; did you mean" in bench.refusal(*batch_of([old_name]), kind=InputError)


# Names


@pytest.mark.parametrize(
    "fields",
    [
        {"artists": ["The Tin Foxes"]},
        {"artists": ["the tin foxes"]},
        {"artists": "The Tin Foxes"},
        {"artist": "The Tin Foxes"},
        {"artist_ids": ["The Tin Foxes"]},
        {"artist_ids": "artist-the-tin-foxes"},
        {"artist_id": "artist-the-tin-foxes"},
        {"artistIds": ["artist-the-tin-foxes"]},
        {"artists": ["artist-the-tin-foxes"]},
        {"artist_ids": ["music/artist-the-tin-foxes"]},
        {"artist_ids": ["stackroom://music/artist-the-tin-foxes"]},
        {"artists": ["The Tin Foxes (artist, artist-the-tin-foxes)"]},
        {"artists": ["Foxes, The Tin"]},
    ],
)
def test_the_obvious_spellings_of_a_related_record_mean_it(fields: dict[str, Any]) -> None:
    bench = MusicBench()
    bench.create("artist", name="The Tin Foxes", aliases=["Foxes, The Tin"])
    album = bench.apply(creation("Album", title="Night Ferry", genre="folk", **fields))[0]
    made = bench.get(album)
    assert (made["name"], made["artist_ids"], made["artists"]) == (
        "Night Ferry",
        ("artist-the-tin-foxes",),
        ("The Tin Foxes",),
    )
    assert [tag.value for tag in made["genres"]] == ["folk"]


def test_a_name_that_nobody_has_is_refused_with_the_nearest_and_how_to_create_it() -> None:
    bench = MusicBench()
    bench.create("artist", name="The Tin Foxes")
    message = bench.refusal(
        creation("album", name="Night Ferry", artists=["The Tin Foxs"]), kind=InputError
    )
    assert message.startswith(
        "'artists': there is no artist 'The Tin Foxs'; did you mean The Tin Foxes (artist, artist-"
    )
    assert message.endswith(
        'add {"action": "create", "kind": "artist", "fields": {"name": "…"}} to \'changes\''
    )
    bench.create("album", name="Night Ferry", artists=["The Tin Foxes"])
    renamed = request_of(update("album-night-ferry", artists=["Nobody"]))
    assert "'artists': there is no artist 'Nobody'" in bench.refusal(renamed, kind=InputError)


def test_an_ambiguous_name_is_refused_with_its_ids_unless_relations_tell_them_apart() -> None:
    bench = MusicBench()
    for artist in ("Queen", "Abba"):
        bench.create("artist", name=artist)
        bench.create("album", name="Greatest Hits", artists=[artist], year=1981)
    message = bench.refusal(
        creation("track", name="Under Pressure", album="Greatest Hits"), kind=InputError
    )
    assert (
        message
        == "'album': several are called 'Greatest Hits'; give the id of one in 'album_id': Greatest"
        " Hits (album, 1981, album-greatest-hits); Greatest Hits (album, 1981,"
        " album-greatest-hits-2)"
    )
    track = bench.create("track", name="Dancing Queen", album="Greatest Hits", artists=["Abba"])
    assert bench.get(track)["album_id"] == "album-greatest-hits-2"


def test_a_name_of_a_record_that_may_not_be_seen_means_nothing_and_is_not_suggested() -> None:
    bench = MusicBench()
    hidden = Record(
        id=RecordId("secret"), kind="artist", fields={"name": "Bach"}, audiences=("staff",)
    )
    bench.shelf.apply([Put(record=hidden)])
    for fields in ({"artists": ["Bach"]}, {"artist_ids": ["secret"]}):
        with pytest.raises(InputError, match=r"there is no artist '(Bach|secret)'; to create it"):
            bench.edits.plan(
                creation("album", name="Air", **fields), visibility=Visibility(frozenset())
            )


def test_names_are_kept_as_text_where_the_caller_says_that_there_is_no_record() -> None:
    bench = MusicBench()
    album = bench.create("album", name="Air", artist_ids=None, artists=["A street musician"])
    assert bench.get(album) == {"name": "Air", "artists": ("A street musician",)}


def test_a_list_of_records_in_a_field_is_refused_with_how_to_create_them() -> None:
    bench = MusicBench()
    says = "'tracks' are records of their own; create each, with 'album'"
    assert says in bench.refusal(creation("album", name="Air", tracks=["A"]), kind=InputError)


# Undo


def undo(call_id: str) -> EditRequest:
    return EditRequest(action=EditAction.UNDO, id=call_id)


def test_an_undo_is_refused_by_the_field_that_was_changed_since_and_by_whom() -> None:
    bench = MusicBench()
    bach = bench.create("artist", name="Bach")
    first = bench.update(bach, year=1684, about="A composer.")
    bench.update(bach, year=1685, by="ed1")
    bench.update(bach, aliases=["JSB"], by="ed2")
    message = bench.refusal(undo(first), kind=ConflictError)
    assert message.startswith(f"'{bach}' was changed since by ed1 (change 3, ")
    assert message.endswith(" in year; undo that first")


def test_what_is_undone_already_is_said_to_be_so_and_by_which_change() -> None:
    bench = MusicBench()
    bach = bench.create("artist", name="Bach")
    changed = bench.update(bach, year=1685)
    undone = bench.undo(changed)
    bench.update(bach, about="A composer.")
    for _ in range(2):
        message = bench.refusal(undo(changed), kind=ConflictError)
        assert message == "it is undone already (change 3 by ed); to do it again, undo that change"
    bench.undo(undone)
    assert bench.get(bach)["year"] == 1685
    assert "it is undone already (change 5 by ed)" in bench.refusal(
        undo(undone), kind=ConflictError
    )


def test_a_creation_or_a_deletion_that_is_undone_is_not_undone_twice() -> None:
    bench = MusicBench()
    bach = bench.create("artist", name="Bach")
    made = bench.calls[-1]
    bench.undo(made)
    assert "undone already (change 2 by ed)" in bench.refusal(undo(made), kind=ConflictError)
    bench.undo(bench.calls[-1])
    bench.apply(EditRequest(action=EditAction.DELETE, id=bach))
    deleted = bench.calls[-1]
    bench.undo(deleted)
    bench.update(bach, year=1685)
    assert "undone already (change 5 by ed)" in bench.refusal(undo(deleted), kind=ConflictError)


def test_a_credit_is_undone_though_the_artist_was_renamed_since() -> None:
    bench = MusicBench()
    bach, clara = bench.create("artist", name="Bach"), bench.create("artist", name="Clara")
    album = bench.create("album", name="Air", artist_ids=[bach])
    credit = bench.update(album, artist_ids=[clara])
    bench.update(clara, name="Clara Wieck")
    bench.update(bach, name="J. S. Bach")
    bench.undo(credit)
    assert (bench.get(album)["artist_ids"], bench.get(album)["artists"]) == (
        (bach,),
        ("J. S. Bach",),
    )
