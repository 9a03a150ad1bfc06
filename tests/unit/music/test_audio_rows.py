"""Audio files → rows: what tags say in every format, what cannot be read, and what need not be read
again.
"""

import os
import random
from pathlib import Path
from typing import Any

import pytest
from mutagen import id3

from stackroom.ingest.ledger import Ledger
from stackroom.sources.port import SourceRow
from stackroom.tools.media import MIME_TYPES
from stackroom_catalogues.music.audio_files import AUDIO_ENDINGS, AudioRows
from stackroom_catalogues.music.downloads.manifest import AUDIO_SUFFIXES
from stackroom_catalogues.music.tags import find_picture, read_tags, year_of

pytestmark = pytest.mark.row("Z17")

FORMATS = ("mp3", "flac", "ogg", "opus", "m4a", "wav")
MBID = "b1a9c0e9-d987-4042-ae91-78d6a3267d69"


def rows_of(folder: Path) -> dict[str, SourceRow]:
    """Return the rows of a folder by their places."""
    source = AudioRows(folder)
    rows = list(source.iter_rows())
    assert len(rows) == source.count_rows()
    return {row.place: row for row in rows}


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_says_the_same_of_the_same_tags(
    audio: Any, pictures: tuple[bytes, bytes], ending: str
) -> None:
    path = audio.add(
        f"song.{ending}",
        cover=pictures[0],
        title="Für Elise",
        artist=["Ludwig van Beethoven", "Somebody Else"],
        albumartist="Ludwig van Beethoven",
        album="Bagatelles",
        tracknumber="3/12",
        discnumber="1/2",
        date="1810-04-27",
        genre=["Classical", "Piano"],
        composer="Ludwig van Beethoven",
        compilation="1",
        musicbrainz_albumid=MBID,
        musicbrainz_trackid=MBID,
    )
    assert set(read_tags(audio.add(f"silent.{ending}"))) == {"seconds"}
    assert find_picture(audio.path / f"silent.{ending}") is None
    said = read_tags(path)
    assert said.pop("seconds") == pytest.approx(1.0, abs=0.2)
    assert find_picture(path) == (said.pop("picture"), pictures[0])
    assert said == {
        "title": "Für Elise",
        "artists": ["Ludwig van Beethoven", "Somebody Else"],
        "album_artists": ["Ludwig van Beethoven"],
        "album": "Bagatelles",
        "position": 3,
        "disc": 1,
        "year": 1810,
        "genres": ["Classical", "Piano"],
        "composers": ["Ludwig van Beethoven"],
        "is_compilation": True,
        "album_mbid": MBID,
        "track_mbid": MBID,
    }


@pytest.mark.parametrize(
    ("dates", "year"),
    [
        (["20030501"], 2003),
        (["May 2003"], 2003),
        (["2003-05-01T10:00:00Z"], 2003),
        (["0000", "1999"], 1999),
        (["12345"], None),
        (["97"], None),
    ],
)
def test_a_year_is_told_from_a_date_however_it_is_written(
    dates: list[str], year: int | None
) -> None:
    assert year_of(dates) == year


@pytest.mark.parametrize(
    ("said", "position"),
    [("0", None), ("x", None), ("07/12", 7)],
)
def test_a_number_that_is_none_is_left_out(audio: Any, said: str, position: int | None) -> None:
    path = audio.add("song.ogg", title="A", tracknumber=said)
    assert read_tags(path).get("position") == position


def test_a_tag_in_the_wrong_encoding_is_read_as_it_was_meant(audio: Any) -> None:
    path = audio.add("song.mp3", title="x")
    tags = id3.ID3(path)
    tags.add(id3.TALB(encoding=0, text=["Größe".encode().decode("latin-1")]))
    tags.save()
    assert read_tags(path)["album"] == "Größe"


def test_control_characters_and_blanks_do_not_get_into_names(audio: Any) -> None:
    path = audio.add(
        "song.flac", title="  A\tname\u202e \x07 of\n lines ", artist=["", "  ", "One"]
    )
    said = read_tags(path)
    assert said["title"] == "A name of lines"
    assert said["artists"] == ["One"]


def test_files_that_are_no_sound_are_left_out_with_the_reason_and_the_others_read(
    audio: Any, tmp_path: Path
) -> None:
    audio.add("good.mp3", title="Good")
    (audio.path / "empty.mp3").write_bytes(b"")
    (audio.path / "text.mp3").write_text("this is not a song " * 100)
    (audio.path / "cut.flac").write_bytes(b"fLaC" + bytes(3))
    (audio.path / "silent.wav").write_bytes((audio.add("x.wav", seconds=0.0)).read_bytes())
    (audio.path / "x.wav").unlink()
    (audio.path / "folder.ogg").mkdir()
    os.mkfifo(audio.path / "pipe.mp3")
    rows = rows_of(audio.path)
    assert rows["good.mp3"].problem is None
    assert rows["empty.mp3"].problem == "it is empty"
    assert rows["pipe.mp3"].problem == "it is not a plain file"
    assert "no sound in it" in str(rows["silent.wav"].problem)
    assert "it cannot be read" in str(rows["cut.flac"].problem)
    assert rows["text.mp3"].problem
    assert "folder.ogg" not in rows


