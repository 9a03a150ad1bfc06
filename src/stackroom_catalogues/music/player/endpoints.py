"""HTTP endpoints of music: lists and lyrics for a player, and likes, playlists and plays."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from stackroom import api
from stackroom.api import http
from stackroom_catalogues.music.grouping import KINDS, TRACK
from stackroom_catalogues.music.player import listening
from stackroom_catalogues.music.player.listening import (
    LONGEST_NAME,
    MOST_LIKES,
    MOST_PLAYLISTS,
    MOST_TRACKS,
    LikeEntry,
    PlaylistResult,
)
from stackroom_catalogues.music.tags import read_lyrics

open_player = api.deferred("stackroom_catalogues.music.player.store:open_player")
"""Opens the store when something is first asked of it, since it loads the database's library."""

SMALL_BODY = 16 * 1024
LONGEST_PLAY_S = 86_400
ROUNDING_S = 1.0  # by how much a play may exceed the track's length as the catalogue has it
TIME = re.compile(r"\[(\d{1,3}):(\d{2}(?:[.:]\d{1,3})?)\]")
# a line of lyrics that says something of the file, as `[ar:Name]`
NOTE = re.compile(r"\[[a-z]+:.*\]", re.IGNORECASE)

RecordName = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class PlaylistParams(api.GenericParams):
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


class PlayParams(api.GenericParams):
    """A track that was played."""

    track_id: RecordName = Field(description="the track's id")
    seconds: float = Field(
        gt=0,
        le=LONGEST_PLAY_S,
        strict=True,
        description="how long it was heard, at most as long as it lasts",
    )


class LikesParams(http.PageParams):
    """A page of likes."""

    limit: http.WholeNumber = Field(
        default=MOST_LIKES, ge=1, le=MOST_LIKES, description="how many to return at most"
    )


class PlaylistsParams(http.PageParams):
    """A page of playlists."""

    limit: http.WholeNumber = Field(
        default=MOST_PLAYLISTS, ge=1, le=MOST_PLAYLISTS, description="how many to return at most"
    )


class LikesResult(api.GenericResult):
    """A page of what the caller likes."""

    likes: list[LikeEntry]
    total: int
    has_more: bool
    missing: list[str] = Field(description="ids whose records no longer exist")


class PlaylistsResult(api.GenericResult):
    """A page of the caller's playlists."""

    playlists: list[PlaylistResult]
    total: int
    has_more: bool


class LyricsLine(api.GenericResult):
    """A line, and when it begins where that is known."""

    start_s: float | None
    text: str


class LyricsResult(api.GenericResult):
    """The lyrics of a track; none where its file has none."""

    lines: list[LyricsLine]


class NamedRecord(api.GenericParams):
    """A record by its id."""

    id: str = Field(description="the record's id")


class NamedTrack(api.GenericParams):
    """A track by its id."""

    id: str = Field(description="the track's id")


class NamedPlaylist(api.GenericParams):
    """A playlist by its id."""

    id: str = Field(description="the playlist's id")


class PutPlaylist(PlaylistParams, NamedPlaylist):
    """The new state of a playlist."""


def open_store(call: api.Call) -> Any:
    """Return the likes, playlists and plays of all callers."""
    return open_player(listening.music_catalogues(call.catalogues)[0].open_storage())


_read = partial(http.endpoint, tag="player")
_write = partial(_read, writes=True)


def _get_records(
    call: api.Call, ids: Sequence[str], kinds: Sequence[str], *, field: str
) -> list[listening.Placed]:
    """Return the records of ids; refuse unknown ones, and those of other kinds."""
    found = listening.find_placed(listening.open_libraries(call), ids)
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


@_read("GET /v1/player")
def list_music(call: api.Call, params: listening.ListenParams) -> listening.ListenResult:
    """List artists, albums and tracks, as a player shows them."""
    return listening.ListenAnswer(call, params, lambda: open_store(call)).answer()


@_read("GET /v1/lyrics/{id:path}", target="id")
def show_lyrics(call: api.Call, params: NamedTrack) -> LyricsResult:
    """Return the lyrics of a track."""
    return LyricsResult(lines=find_lyrics(call, params.id))


def find_lyrics(call: api.Call, track_id: str) -> list[LyricsLine]:
    """Return the lines in the tags of a track's file."""
    return parse_lyrics(read_lyrics(call.media.get_file(track_id, http.MediaKind.AUDIO).path))


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


