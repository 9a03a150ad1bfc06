"""The player's side: streaming with ranges, covers, likes, playlists and plays, each under the caller's rights."""

import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, BinaryIO, NamedTuple, TypeVar

import anyio.to_thread
from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from pinakes.analytics.events import EventRecorder
from pinakes.control.control import Control
from pinakes.control.player import LONGEST_NAME, MOST_LIKES, MOST_PLAYLISTS, MOST_TRACKS, Like, Player, Playlist
from pinakes.errors import ForbiddenError, InputError, UnknownResourceError
from pinakes.gate.gate import CallContext, Gate
from pinakes.model.principal import Action, Cost, Principal
from pinakes.serve.caller import Caller
from pinakes.serve.http.endpoints import CONTENT_HEADERS, PRIVATE, BodyParams, asking, page_of, validated
from pinakes.serve.http.ranges import NOT_MODIFIED, Part, etag_of, find_part, find_refusal, last_modified_of
from pinakes.serve.http.replies import JSONReply, status_reply
from pinakes.serve.http.service import Service
from pinakes.tools.media import MediaFile, MediaKind, RecordLocation

logger = logging.getLogger(__name__)

TRACK = "track"
BLOCK_BYTES = 64 * 1024
ROUNDING_S = 1.0
"""By how much a track may have been heard for longer than the catalogue says that it lasts."""

RecordName = Annotated[str, StringConstraints(min_length=1, max_length=500)]
ResultT = TypeVar("ResultT")


class PlaylistParams(BodyParams):
    """A playlist to be made."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="what it is called")
    tracks: list[RecordName] = Field(default_factory=list, max_length=MOST_TRACKS, description="ids of tracks in order")


class PlaylistChangeParams(BodyParams):
    """A playlist as it is to be."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="what it is called")
    tracks: list[RecordName] | None = Field(
        default=None,
        max_length=MOST_TRACKS,
        description="ids of tracks in order, in place of those it has, which may stay though their records are gone; "
        "without, the tracks stay as they are",
    )


class PlayParams(BodyParams):
    """Something that was played."""

    track_id: RecordName = Field(description="the track's id")
    seconds: float = Field(
        gt=0, le=86_400, strict=True, description="how long it was heard, at most as long as it lasts"
    )


class MediaEndpoints:
    """What is played and shown."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def play(self, request: Request) -> Response:
        """Answer with the sound of a track, or the part of it that is asked for."""
        return await self._serve(request, MediaKind.AUDIO)

    async def show_cover(self, request: Request) -> Response:
        """Answer with the cover of an album, or of a track's album."""
        return await self._serve(request, MediaKind.COVER)

    async def _serve(self, request: Request, kind: MediaKind) -> Response:
        caller, record_id = asking(request), str(request.path_params["id"])
        ask = CallContext(
            principal=caller.principal,
            via=caller.via,
            operation=f"media/{kind}",
            target=record_id[:200],
            parameters={},
        )

        def opened(gate: Gate) -> OpenedFile:
            return gate.open_media(
                ask,
                record_id,
                kind,
                lambda found: _open(found, record_id),
                served=lambda one: _served(request, one.file),
            )

        content, file = await self._service.gate.run(caller.principal, opened, ask)
        part = _part(request, file)
        refusal = _refusal(request, file, part)
        if refusal is not None:
            content.close()
            return refusal
        return MediaResponse(content, file, part)


class OpenedFile(NamedTuple):
    """A file that is open, and what it was when it was opened."""

    content: BinaryIO
    file: MediaFile


