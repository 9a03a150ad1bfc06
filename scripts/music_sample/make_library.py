"""Write the music sample, `library.jsonl`, from the two lists beside this file, `artists.txt` and
`albums.txt`.

The lists hold each fact once. What follows from them is derived here: ids, positions, an album's
length, the names of artists and albums on tracks, the tags a track has from its album, and the file
of those that can be played.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stackroom_catalogues.music.synth import file_of, load_pieces, seconds_of

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent.parent / "src" / "stackroom_catalogues" / "music" / "sample" / "library.jsonl"

PLAYED = {piece.track_id: round(seconds_of(piece), 1) for piece in load_pieces()}

Tag = tuple[str, str]
Row = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Artist:
    """A line of `artists.txt`."""

    slug: str
    name: str
    aliases: list[str]
    tags: list[Tag]
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """A track line of `albums.txt`. Its year is None where it is the album's."""

    name: str
    seconds: int
    aliases: list[str]
    tags: list[Tag]
    year: int | None


@dataclass(slots=True, kw_only=True)
class Album:
    """A block of `albums.txt`."""

    slug: str
    name: str
    artists: list[str]
    year: int | None
    tags: list[Tag]
    aliases: list[str] = field(default_factory=list)
    about: str = ""
    tracks: list[Track] = field(default_factory=list)


def iter_lines(path: Path) -> Iterator[str]:
    """Yield the lines that say something."""
    for line in path.read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


def read_list(text: str, separator: str) -> list[str]:
    """Return the parts between the separators, without the empty ones."""
    return [part.strip() for part in text.split(separator) if part.strip()]


def read_tag(text: str) -> Tag:
    """Return a tag; one without a category is a form."""
    category, colon, value = text.partition(":")
    return (category, value) if colon else ("form", text)


def read_columns(line: str, count: int) -> list[str]:
    """Return a line's columns, with empty ones for those left off at its end."""
    columns = [column.strip() for column in line.split("|")]
    if len(columns) > count:
        raise ValueError(f"{len(columns)} columns, at most {count}: {line}")
    return columns + [""] * (count - len(columns))


def read_seconds(text: str) -> int:
    """Return the seconds of `m:ss`."""
    minutes, seconds = text.split(":")
    return 60 * int(minutes) + int(seconds)


def read_artist(line: str) -> Artist:
    """Return the artist of a line."""
    slug, name, aliases, tags, about = read_columns(line, 5)
    tag_list = [read_tag(tag) for tag in read_list(tags, ",")]
    return Artist(slug=slug, name=name, aliases=read_list(aliases, ";"), tags=tag_list, about=about)


def read_track(line: str) -> Track:
    """Return the track of a line."""
    name, length, aliases, tags, year = read_columns(line, 5)
    return Track(
        name=name,
        seconds=read_seconds(length),
        aliases=read_list(aliases, ";"),
        tags=[read_tag(tag) for tag in read_list(tags, ",")],
        year=int(year) if year else None,
    )


def read_head(line: str) -> Album:
    """Return the album that a line begins."""
    slug, name, artists, year, tags = read_columns(line, 5)
    tag_list = [read_tag(tag) for tag in read_list(tags, ",")]
    written = None if year == "-" else int(year)
    return Album(slug=slug, name=name, artists=read_list(artists, ","), year=written, tags=tag_list)


def read_albums(lines: Iterator[str]) -> list[Album]:
    """Return the albums of `albums.txt`, each with its tracks."""
    albums: list[Album] = []
    for line in lines:
        mark, rest = line[0], line[1:].strip()
        if mark == "@":
            albums.append(read_head(rest))
        elif mark == "=":
            albums[-1].aliases = read_list(rest, ";")
        elif mark == ">":
            albums[-1].about = rest
        else:
            albums[-1].tracks.append(read_track(line))
    return albums


def tag_rows(tags: list[Tag]) -> list[Row]:
    """Return the tags as records have them, in the order of first mention."""
    return [{"category": category, "value": value} for category, value in dict.fromkeys(tags)]


def artist_row(artist: Artist) -> Row:
    """Return the record of an artist."""
    return {
        "id": f"artist-{artist.slug}",
        "kind": "artist",
        "name": artist.name,
        "aliases": artist.aliases,
        "genres": tag_rows(artist.tags),
        "about": artist.about,
    }


def year_entry(year: int | None) -> Row:
    """Return the year, or nothing where none is known."""
    return {} if year is None else {"year": year}


def album_row(album: Album, names: dict[str, str]) -> Row:
    """Return the record of an album."""
    return {
        "id": f"album-{album.slug}",
        "kind": "album",
        "name": album.name,
        "aliases": album.aliases,
        "artist_ids": [f"artist-{slug}" for slug in album.artists],
        "artists": [names[slug] for slug in album.artists],
        "genres": tag_rows(album.tags),
        **year_entry(album.year),
        "seconds": round(
            sum(length_of(album, position) for position in range(1, len(album.tracks) + 1)), 1
        ),
        "about": album.about,
    }


def id_of(album: Album, position: int) -> str:
    """Return the id of a track."""
    return f"track-{album.slug}-{position:02d}"


def length_of(album: Album, position: int) -> float:
    """Return the seconds of a track: those of its file where it can be played, else those of the
    whole work.
    """
    return PLAYED.get(id_of(album, position), album.tracks[position - 1].seconds)


def track_row(album: Album, position: int, names: dict[str, str]) -> Row:
    """Return the record of a track."""
    track = album.tracks[position - 1]
    track_id = id_of(album, position)
    return {
        "id": track_id,
        "kind": "track",
        "name": track.name,
        "aliases": track.aliases,
        "artist_ids": [f"artist-{slug}" for slug in album.artists],
        "artists": [names[slug] for slug in album.artists],
        "album_id": f"album-{album.slug}",
        "album": album.name,
        "genres": tag_rows(album.tags + track.tags),
        **year_entry(track.year or album.year),
        "position": position,
        "seconds": length_of(album, position),
        **({"file": file_of(track_id)} if track_id in PLAYED else {}),
    }


def iter_rows(artists: list[Artist], albums: list[Album]) -> Iterator[Row]:
    """Yield the records: the artists, then each album before its tracks."""
    names = {artist.slug: artist.name for artist in artists}
    for artist in artists:
        yield artist_row(artist)
    for album in albums:
        yield album_row(album, names)
        for position in range(1, len(album.tracks) + 1):
            yield track_row(album, position, names)


def build_text() -> str:
    """Return the library, a record a line."""
    artists = [read_artist(line) for line in iter_lines(HERE / "artists.txt")]
    albums = read_albums(iter_lines(HERE / "albums.txt"))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in iter_rows(artists, albums))


if __name__ == "__main__":
    TARGET.write_text(build_text(), "utf-8")
