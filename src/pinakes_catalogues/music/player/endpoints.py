"""HTTP endpoints of music: tracks and covers as files, likes, playlists and plays."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from pinakes.api import (
    Action,
    BodyParams,
    CallerMedia,
    Cost,
    Endpoint,
    EndpointRequest,
    EndpointResult,
    ForbiddenError,
    InputError,
    MediaFile,
    MediaKind,
    OwnStorage,
    PageParams,
    RecordLocation,
    UnknownResourceError,
    WholeNumber,
)
from pinakes_catalogues.music.library import MusicLibrary
from pinakes_catalogues.music.player.items import Playlist
from pinakes_catalogues.music.player.listed import ListenParams, ListenResult
from pinakes_catalogues.music.player.listening import Listening, NameOrders
from pinakes_catalogues.music.player.opened import open_player
from pinakes_catalogues.music.player.own import ROUNDING_S
from pinakes_catalogues.music.player.rules import read_rule
from pinakes_catalogues.music.player.store import (
    LONGEST_NAME,
    MOST_LIKES,
    MOST_PLAYLISTS,
    MOST_TRACKS,
    Player,
)

TRACK = "track"
SMALL_BODY = 16 * 1024

RecordName = Annotated[str, StringConstraints(min_length=1, max_length=500)]


RULE = Field(
    default=None,
    description="in place of tracks: a search, {query, filters, exclude}, whose tracks it has at any time",
)


class PlaylistParams(BodyParams):
    """A new playlist."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="what it is called")
    tracks: list[RecordName] = Field(default_factory=list, max_length=MOST_TRACKS, description="ids of tracks in order")
    rule: dict[str, Any] | None = RULE


class PlaylistChangeParams(BodyParams):
    """The new state of a playlist."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="what it is called")
    tracks: list[RecordName] | None = Field(
        default=None,
        max_length=MOST_TRACKS,
        description="ids of tracks in order, in place of those it has, which may stay though their records are gone; "
        "without, the tracks stay as they are",
    )
    rule: dict[str, Any] | None = RULE


class PlayParams(BodyParams):
    """A track that was played."""

    track_id: RecordName = Field(description="the track's id")
    seconds: float = Field(
        gt=0, le=86_400, strict=True, description="how long it was heard, at most as long as it lasts"
    )


class LikesParams(PageParams):
    """A page of likes."""

    limit: WholeNumber = Field(default=MOST_LIKES, ge=1, le=MOST_LIKES, description="how many to return at most")


class PlaylistsParams(PageParams):
    """A page of playlists."""

    limit: WholeNumber = Field(
        default=MOST_PLAYLISTS, ge=1, le=MOST_PLAYLISTS, description="how many to return at most"
    )


class LikeEntry(EndpointResult):
    """A record that the caller likes."""

    id: str
    kind: str
    liked_at: datetime


class LikesResult(EndpointResult):
    """A page of what the caller likes."""

    likes: list[LikeEntry]
    total: int
    has_more: bool
    missing: list[str] = Field(description="ids whose records no longer exist")


class PlaylistResult(EndpointResult):
    """A playlist of the caller's."""

    id: str
    name: str
    updated_at: datetime
    tracks: list[str]
    missing: list[str] = Field(description="ids whose records no longer exist")
    rule: dict[str, Any] | None = Field(
        default=None, exclude_if=lambda rule: rule is None, description="the search whose tracks it has"
    )


class PlaylistsResult(EndpointResult):
    """A page of the caller's playlists."""

    playlists: list[PlaylistResult]
    total: int
    has_more: bool


class PlayEntry(EndpointResult):
    """A track that the caller played."""

    id: str
    plays: int
    seconds: int = Field(description="how long it was heard in all")


class PlaysResult(EndpointResult):
    """A page of what the caller played."""

    plays: list[PlayEntry]
    total: int
    has_more: bool


