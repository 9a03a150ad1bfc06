"""Records as OpenSubsonic has them. What a record does not have is left out."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any

from stackroom.api.http import MediaFile
from stackroom_catalogues.music.grouping import ALBUM, ARTIST, TRACK
from stackroom_catalogues.music.player.endpoints import LyricsLine
from stackroom_catalogues.music.player.listening import ListedPage, ListedRecord, sorted_as

# the day of an album that does not say when it came, since clients insist on one
UNKNOWN_DAY = "1970-01-01"

Form = dict[str, Any]


class Forms:
    """Forms of records for one caller, with what they like."""

    def __init__(self, list_likes: Callable[[], Mapping[str, datetime]]) -> None:
        self._list_likes = list_likes

    @cached_property
    def _starred(self) -> Mapping[str, datetime]:
        return self._list_likes()

    def all_of(self, page: ListedPage | None) -> list[Form]:
        """Return the records of a page."""
        return [self.of(record) for record in page.items] if page else []

    def of(self, record: ListedRecord) -> Form:
        """Return a record in the form of its kind."""
        form = {ARTIST: _artist, ALBUM: _album, TRACK: _song}[record.kind](record)
        starred = self._starred.get(record.id)
        form |= {"id": record.id, "starred": _moment(starred) if starred else None}
        return {name: value for name, value in form.items() if value not in (None, [])}

    def index(self, artists: Sequence[ListedRecord]) -> list[Form]:
        """Return artists by the first letter of their names; they come in the order of these."""
        groups = groupby(artists, key=lambda artist: _letter(artist.name))
        return [
            {"name": letter, "artist": [self.of(artist) for artist in some]}
            for letter, some in groups
        ]


def _artist(artist: ListedRecord) -> Form:
    return {"name": artist.name, "albumCount": artist.count or 0, "coverArt": _cover(artist)}


def _album(album: ListedRecord) -> Form:
    """Return an album, with what makes it a folder to older clients."""
    return {
        **_shared(album),
        "isDir": True,
        "name": album.name,
        "album": album.name,
        "parent": next((artist.id for artist in album.artists), None),
        "songCount": album.count or 0,
        "duration": round(album.seconds or 0),
        "created": f"{album.added or UNKNOWN_DAY}T00:00:00Z",
    }


def _song(song: ListedRecord) -> Form:
    album = (
        {"parent": song.album.id, "album": song.album.name, "albumId": song.album.id}
        if song.album
        else {}
    )
    return {
        **_shared(song),
        **album,
        "isDir": False,
        "isVideo": False,
        "type": "music",
        "mediaType": "song",
        "track": song.position,
        "discNumber": song.disc,
        "duration": None if song.seconds is None else round(song.seconds),
        "suffix": song.suffix,
        "contentType": MediaFile.type_of(f"song.{song.suffix}"),
        "created": f"{song.added}T00:00:00Z" if song.added else None,
    }


def playlist_form(playlist: Any, owner: str, lengths: Mapping[str, float]) -> Form:
    """Return a playlist without its songs, of which those count whose lengths are given; clients
    want both times.
    """
    changed = _moment(playlist.updated_at)
    songs = [lengths[track] for track in playlist.tracks if track in lengths]
    return {
        "id": playlist.id,
        "name": playlist.name,
        "owner": owner,
        "public": False,
        "songCount": len(songs),
        "duration": round(sum(songs)),
        "created": changed,
        "changed": changed,
    }


def lyrics_form(lines: Sequence[LyricsLine], song: ListedRecord) -> Form:
    """Return the lyrics of a song."""
    timed = [
        {"start": round(1000 * line.start_s), "value": line.text}
        for line in lines
        if line.start_s is not None
    ]
    plain = [{"value": line.text} for line in lines]
    names = {
        "displayArtist": ", ".join(artist.name for artist in song.artists),
        "displayTitle": song.name,
    }
    return {**names, "lang": "xxx", "synced": bool(timed), "line": timed or plain}


def _shared(record: ListedRecord) -> Form:
    """Return what albums and songs have alike."""
    names = ", ".join(artist.name for artist in record.artists) or None
    return {
        "title": record.name,
        "sortName": sorted_as(record.name),
        "artist": names,
        "displayArtist": names,
        "artistId": next((artist.id for artist in record.artists), None),
        "artists": [{"id": artist.id, "name": artist.name} for artist in record.artists],
        "year": record.year,
        "genre": next(iter(record.genres), None),
        "genres": [{"name": genre} for genre in record.genres],
        "coverArt": _cover(record),
        "playCount": record.plays,
    }


def _cover(record: ListedRecord) -> str | None:
    """Return the id of a record's cover: a song has its album's, so that it is fetched once."""
    if record.image is None:
        return None
    return record.album.id if record.album else record.id


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _letter(name: str) -> str:
    first = sorted_as(name)[:1].upper()
    return first if first.isalpha() else "#"
