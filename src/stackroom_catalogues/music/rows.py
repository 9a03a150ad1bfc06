"""Sources of music, and the mapping of their rows to records.

    a folder of audio files    artists, albums and tracks by their tags (`grouping`)
    an SQLite file             the Chinook database
    rows in this layout        of any other source: one record for each row, with `id`, `kind` and
                               `name`

Pictures embedded in files, and the pieces of the sample, are kept in the catalogue's folder.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from stackroom.api import (
    ExpectedError,
    InputError,
    Record,
    RecordId,
    RowMapping,
    Tag,
)
from stackroom.api.rows import (
    Ledger,
    ReadOptions,
    RowSource,
    SourceRow,
    SqliteRows,
    WholeRows,
    find_path,
    replace_file,
    without_compression,
)
from stackroom_catalogues.music.audio_files import AudioRows
from stackroom_catalogues.music.grouping import COVERS, KINDS, Tagged, group_rows
from stackroom_catalogues.music.synth import file_of, load_pieces, render
from stackroom_catalogues.music.tags import find_picture

GENRE = "genre"  # the category of a tag without one
SAMPLE = Path(__file__).parent / "sample" / "library.jsonl"
LEDGER_FILE = "ledger.sqlite"
DATABASES = (".sqlite", ".sqlite3", ".db")

TEXTS = ("album_id", "album", "about", "added")
PATHS = ("file", "cover")
LISTS = ("aliases", "artist_ids", "artists", "composers")
WHOLE_NUMBERS = ("year", "disc", "position", "plays")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
LIST_PARTS = re.compile(r"\s*[;|]\s*")
GENRE_PARTS = re.compile(r"\s*[;|,]\s*")


class GroupedRows(AudioRows):
    """Audio files whose rows are artists, albums and tracks."""

    def count_rows(self) -> int | None:
        """Return None: artists and albums are only known once all tracks are read."""
        return None

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield unreadable files, then artists, albums and tracks, once every file has been
        read.
        """
        rows = list(super().iter_rows())
        tracks = [Tagged(place=row.place, said=row.values) for row in rows if not row.problem]
        yield from islice([*(row for row in rows if row.problem), *group_rows(tracks)], start, None)


def open_rows(location: str) -> RowSource | None:
    """Return the rows of a music folder, an audio file or Chinook; None for anything else."""
    path = find_path(location)
    if path is None:
        return None
    if path.is_dir() or AudioRows.reads(path):
        return GroupedRows(path)
    return find_rows(path) if without_compression(path).suffix.lower() in DATABASES else None


def records_of(row: Mapping[str, Any]) -> tuple[Record, ...]:
    """Return the one record of a row in this layout; refuse one without id, kind or name."""
    kind = str(row.get("kind") or "").strip().lower()
    if kind not in KINDS:
        raise InputError(f"'kind' is {row.get('kind')!r}; it must be one of {', '.join(KINDS)}")
    record_id, name = _text(row.get("id")), _text(row.get("name"))
    if not record_id or not name:
        raise InputError(f"'{'name' if record_id else 'id'}' is missing; every {kind} needs one")
    fields = {
        "name": name,
        **{field: _text(row.get(field)) for field in TEXTS},
        **{field: _path(row.get(field)) for field in PATHS},
        **{field: _texts(row.get(field)) for field in LISTS},
        **{field: _whole_number(row, field) for field in WHOLE_NUMBERS},
        "genres": _tags(row.get("genres")),
        "seconds": _number(row.get("seconds"), "seconds"),
    }
    present = {field: value for field, value in fields.items() if value not in (None, "", ())}
    return (Record(id=RecordId(record_id), kind=kind, fields=present),)


MAPPING = RowMapping(records_of=records_of)


def name_file(record: Record, which: str, find: Callable[[str], Record | None]) -> str | None:
    """Return the name of a record's audio or cover; a track may have the cover of its album."""
    album_id = record.get("album_id")
    if which == "cover" and album_id and not record.get("cover"):
        album = find(str(album_id))
        return str(album.get("cover") or "") if album else None
    return str(record.get("file" if which == "audio" else "cover") or "")


