"""Rows of the Chinook database, an SQLite file with the tables Artist, Album, Track and Genre.

Artists and albums have the genres of their tracks. Tracks are numbered within their album in the order of their keys.
"""

from functools import partial
from pathlib import Path

from stackroom.api import SourceRow
from stackroom.api.rows import ReadOptions, SqliteRows, WholeRows
from stackroom_catalogues.music.grouping import MOST_GENRES

TABLES = frozenset({"Artist", "Album", "Track", "Genre"})
TABLES_QUERY = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
GENRES = f"""
(
    SELECT json_group_array(Name) FROM (
        SELECT Genre.Name
        FROM Track
        JOIN Genre USING (GenreId)
        JOIN Album AS Own USING (AlbumId)
        WHERE {{condition}}
        GROUP BY Genre.Name
        ORDER BY count(*) DESC, Genre.Name
        LIMIT {MOST_GENRES}
    )
) AS genres
"""
ARTISTS_QUERY = f"""
SELECT
    'artist-' || ArtistId AS id,
    'artist' AS kind,
    Name AS name,
    {GENRES.format(condition="Own.ArtistId = Artist.ArtistId")}
FROM Artist
ORDER BY ArtistId
"""
ALBUMS_QUERY = f"""
SELECT
    'album-' || AlbumId AS id,
    'album' AS kind,
    Title AS name,
    json_array('artist-' || ArtistId) AS artist_ids,
    json_array(Artist.Name) AS artists,
    {GENRES.format(condition="Own.AlbumId = Album.AlbumId")},
    (
        SELECT round(sum(Milliseconds) / 1000.0, 3)
        FROM Track
        WHERE Track.AlbumId = Album.AlbumId
    ) AS seconds
FROM Album
JOIN Artist USING (ArtistId)
ORDER BY AlbumId
"""
TRACKS_QUERY = """
SELECT
    'track-' || TrackId AS id,
    'track' AS kind,
    Track.Name AS name,
    json_array('artist-' || ArtistId) AS artist_ids,
    json_array(Artist.Name) AS artists,
    'album-' || AlbumId AS album_id,
    Album.Title AS album,
    Composer AS composers,
    json_array(Genre.Name) AS genres,
    row_number() OVER (PARTITION BY AlbumId ORDER BY TrackId) AS position,
    Milliseconds / 1000.0 AS seconds
FROM Track
LEFT JOIN Album USING (AlbumId)
LEFT JOIN Artist USING (ArtistId)
LEFT JOIN Genre USING (GenreId)
ORDER BY TrackId
"""


def find_rows(path: Path) -> WholeRows | None:
    """Return the rows of a file with the tables of Chinook; None for other files."""
    tables = {row.values.get("name") for row in SqliteRows(path, ReadOptions(query=TABLES_QUERY)).iter_rows()}
    return WholeRows(path, partial(_read_rows, path)) if tables >= TABLES else None


def _read_rows(path: Path) -> list[SourceRow]:
    """Return artists, then albums, then tracks."""
    queries = (ARTISTS_QUERY, ALBUMS_QUERY, TRACKS_QUERY)
    return [row for query in queries for row in SqliteRows(path, ReadOptions(query=query)).iter_rows()]
