"""Where music comes from: folders, databases, tables, the sample; and the records that their rows
make.
"""

import gzip
import json
import re
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.build import open_rows, package_recipe
from stackroom.errors import InputError
from stackroom.ingest.mapping import require_valid
from stackroom.model.record import Record, Tag
from stackroom.packages import PACKAGES
from stackroom_catalogues.music.rows import records_of

SPEC = package_recipe(PACKAGES.get("music")).loaded.spec


def read(location: Path) -> list[Record]:
    """Return the records of a location, each fit for the catalogue and with relations that lead
    somewhere.
    """
    source = open_rows(PACKAGES.get("music"), str(location))
    records = [
        record for row in source.iter_rows() if not row.problem for record in records_of(row.values)
    ]
    by_id = {record.id: record for record in records}
    assert len(by_id) == len(records)
    for record in records:
        require_valid(record, SPEC)
        for relation in SPEC.relations:
            if relation.kind == record.kind:
                value = record.get(relation.field)
                named = [value] if isinstance(value, str) else value or ()
                assert all(by_id[one].kind == relation.to for one in named)
                titles = [by_id[one].get("name") for one in named]
                copied = record.get(relation.copies)
                assert (
                    list(copied if isinstance(copied, tuple) else [copied] if copied else [])
                    == titles
                )
    return records


def kinds(records: list[Record]) -> dict[str, int]:
    return dict(Counter(record.kind for record in records))


def named(records: list[Record], name: str) -> Record:
    return next(record for record in records if record.get("name") == name)


@pytest.mark.row("Z17")
def test_a_folder_of_audio_and_one_file_become_artists_albums_and_tracks(audio: Any) -> None:
    audio.add("b/1.ogg", title="Song", artist="Ann", album="Songs")
    audio.add("alone.mp3", title="Alone", artist="Bob", genre="Rock")
    assert kinds(read(audio.path)) == {"artist": 2, "album": 1, "track": 2}
    alone = read(audio.path / "alone.mp3")
    assert kinds(alone) == {"artist": 1, "track": 1}
    assert named(alone, "Alone").get("genres") == (Tag("genre", "Rock"),)


@pytest.mark.row("Z4")
@pytest.mark.data
def test_chinook_is_read_whole_with_its_relations_and_never_written_to(
    chinook: Path, tmp_path: Path
) -> None:
    before = chinook.read_bytes()
    records = read(chinook)
    assert kinds(records) == {"artist": 275, "album": 347, "track": 3503}
    track = next(record for record in records if record.id == "track-1")
    assert dict(track.fields) == {
        "name": "For Those About To Rock (We Salute You)",
        "artist_ids": ("artist-1",),
        "artists": ("AC/DC",),
        "album_id": "album-1",
        "album": "For Those About To Rock We Salute You",
        "composers": ("Angus Young, Malcolm Young, Brian Johnson",),
        "genres": (Tag("genre", "Rock"),),
        "position": 1,
        "seconds": pytest.approx(343.719),
    }
    album = next(record for record in records if record.id == "album-1")
    assert album.get("seconds") == pytest.approx(2400.415)
    assert album.get("genres") == (Tag("genre", "Rock"),)
    assert chinook.read_bytes() == before
    packed = tmp_path / "chinook.sqlite.gz"
    packed.write_bytes(gzip.compress(before))
    assert kinds(read(packed)) == kinds(records)


def test_another_database_is_left_to_others(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT)")
    db.close()
    assert PACKAGES.get("music").open_rows(str(path)) is None


@pytest.mark.row("Z4")
def test_rows_of_our_own_layout_are_read_from_csv_and_json_alike(tmp_path: Path) -> None:
    artist = {
        "id": "a1",
        "kind": "artist",
        "name": "Ann",
        "aliases": ["Anna", "Анна"],
        "genres": [{"category": "era", "value": "now"}],
    }
    lines, table = tmp_path / "mine.jsonl", tmp_path / "mine.csv"
    lines.write_text(json.dumps(artist))
    table.write_text(
        "id,kind,name,aliases,seconds,artist_ids,artists\n"
        "a1,artist,Ann,Anna;Анна,,,\n"
        "t1,track,One,,61.5,a1,Ann\n"
    )
    (by_json,), by_csv = read(lines), read(table)
    assert by_json.get("genres") == (Tag("era", "now"),)
    assert by_json.get("aliases") == named(by_csv, "Ann").get("aliases") == ("Anna", "Анна")
    assert named(by_csv, "One").get("seconds") == 61.5


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "song"}, "'kind' is 'song'; it must be one of artist, album, track"),
        ({"id": ""}, "'id' is missing"),
        ({"name": " "}, "'name' is missing"),
        ({"year": "long ago"}, "'year' is 'long ago', not a number such as 245"),
        ({"year": -5}, "'year' is -5; expected 1000 to 2999"),
        ({"position": "1.5"}, "'position' is '1.5', not a whole number such as 3"),
        ({"seconds": "-3"}, "'seconds' is -3.0; expected 0 to"),
        ({"added": "yesterday"}, "'added' is 'yesterday', not date"),
    ],
)
def test_a_row_that_is_wrong_is_refused_with_what_would_be_right(
    changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError) as refused:
        require_valid(*records_of({"id": "t1", "kind": "track", "name": "One", **changes}), SPEC)
    assert says in refused.value.message


@pytest.mark.parametrize("year", [0, "0", ""])
def test_a_year_that_is_nought_is_none(year: Any) -> None:
    (record,) = records_of({"id": "t1", "kind": "track", "name": "One", "year": year})
    assert record.get("year") is None


def test_the_page_of_music_names_the_fields_of_tracks_and_artists() -> None:
    path = Path(__file__).parents[3] / "docs" / "reference" / "music.md"
    page = path.read_text(encoding="utf-8").partition("## Fields")[2]
    for kind in ("A track", "an artist"):
        listed = re.findall(r"`(\w+)`", page.partition(f"{kind} has ")[2].partition(". ")[0])
        assert sorted(listed) == sorted(
            field.name for field in SPEC.fields.values() if field.is_of(kind.split()[1])
        )


@pytest.mark.row("Z17")
def test_covers_inside_of_files_are_kept_beside_the_catalogue_once_and_go_with_them(
    audio: Any, home: Any, pictures: tuple[bytes, bytes]
) -> None:
    for number in range(3):
        audio.add(f"a/{number}.flac", title=str(number), artist="A", album="One", cover=pictures[0])
    audio.add("b/x.mp3", title="x", artist="B", album="Two", cover=pictures[1])
    home.add(audio.path)
    covers = home.folder / "media" / "covers"
    assert sorted(one.read_bytes() for one in covers.iterdir()) == sorted(pictures)
    album = home.ask("get", query_type="album", id="Two")["item"]
    assert (home.folder / album["cover"]).read_bytes() == pictures[1]
    shutil.rmtree(covers)
    home.add(audio.path)
    assert len(list(covers.iterdir())) == 2, "what got lost is taken from the files again"
    (audio.path / "b/x.mp3").unlink()
    home.add(audio.path)
    assert [one.read_bytes() for one in covers.iterdir()] == [pictures[0]]