class PlayerEndpoints:
    """Likes, playlists and plays of the caller."""

    def __init__(self, storage: Callable[[EndpointRequest[Any, Any]], OwnStorage]) -> None:
        """`storage` returns where a server keeps them."""
        self._storage = storage
        self._orders = NameOrders()

    def _player(self, request: EndpointRequest[Any, Any]) -> Player:
        return open_player(self._storage(request))

    def list_music(self, request: EndpointRequest[ListenParams, None]) -> ListenResult:
        """List artists, albums and tracks, as a player shows them."""
        return Listening(request, lambda: self._player(request), self._orders).answer()

    def list_likes(self, request: EndpointRequest[LikesParams, None]) -> LikesResult:
        """List what the caller likes, the newest first."""
        offset, limit = request.query.offset, request.query.limit
        likes, total = self._player(request).list_likes(request.principal.name, offset=offset, limit=limit)
        return LikesResult(
            likes=[LikeEntry(id=one.record_id, kind=one.kind, liked_at=one.liked_at) for one in likes],
            total=total,
            has_more=offset + len(likes) < total,
            missing=request.media.missing_among([one.record_id for one in likes]),
        )

    def like(self, request: EndpointRequest[None, None]) -> None:
        """Like an artist, an album or a track."""
        record_id = request.path["id"]
        self._player(request).like(request.principal.name, record_id, request.media.get_location(record_id).kind)

    def unlike(self, request: EndpointRequest[None, None]) -> None:
        """Withdraw a like."""
        self._player(request).unlike(request.principal.name, request.path["id"])

    def list_playlists(self, request: EndpointRequest[PlaylistsParams, None]) -> PlaylistsResult:
        """List the caller's playlists, by name."""
        offset, limit = request.query.offset, request.query.limit
        found, total = self._player(request).list_playlists(request.principal.name, offset=offset, limit=limit)
        return PlaylistsResult(
            playlists=_playlist_results(request.media, found), total=total, has_more=offset + len(found) < total
        )

    def get_playlist(self, request: EndpointRequest[None, None]) -> PlaylistResult:
        """Return a playlist of the caller's."""
        found = self._player(request).get_playlist(request.principal.name, request.path["id"])
        return _playlist_result(request.media, found)

    def create_playlist(self, request: EndpointRequest[None, PlaylistParams]) -> PlaylistResult:
        """Create a playlist."""
        body = request.body
        _require_tracks(request.media, body.tracks)
        rule = _rule_of(request)
        made = self._player(request).create_playlist(request.principal.name, body.name, body.tracks, rule=rule)
        return _playlist_result(request.media, made)

    def put_playlist(self, request: EndpointRequest[None, PlaylistChangeParams]) -> PlaylistResult:
        """Rename a playlist, and replace its tracks or its rule where they are given."""
        name, playlist_id, body = request.principal.name, request.path["id"], request.body
        had = set(self._player(request).get_playlist(name, playlist_id).tracks)
        _require_tracks(request.media, [one for one in body.tracks or () if one not in had])
        rule = _rule_of(request)
        changed = self._player(request).put_playlist(name, playlist_id, body.name, body.tracks, rule=rule)
        return _playlist_result(request.media, changed)

    def delete_playlist(self, request: EndpointRequest[None, None]) -> None:
        """Delete a playlist."""
        self._player(request).delete_playlist(request.principal.name, request.path["id"])

    def note_play(self, request: EndpointRequest[None, PlayParams]) -> None:
        """Record that the caller played a track."""
        track_id, seconds = request.body.track_id, request.body.seconds
        location = _get_track(request.media, track_id, field="track_id")
        _require_no_longer(request.media.find_length_s(track_id), seconds)
        self._player(request).note_play(request.principal.name, track_id, seconds)
        self._storage(request).record_play(request.principal.name, track_id, seconds, catalogue=location.catalogue)

    def list_plays(self, request: EndpointRequest[PageParams, None]) -> PlaysResult:
        """List the tracks that the caller played, the most played first."""
        found = self._player(request).list_plays(request.principal.name)
        start, end = request.query.offset, request.query.offset + request.query.limit
        shown = [PlayEntry(id=one.track_id, plays=one.plays, seconds=one.seconds) for one in found[start:end]]
        return PlaysResult(plays=shown, total=len(found), has_more=end < len(found))


def media_endpoints() -> list[Endpoint]:
    """Return the endpoints of files: the sound of tracks, and covers."""
    file = partial(Endpoint, tag="player", action=None, target="id", result=MediaFile, is_limited=False)
    return [
        file(
            "GET",
            "/v1/tracks/{id:path}/audio",
            play_track,
            path_parameters={"id": "the track's id"},
            operation="media/audio",
            media_type="audio/*",
        ),
        file(
            "GET",
            "/v1/records/{id:path}/cover",
            show_cover,
            path_parameters={"id": "the record's id"},
            operation="media/cover",
            media_type="image/*",
        ),
    ]


def list_endpoints() -> list[Endpoint]:
    """Return all endpoints: files, and what belongs to a user."""
    return [*media_endpoints(), *listener_endpoints(PlayerEndpoints(_find_storage))]


def _find_storage(request: EndpointRequest[Any, Any]) -> OwnStorage:
    """Return the storage of the server, by any of its catalogues."""
    if not request.catalogues:
        raise ForbiddenError("there is no catalogue here that you may see")
    return request.catalogues[0].open_storage()


