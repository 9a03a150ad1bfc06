"""Tracks with tags → artists, albums and tracks: what belongs together, and ids that stay."""

import re
from typing import Any

import pytest

from stackroom.ingest.mapping import require_valid
from stackroom_catalogues.music.grouping import Tagged, group_rows, key_of, slug_of
from stackroom_catalogues.music.rows import records_of

pytestmark = pytest.mark.row("Z17")

MBIDS = [f"0000000{number}-aaaa-4bbb-8ccc-dddddddddddd" for number in range(9)]


def tagged(place: str, **said: Any) -> Tagged:
    """Return a track of a file, with its folders."""
    folders = place.split("/")[:-1]
    return Tagged(place=place, said={"path": place, "folders": folders, "seconds": 100.0, **said})


def grouped(*tracks: Tagged) -> dict[str, list[dict[str, Any]]]:
    """Return the rows by kind, each of which must make a record."""
    rows = [dict(row.values) for row in group_rows(tracks)]
    for row in rows:
        assert records_of(row)
    return {
        kind: [row for row in rows if row["kind"] == kind] for kind in ("artist", "album", "track")
    }


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["name"] for row in rows]


def test_tracks_of_an_album_share_it_and_their_artist(music_spec: Any) -> None:
    first: dict[str, Any] = {"artists": ["Béla"], "album": "First", "year": 1990}
    rows = grouped(
        tagged("a/1.mp3", title="One", **first, genres=["Rock"]),
        tagged(
            "a/2.mp3",
            title="Two",
            artists=["BELA"],
            album="FIRST",
            year=1990,
            genres=["rock", "Pop"],
        ),
        tagged("a/3.mp3", title="Three", **{**first, "year": 1991}),
    )
    (artist,), (album,), tracks = rows.values()
    assert artist == {
        "id": "artist-bela",
        "kind": "artist",
        "name": "Béla",
        "genres": ["Rock", "Pop"],
    }
    assert (album["name"], album["year"], album["seconds"]) == ("First", 1990, 300.0)
    assert (album["artists"], album["genres"]) == (["Béla"], ["Rock", "Pop"])
    for track in tracks:
        assert (track["album_id"], track["album"]) == (album["id"], "First")
        # the copy of a name is as the artist has it
        assert (track["artist_ids"], track["artists"]) == (["artist-bela"], ["Béla"])
    for row in (artist, album, *tracks):
        (record,) = records_of(row)
        require_valid(record, music_spec)


def test_ids_are_the_same_whatever_else_there_is_and_in_whatever_order() -> None:
    one = tagged("a/1.mp3", title="One", artists=["Béla"], album="First", position=1)
    two = tagged("b/2.mp3", title="Zwei", artists=["Чайковский"], album="Щелкунчик", position=1)
    three = tagged("c/3.mp3", title="Three")
    alone = {row.values["id"] for row in group_rows([one])}
    together = [row.values["id"] for row in group_rows([three, two, one])]
    assert alone <= set(together)
    assert together == [row.values["id"] for row in group_rows([one, three, two])]
    assert len(set(together)) == len(together)
    for record_id in together:
        assert re.fullmatch(r"(artist|album|track)-[a-z0-9-]+", record_id)


def test_musicbrainz_ids_name_records_and_join_what_has_none(music_spec: Any) -> None:
    shared: dict[str, Any] = {"album": "Kid A", "artists": ["Radiohead"]}
    rows = grouped(
        tagged(
            "k/1.mp3",
            title="A",
            **shared,
            album_mbid=MBIDS[1],
            artist_mbids=[MBIDS[2]],
            track_mbid=MBIDS[3],
        ),
        tagged("k/2.mp3", title="B", **shared),
        tagged("elsewhere/3.mp3", title="C", **{**shared, "album": "Other"}),
    )
    assert [row["id"] for row in rows["artist"]] == [f"artist-{MBIDS[2]}"]
    assert f"album-{MBIDS[1]}" in {row["id"] for row in rows["album"]}
    by_name = {row["name"]: row for row in rows["track"]}
    assert by_name["A"]["id"] == f"track-{MBIDS[3]}"
    assert by_name["B"]["album_id"] == f"album-{MBIDS[1]}"
    assert by_name["C"]["artist_ids"] == [f"artist-{MBIDS[2]}"]


def test_a_compilation_is_by_various_artists_by_its_flag_its_album_artist_or_its_tracks() -> None:
    for said in ({"is_compilation": True}, {"album_artists": ["VA"]}, {}):
        rows = grouped(
            tagged("hits/1.mp3", title="A", artists=["One"], album="Hits", **said),
            tagged("hits/2.mp3", title="B", artists=["Two"], album="Hits", **said),
        )
        (album,) = rows["album"]
        assert album["artists"] == ["Various Artists"]
        assert names(rows["artist"]) == ["One", "Two", "Various Artists"]