def test_damaged_files_of_every_format_are_read_or_refused_and_never_end_the_scan(
    audio: Any, pictures: tuple[bytes, bytes]
) -> None:
    dice = random.Random(5)
    for ending in FORMATS:
        whole = audio.add(
            f"{ending}.{ending}", title="A title", artist="B", cover=pictures[0]
        ).read_bytes()
        for number in range(40):
            broken = bytearray(whole[: dice.randrange(1, len(whole))] if number % 2 else whole)
            for _ in range(dice.randrange(1, 30)):
                broken[dice.randrange(len(broken))] = dice.randrange(256)
            (audio.path / f"{ending}-{number}.{ending}").write_bytes(broken)
    rows = rows_of(audio.path)
    assert len(rows) == 41 * len(FORMATS)
    for row in rows.values():
        assert row.problem or row.values["seconds"] > 0


def test_a_name_that_is_not_utf8_is_refused_since_nobody_could_ask_for_the_file(audio: Any) -> None:
    audio.add("good.mp3", title="Good")
    os.rename(os.fsencode(audio.path / "good.mp3"), os.fsencode(audio.path) + b"/b\xff.mp3")
    (row,) = rows_of(audio.path).values()
    assert "UTF-8" in str(row.problem)


def test_every_kind_of_file_that_is_read_can_be_downloaded_and_played() -> None:
    assert set(AUDIO_ENDINGS) == AUDIO_SUFFIXES
    assert {MIME_TYPES[ending].partition("/")[0] for ending in AUDIO_ENDINGS} == {"audio"}


def test_a_picture_beside_the_files_is_found_by_its_name_and_for_a_disc_in_the_folder_above(
    audio: Any, pictures: tuple[bytes, bytes]
) -> None:
    audio.add("Artist/Album/CD 1/01.mp3", title="A")
    audio.add("Artist/Album/CD 2/01.mp3", title="B")
    audio.add("Artist/Other/01.mp3", title="C")
    (audio.path / "Artist/Album/Folder.PNG").write_bytes(pictures[1])
    (audio.path / "Artist/Album/cover.jpg").write_bytes(pictures[0])
    (audio.path / "Artist/Album/back.jpg").write_bytes(pictures[0])
    (audio.path / "Artist/Other/cover.jpg").write_bytes(b"")
    rows = rows_of(audio.path)
    assert rows["Artist/Album/CD 1/01.mp3"].values["beside"] == "Artist/Album/cover.jpg"
    assert rows["Artist/Album/CD 2/01.mp3"].values["folders"] == ["Artist", "Album"]
    assert "beside" not in rows["Artist/Other/01.mp3"].values


def test_what_is_inside_a_file_is_a_cover_only_if_it_looks_like_a_picture(audio: Any) -> None:
    path = audio.add("a.mp3", title="A", cover=b"<svg onload='alert(1)'>")
    assert find_picture(path) is None
    assert "picture" not in read_tags(path)


def test_only_files_that_changed_are_read_again(audio: Any) -> None:
    for name in ("a.mp3", "b.flac"):
        audio.add(name, title=name)
    (audio.path / "bad.mp3").write_bytes(b"nothing that can be played" * 9)
    ledger = Ledger()

    def scan() -> dict[str, SourceRow]:
        audio.read.clear()
        source = AudioRows(audio.path, read=audio.read_counted)
        source.recall(ledger.readings(source.name))
        return {row.place: row for row in source.iter_rows()}

    first = scan()
    assert sorted(audio.read) == ["a.mp3", "b.flac", "bad.mp3"]
    assert (scan(), audio.read) == (first, [])
    audio.retag("b.flac", title="another title")
    assert scan()["b.flac"].values["title"] == "another title"
    assert audio.read == ["b.flac"]
    (audio.path / "a.mp3").unlink()
    assert (set(scan()), audio.read) == ({"b.flac", "bad.mp3"}, [])
    assert {place for _, place, _ in ledger.list_readings()} == {"b.flac", "bad.mp3"}
    ledger.close()


def test_a_scan_that_is_stopped_remembers_what_it_has_read(audio: Any) -> None:
    for number in range(6):
        audio.add(f"{number}.wav", title=str(number))
    ledger = Ledger()
    source = AudioRows(audio.path, read=audio.read_counted)
    source.recall(ledger.readings(source.name))
    rows = source.iter_rows()
    for _ in range(3):
        next(rows)
    rows.close()
    audio.read.clear()
    assert len(list(source.iter_rows())) == 6
    assert audio.read == ["3.wav", "4.wav", "5.wav"]
    ledger.close()


def test_artists_listed_one_by_one_replace_the_credit_that_joins_them(audio: Any) -> None:
    singers = ["Ella Fitzgerald", "Louis Armstrong"]
    path = audio.add("song.flac", artist="Ella Fitzgerald & Louis Armstrong", artists=singers)
    assert read_tags(path)["artists"] == singers


def test_an_old_tag_at_the_end_adds_nothing_to_a_newer_one_and_is_read_where_it_is_the_only_one(
    audio: Any,
) -> None:
    old_tag = b"TAG" + b"Old title".ljust(30, b"\0") + bytes(94) + b"\x00"
    path = audio.add("song.mp3")
    path.write_bytes(path.read_bytes() + old_tag)
    assert (read_tags(path)["title"], read_tags(path)["genres"]) == ("Old title", ["Blues"])
    path = audio.add("other.mp3", title="New title")
    path.write_bytes(path.read_bytes() + old_tag)
    assert read_tags(path)["title"] == "New title"
    assert "genres" not in read_tags(path)


def test_a_file_is_read_by_its_content_where_its_ending_is_wrong(audio: Any) -> None:
    path = audio.add("song.flac", title="A", artist="B")
    renamed = path.rename(path.with_suffix(".mp3"))
    assert read_tags(renamed)["title"] == "A"
