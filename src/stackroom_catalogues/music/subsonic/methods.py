"""The methods of the OpenSubsonic API, each a form of what the player's lists, likes, playlists and
plays give.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from stackroom import api
from stackroom.api import http
from stackroom.api.shapes import optional
from stackroom_catalogues.music.player import endpoints as player
from stackroom_catalogues.music.player.listening import (
    ListedRecord,
    ListenParams,
    ListenResult,
    find_placed,
    music_catalogues,
    open_libraries,
)
from stackroom_catalogues.music.shapes import Listed
from stackroom_catalogues.music.subsonic.forms import (
    PROTOCOL,
    Form,
    letter_of,
    lyrics_form,
    playlist_form,
    record_form,
    render,
)

EVERYTHING = 1_000_000
MOST = 500
MOST_BODY = 64 * 1024
EXTENSIONS = ("apiKeyAuthentication", "formPost", "songLyrics")
SORTS = {
    "random": "random",
    "newest": "new",
    "alphabeticalByName": "name",
    "alphabeticalByArtist": "artist",
}
OWN_LISTS = {"frequent": "plays", "recent": "heard", "starred": "likes", "highest": "likes"}
ALLOWED = ("streamRole", "downloadRole", "playlistRole", "scrobblingEnabled")
REFUSED = (
    "adminRole",
    "settingsRole",
    "uploadRole",
    "coverArtRole",
    "commentRole",
    "podcastRole",
    "jukeboxRole",
    "shareRole",
    "videoConversionRole",
)
FIND_METHOD = re.compile(r"(?P<name>\D+)(?P<number>\d?)")


class Params(api.GenericParams):
    """The form of the answer, and the catalogue that is meant."""

    model_config = ConfigDict(alias_generator=to_camel)

    f: Literal["xml", "json"] = Field(default="xml", description="the form of the answer")
    music_folder_id: http.WholeNumber | None = optional("only this catalogue")
    username: str = Field(default="", description="of getUser: the caller")


class IdParams(Params):
    """A record or playlist, and how many are wanted that are like it."""

    id: str = Field(description="the id of a record or playlist")
    count: http.WholeNumber = Field(default=50, ge=1, le=MOST)


class ListParams(Params):
    """A list of albums, or songs of a genre or by chance."""

    type: str = ""
    genre: str = ""
    from_year: http.WholeNumber | None = None
    to_year: http.WholeNumber | None = None
    size: http.WholeNumber = Field(default=10, ge=1, le=MOST)
    count: http.WholeNumber = Field(default=10, ge=1, le=MOST)
    offset: http.WholeNumber = 0


class SearchParams(Params):
    """Words to search for, of which none list everything; or an artist by name."""

    query: str = ""
    artist: str = ""
    count: http.WholeNumber = Field(default=50, ge=1, le=MOST)
    artist_count: http.WholeNumber = Field(default=20, le=MOST)
    artist_offset: http.WholeNumber = 0
    album_count: http.WholeNumber = Field(default=20, le=MOST)
    album_offset: http.WholeNumber = 0
    song_count: http.WholeNumber = Field(default=20, le=MOST)
    song_offset: http.WholeNumber = 0


class KeptParams(Params):
    """Records to like or to count as played, and changes of a playlist."""

    id: Listed = Field(default_factory=list)
    album_id: Listed = Field(default_factory=list)
    artist_id: Listed = Field(default_factory=list)
    submission: bool = True
    playlist_id: str = ""
    name: str = ""
    song_id: Listed = Field(default_factory=list)
    song_id_to_add: Listed = Field(default_factory=list)
    song_index_to_remove: Listed = Field(default_factory=list)


def _required(name: str, value: Any) -> Any:
    if not value:
        raise api.InputError(f"'{name}' is missing: this method needs it")
    return value


class SubsonicCall:
    """One call of a method; each returns the content of its answer."""

    def __init__(self, call: api.Call, params: Any) -> None:
        self._call = call
        self._query = params
        self._user = call.principal.name

    @property
    def _store(self) -> Any:
        return player.open_store(self._call)

    @cached_property
    def _starred(self) -> dict[str, datetime]:
        return {like.id: like.liked_at for like in self._store.list_likes(self._user)[0]}

    def _forms(self, records: Iterable[ListedRecord]) -> list[Form]:
        return [record_form(record, self._starred) for record in records]

    def _ask(self, name: str, **parameters: Any) -> ListenResult:
        """Return the lists of the player for these parameters; without a limit, everything."""
        folder, folders = self._query.music_folder_id, self._folders
        if folder is not None and not 1 <= folder <= len(folders):
            raise api.InputError(f"'musicFolderId': no {folder}; getMusicFolders lists them")
        chosen = {"catalogue": folders[folder - 1]} if folder else {}
        given = {"list": name, "limit": EVERYTHING, "counts": True, **chosen, **parameters}
        return player.list_music.run(self._call, ListenParams.model_construct(**given))

    @property
    def _folders(self) -> list[str]:
        return [one.name for one in music_catalogues(self._call.catalogues)]

    def _listed(self, group: str, name: str = "", **parameters: Any) -> list[ListedRecord]:
        """Return the records of a group in a list of the player, by default that of the group."""
        page = getattr(self._ask(name or group, **parameters), group)
        return page.items if page else []

    def _record(self, kind: str, within: str = "", part: str = "") -> Form:
        """Return the record of a kind that is meant, with what is in it as its part."""
        found = self._ask(kind, id=self._query.id)
        assert found.item is not None, "a list of one record has it"
        (form,) = self._forms([found.item])
        return {kind: form | {part: self._forms(getattr(found, within).items)} if part else form}

    def ping(self) -> Form:
        """Answer, so that clients know that they are logged in."""
        return {}

    def get_license(self) -> Form:
        """Tell that nothing has to be paid."""
        return {"license": {"valid": True}}

    def get_open_subsonic_extensions(self) -> Form:
        """List the extensions that are supported."""
        return {"openSubsonicExtensions": [{"name": name, "versions": [1]} for name in EXTENSIONS]}

    def get_user(self) -> Form:
        """Tell what the caller may do here."""
        if self._query.username not in ("", self._user):
            raise api.ForbiddenError(
                "only your own user is told here; an administrator lists users in the page"
            )
        roles = dict.fromkeys(ALLOWED, True) | dict.fromkeys(REFUSED, False)
        folders = [number for number, _ in enumerate(self._folders, start=1)]
        return {"user": {"username": self._user, **roles, "folder": folders}}

    def get_scan_status(self) -> Form:
        """Tell how many songs there are; nothing is scanned for players."""
        found = self._ask("tracks", limit=1).tracks
        return {"scanStatus": {"scanning": False, "count": found.total if found else 0}}

    def get_now_playing(self) -> Form:
        """Return nothing: who hears what at the moment is not kept."""
        return {"nowPlaying": {"entry": []}}

    def get_music_folders(self) -> Form:
        """List the catalogues of music."""
        numbered = enumerate(self._folders, start=1)
        folders = [{"id": number, "name": name} for number, name in numbered]
        return {"musicFolders": {"musicFolder": folders}}

    def get_artists(self) -> Form:
        """List all artists by letter."""
        index = [
            {"name": letter, "artist": self._forms(some)}
            for letter, some in groupby(self._listed("artists"), key=letter_of)
        ]
        return {"artists": {"ignoredArticles": "The", "index": index}}

    def get_indexes(self) -> Form:
        """List all artists by letter, as folders."""
        return {"indexes": {**self.get_artists()["artists"], "lastModified": 0}}

    def get_artist(self) -> Form:
        """Return an artist with their albums."""
        return self._record("artist", "albums", "album")

    def get_album(self) -> Form:
        """Return an album with its songs."""
        return self._record("album", "tracks", "song")

    def get_song(self) -> Form:
        """Return a song."""
        return {"song": self._record("track")["track"]}

    def get_album_list(self) -> Form:
        """List albums, in one of the orders that clients know."""
        query: ListParams = self._query
        wanted: dict[str, Any] = {"offset": query.offset, "limit": query.size}
        if query.type in OWN_LISTS:
            wanted["name"] = OWN_LISTS[query.type]
        elif query.type == "byGenre":
            wanted["genre"] = _required("genre", query.genre)
        elif query.type == "byYear":
            first, last = _required("fromYear", query.from_year), _required("toYear", query.to_year)
            wanted |= {"from_year": min(first, last), "to_year": max(first, last)}
            wanted["sort"] = "year" if first <= last else "-year"
        elif _required("type", query.type) in SORTS:
            wanted["sort"] = SORTS[query.type]
        else:
            raise api.InputError(f"'type': there is no list '{query.type[:40]}'")
        return {"albumList": {"album": self._forms(self._listed("albums", **wanted))}}

    def get_genres(self) -> Form:
        """List the genres."""
        found = self._ask("genres").genres or []
        listed = [
            {"value": one.name, "songCount": one.tracks, "albumCount": one.albums} for one in found
        ]
        return {"genres": {"genre": listed}}

    def get_songs_by_genre(self) -> Form:
        """List the songs of a genre."""
        query: ListParams = self._query
        wanted = {"sort": "name", "offset": query.offset, "limit": query.count}
        songs = self._songs("tracks", genre=_required("genre", query.genre), **wanted)
        return {"songsByGenre": {"song": songs}}

    def get_random_songs(self) -> Form:
        """Return songs by chance."""
        narrowed = self._query.model_dump(include={"genre", "from_year", "to_year"})
        wanted = {"sort": "random", "playable": True, "limit": self._query.size, **narrowed}
        songs = self._songs("tracks", **wanted)
        return {"randomSongs": {"song": songs}}

    def get_similar_songs(self) -> Form:
        """Return songs that are like a song, an album, or the songs of an artist."""
        songs = self._songs("radio", id=self._query.id, playable=True, limit=self._query.count)
        return {"similarSongs": {"song": songs}}

    def get_top_songs(self) -> Form:
        """Return the most played songs of an artist."""
        name, ready = _required("artist", self._query.artist), {"playable": True}
        found = self._listed("artists", q=name, limit=MOST)
        for artist in found:
            if api.fold_name(artist.name) == api.fold_name(name):
                songs = self._songs("artist", id=artist.id, limit=self._query.count, **ready)
                return {"topSongs": {"song": songs}}
        return {"topSongs": {"song": []}}

    def _songs(self, name: str, **parameters: Any) -> list[Form]:
        return self._forms(self._listed("tracks", name, **parameters))

    def search(self) -> Form:
        """Search artists, albums and songs; without words, everything is listed."""
        query: SearchParams = self._query
        words = query.query.strip().strip('"')
        found = {}
        for name, group in (("artist", "artists"), ("album", "albums"), ("song", "tracks")):
            offset, limit = getattr(query, f"{name}_offset"), getattr(query, f"{name}_count")
            if limit:
                records = self._listed(group, q=words, offset=offset, limit=limit)
                found[name] = self._forms(records)
        return {"searchResult": found}

    def get_starred(self) -> Form:
        """List what the caller likes."""
        kept = self._ask("likes")
        groups = {"artist": kept.artists, "album": kept.albums, "song": kept.tracks}
        starred = {name: self._forms(page.items) for name, page in groups.items() if page}
        return {"starred": starred}

    def star(self) -> Form:
        """Like songs, albums and artists."""
        return self._each_kept(player.like)

    def unstar(self) -> Form:
        """Withdraw likes."""
        return self._each_kept(player.unlike)

    def _each_kept(self, change: api.Operation[player.NamedRecord, None]) -> Form:
        ids = [*self._query.id, *self._query.album_id, *self._query.artist_id]
        for record_id in _required("id", ids):
            change.run(self._call, player.NamedRecord(id=record_id))
        return {}

    def scrobble(self) -> Form:
        """WholeNumber songs as played; that one begins is not kept."""
        ids = _required("id", self._query.id) if self._query.submission else []
        placed = find_placed(open_libraries(self._call), ids)
        for song_id in ids:
            length_s = (placed[song_id].record.get("seconds") if song_id in placed else None) or 1.0
            seconds = min(float(length_s), player.LONGEST_PLAY_S)
            player.note_play.run(self._call, player.PlayParams(track_id=song_id, seconds=seconds))
        return {}

    def get_playlists(self) -> Form:
        """List the caller's playlists."""
        playlists = self._store.list_playlists(self._user)[0]
        tracks = [track for one in playlists for track in one.tracks]
        placed = find_placed(open_libraries(self._call), tracks)
        lengths = {track: float(one.record.get("seconds") or 0) for track, one in placed.items()}
        forms = [playlist_form(one, self._user, lengths) for one in playlists]
        return {"playlists": {"playlist": forms}}

    def get_playlist(self) -> Form:
        """Return a playlist with its songs."""
        return self._playlist(self._store.get_playlist(self._user, self._query.id))

    def _playlist(self, playlist: Any) -> Form:
        songs = self._listed("tracks", "playlist", id=playlist.id)
        form = playlist_form(playlist, self._user, {song.id: song.seconds or 0 for song in songs})
        return {"playlist": {**form, "entry": self._forms(songs)}}

    def create_playlist(self) -> Form:
        """Create a playlist, or replace the songs of one."""
        query: KeptParams = self._query
        if query.playlist_id:
            return self._playlist(self._put(query.playlist_id, query.song_id))
        wanted = player.PlaylistParams(name=_required("name", query.name), tracks=query.song_id)
        return self._playlist(player.create_playlist.run(self._call, wanted))

    def update_playlist(self) -> Form:
        """Rename a playlist, remove songs by their places, and add others at its end."""
        query: KeptParams = self._query
        known = self._store.get_playlist(self._user, _required("playlistId", query.playlist_id))
        removed, places = query.song_index_to_remove, enumerate(known.tracks)
        kept = [track for place, track in places if str(place) not in removed]
        self._put(query.playlist_id, [*kept, *query.song_id_to_add])
        return {}

    def _put(self, playlist_id: str, tracks: list[str]) -> Any:
        name = self._query.name or self._store.get_playlist(self._user, playlist_id).name
        wanted = player.PutPlaylist(id=playlist_id, name=name, tracks=tracks)
        return player.put_playlist.run(self._call, wanted)

    def delete_playlist(self) -> Form:
        """Delete a playlist."""
        player.delete_playlist.run(self._call, player.NamedPlaylist(id=self._query.id))
        return {}

    def get_lyrics_by_song_id(self) -> Form:
        """Return the lyrics of a song, line by line."""
        song = self._ask("track", id=self._query.id).item
        lines = player.find_lyrics(self._call, song.id) if song and song.playable else []
        forms = [lyrics_form(lines, song)] if lines and song else []
        return {"lyricsList": {"structuredLyrics": forms}}


