"""HTTP endpoints of music: lists and lyrics for a player, and likes, playlists and plays."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from stackroom import api
from stackroom_catalogues.music.audio.tags import read_lyrics
from stackroom_catalogues.music.grouping import KINDS, TRACK
from stackroom_catalogues.music.player import listening

subsonic_endpoints = api.deferred("stackroom_catalogues.music.subsonic.methods:list_endpoints")
"""The endpoints for other players, which are made of those of this module."""
open_player = api.deferred("stackroom_catalogues.music.player.store:open_player")
"""Opens the store when something is first asked of it, since it loads the database's library."""

MOST_LIKES = 10_000
MOST_PLAYLISTS = 200
SMALL_BODY = 16 * 1024
MOST_TRACKS = 2_000
LONGEST_NAME = 200
LONGEST_PLAY_S = 86_400
ROUNDING_S = 1.0  # by how much a play may exceed the track's length as the catalogue has it
TIME = re.compile(r"\[(\d{1,3}):(\d{2}(?:[.:]\d{1,3})?)\]")
# a line of lyrics that says something of the file, as `[ar:Name]`
NOTE = re.compile(r"\[[a-z]+:.*\]", re.IGNORECASE)

RecordName = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class PlaylistParams(api.BodyParams):
    """A new playlist, or the new state of one."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="what it is called")
    tracks: list[RecordName] | None = Field(
        default=None,
        max_length=MOST_TRACKS,
        description=(
            "ids of tracks in order, in place of those it has, which may stay though their records"
            " are gone; without, the tracks stay as they are"
        ),
    )


class PlayParams(api.BodyParams):
    """A track that was played."""

    track_id: RecordName = Field(description="the track's id")
    seconds: float = Field(
        gt=0,
        le=LONGEST_PLAY_S,
        strict=True,
        description="how long it was heard, at most as long as it lasts",
    )


class LikesParams(api.PageParams):
    """A page of likes."""

    limit: api.WholeNumber = Field(
        default=MOST_LIKES, ge=1, le=MOST_LIKES, description="how many to return at most"
    )


class PlaylistsParams(api.PageParams):
    """A page of playlists."""

    limit: api.WholeNumber = Field(
        default=MOST_PLAYLISTS, ge=1, le=MOST_PLAYLISTS, description="how many to return at most"
    )


class LikeEntry(api.EndpointResult):
    """A record that the caller likes."""

    id: str
    kind: str
    liked_at: datetime


class LikesResult(api.EndpointResult):
    """A page of what the caller likes."""

    likes: list[LikeEntry]
    total: int
    has_more: bool
    missing: list[str] = Field(description="ids whose records no longer exist")


class PlaylistResult(api.EndpointResult):
    """A playlist of the caller's."""

    id: str
    name: str
    updated_at: datetime
    tracks: list[str]
    missing: list[str] = Field(description="ids whose records no longer exist")


class PlaylistsResult(api.EndpointResult):
    """A page of the caller's playlists."""

    playlists: list[PlaylistResult]
    total: int
    has_more: bool


class LyricsLine(api.EndpointResult):
    """A line, and when it begins where that is known."""

    start_s: float | None
    text: str


class LyricsResult(api.EndpointResult):
    """The lyrics of a track; none where its file has none."""

    lines: list[LyricsLine]


AnyRequest = api.EndpointRequest[Any, Any]


def open_store(request: AnyRequest) -> Any:
    """Return the likes, playlists and plays of all callers."""
    return open_player(listening.music_catalogues(request.catalogues)[0].open_storage())