def test_albums_of_one_name_in_different_folders_differ_unless_their_artist_is_the_same() -> None:
    apart = grouped(
        tagged("x/1.mp3", title="A", artists=["One"], album="Greatest Hits"),
        tagged("y/1.mp3", title="B", artists=["Two"], album="Greatest Hits"),
    )
    assert len(apart["album"]) == 2
    said: dict[str, Any] = {"album": "Greatest Hits", "album_artists": ["One"]}
    joined = grouped(
        tagged("x/1.mp3", title="A", artists=["One"], **said),
        tagged("y/2.flac", title="B", artists=["One", "Guest"], **said),
    )
    assert len(joined["album"]) == 1


@pytest.mark.parametrize(
    ("stated", "wanted"),
    [
        (["Ray feat. Ann"], ["Ray", "Ann"]),
        (["Ray (featuring Ann Lee)"], ["Ray", "Ann Lee"]),
        (["Ray; Ann"], ["Ray", "Ann"]),
        (["Ray / Ann"], ["Ray", "Ann"]),
        (["AC/DC"], ["AC/DC"]),
        (["Simon & Garfunkel"], ["Simon & Garfunkel"]),
        (["Little Feat"], ["Little Feat"]),
    ],
)
def test_several_artists_in_one_text_are_told_apart_and_names_with_signs_left_whole(
    stated: list[str], wanted: list[str]
) -> None:
    assert grouped(tagged("1.mp3", title="A", artists=stated))["track"][0]["artists"] == wanted


def test_a_file_that_says_nothing_is_named_after_its_file_and_folders() -> None:
    rows = grouped(
        tagged("Erik Satie/Gymnopédies/01 - Lent et douloureux.wav"),
        tagged("Loose Folder/99 Luftballons.wav"),
        tagged("alone.wav"),
        tagged("Downloads/07. Song.mp3", artists=["Somebody"]),
    )
    tracks = {row["file"]: row for row in rows["track"]}
    satie = tracks["Erik Satie/Gymnopédies/01 - Lent et douloureux.wav"]
    assert (satie["name"], satie["position"]) == ("Lent et douloureux", 1)
    assert (satie["artists"], satie["album"]) == (["Erik Satie"], "Gymnopédies")
    assert tracks["Loose Folder/99 Luftballons.wav"]["name"] == "99 Luftballons"
    assert tracks["Loose Folder/99 Luftballons.wav"]["album"] == "Loose Folder"
    assert tracks["alone.wav"].keys() >= {"name"}
    assert "album" not in tracks["alone.wav"]
    assert tracks["Downloads/07. Song.mp3"]["name"] == "Song"
    assert "album" not in tracks["Downloads/07. Song.mp3"], (
        "who says something means what they leave out"
    )


def test_files_with_the_same_tags_are_both_there() -> None:
    said = {"title": "A", "artists": ["B"], "album": "C", "position": 1}
    rows = grouped(tagged("c/a.flac", **said), tagged("c/a.mp3", **said))
    ids = [row["id"] for row in rows["track"]]
    assert len(set(ids)) == 2
    assert ids[1].startswith(ids[0])


def test_the_cover_is_what_most_files_have_inside_or_else_what_lies_beside_them() -> None:
    shared: dict[str, Any] = {"artists": ["X"], "album": "Y", "beside": "d/cover.jpg"}
    inside = grouped(
        tagged("d/1.mp3", title="A", picture="one.jpg", **shared),
        tagged("d/2.mp3", title="B", picture="two.png", **shared),
        tagged("d/3.mp3", title="C", picture="two.png", **shared),
    )
    assert inside["album"][0]["cover"] == "media/covers/two.png"
    beside = grouped(tagged("d/1.mp3", title="A", **shared))
    assert beside["album"][0]["cover"] == "d/cover.jpg"
    alone = grouped(tagged("1.mp3", title="A", artists=["X"], picture="one.jpg"))
    assert alone["track"][0]["cover"] == "media/covers/one.jpg", (
        "a track without an album has its own"
    )
    assert "cover" not in inside["track"][0]


def test_slugs_are_plain_where_they_can_be_and_have_a_hash_where_they_must() -> None:
    assert slug_of("Ludwig van Beethoven") == "ludwig-van-beethoven"
    assert slug_of("Sigur Rós") == "sigur-ros"
    assert re.fullmatch(r"[0-9a-f]{8}", slug_of("Чайковский"))
    assert re.fullmatch(r"bjork-[0-9a-f]{8}", slug_of("Bjork Ø"))
    assert slug_of("a b", "c") != slug_of("a", "b c")
    assert slug_of("!!!") != slug_of("???")
    assert len(slug_of("long " * 100)) < 80
    assert key_of("!!!") == "!!!"