def keep_files(location: str, folder: Path) -> None:
    """Write media files into the catalogue's folder: the sample's pieces, and pictures embedded in
    files.
    """
    if Path(location) == SAMPLE.resolve():
        for piece in load_pieces():
            target = folder / file_of(piece.track_id)
            if not target.is_file():
                _write(target, render(piece))
    _keep_covers(folder)


def _keep_covers(folder: Path) -> None:
    """Extract missing pictures, and remove those that no file has any more."""
    wanted = _pictures(folder / LEDGER_FILE)
    kept = folder / COVERS
    there = {one.name for one in kept.iterdir()} if kept.is_dir() else set()
    for name in wanted.keys() - there:
        for path in wanted[name]:
            with suppress(ExpectedError):
                picture = find_picture(path)
                if picture and picture.name == name:
                    _write(kept / name, picture.content)
                    break
    for name in there - wanted.keys():
        (kept / name).unlink(missing_ok=True)


def _pictures(ledger_file: Path) -> dict[str, list[Path]]:
    """Return the names of embedded pictures, each with the files that have it."""
    if not ledger_file.is_file():
        return {}
    with closing(Ledger(ledger_file)) as ledger:
        readings = ledger.list_readings()
    found: dict[str, list[Path]] = {}
    for source, place, content in readings:
        root = Path(source)
        # a source other than files caches no content
        name = orjson.loads(content).get("picture") if content else None
        if name:
            found.setdefault(str(name), []).append(
                root.parent / place if root.is_file() else root / place
            )
    return found


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)


def _text(value: Any) -> str:
    """Return a value on one line, without control characters."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(CONTROL.sub(" ", str(value)).split())


def _path(value: Any) -> str:
    """Return a path unchanged: names may have blanks around and between words."""
    return value if isinstance(value, str) else ""


def _listed(value: Any, parts: re.Pattern[str]) -> list[Any]:
    """Return the items of a list in any notation: a list, JSON, or separated text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            value = value.strip().strip("[]")
    if isinstance(value, str):
        return parts.split(value.strip())
    return list(value) if isinstance(value, list | tuple) else []


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for one in _listed(value, LIST_PARTS) if (text := _text(one))))


def _tags(value: Any) -> tuple[Tag, ...]:
    tags = []
    for one in _listed(value, GENRE_PARTS):
        is_object = isinstance(one, Mapping)
        category = _text(one.get("category")) if is_object else ""
        named = _text(one.get("value") or one.get("name")) if is_object else _text(one)
        tags.append(Tag(category or GENRE, named))
    return tuple(dict.fromkeys(tag for tag in tags if tag.value))


def _number(value: Any, field: str) -> float | None:
    text = _text(value)
    try:
        return float(text) if text else None
    except ValueError as error:
        raise InputError(f"'{field}' is {text[:60]!r}, not a number such as 245 or 61.5") from error


def _whole_number(row: Mapping[str, Any], field: str) -> int | None:
    """Return a whole number; None for the year 0, which tables use for unknown."""
    number = _number(row.get(field), field)
    if number is None or (field == "year" and not number):
        return None
    if not number.is_integer():
        raise InputError(
            f"'{field}' is {_text(row.get(field))[:60]!r}, not a whole number such as 3"
        )
    return int(number)


TABLES = frozenset({"Artist", "Album", "Track", "Genre"})
TABLES_QUERY = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
QUERIES = Path(__file__).parent / "chinook.sql"
"""The statements that make rows of Chinook: of artists, then of albums, then of tracks."""


def find_rows(path: Path) -> WholeRows | None:
    """Return the rows of a file with the tables of Chinook; None for other files."""

    def read(*queries: str) -> list[SourceRow]:
        return [
            row
            for query in queries
            for row in SqliteRows(path, ReadOptions(query=query)).iter_rows()
        ]

    if not {row.values.get("name") for row in read(TABLES_QUERY)} >= TABLES:
        return None
    return WholeRows(path, lambda: read(*QUERIES.read_text(encoding="utf-8").split(";")[:-1]))