def listener_endpoints(own: PlayerEndpoints) -> list[Endpoint]:
    """Return the endpoints of what belongs to a user: likes, playlists and plays."""
    read = partial(Endpoint, tag="player", action=Action.ACCESS_CATALOG)
    write = partial(read, cost=Cost.WRITE)
    like = partial(write, path_parameters={"id": "the record's id"}, target="id", status=204)
    playlist = partial(read, path_parameters={"id": "the playlist's id"}, target="id")
    return [
        read("GET", "/v1/player", own.list_music, query=ListenParams, result=ListenResult, refusals=(404,)),
        read("GET", "/v1/likes", own.list_likes, query=LikesParams, result=LikesResult),
        like("PUT", "/v1/likes/{id:path}", own.like, refusals=(404, 409)),
        like("DELETE", "/v1/likes/{id:path}", own.unlike),
        read("GET", "/v1/playlists", own.list_playlists, query=PlaylistsParams, result=PlaylistsResult),
        write(
            "POST",
            "/v1/playlists",
            own.create_playlist,
            body=PlaylistParams,
            target="name",
            status=201,
            result=PlaylistResult,
            refusals=(409,),
        ),
        playlist("GET", "/v1/playlists/{id}", own.get_playlist, result=PlaylistResult, refusals=(404,)),
        playlist(
            "PUT",
            "/v1/playlists/{id}",
            own.put_playlist,
            cost=Cost.WRITE,
            body=PlaylistChangeParams,
            result=PlaylistResult,
            refusals=(404, 409),
        ),
        playlist("DELETE", "/v1/playlists/{id}", own.delete_playlist, cost=Cost.WRITE, status=204, refusals=(404,)),
        read("GET", "/v1/plays", own.list_plays, query=PageParams, result=PlaysResult),
        read(
            "POST",
            "/v1/plays",
            own.note_play,
            body=PlayParams,
            target="track_id",
            status=204,
            max_body_bytes=SMALL_BODY,
        ),
    ]


def play_track(request: EndpointRequest[None, None]) -> MediaFile:
    """Return the audio of a track, whole or a range of bytes."""
    return request.media.get_file(request.path["id"], MediaKind.AUDIO)


def show_cover(request: EndpointRequest[None, None]) -> MediaFile:
    """Return the cover of an album, or of a track's album."""
    return request.media.get_file(request.path["id"], MediaKind.COVER)


def _rule_of(request: EndpointRequest[None, Any]) -> dict[str, Any] | None:
    """Return the rule of a playlist in a body, checked; None where there is none."""
    body = request.body
    if body.rule is None:
        return None
    if body.tracks:
        raise InputError("give either 'tracks' or 'rule', a search whose tracks the playlist has")
    own = [one for one in request.catalogues if TRACK in one.spec.kinds]
    if not own:
        raise ForbiddenError("there is no catalogue here that you may see")
    return read_rule({one.name: MusicLibrary(one.view(), request.principal) for one in own}, body.rule)


def _require_tracks(media: CallerMedia, ids: Sequence[str]) -> None:
    for record_id in dict.fromkeys(ids):
        _get_track(media, record_id, field="tracks")


def _get_track(media: CallerMedia, record_id: str, *, field: str) -> RecordLocation:
    """Return where a track is; refuse records of another kind."""
    try:
        location = media.get_location(record_id)
    except UnknownResourceError as error:
        raise InputError(f"'{field}': no track '{record_id[:200]}'") from error
    if location.kind != TRACK:
        raise InputError(f"'{field}': '{record_id[:200]}' is not a track but of the kind {location.kind}")
    return location


def _require_no_longer(length_s: float | None, heard_s: float) -> None:
    """Refuse a play that is longer than its track, where that length is known."""
    if length_s is not None and heard_s > length_s + ROUNDING_S:
        raise InputError(
            f"'seconds': the track lasts {length_s:g} s, but {heard_s:g} s were given; give how much of it was heard"
        )


def _playlist_result(media: CallerMedia, playlist: Playlist) -> PlaylistResult:
    return _playlist_results(media, [playlist])[0]


def _playlist_results(media: CallerMedia, playlists: Sequence[Playlist]) -> list[PlaylistResult]:
    """Return playlists, each with the tracks that no longer exist for the caller."""
    missing = set(media.missing_among([track for one in playlists for track in one.tracks]))
    return [
        PlaylistResult(
            id=one.id,
            name=one.name,
            updated_at=one.updated_at,
            tracks=list(one.tracks),
            missing=[track for track in dict.fromkeys(one.tracks) if track in missing],
            rule=dict(one.rule) if one.rule else None,
        )
        for one in playlists
    ]
