"""What an agent that looks after a catalogue works with: names, gaps, corrections, playlists.
Pure.
"""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stackroom.model.record import Record, RecordId, Tag
from stackroom_catalogues.music.gaps import (
    find_gaps,
    missing_albums,
    missing_positions,
    propose_fixes,
)
from stackroom_catalogues.music.names import ReleaseNames, mended, work_key
from stackroom_catalogues.music.playlist import TOLERANCE, Candidate, arranged, choose, minutes_in

pytestmark = pytest.mark.row("Z15")

ROCK = Tag("genre", "Rock")


def record(kind: str, record_id: str, name: str, **fields: Any) -> Record:
    return Record(id=RecordId(record_id), kind=kind, fields={"name": name, **fields})


def track(number: int, name: str = "", **fields: Any) -> Record:
    usual = {
        "artist_ids": ("a1",),
        "artists": ("Ann",),
        "seconds": 200.0,
        "year": 2001,
        "genres": (ROCK,),
        "file": "x",
    }
    known = {**usual, "album_id": "l1", "position": number, **fields}
    present = {key: value for key, value in known.items() if value is not None}
    return record("track", f"t{number}", name or f"Song {number}", **present)


ALBUM = record(
    "album",
    "l1",
    "Songs",
    artist_ids=("a1",),
    artists=("Ann",),
    year=2001,
    genres=(ROCK,),
    cover="c.jpg",
)


def gaps_of(
    *tracks: Record, albums: tuple[Record, ...] = (ALBUM,), **named: Any
) -> dict[str, list[list[str]]]:
    """Return what is lacking: for each gap the ids of the records, or the names."""
    return {
        name: [[one.id for one in found.records] or [found.said["name"]] for found in gaps]
        for name, gaps in find_gaps(tracks, albums, **named).items()
        if gaps
    }


def test_what_a_track_or_an_album_lacks_is_told() -> None:
    found = gaps_of(
        track(1, year=None),
        track(2, genres=None),
        track(3, seconds=None),
        track(4, file=None),
        track(5, album_id=None),
        albums=(record("album", "l1", "Songs"),),
    )
    assert found == {
        "tracks_without_year": [["t1"]],
        "tracks_without_genre": [["t2"]],
        "tracks_without_length": [["t3"]],
        "tracks_without_file": [["t4"]],
        "tracks_without_album": [["t5"]],
        "albums_without_cover": [["l1"]],
    }


@pytest.mark.parametrize(
    ("places", "missing"),
    [
        ([(None, 1), (None, 2)], []),
        ([(None, 1), (None, 4)], ["2", "3"]),
        ([(None, 2)], ["1"]),
        ([(1, 1), (2, 1), (2, 3)], ["2-2"]),
        ([(None, 101), (None, 103), (None, 201)], ["1-2"]),
        ([(None, None), (None, None)], []),
        ([], []),
    ],
)
def test_numbers_that_an_album_leaves_out_are_told(
    places: list[tuple[Any, Any]], missing: list[str]
) -> None:
    tracks = [track(n, position=position, disc=disc) for n, (disc, position) in enumerate(places)]
    assert missing_positions(tracks) == missing


def test_tracks_are_the_same_by_name_artist_and_length() -> None:
    found = gaps_of(
        track(1, "Hélène", seconds=200.0),
        track(2, "helene (feat. Bob)", seconds=201.5),
        track(3, "Helene", seconds=230.0),
        track(4, "Helene", seconds=200.0, artist_ids=("a2",)),
        track(5, "Other", seconds=None),
        track(6, "Other", seconds=None),
        track(7, "Other", seconds=200.0),
    )
    assert found["duplicates"] == [["t1", "t2"], ["t5", "t6"]]


def test_albums_that_a_discography_has_and_the_catalogue_does_not_are_told() -> None:
    albums = [
        record("album", "1", "Houses Of The Holy"),
        record("album", "2", "Led Zeppelin II"),
        record("album", "3", "In Through The Out Door (Deluxe Edition)"),
        record("album", "4", "Physical Graffiti [Disc 1]"),
        record("album", "5", "Untitled", aliases=("Led Zeppelin IV",)),
    ]
    wanted = [
        "Led Zeppelin",
        "Led Zeppelin II",
        "Led Zeppelin IV",
        "Houses of the Holy",
        "Physical Graffiti",
        "Presence",
        "In Through the Outdoor",
        "Presence",
    ]
    assert missing_albums(wanted, albums) == ["Led Zeppelin", "Presence"]