def _get_records(
    request: AnyRequest, ids: Sequence[str], kinds: Sequence[str], *, field: str
) -> list[listening.Placed]:
    """Return the records of ids; refuse unknown ones, and those of other kinds."""
    found = listening.find_placed(listening.open_libraries(request), ids)
    for record_id in ids:
        if record_id not in found:
            raise api.NotFoundError(
                f"'{field}': no {' or '.join(kinds)} '{record_id[:200]}'; GET /v1/player lists"
                " the ids"
            )
        if (kind := found[record_id].record.kind) not in kinds:
            raise api.InputError(
                f"'{field}': '{record_id[:200]}' is of the kind {kind}; give the id of a {kinds[0]}"
            )
    return [found[record_id] for record_id in ids]


def list_music(
    request: api.EndpointRequest[listening.ListenParams, None],
) -> listening.ListenResult:
    """List artists, albums and tracks, as a player shows them."""
    return listening.ListenAnswer(request, lambda: open_store(request)).answer()


def show_lyrics(request: api.EndpointRequest[None, None]) -> LyricsResult:
    """Return the lyrics of a track."""
    return LyricsResult(lines=find_lyrics(request, request.path["id"]))


def find_lyrics(request: AnyRequest, track_id: str) -> list[LyricsLine]:
    """Return the lines in the tags of a track's file."""
    return parse_lyrics(read_lyrics(request.media.get_file(track_id, api.MediaKind.AUDIO).path))


def parse_lyrics(text: str) -> list[LyricsLine]:
    """Return the lines of a text, plain or as LRC; those with times in the order of these."""
    lines = [line.strip() for line in text.splitlines() if not NOTE.fullmatch(line.strip())]
    timed = [
        LyricsLine(
            start_s=60 * int(minutes) + float(seconds.replace(":", ".")),
            text=TIME.sub("", line).strip(),
        )
        for line in lines
        for minutes, seconds in TIME.findall(line)
    ]
    plain = [LyricsLine(start_s=None, text=line) for line in lines]
    return (
        sorted(timed, key=lambda line: line.start_s or 0.0)
        if timed
        else plain
        if any(lines)
        else []
    )


def list_likes(request: api.EndpointRequest[LikesParams, None]) -> LikesResult:
    """List what the caller likes, the newest first."""
    offset, limit = request.query.offset, request.query.limit
    likes, total = open_store(request).list_likes(
        request.principal.name, offset=offset, limit=limit
    )
    return LikesResult(
        likes=likes,
        total=total,
        has_more=offset + len(likes) < total,
        missing=request.media.missing_among([like.id for like in likes]),
    )


def like(request: api.EndpointRequest[None, None]) -> None:
    """Like an artist, an album or a track."""
    (placed,) = _get_records(request, [request.path["id"]], KINDS, field="id")
    open_store(request).like(request.principal.name, placed.record.id, placed.record.kind)


def unlike(request: api.EndpointRequest[None, None]) -> None:
    """Withdraw a like."""
    open_store(request).unlike(request.principal.name, request.path["id"])


def list_playlists(request: api.EndpointRequest[PlaylistsParams, None]) -> PlaylistsResult:
    """List the caller's playlists, by name."""
    offset, limit = request.query.offset, request.query.limit
    shown, total = open_store(request).list_playlists(
        request.principal.name, offset=offset, limit=limit
    )
    results = _with_missing(request, *shown)
    return PlaylistsResult(playlists=results, total=total, has_more=offset + len(shown) < total)


def get_playlist(request: api.EndpointRequest[None, None]) -> PlaylistResult:
    """Return a playlist of the caller's."""
    return _with_missing(
        request, open_store(request).get_playlist(request.principal.name, request.path["id"])
    )[0]


def create_playlist(request: api.EndpointRequest[None, PlaylistParams]) -> PlaylistResult:
    """Create a playlist."""
    tracks = request.body.tracks or []
    _get_records(request, tracks, (TRACK,), field="tracks")
    made = open_store(request).create_playlist(request.principal.name, request.body.name, tracks)
    return _with_missing(request, made)[0]


