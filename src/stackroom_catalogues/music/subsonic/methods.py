"""The methods of the OpenSubsonic API, each a form of what the player's lists, likes, playlists and
plays give.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from stackroom import api
from stackroom.api import http
from stackroom_catalogues.music.player import endpoints as player
from stackroom_catalogues.music.player.listening import (
    ListenParams,
    ListenResult,
    find_placed,
    music_catalogues,
    open_libraries,
)
from stackroom_catalogues.music.shapes import Listed
from stackroom_catalogues.music.subsonic.forms import Form, Forms, lyrics_form, playlist_form
from stackroom_catalogues.music.subsonic.protocol import PROTOCOL, render

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
)
FIND_METHOD = re.compile(r"(?P<name>\D+)(?P<number>\d?)")


class Params(api.GenericParams):
    """The form of the answer, and the catalogue that is meant."""

    model_config = ConfigDict(alias_generator=to_camel)

    f: Literal["xml", "json"] = Field(default="xml", description="the form of the answer")
    music_folder_id: http.WholeNumber | None = Field(
        default=None, description="only this catalogue"
    )
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
        self._forms = Forms(
            lambda: {like.id: like.liked_at for like in self._store.list_likes(self._user)[0]}
        )

    @property
    def _store(self) -> Any:
        return player.open_store(self._call)

    def _ask(self, name: str, **parameters: Any) -> ListenResult:
        """Return the lists of the player for these parameters; without a limit, everything."""
        names, folder = (
            [one.name for one in music_catalogues(self._call.catalogues)],
            self._query.music_folder_id,
        )
        if folder is not None and not 1 <= folder <= len(names):
            raise api.InputError(f"'musicFolderId': no {folder}; getMusicFolders lists them")
        chosen = {"catalogue": names[folder - 1]} if folder else {}
        given = {"list": name, "limit": EVERYTHING, "counts": True, **chosen, **parameters}
        return player.list_music.run(self._call, ListenParams.model_construct(**given))

    def _record(self, kind: str) -> tuple[ListenResult, Form]:
        """Return the lists of the record of a kind that is meant, and its form."""
        found = self._ask(kind, id=self._query.id)
        assert found.item is not None, "a list of one record has it"
        return found, self._forms.of(found.item)

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
        folders = list(range(1, len(music_catalogues(self._call.catalogues)) + 1))
        roles = {
            **dict.fromkeys(ALLOWED, True),
            **dict.fromkeys((*REFUSED, "shareRole", "videoConversionRole"), False),
        }
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
        named = enumerate(music_catalogues(self._call.catalogues), start=1)
        return {
            "musicFolders": {
                "musicFolder": [{"id": number, "name": one.name} for number, one in named]
            }
        }

    def get_artists(self) -> Form:
        """List all artists by letter."""
        found = self._ask("artists").artists
        index = self._forms.index(found.items if found else [])
        return {"artists": {"ignoredArticles": "The", "index": index}}

    def get_indexes(self) -> Form:
        """List all artists by letter, as folders."""
        return {"indexes": {**self.get_artists()["artists"], "lastModified": 0}}

    def get_artist(self) -> Form:
        """Return an artist with their albums."""
        found, artist = self._record("artist")
        return {"artist": {**artist, "album": self._forms.all_of(found.albums)}}

    def get_album(self) -> Form:
        """Return an album with its songs."""
        found, album = self._record("album")
        return {"album": {**album, "song": self._forms.all_of(found.tracks)}}

    def get_song(self) -> Form:
        """Return a song."""
        return {"song": self._record("track")[1]}

    def get_album_list(self) -> Form:
        """List albums, in one of the orders that clients know."""
        query: ListParams = self._query
        part = {"offset": query.offset, "limit": query.size}
        if query.type in OWN_LISTS:
            found = self._ask(OWN_LISTS[query.type], **part)
        elif query.type == "byGenre":
            found = self._ask("albums", genre=_required("genre", query.genre), **part)
        elif query.type == "byYear":
            first, last = _required("fromYear", query.from_year), _required("toYear", query.to_year)
            span = {"from_year": min(first, last), "to_year": max(first, last)}
            found = self._ask("albums", sort="year" if first <= last else "-year", **span, **part)
        elif query.type in SORTS:
            found = self._ask("albums", sort=SORTS[query.type], **part)
        else:
            _required("type", query.type)
            raise api.InputError(f"'type': there is no list '{query.type[:40]}'")
        return {"albumList": {"album": self._forms.all_of(found.albums)}}

    def get_genres(self) -> Form:
        """List the genres."""
        found = self._ask("genres").genres or []
        listed = [
            {"value": one.name, "songCount": one.tracks, "albumCount": one.albums} for one in found
        ]
        return {"genres": {"genre": listed}}

    def get_songs_by_genre(self) -> Form:
        """List the songs of a genre."""
        genre, part = (
            _required("genre", self._query.genre),
            {"offset": self._query.offset, "limit": self._query.count},
        )
        return {"songsByGenre": {"song": self._songs("tracks", genre=genre, sort="name", **part)}}

    def get_random_songs(self) -> Form:
        """Return songs like those that the caller likes and plays, and others by chance."""
        narrowed = self._query.model_dump(include={"genre", "from_year", "to_year"})
        return {
            "randomSongs": {
                "song": self._songs("radio", playable=True, limit=self._query.size, **narrowed)
            }
        }

    def get_similar_songs(self) -> Form:
        """Return songs that are like a song, an album, or the songs of an artist."""
        songs = self._songs("radio", id=self._query.id, playable=True, limit=self._query.count)
        return {"similarSongs": {"song": songs}}

    def get_top_songs(self) -> Form:
        """Return the most played songs of an artist."""
        name = _required("artist", self._query.artist)
        page = self._ask("artists", q=name, limit=MOST).artists
        named = (
            (one for one in page.items if api.fold_name(one.name) == api.fold_name(name))
            if page
            else iter(())
        )
        artist = next(named, None)
        top = (
            self._songs("artist", id=artist.id, playable=True, limit=self._query.count)
            if artist
            else []
        )
        return {"topSongs": {"song": top}}

    def _songs(self, name: str, **parameters: Any) -> list[Form]:
        return self._forms.all_of(self._ask(name, **parameters).tracks)

    def search(self) -> Form:
        """Search artists, albums and songs; without words, everything is listed."""
        query: SearchParams = self._query
        words = query.query.strip().strip('"')
        found = {}
        for name, group in (("artist", "artists"), ("album", "albums"), ("song", "tracks")):
            offset, limit = getattr(query, f"{name}_offset"), getattr(query, f"{name}_count")
            if limit:
                found[name] = self._forms.all_of(
                    getattr(self._ask(group, q=words, offset=offset, limit=limit), group)
                )
        return {"searchResult": found}

    def get_starred(self) -> Form:
        """List what the caller likes."""
        kept, of = self._ask("likes"), self._forms.all_of
        return {
            "starred": {
                "artist": of(kept.artists),
                "album": of(kept.albums),
                "song": of(kept.tracks),
            }
        }

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
        placed = find_placed(
            open_libraries(self._call), [track for one in playlists for track in one.tracks]
        )
        lengths = {track: float(one.record.get("seconds") or 0) for track, one in placed.items()}
        return {
            "playlists": {
                "playlist": [playlist_form(one, self._user, lengths) for one in playlists]
            }
        }

    def get_playlist(self) -> Form:
        """Return a playlist with its songs."""
        return self._playlist(self._store.get_playlist(self._user, self._query.id))

    def _playlist(self, playlist: Any) -> Form:
        found = self._ask("playlist", id=playlist.id).tracks
        songs = found.items if found else []
        form = playlist_form(playlist, self._user, {song.id: song.seconds or 0 for song in songs})
        return {"playlist": {**form, "entry": [self._forms.of(song) for song in songs]}}

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
        tracks = self._store.get_playlist(
            self._user, _required("playlistId", query.playlist_id)
        ).tracks
        kept = [
            track
            for place, track in enumerate(tracks)
            if str(place) not in query.song_index_to_remove
        ]
        self._put(query.playlist_id, [*kept, *query.song_id_to_add])
        return {}

    def _put(self, playlist_id: str, tracks: Sequence[str]) -> Any:
        name = self._query.name or self._store.get_playlist(self._user, playlist_id).name
        wanted = player.PutPlaylist(id=playlist_id, name=name, tracks=list(tracks))
        return player.put_playlist.run(self._call, wanted)

    def delete_playlist(self) -> Form:
        """Delete a playlist."""
        player.delete_playlist.run(self._call, player.NamedPlaylist(id=self._query.id))
        return {}

    def get_lyrics_by_song_id(self) -> Form:
        """Return the lyrics of a song, line by line."""
        song = self._ask("track", id=self._query.id).item
        lines = player.find_lyrics(self._call, song.id) if song and song.playable else []
        return {
            "lyricsList": {"structuredLyrics": [lyrics_form(lines, song)] if lines and song else []}
        }


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
