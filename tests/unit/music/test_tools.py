"""`catalog.search` and `catalog.get` over the sample, through the gate; every answer is as the tool
declares it.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

MOONLIGHT = "album-beethoven-piano-sonata-14"
BEETHOVEN = "artist-ludwig-van-beethoven"
CALM = "calm: towards: relaxing and calm (by meaning: no tag says it)"


def ids(group: dict[str, Any]) -> list[str]:
    return [one["id"] for one in group["items"]]


@pytest.mark.row("Z4")
@pytest.mark.parametrize(
    "fixture", ["sample_music", pytest.param("meant_music", marks=pytest.mark.model)]
)
@pytest.mark.parametrize(
    ("query", "group", "first"),
    [
        ("moonlight sonata", "albums", MOONLIGHT),
        ("Op. 27 No. 2", "albums", MOONLIGHT),
        ("Лунная соната", "albums", MOONLIGHT),
        ("月光ソナタ", "albums", MOONLIGHT),
        ("Ludvig van Bethoven", "artists", BEETHOVEN),
        ("dvorak", "artists", "artist-antonin-dvorak"),
        ("Чайковский", "artists", "artist-pyotr-ilyich-tchaikovsky"),
        ("clair de lune", "tracks", "track-debussy-suite-bergamasque-03"),
    ],
)
def test_names_are_found_first_misspelt_without_accents_and_in_other_scripts(
    request: pytest.FixtureRequest, fixture: str, query: str, group: str, first: str
) -> None:
    found = request.getfixturevalue(fixture).ask("search", query=query)
    assert ids(found[group])[0] == first
    assert ("degraded" in found) is (fixture == "sample_music")


@pytest.mark.row("Z4")
@pytest.mark.model
def test_what_is_meant_is_found_without_its_words_and_what_has_nothing_to_do_with_it_is_not(
    meant_music: Any,
) -> None:
    found = meant_music.ask("search", query="gentle songs that send children to sleep", limit=50)
    genres = {genre for one in found["tracks"]["items"][:10] for genre in one["genres"]}
    assert genres & {"lullaby", "song", "lied", "art song", "character piece"}
    nothing = meant_music.ask("search", query="quarterly tax return spreadsheet")
    assert nothing["evidence"] == "none"
    artists = nothing["artists"]
    assert (artists["items"], artists["total"], len(artists["nearest"])) == ([], 0, 3)


@pytest.mark.row("Z4")
def test_results_are_grouped_by_kind_with_totals_and_one_kind_can_be_asked_for(
    sample_music: Any,
) -> None:
    found = sample_music.ask("search", query="piano", limit=5)
    for group in ("artists", "albums", "tracks"):
        assert (len(found[group]["items"]), found[group]["has_more"]) == (5, True)
        assert found[group]["total"] > 5
    only = sample_music.ask("search", query="piano", limit=5, kind="album")
    assert only["albums"] == found["albums"]
    assert not {"artists", "tracks"} & set(only)


@pytest.mark.row("Z4")
def test_an_artist_has_albums_and_tracks(sample_music: Any) -> None:
    by_id = sample_music.ask("get", query_type="artist", id=BEETHOVEN)
    assert by_id["item"]["about"].startswith("German composer")
    assert MOONLIGHT in ids(by_id["albums"])
    years = [one["year"] for one in by_id["albums"]["items"]]
    assert years == sorted(years)
    assert (by_id["tracks"]["total"], by_id["tracks"]["has_more"]) == (20, True)
    for name in ("Ludwig van Beethoven", "beethoven"):
        assert sample_music.ask("get", query_type="artist", id=name) == by_id
    for name in ("Bethoven", "Бетховен"):
        taken = sample_music.ask("get", query_type="artist", id=name)
        assert taken.pop("notes") == [
            f"'{name}' was taken for 'Ludwig van Beethoven' ({BEETHOVEN})"
        ]
        assert taken == by_id


@pytest.mark.row("Z4")
def test_an_album_has_its_tracks_in_order_and_they_can_be_paged(sample_music: Any) -> None:
    found = sample_music.ask("get", query_type="album", id="Die schöne Müllerin", limit=100)
    tracks = found["tracks"]["items"]
    assert [one["position"] for one in tracks] == list(range(1, 21))
    paged = {"query_type": "album", "id": found["item"]["id"], "limit": 8, "offset": 16}
    page = sample_music.ask("get", **paged)["tracks"]
    assert (page["items"], page["total"], page["has_more"]) == (tracks[16:], 20, False)


@pytest.mark.row("Z4")
@pytest.mark.parametrize(
    ("query_type", "wanted", "says"),
    [
        (
            "artist",
            "artist-ludwig-beethoven",
            "did you mean 'Ludwig van Beethoven' (artist-ludwig-van-beethoven)",
        ),
        (
            "track",
            "track-beethoven-piano-sonata-14-04",
            "no track 'track-beethoven-piano-sonata-14-04'; did you mean",
        ),
        ("album", "Symphony No. 55", "no album 'Symphony No. 55'"),
        ("artist", "zzzzqqqq", "no artist 'zzzzqqqq'; search for it with catalog.search"),
        ("artist", MOONLIGHT, "is a record of kind album, not artist"),
        (
            "track",
            "Promenade",
            "several are called 'Promenade'; give one of these ids: track-mussorgsky-pictures",
        ),
        ("album", None, "'id' is missing: for query_type 'album' it is an id or a name"),
        ("playlist", None, "'about' is missing"),
    ],
)
def test_what_is_not_there_or_not_the_only_one_is_refused_with_what_may_be_meant(
    sample_music: Any, query_type: str, wanted: str | None, says: str
) -> None:
    given = {} if wanted is None else {"id": wanted}
    assert says in sample_music.refusal("get", query_type=query_type, **given)


@pytest.mark.row("Z4")
def test_stats_count_what_there_is(sample_music: Any) -> None:
    stats = sample_music.ask("get", query_type="stats", limit=3)["stats"]
    assert (stats["artists"], stats["albums"], stats["tracks"]) == (46, 85, 542)
    assert stats["seconds"] == pytest.approx(38.6 * 3600, rel=0.02)
    assert stats["genres"][0] == {"genre": "classical", "tracks": 534}
    assert len(stats["genres"]) == 3
    assert (stats["first_year"], stats["last_year"]) == (1567, 1926)
    assert stats["tracks_without_year"] == 2
    assert sum(stats["decades"].values()) == 540


@pytest.mark.row("Z4")
def test_what_was_added_last_comes_first(audio: Any, home: Any) -> None:
    audio.add("old.mp3", title="Old", artist="A")
    home.add(audio.path)
    audio.add("new.mp3", title="New", artist="B")
    home.add(audio.path)
    recent = home.ask("get", query_type="recent", limit=1)
    assert [one["name"] for one in recent["tracks"]["items"]] == ["New"]
    assert [one["name"] for one in recent["artists"]["items"]] == ["B"]
    assert (recent["tracks"]["total"], recent["tracks"]["has_more"]) == (2, True)


@pytest.mark.row("Z15")
@pytest.mark.parametrize(
    "fixture", ["sample_music", pytest.param("meant_music", marks=pytest.mark.model)]
)
def test_similar_artists_and_tracks_are_of_the_same_kind_and_not_the_one_itself(
    request: pytest.FixtureRequest, fixture: str
) -> None:
    music = request.getfixturevalue(fixture)
    artists = ids(music.ask("get", query_type="similar", id="Frédéric Chopin", limit=8)["artists"])
    assert len(artists) == 8
    assert "artist-frederic-chopin" not in artists
    assert {"artist-robert-schumann", "artist-franz-liszt", "artist-clara-schumann"} & set(artists)
    first = "track-beethoven-piano-sonata-14-01"
    tracks = music.ask("get", query_type="similar", id=first, limit=12)["tracks"]["items"]
    assert first not in [one["id"] for one in tracks]
    by_artist = [one["artists"][0] for one in tracks]
    assert max(by_artist.count(one) for one in by_artist) <= 3


@pytest.mark.row("Z15")
@pytest.mark.parametrize(
    "fixture", ["sample_music", pytest.param("meant_music", marks=pytest.mark.model)]
)
@pytest.mark.parametrize("minutes", [15, 45, 120])
def test_a_playlist_keeps_to_the_sentence_the_length_and_never_has_an_artist_twice_in_a_row(
    request: pytest.FixtureRequest, fixture: str, minutes: int
) -> None:
    music = request.getfixturevalue(fixture)
    asked = {
        "query_type": "playlist",
        "about": "calm piano music before 1850, no opera",
        "minutes": minutes,
    }
    found = music.ask("get", **asked)
    tracks = found["tracks"]["items"]
    assert found["seconds"] == pytest.approx(60 * minutes, rel=0.05)
    assert found["seconds"] == pytest.approx(sum(one["seconds"] for one in tracks))
    assert all(one["year"] < 1850 for one in tracks)
    assert all("opera" not in one["genres"] for one in tracks)
    assert sum("piano" in " ".join(one["genres"]) for one in tracks) >= len(tracks) * 0.6
    assert all(one["artists"][0] != following["artists"][0] for one, following in pairwise(tracks))
    assert music.ask("get", **asked) == found


@pytest.mark.row("Z15")
@pytest.mark.parametrize(
    ("about", "is_right"),
    [
        ("piano, without Chopin", lambda artists: "Frédéric Chopin" not in artists),
        (
            "piano, no Frederic Chopin or Liszt",
            lambda artists: not {"Frédéric Chopin", "Franz Liszt"} & artists,
        ),
        ("not Beethoven, symphonies", lambda artists: "Ludwig van Beethoven" not in artists),
        ("only Ludwig van Beethoven", lambda artists: artists == {"Ludwig van Beethoven"}),
        (
            "only Beethoven and Mozart",
            lambda artists: artists == {"Ludwig van Beethoven", "Wolfgang Amadeus Mozart"},
        ),
    ],
)
def test_a_playlist_leaves_out_and_keeps_to_the_artists_that_the_sentence_says(
    sample_music: Any, about: str, is_right: Any
) -> None:
    found = sample_music.ask("get", query_type="playlist", about=about, minutes=60)
    assert is_right({artist for one in found["tracks"]["items"] for artist in one["artists"]})
    assert any("artists is" in note for note in found["notes"])


@pytest.mark.row("Z15")
@pytest.mark.parametrize(
    ("about", "minutes", "seconds", "note"),
    [
        ("half an hour", None, 1_800, ""),
        ("99999999999 hours of piano", None, None, "of 1440 minutes: there is not more that fits"),
        ("ragtime", 600, None, "minutes: there is not more that fits"),
        ("calm zzzzqqqq wibble piano", 20, 1_200, "nothing here fits 'zzzzqqqq wibble'"),
    ],
)
def test_a_playlist_is_as_long_as_asked_for_or_says_what_is_short_or_does_not_fit(
    sample_music: Any, about: str, minutes: int | None, seconds: float | None, note: str
) -> None:
    sized = {} if minutes is None else {"minutes": minutes}
    found = sample_music.ask("get", query_type="playlist", about=about, **sized)
    assert seconds is None or found["seconds"] == pytest.approx(seconds, rel=0.05)
    assert not note or any(one.endswith(note) for one in found["notes"])


@pytest.mark.row("N2", "Z15")
@pytest.mark.parametrize(
    ("about", "notes"),
    [
        (
            "heavy metal for the gym",
            ["nothing here fits 'heavy metal for the gym'; these are the nearest tracks"],
        ),
        ("calm heavy metal", [CALM, "nothing here fits 'heavy metal'"]),
        ("calm piano", [CALM, "piano: towards: piano"]),
    ],
)
@pytest.mark.model
def test_what_nothing_fits_is_said_and_what_was_understood_is_not_denied(
    meant_music: Any, about: str, notes: list[str]
) -> None:
    found = meant_music.ask("get", query_type="playlist", about=about, minutes=15)
    assert found["notes"][: len(notes)] == notes


@pytest.mark.row("Z15")
def test_gaps_are_counted_and_paged_for_all_or_for_one(sample_music: Any) -> None:
    gaps = {gap["gap"]: gap for gap in sample_music.ask("get", query_type="gaps", limit=2)["gaps"]}
    assert gaps["tracks_without_year"]["total"] == 2
    assert gaps["tracks_without_file"]["total"] == 542 - 14
    covers = gaps["albums_without_cover"]
    assert (len(covers["items"]), covers["has_more"]) == (2, True)
    assert "duplicates" not in gaps
    found = sample_music.ask(
        "get",
        query_type="gaps",
        id="Beethoven",
        reference=["Symphony No. 3 in E-flat major", "Für Elise"],
    )
    missing = next(gap for gap in found["gaps"] if gap["gap"] == "missing_albums")
    assert [one["name"] for one in missing["items"]] == ["Symphony No. 3 in E-flat major"]
    assert "give the artist as 'id'" in sample_music.refusal(
        "get", query_type="gaps", reference=["x"]
    )


@pytest.mark.row("Z15")
def test_fixes_are_requests_that_a_person_applies_with_the_editing_tool(
    audio: Any, home: Any
) -> None:
    shared = {"artist": "Ann", "album": "Songs", "genre": "Folk"}
    audio.add("1.mp3", title="01 - FIRST SONG", tracknumber="1", date="2001", **shared)
    audio.add("2.mp3", title="Second", tracknumber="2", artist="Ann", album="Songs")
    audio.add("3.mp3", title="Third", tracknumber="3", date="2001", **shared)
    home.add(audio.path)
    fixes = home.ask("get", query_type="fixes")["fixes"]
    assert (fixes["total"], fixes["has_more"]) == (2, False)
    assert all(fix["request"]["action"] == "update" and fix["reasons"] for fix in fixes["items"])
    together = home.ask("mutate", changes=[fix["request"] for fix in fixes["items"]])
    assert together["total"] == 2
    assert home.ask("get", query_type="fixes")["fixes"]["total"] == 0
    found = home.ask("get", query_type="album", id="Songs", limit=3)["tracks"]["items"]
    assert [one["name"] for one in found] == ["First Song", "Second", "Third"]
    assert {one["year"] for one in found} == {2001}
    second = home.ask("get", query_type="track", id="Second")["item"]
    assert second["genres"] == [{"category": "genre", "value": "Folk"}]


@pytest.mark.row("Z4")
@pytest.mark.parametrize("explain", [True, False])
def test_a_name_without_letters_is_found_by_itself_and_by_nothing_like_it(
    home: Any, tmp_path: Path, explain: bool
) -> None:
    rows = [
        {"id": f"a{number}", "kind": "artist", "name": name}
        for number, name in enumerate(("!!!", "P!nk", "???"))
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    home.add(tmp_path / "rows.jsonl")
    found = home.ask("search", query="!!!", kind="artist", explain=explain)
    assert (ids(found["artists"]), found["evidence"]) == (["a0"], "strong")
    assert ids(home.ask("search", query="…", kind="artist")["artists"]) == []
    assert ids(home.ask("get", query_type="similar", id="a0")["artists"]) == []


@pytest.mark.row("Z4")
def test_a_search_leaves_out_records_of_excluded_genres(sample_music: Any) -> None:
    asked = {"query": "piano", "kind": "track", "limit": 20}
    listed = [set(one["genres"]) for one in sample_music.ask("search", **asked)["tracks"]["items"]]
    genre = sorted(set.union(*listed) - set.intersection(*listed))[0]
    found = sample_music.ask("search", **asked, exclude={"genres": [genre.upper()]})
    assert found["tracks"]["items"]
    assert all(genre not in one.get("genres", ()) for one in found["tracks"]["items"])