@_read("GET /v1/likes", is_noted=False)
def list_likes(call: api.Call, params: LikesParams) -> LikesResult:
    """List what the caller likes, the newest first."""
    offset, limit = params.offset, params.limit
    likes, total = open_store(call).list_likes(call.principal.name, offset=offset, limit=limit)
    return LikesResult(
        likes=likes,
        total=total,
        has_more=offset + len(likes) < total,
        missing=call.media.missing_among([like.id for like in likes]),
    )


@_write("PUT /v1/likes/{id:path}", 204, target="id")
def like(call: api.Call, params: NamedRecord) -> None:
    """Like an artist, an album or a track."""
    (placed,) = _get_records(call, [params.id], KINDS, field="id")
    open_store(call).like(call.principal.name, placed.record.id, placed.record.kind)


@_write("DELETE /v1/likes/{id:path}", 204, target="id")
def unlike(call: api.Call, params: NamedRecord) -> None:
    """Withdraw a like."""
    open_store(call).unlike(call.principal.name, params.id)


@_read("GET /v1/playlists")
def list_playlists(call: api.Call, params: PlaylistsParams) -> PlaylistsResult:
    """List the caller's playlists, by name."""
    offset, limit = params.offset, params.limit
    shown, total = open_store(call).list_playlists(call.principal.name, offset=offset, limit=limit)
    results = _with_missing(call, *shown)
    return PlaylistsResult(playlists=results, total=total, has_more=offset + len(shown) < total)


@_read("GET /v1/playlists/{id}", target="id")
def get_playlist(call: api.Call, params: NamedPlaylist) -> PlaylistResult:
    """Return a playlist of the caller's."""
    return _with_missing(call, open_store(call).get_playlist(call.principal.name, params.id))[0]


@_write("POST /v1/playlists", 201, target="name")
def create_playlist(call: api.Call, params: PlaylistParams) -> PlaylistResult:
    """Create a playlist."""
    _get_records(call, params.tracks or (), (TRACK,), field="tracks")
    made = open_store(call).put_playlist(call.principal.name, None, params.name, params.tracks)
    return _with_missing(call, made)[0]


@_write("PUT /v1/playlists/{id}", target="id")
def put_playlist(call: api.Call, params: PutPlaylist) -> PlaylistResult:
    """Rename a playlist, and replace its tracks where they are given."""
    store, user, subject = open_store(call), call.principal.name, params.id
    known = store.get_playlist(user, subject).tracks
    added = [track for track in params.tracks or () if track not in known]
    _get_records(call, added, (TRACK,), field="tracks")
    return _with_missing(call, store.put_playlist(user, subject, params.name, params.tracks))[0]


@_write("DELETE /v1/playlists/{id}", 204, target="id")
def delete_playlist(call: api.Call, params: NamedPlaylist) -> None:
    """Delete a playlist."""
    open_store(call).delete_playlist(call.principal.name, params.id)


@_read("POST /v1/plays", 204, target="track_id", max_body_bytes=SMALL_BODY)
def note_play(call: api.Call, params: PlayParams) -> None:
    """Record that the caller played a track, for their list and for analytics."""
    user, seconds = call.principal.name, params.seconds
    (placed,) = _get_records(call, [params.track_id], (TRACK,), field="track_id")
    length_s = float(placed.record.get("seconds") or 0.0)
    if length_s and seconds > length_s + ROUNDING_S:
        raise api.InputError(
            f"'seconds': the track lasts {length_s:g} s, but {seconds:g} s were given; give at most"
            " its length"
        )
    open_store(call).add_play(user, placed.record.id, round(seconds))
    catalogue = placed.library.view.name
    placed.library.catalogue.open_storage().record_play(
        user, placed.record.id, seconds, catalogue=catalogue
    )


ENDPOINTS = (
    *(list_music, show_lyrics, list_likes, like, unlike, list_playlists, create_playlist),
    *(get_playlist, put_playlist, delete_playlist, note_play),
)


def _with_missing(call: api.Call, *playlists: PlaylistResult) -> list[PlaylistResult]:
    """Return playlists, each with the tracks that no longer exist for the caller."""
    missing = set(
        call.media.missing_among([track for playlist in playlists for track in playlist.tracks])
    )
    return [
        playlist.model_copy(
            update={"missing": [one for one in dict.fromkeys(playlist.tracks) if one in missing]}
        )
        for playlist in playlists
    ]