def test_an_album_of_others_that_the_artist_is_on_is_not_missing() -> None:
    compilation = record("album", "l2", "Hits of the Year", artists=("Various Artists",))
    reference = ["Hits of the Year", "More Hits"]
    assert gaps_of(track(1), reference=reference, further=[compilation])["missing_albums"] == [
        ["More Hits"]
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Abbey Road", "Abbey Road - 2019 Remaster", True),
        ("Symphony No. 5", "Symphony No. 6", False),
        ('Symphony No. 6 in F major, Op. 68 "Pastoral"', "Symphony No. 6", True),
        ("Symphony No. 5 in C minor, Op. 67", "Symphony No. 6 in F major, Op. 68", False),
        ("1984 in Dub", "1984", False),
        ("Café Bleu", "Cafe Bleu", True),
        ("The Wall", "The Well-Tempered Clavier", False),
    ],
)
def test_names_of_albums_are_compared_by_what_they_mean(one: str, other: str, same: bool) -> None:
    assert ReleaseNames([other]).has(one) is same


@pytest.mark.parametrize(
    ("name", "position", "better"),
    [
        ("  Two   words ", None, "Two words"),
        ("under_scored_name", None, "under scored name"),
        ("03 - Song", 3, "Song"),
        ("03 Song", 3, "Song"),
        ("03 - Song", 4, "03 - Song"),
        ("7 Seconds", 7, "7 Seconds"),
        ("Song (Ft. Bob)", None, "Song (feat. Bob)"),
        ("Song Featuring Bob", None, "Song feat. Bob"),
        ("STAIRWAY TO HEAVEN", None, "Stairway to Heaven"),
        ("when the party's over", None, "when the party's over"),
        ("ABBA", None, "ABBA"),
        ("BjÃ¶rk", None, "Björk"),
        ("Björk", None, "Björk"),
        ("Little Feat", None, "Little Feat"),
    ],
)
def test_a_name_is_put_right_where_it_is_wrong_and_left_where_it_is_not(
    name: str, position: int | None, better: str
) -> None:
    put_right, done = mended(name, position=position)
    assert put_right == better
    assert bool(done) is (better != name)


def test_the_key_of_a_name_is_never_empty() -> None:
    assert work_key("!!!") == "!!!"
    assert work_key("(feat. Bob)")


def fields_of(
    *wanted: Record, albums: tuple[Record, ...] = (ALBUM,), tracks: tuple[Record, ...]
) -> dict[str, Any]:
    return {
        fix.record.id: dict(fix.fields)
        for fix in propose_fixes(wanted, albums=albums, tracks=tracks)
    }


def test_year_and_genre_are_taken_from_what_is_around_a_track() -> None:
    lost = track(1, year=None, genres=None)
    assert fields_of(lost, tracks=(lost, track(2), track(3))) == {
        "t1": {"year": 2001, "genres": (ROCK,)}
    }
    bare_album = record("album", "l1", "Songs")
    others = (track(2, year=1999), track(3, year=1999))
    assert fields_of(lost, albums=(bare_album,), tracks=(lost, *others)) == {
        "t1": {"year": 1999, "genres": (ROCK,)}
    }
    assert fields_of(bare_album, albums=(bare_album,), tracks=others) == {
        "l1": {"year": 1999, "genres": (ROCK,), "seconds": 400.0}
    }


def test_a_track_without_an_album_has_the_genre_of_most_tracks_by_its_artist() -> None:
    lost = track(9, genres=None, album_id=None)
    jazz = track(4, genres=(Tag("genre", "Jazz"),))
    assert fields_of(lost, tracks=(lost, track(1), track(2), track(3), jazz)) == {
        "t9": {"genres": (ROCK,)}
    }
    assert fields_of(lost, tracks=(lost, track(1), track(2))) == {}, "two are too few to tell by"


