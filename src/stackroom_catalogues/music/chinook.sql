/* The artists, albums and tracks of the Chinook database, as rows of this catalogue's layout. */

SELECT
    'artist-' || ArtistId AS id,
    'artist' AS kind,
    Name AS name,
    (
        SELECT json_group_array(Name) FROM (
            SELECT Genre.Name
            FROM Track
            JOIN Genre USING (GenreId)
            JOIN Album AS Own USING (AlbumId)
            WHERE Own.ArtistId = Artist.ArtistId
            GROUP BY Genre.Name
            ORDER BY count(*) DESC, Genre.Name
            LIMIT 6
        )
    ) AS genres
FROM Artist
ORDER BY ArtistId;

SELECT
    'album-' || AlbumId AS id,
    'album' AS kind,
    Title AS name,
    json_array('artist-' || ArtistId) AS artist_ids,
    json_array(Artist.Name) AS artists,
    (
        SELECT json_group_array(Name) FROM (
            SELECT Genre.Name
            FROM Track
            JOIN Genre USING (GenreId)
            JOIN Album AS Own USING (AlbumId)
            WHERE Own.AlbumId = Album.AlbumId
            GROUP BY Genre.Name
            ORDER BY count(*) DESC, Genre.Name
            LIMIT 6
        )
    ) AS genres,
    (
        SELECT round(sum(Milliseconds) / 1000.0, 3)
        FROM Track
        WHERE Track.AlbumId = Album.AlbumId
    ) AS seconds
FROM Album
JOIN Artist USING (ArtistId)
ORDER BY AlbumId;

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
ORDER BY TrackId;