class MediaResponse(StreamingResponse):
    """An open file, or a part of it: as many bytes as were there when it was opened, whatever becomes of it."""

    def __init__(self, content: BinaryIO, file: MediaFile, part: Part | None) -> None:
        self._content = content
        self._name = file.path.name
        sent = part or Part(0, file.size_bytes)
        place = {"Content-Range": f"bytes {sent.first}-{sent.end - 1}/{file.size_bytes}"} if part else {}
        super().__init__(
            self._blocks(sent),
            status_code=206 if part else 200,
            media_type=file.mime_type,
            headers={
                **_validators(file),
                **place,
                "Accept-Ranges": "bytes",
                "Content-Length": str(sent.size_bytes),
            },
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what is asked for; of a file that became shorter, what there is, and the connection ends."""
        try:
            if scope["method"] == "HEAD":
                await Response(status_code=self.status_code, headers=dict(self.headers))(scope, receive, send)
            else:
                await super().__call__(scope, receive, send)
        except _CutShortError:
            logger.warning("%s became shorter while it was sent", self._name)
        finally:
            self._content.close()

    async def _blocks(self, part: Part) -> AsyncIterator[bytes]:
        left = part.size_bytes
        await anyio.to_thread.run_sync(self._content.seek, part.first)
        while left:
            block = await anyio.to_thread.run_sync(self._content.read, min(left, BLOCK_BYTES))
            if not block:
                raise _CutShortError
            left -= len(block)
            yield block


class _CutShortError(Exception):
    """A file has fewer bytes than were promised."""


class PlayerEndpoints:
    """What belongs to a listener."""

    def __init__(self, service: Service, control: Control, events: EventRecorder) -> None:
        self._service = service
        self._player = Player(control.database)
        self._events = events

    async def list_likes(self, request: Request) -> Response:
        """Answer with a page of what the caller likes."""
        caller = asking(request)
        offset, limit = page_of(request, most=MOST_LIKES)

        def work(gate: Gate) -> dict[str, Any]:
            likes, total = self._player.list_likes(caller.principal.name, offset=offset, limit=limit)
            return {
                "likes": [_like_entry(one) for one in likes],
                "total": total,
                "has_more": offset + len(likes) < total,
                "missing": gate.missing_among(caller.principal, [one.record_id for one in likes]),
            }

        return JSONReply(await self._perform(caller, "list_likes", work), headers=PRIVATE)

    async def like(self, request: Request) -> Response:
        """Note that the caller likes a record."""
        caller, record_id = asking(request), str(request.path_params["id"])

        def work(gate: Gate) -> None:
            place = gate.get_place(caller.principal, record_id)
            self._player.like(caller.principal.name, record_id, place.kind)

        await self._perform(caller, "like", work, target=record_id, cost=Cost.WRITE)
        return Response(status_code=204)

    async def unlike(self, request: Request) -> Response:
        """Note that the caller does not like a record any more."""
        caller, record_id = asking(request), str(request.path_params["id"])
        work = lambda _gate: self._player.unlike(caller.principal.name, record_id)  # noqa: E731
        await self._perform(caller, "unlike", work, target=record_id, cost=Cost.WRITE)
        return Response(status_code=204)

    async def list_playlists(self, request: Request) -> Response:
        """Answer with a page of the caller's playlists."""
        caller = asking(request)
        offset, limit = page_of(request, most=MOST_PLAYLISTS)

        def work(gate: Gate) -> dict[str, Any]:
            found, total = self._player.list_playlists(caller.principal.name, offset=offset, limit=limit)
            return {
                "playlists": _playlist_entries(gate, caller.principal, found),
                "total": total,
                "has_more": offset + len(found) < total,
            }

        return JSONReply(await self._perform(caller, "list_playlists", work), headers=PRIVATE)

    async def get_playlist(self, request: Request) -> Response:
        """Answer with one playlist of the caller's."""
        caller, playlist_id = asking(request), str(request.path_params["id"])

        def work(gate: Gate) -> dict[str, Any]:
            found = self._player.get_playlist(caller.principal.name, playlist_id)
            return _playlist_entry(gate, caller.principal, found)

        return JSONReply(await self._perform(caller, "get_playlist", work, target=playlist_id), headers=PRIVATE)

    async def create_playlist(self, request: Request, body: dict[str, Any]) -> Response:
        """Make a playlist."""
        wanted, caller = validated(PlaylistParams, body), asking(request)

        def work(gate: Gate) -> dict[str, Any]:
            _require_tracks(gate, caller.principal, wanted.tracks, field="tracks")
            made = self._player.create_playlist(caller.principal.name, wanted.name, wanted.tracks)
            return _playlist_entry(gate, caller.principal, made)

        made = await self._perform(caller, "create_playlist", work, target=wanted.name, cost=Cost.WRITE)
        return JSONReply(made, status_code=201, headers=PRIVATE)

    async def put_playlist(self, request: Request, body: dict[str, Any]) -> Response:
        """Give a playlist another name, and other tracks where they are given; those it has may stay though gone."""
        wanted, caller = validated(PlaylistChangeParams, body), asking(request)
        playlist_id, name = str(request.path_params["id"]), caller.principal.name

        def work(gate: Gate) -> dict[str, Any]:
            had = set(self._player.get_playlist(name, playlist_id).tracks)
            added = [one for one in wanted.tracks or () if one not in had]
            _require_tracks(gate, caller.principal, added, field="tracks")
            changed = self._player.put_playlist(name, playlist_id, wanted.name, wanted.tracks)
            return _playlist_entry(gate, caller.principal, changed)

        changed = await self._perform(caller, "put_playlist", work, target=playlist_id, cost=Cost.WRITE)
        return JSONReply(changed, headers=PRIVATE)

    async def delete_playlist(self, request: Request) -> Response:
        """Take a playlist away."""
        caller, playlist_id = asking(request), str(request.path_params["id"])
        work = lambda _gate: self._player.delete_playlist(caller.principal.name, playlist_id)  # noqa: E731
        await self._perform(caller, "delete_playlist", work, target=playlist_id, cost=Cost.WRITE)
        return Response(status_code=204)

    async def note_play(self, request: Request, body: dict[str, Any]) -> Response:
        """Note that the caller heard a track."""
        wanted, caller = validated(PlayParams, body), asking(request)

        def work(gate: Gate) -> None:
            place = _get_track(gate, caller.principal, wanted.track_id, field="track_id")
            _require_no_longer(gate.find_length_s(caller.principal, wanted.track_id), wanted.seconds)
            self._events.record_play(caller.principal.name, wanted.track_id, wanted.seconds, catalogue=place.catalogue)

        await self._perform(caller, "note_play", work, target=wanted.track_id)
        return Response(status_code=204)

    async def _perform(
        self,
        caller: Caller,
        operation: str,
        work: Callable[[Gate], ResultT],
        *,
        target: str = "",
        cost: Cost = Cost.READ,
    ) -> ResultT:
        ask = CallContext(
            principal=caller.principal,
            via=caller.via,
            operation=f"player/{operation}",
            target=target,
            parameters={},
            cost=cost,
        )

        def permitted(gate: Gate) -> ResultT:
            _require_may_look(caller.principal)
            return work(gate)

        return await self._service.gate.perform(ask, permitted)


def _require_may_look(principal: Principal) -> None:
    if Action.ACCESS_CATALOG not in principal.actions:
        raise ForbiddenError(f"this needs the permission {Action.ACCESS_CATALOG}, and you do not have it")


def _require_tracks(gate: Gate, principal: Principal, ids: Sequence[str], *, field: str) -> None:
    for record_id in dict.fromkeys(ids):
        _get_track(gate, principal, record_id, field=field)


def _get_track(gate: Gate, principal: Principal, record_id: str, *, field: str) -> RecordLocation:
    """Return where a track is; refuse what is none."""
    try:
        place = gate.get_place(principal, record_id)
    except UnknownResourceError as error:
        raise InputError(f"'{field}': there is no track '{record_id[:200]}'") from error
    if place.kind != TRACK:
        raise InputError(f"'{field}': '{record_id[:200]}' is no track but of the kind {place.kind}")
    return place


def _require_no_longer(length_s: float | None, heard_s: float) -> None:
    """Refuse a play that is longer than its track, where that is known."""
    if length_s is not None and heard_s > length_s + ROUNDING_S:
        raise InputError(f"'seconds': the track lasts {length_s:g} s; give how much of it was heard, not {heard_s:g} s")


def _open(found: MediaFile, record_id: str) -> OpenedFile:
    """Open a file that was just found; one that went since is as unknown as none."""
    try:
        content = found.path.open("rb", buffering=0)
        now = os.fstat(content.fileno())
    except OSError as error:
        raise UnknownResourceError(f"there is no file of '{record_id[:200]}' any more", uri=record_id[:200]) from error
    return OpenedFile(content, replace(found, size_bytes=now.st_size, modified_at=now.st_mtime))


def _part(request: Request, file: MediaFile) -> Part | None:
    """Return the part that is asked for; only what is fetched has parts."""
    return find_part(request.headers, file) if request.method == "GET" else None


def _refusal(request: Request, file: MediaFile, part: Part | None) -> Response | None:
    """Return the answer to a request that is not given the file: they have it already, or want another, or no part."""
    status = find_refusal(request.headers, file)
    if status == NOT_MODIFIED:
        return Response(status_code=status, headers=_validators(file))
    if status is not None:
        return status_reply(status, "precondition_failed", "the file is another than the request is about")
    if part is None or part.size_bytes:
        return None
    refusal = status_reply(416, "range_not_satisfiable", f"the file is {file.size_bytes} bytes long")
    refusal.headers["Content-Range"] = f"bytes */{file.size_bytes}"
    return refusal


def _served(request: Request, file: MediaFile) -> int:
    """Return how many bytes are sent."""
    if request.method == "HEAD" or find_refusal(request.headers, file) is not None:
        return 0
    part = _part(request, file)
    return file.size_bytes if part is None else part.size_bytes


def _validators(file: MediaFile) -> dict[str, str]:
    return {**CONTENT_HEADERS, "ETag": etag_of(file), "Last-Modified": last_modified_of(file)}


def _like_entry(like: Like) -> dict[str, Any]:
    return {"id": like.record_id, "kind": like.kind, "liked_at": like.liked_at.isoformat()}


def _playlist_entry(gate: Gate, principal: Principal, playlist: Playlist) -> dict[str, Any]:
    return _playlist_entries(gate, principal, [playlist])[0]


def _playlist_entries(gate: Gate, principal: Principal, playlists: Sequence[Playlist]) -> list[dict[str, Any]]:
    """Return playlists as they are answered, each with which of its tracks are no longer there for the caller."""
    missing = set(gate.missing_among(principal, [track for one in playlists for track in one.tracks]))
    return [
        {
            "id": one.id,
            "name": one.name,
            "updated_at": one.updated_at.isoformat(),
            "tracks": list(one.tracks),
            "missing": [track for track in dict.fromkeys(one.tracks) if track in missing],
        }
        for one in playlists
    ]
