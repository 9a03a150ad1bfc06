"""Rows from an SQLite file with linked tables of artists, albums and tracks, such as Chinook.

Tables and columns are recognised by name (`Artist` or `artists`, `AlbumId`, `album_id` or `album`), so similar
databases are read as well. Albums and artists get the genres of their tracks. Where no track has a number, tracks
are numbered within their album in the order of their keys.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from stackroom.api import SourceRow
from stackroom.api.rows import ReadOptions, SqliteRows, WholeRows
from stackroom_catalogues.music.grouping import ALBUM, ARTIST, KINDS, MOST_GENRES, MOST_SECONDS, TRACK

COLUMNS_QUERY = """
SELECT t.name AS table_name, c.name AS column_name FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c
WHERE t.schema = 'main' AND t.type IN ('table', 'view') ORDER BY t.name, c.cid
"""
GENRE_TABLE = "genre"
NAMES = ("name", "title")
LENGTHS = {
    "milliseconds": 0.001,
    "durationms": 0.001,
    "lengthms": 0.001,
    "seconds": 1.0,
    "duration": 1.0,
    "length": 1.0,
}
"""Columns of a track's length, and the seconds in their unit."""
PLAIN = {
    "year": ("year", "releaseyear"),
    "disc": ("disc", "discnumber"),
    "position": ("tracknumber", "position", "number"),
    "plays": ("plays", "playcount"),
    "composers": ("composer", "composers"),
    "file": ("file", "path", "location"),
    "about": ("about", "description", "biography", "bio"),
    "genre": ("genre",),
}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MusicTable:
    """A table, and its columns by name without case and underscores."""

    name: str
    kind: str
    columns: Mapping[str, str]

    @property
    def key(self) -> str | None:
        """The primary key column."""
        return self._first(f"{self.kind}id", "id", f"{_bare(self.name)}id")

    @property
    def naming(self) -> str | None:
        """The column of names."""
        return self._first(*NAMES, f"{self.kind}name", f"{self.kind}title")

    def pointer_to(self, other: "MusicTable | None") -> str | None:
        """Return the foreign key column to another table; None without one."""
        return self._first(f"{other.kind}id", f"{_bare(other.name)}id", other.kind) if other else None

    def plain(self, meaning: str) -> str | None:
        """Return the column with a meaning; None without one."""
        return self._first(*PLAIN[meaning])

    def length(self) -> tuple[str, float] | None:
        """Return the column of lengths, and the seconds in its unit."""
        return next(((self.columns[name], unit) for name, unit in LENGTHS.items() if name in self.columns), None)

    def _first(self, *names: str) -> str | None:
        return next((self.columns[name] for name in names if name in self.columns), None)


def find_rows(path: Path) -> WholeRows | None:
    """Return the rows of a file with tables of artists, albums and tracks; None for other files."""
    columns: dict[str, dict[str, str]] = {}
    for row in SqliteRows(path, ReadOptions(query=COLUMNS_QUERY)).iter_rows():
        name, column = str(row.values.get("table_name")), str(row.values.get("column_name"))
        columns.setdefault(name, {}).setdefault(_bare(column), column)
    tables: dict[str, MusicTable] = {}
    for name, some in columns.items():
        kind = next((one for one in (ARTIST, ALBUM, TRACK, GENRE_TABLE) if _bare(name) in (one, f"{one}s")), None)
        table = MusicTable(name=name, kind=kind, columns=some) if kind else None
        if table and table.key and table.naming:
            tables.setdefault(table.kind, table)
    is_music = {ARTIST, ALBUM, TRACK} <= tables.keys() and tables[TRACK].pointer_to(tables[ALBUM])
    return WholeRows(path, partial(_read_rows, path, tables)) if is_music else None


def _read_rows(path: Path, tables: Mapping[str, MusicTable]) -> list[SourceRow]:
    """Return unreadable rows, then artists, albums and tracks."""
    read = {kind: list(_read_table(path, table, tables)) for kind, table in tables.items()}
    known = {kind: [row for row in rows if row["key"] is not None] for kind, rows in read.items()}
    refused = [row for kind in KINDS for row in read[kind] if row["key"] is None]
    artists, albums = _by_key(known[ARTIST]), _by_key(known[ALBUM])
    named_artists, named_albums = _with_names(artists), _with_names(albums)
    named_genres = _with_names(_by_key(known.get(GENRE_TABLE, ())))
    genres = {key: str(row["name"]) for key, row in named_genres.items()}
    tracks = [_track(row, named_albums, named_artists, genres) for row in _numbered(known[TRACK])]
    of_album = _gathered(tracks, lambda track: [track.get("album_id")])
    of_artist = _gathered(tracks, lambda track: track.get("artist_ids") or [])
    rows = [
        *(_artist(row, of_artist) for row in artists.values()),
        *(_album(row, named_artists, of_album) for row in albums.values()),
        *tracks,
    ]
    return [
        *(SourceRow(place=row["place"], values={}, problem=row["problem"] or "it has no key") for row in refused),
        *(SourceRow(place=str(row["id"]), values=_present(row)) for row in rows),
    ]