def put_playlist(request: api.EndpointRequest[None, PlaylistParams]) -> PlaylistResult:
    """Rename a playlist, and replace its tracks where they are given."""
    store, user, subject = open_store(request), request.principal.name, request.path["id"]
    known = store.get_playlist(user, subject).tracks
    added = [track for track in request.body.tracks or () if track not in known]
    _get_records(request, added, (TRACK,), field="tracks")
    return _with_missing(
        request, store.put_playlist(user, subject, request.body.name, request.body.tracks)
    )[0]


def delete_playlist(request: api.EndpointRequest[None, None]) -> None:
    """Delete a playlist."""
    open_store(request).delete_playlist(request.principal.name, request.path["id"])


def note_play(request: api.EndpointRequest[None, PlayParams]) -> None:
    """Record that the caller played a track, for their list and for analytics."""
    user, seconds = request.principal.name, request.body.seconds
    (placed,) = _get_records(request, [request.body.track_id], (TRACK,), field="track_id")
    length_s = float(placed.record.get("seconds") or 0.0)
    if length_s and seconds > length_s + ROUNDING_S:
        raise api.InputError(
            f"'seconds': the track lasts {length_s:g} s, but {seconds:g} s were given; give at most"
            " its length"
        )
    open_store(request).add_play(user, placed.record.id, round(seconds))
    catalogue = placed.library.view.name
    placed.library.catalogue.open_storage().record_play(
        user, placed.record.id, seconds, catalogue=catalogue
    )


def list_endpoints() -> list[api.Endpoint]:
    """Return all endpoints: lists, what belongs to a user, and those for other players."""
    track, record = ({"id": f"the {kind}'s id"} for kind in ("track", "record"))
    read = partial(api.Endpoint, tag="player", action=api.Action.ACCESS_CATALOG)
    write = partial(read, cost=api.Cost.WRITE)
    one_like = partial(write, path_parameters=record, target="id", status=204)
    playlist = partial(read, path_parameters={"id": "the playlist's id"}, target="id")
    created: Mapping[str, Any] = {"status": 201, "result": PlaylistResult}
    changed: Mapping[str, Any] = {"result": PlaylistResult}
    played: Mapping[str, Any] = {"status": 204, "max_body_bytes": SMALL_BODY}
    return [
        *subsonic_endpoints(),
        read(
            "GET",
            "/v1/player",
            list_music,
            query=listening.ListenParams,
            result=listening.ListenResult,
        ),
        read(
            "GET",
            "/v1/lyrics/{id:path}",
            show_lyrics,
            path_parameters=track,
            target="id",
            result=LyricsResult,
        ),
        read(
            "GET", "/v1/likes", list_likes, query=LikesParams, result=LikesResult, is_audited=False
        ),
        one_like("PUT", "/v1/likes/{id:path}", like),
        one_like("DELETE", "/v1/likes/{id:path}", unlike),
        read("GET", "/v1/playlists", list_playlists, query=PlaylistsParams, result=PlaylistsResult),
        write(
            "POST", "/v1/playlists", create_playlist, body=PlaylistParams, target="name", **created
        ),
        playlist("GET", "/v1/playlists/{id}", get_playlist, result=PlaylistResult),
        playlist(
            "PUT",
            "/v1/playlists/{id}",
            put_playlist,
            cost=api.Cost.WRITE,
            body=PlaylistParams,
            **changed,
        ),
        playlist("DELETE", "/v1/playlists/{id}", delete_playlist, cost=api.Cost.WRITE, status=204),
        read("POST", "/v1/plays", note_play, body=PlayParams, target="track_id", **played),
    ]


def _with_missing(request: AnyRequest, *playlists: PlaylistResult) -> list[PlaylistResult]:
    """Return playlists, each with the tracks that no longer exist for the caller."""
    missing = set(
        request.media.missing_among([track for playlist in playlists for track in playlist.tracks])
    )
    return [
        playlist.model_copy(
            update={"missing": [one for one in dict.fromkeys(playlist.tracks) if one in missing]}
        )
        for playlist in playlists
    ]