def test_nothing_is_proposed_for_what_is_right_or_cannot_be_known() -> None:
    unknown = track(1, year=None, genres=None, album_id=None)
    right = (track(2), ALBUM, record("artist", "a1", "Ann"))
    whole = record("album", "l1", "Songs", year=2001, genres=(ROCK,), seconds=1.0)
    assert (
        fields_of(unknown, whole, right[0], right[2], albums=(whole,), tracks=(unknown, track(2)))
        == {}
    )


def test_a_fix_says_why() -> None:
    lost = track(3, "03 - SONG OF SONGS", year=None)
    (fix,) = propose_fixes([lost], albums=[ALBUM], tracks=[lost])
    assert fix.fields == {"name": "Song of Songs", "year": 2001}
    assert any("its album, 'Songs'" in reason for reason in fix.reasons)
    assert any("number taken off" in reason for reason in fix.reasons)


@pytest.mark.parametrize(
    ("sentence", "minutes", "rest"),
    [
        ("calm piano for 1.5 hours", 90, "calm piano"),
        ("half an hour of jazz", 30, "jazz"),
        ("two hours long, jazz", 120, ", jazz"),
        ("jazz", None, "jazz"),
        ("0 minutes of jazz", None, "0 minutes of jazz"),
        ("1 hour 30 minutes of jazz", 90, "jazz"),
        ("2 hours and 15 min of jazz", 135, "jazz"),
        ("jazz for an hour and a half", 90, "jazz"),
        ("1h30 jazz", 90, "jazz"),
        ("1 hour 80s pop", 60, "80s pop"),
        ("1 hour of pieces under 5 minutes", 60, "pieces under 5 minutes"),
        (f"{'9' * 400} hours of jazz", 1_440, "jazz"),
    ],
)
def test_a_length_is_told_from_a_sentence(sentence: str, minutes: float | None, rest: str) -> None:
    assert minutes_in(sentence) == (minutes, rest)


def candidate(number: int, artist: int, seconds: float, score: float) -> Candidate:
    made = track(number, seconds=seconds, artist_ids=(f"a{artist}",), album_id=f"l{artist}")
    return Candidate(record=made, score=score)


CANDIDATES = st.lists(
    st.tuples(st.integers(1, 6), st.integers(30, 600), st.floats(0, 1)),
    max_size=40,
)


@given(drawn=CANDIDATES, minutes=st.integers(5, 90))
@example(drawn=[(1, 30, 0.0), (1, 30, 0.0), (1, 62, 0.0), (1, 224, 0.0)], minutes=5)
@example(drawn=[(1, 30, 0.0), (1, 159, 0.0), (2, 157, 0.0)], minutes=5)
@settings(deadline=None, max_examples=60)
def test_a_playlist_has_no_track_twice_is_not_too_long_and_is_the_same_again(
    drawn: list[tuple[int, int, float]], minutes: int
) -> None:
    some = [candidate(number, *one) for number, one in enumerate(drawn)]
    chosen = choose(some, target_s=60 * minutes)
    ids = [one.record.id for one in chosen]
    assert len(set(ids)) == len(ids)
    assert sum(one.seconds for one in chosen) <= 60 * minutes * (1 + TOLERANCE) + 1e-6
    assert [one.record.id for one in choose(list(reversed(some)), target_s=60 * minutes)] == ids


@given(st.lists(st.integers(1, 5), max_size=30))
def test_no_artist_is_twice_in_a_row_wherever_that_can_be(artists: list[int]) -> None:
    chosen = [
        candidate(number, artist, 100.0, 1 / (number + 1)) for number, artist in enumerate(artists)
    ]
    order = arranged(chosen)
    assert sorted(one.record.id for one in order) == sorted(one.record.id for one in chosen)
    most = max((artists.count(one) for one in set(artists)), default=0)
    if most <= (len(artists) + 1) // 2:
        assert all(one.artist != following.artist for one, following in pairwise(order))


def test_tracks_of_no_known_length_or_too_long_for_the_whole_are_not_chosen() -> None:
    some = [candidate(1, 1, 0.0, 1.0), candidate(2, 2, 9000.0, 1.0), candidate(3, 3, 580.0, 0.1)]
    assert [one.record.id for one in choose(some, target_s=600)] == ["t3"]
    assert choose([], target_s=600) == []