def stream(call: api.Call, params: IdParams) -> http.MediaFile:
    """Return the audio of a song as it is, whole or a range of bytes."""
    return call.media.get_file(params.id, http.MediaKind.AUDIO)


def get_cover_art(call: api.Call, params: IdParams) -> http.MediaFile:
    """Return the cover of an album, or of a song's album."""
    return call.media.get_file(params.id, http.MediaKind.COVER)


READ: dict[type[Params], str] = {
    Params: (
        "ping getLicense getUser getScanStatus getNowPlaying getMusicFolders getIndexes getArtists"
        " getGenres getStarred getStarred2 getPlaylists"
    ),
    IdParams: (
        "getArtist getAlbum getSong getSimilarSongs getSimilarSongs2 getPlaylist getLyricsBySongId"
    ),
    ListParams: "getAlbumList getAlbumList2 getSongsByGenre getRandomSongs",
    SearchParams: "search2 search3 getTopSongs",
}
WRITE: dict[type[Params], str] = {
    KeptParams: "star unstar scrobble createPlaylist updatePlaylist",
    IdParams: "deletePlaylist",
}
FILES = {"stream": stream, "download": stream, "getCoverArt": get_cover_art}


def _method(name: str, params: type[Params], **declared: Any) -> api.Operation[Any, Any]:
    """Return the declaration of a method; one with a number answers as that without it, under a
    name that has it.
    """
    found = FIND_METHOD.fullmatch(name)
    assert found is not None, name
    work = getattr(SubsonicCall, re.sub(r"([A-Z])", r"_\1", found["name"]).lower())

    def run(call: api.Call, asked: Params) -> http.TextReply:
        content = work(SubsonicCall(call, asked))
        return render({f"{key}{found['number']}": value for key, value in content.items()}, asked.f)

    run.__doc__ = work.__doc__
    method: api.Operation[Any, Any] = _endpoint(
        name, params=params, result_refusals=(429, 503), **declared
    )(run)
    return method


def _endpoint(name: str, **declared: Any) -> Any:
    return http.endpoint(
        f"GET /rest/{name}",
        tag="subsonic",
        name=name,
        operation_id=f"subsonic{name[0].upper()}{name[1:]}",
        media_type="*/*",
        max_body_bytes=MOST_BODY,
        protocol=PROTOCOL,
        **declared,
    )


ENDPOINTS = (
    _method("getOpenSubsonicExtensions", Params, action=None, is_public=True, is_noted=False),
    *(_method(name, params) for params, names in READ.items() for name in names.split()),
    *(
        _method(name, params, writes=True)
        for params, names in WRITE.items()
        for name in names.split()
    ),
    *(_endpoint(name, action=None, is_limited=False)(run) for name, run in FILES.items()),
    *player.ENDPOINTS,
)
"""The endpoints of all methods, and those of the player that they are made of."""