def _read_table(path: Path, table: MusicTable, tables: Mapping[str, MusicTable]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table with values by meaning; an unreadable one has no key."""
    chosen = {"key": table.key, "name": table.naming}
    chosen |= {meaning: table.plain(meaning) for meaning in PLAIN}
    for kind in (ARTIST, ALBUM, GENRE_TABLE):
        other = tables.get(kind)
        chosen[f"{kind}_key"] = table.pointer_to(other) if other is not table else None
    length = table.length() if table.kind == TRACK else None
    chosen["length"] = length[0] if length else None
    picked = {meaning: column for meaning, column in chosen.items() if column}
    columns = ", ".join(f"{_quoted(column)} AS {meaning}" for meaning, column in picked.items())
    statement = f"SELECT {columns} FROM {_quoted(table.name)} ORDER BY {_quoted(str(table.key))}"
    for row in SqliteRows(path, ReadOptions(query=statement)).iter_rows():
        seconds = _seconds(row.values.get("length"), unit_s=length[1]) if length else None
        place = f"{table.name}, {row.place}"
        yield {"key": None, **row.values, "seconds": seconds, "place": place, "problem": row.problem}


def _by_key(rows: Iterable[Row]) -> dict[str, Row]:
    return {str(row["key"]): row for row in rows}


def _with_names(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Return the valid rows, which others can refer to."""
    return {key: row for key, row in rows.items() if row.get("name") not in (None, "")}


def _seconds(length: Any, *, unit_s: float) -> Any:
    """Return a length in seconds; text such as `4:05` is left to be parsed or refused with its row."""
    try:
        number = float(length or 0)
    except (TypeError, ValueError):
        return length
    return round(number * unit_s, 3) or None


def _is_length(seconds: Any) -> bool:
    return isinstance(seconds, float) and 0 < seconds <= MOST_SECONDS


def _numbered(tracks: Sequence[Row]) -> Iterator[Row]:
    """Yield tracks with their positions: as stored, or numbered in order where the table has none."""
    has_numbers = any(track.get("position") for track in tracks)
    places: Counter[str] = Counter()
    for track in tracks:
        album = str(track.get("album_key"))
        places[album] += 1
        is_counted = not has_numbers and track.get("album_key") is not None
        yield {**track, "position": places[album]} if is_counted else track


def _artist(row: Row, tracks: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    artist_id = f"{ARTIST}-{row['key']}"
    own = tracks.get(artist_id, ())
    return {"id": artist_id, "kind": ARTIST, "name": row.get("name"), "genres": _genres(own), "about": row.get("about")}


def _album(row: Row, artists: Mapping[str, Row], tracks: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    album_id = f"{ALBUM}-{row['key']}"
    own = tracks.get(album_id, ())
    return {
        "id": album_id,
        "kind": ALBUM,
        "name": row.get("name"),
        **_by(row, artists),
        "genres": _genres(own),
        "year": row.get("year"),
        "seconds": round(sum(track["seconds"] for track in own if _is_length(track.get("seconds"))), 3) or None,
        "about": row.get("about"),
    }


def _track(
    row: Row, albums: Mapping[str, Row], artists: Mapping[str, Row], genres: Mapping[str, str]
) -> dict[str, Any]:
    album = albums.get(str(row.get("album_key")), {})
    genre = genres.get(str(row.get("genre_key"))) or row.get("genre")
    shared = {meaning: row.get(meaning) for meaning in ("disc", "position", "seconds", "plays", "file")}
    return {
        "id": f"{TRACK}-{row['key']}",
        "kind": TRACK,
        "name": row.get("name"),
        **(_by(row, artists) or _by(album, artists)),
        "album_id": f"{ALBUM}-{album['key']}" if album else None,
        "album": album.get("name"),
        "composers": row.get("composers"),
        "genres": [str(genre)] if genre else None,
        "year": row.get("year") or album.get("year"),
        **shared,
    }


def _by(row: Row, artists: Mapping[str, Row]) -> dict[str, Any]:
    artist = artists.get(str(row.get("artist_key")))
    return {"artist_ids": [f"{ARTIST}-{artist['key']}"], "artists": [artist["name"]]} if artist else {}


def _genres(tracks: Iterable[Row]) -> list[str]:
    counts = Counter(genre for track in tracks for genre in track.get("genres") or ())
    return [genre for genre, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:MOST_GENRES]]


def _gathered(tracks: Iterable[Row], keys_of: Callable[[Row], Iterable[Any]]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for track in tracks:
        for key in keys_of(track):
            found.setdefault(str(key), []).append(track)
    return found


def _present(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value not in (None, "", [])}


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
