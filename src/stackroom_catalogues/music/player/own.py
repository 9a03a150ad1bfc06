"""Likes and playlists as kinds of `catalog.mutate`, so that an assistant can keep what it chose for
its user.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from stackroom import api
from stackroom_catalogues.music.grouping import TRACK
from stackroom_catalogues.music.library import MusicLibrary
from stackroom_catalogues.music.player.endpoints import open_player

LIKE, PLAYLIST = "like", "playlist"
FIELDS: Mapping[str, Sequence[str]] = {LIKE: (), PLAYLIST: ("name", "tracks")}


class OwnMusic:
    """Implements `OwnKinds` for likes and playlists."""

    fields: Mapping[str, Sequence[str]] = FIELDS

    def __init__(self, catalogues: Sequence[api.OpenCatalogue]) -> None:
        self._catalogues = catalogues

    def change(self, principal: api.Principal, request: api.EditRequest) -> api.OwnChange | None:
        """Make a change; records are meant by id or name."""
        unknown = [name for name in request.fields if name not in FIELDS[str(request.kind)]]
        if unknown:
            known = ", ".join(FIELDS[str(request.kind)]) or "none"
            raise api.InputError(
                f"'fields': a {request.kind} has no '{unknown[0][:80]}'; it has: {known}"
            )
        store = open_player(self._catalogues[0].open_storage())
        libraries = [MusicLibrary(catalogue.view(), principal) for catalogue in self._catalogues]
        if request.kind == LIKE:
            return _change_like(store, libraries, principal.name, request)
        return _change_playlist(store, libraries, principal.name, request)


def own_kinds(catalogues: Sequence[api.OpenCatalogue]) -> list[OwnMusic]:
    """Declare the kinds that belong to listeners."""
    return [OwnMusic(catalogues)]


def _change_like(
    store: Any, libraries: Sequence[MusicLibrary], user: str, request: api.EditRequest
) -> api.OwnChange | None:
    if request.action == "update":
        raise api.InputError(
            "a like is created or deleted, not updated; give one of these as 'action'"
        )
    if not request.id:
        raise api.InputError(
            "'id' is missing: the id or name of the artist, album or track that is liked"
        )
    record, notes = _get_record(libraries, request.id)
    of = {"of": record.kind, "name": str(record.get("name"))}
    if request.action == "create":
        is_changed, before, after = store.like(user, record.id, record.kind), {}, of
    else:
        is_changed, before, after = store.unlike(user, record.id), of, {}
    if not is_changed:
        return None
    return api.OwnChange(id=record.id, before=before, after=after, notes=notes)


def _change_playlist(
    store: Any, libraries: Sequence[MusicLibrary], user: str, request: api.EditRequest
) -> api.OwnChange:
    known = _get_playlist(store, user, request)
    before = {"name": known.name, "tracks": list(known.tracks)} if known else {}
    if known and request.action == "delete":
        store.delete_playlist(user, known.id)
        return api.OwnChange(id=known.id, before=before, after={})
    name = request.fields.get("name", before.get("name"))
    tracks, notes = _list_tracks(libraries, request.fields)
    if not isinstance(name, str):
        raise api.InputError("'fields': a playlist needs a 'name', a text")
    kept = store.put_playlist(user, known and known.id, name, tracks)
    after = {"name": kept.name, "tracks": list(kept.tracks)}
    return api.OwnChange(id=kept.id, before=before, after=after, notes=notes)


def _get_playlist(store: Any, user: str, request: api.EditRequest) -> Any:
    """Return the playlist of the caller's that an id or a name means; None for a new one."""
    if request.action == "create":
        return None
    mine, _total = store.list_playlists(user)
    named = [one for one in mine if request.id in (one.id, one.name)]
    if len(named) == 1:
        return named[0]
    yours = "; ".join(f"{one.name} ({one.id})" for one in (named or mine)[:5]) or "none"
    raise api.NotFoundError(
        f"'id': no one playlist '{(request.id or '')[:80]}' of yours; yours: {yours}"
    )


def _list_tracks(
    libraries: Sequence[MusicLibrary], fields: Mapping[str, Any]
) -> tuple[list[str] | None, Sequence[str]]:
    """Return the ids of the tracks that fields list by id or name, with notes; None where they list
    none.
    """
    tracks = fields.get("tracks")
    if tracks is None:
        return None, ()
    if not isinstance(tracks, list) or not all(isinstance(track, str) for track in tracks):
        raise api.InputError("'tracks' must be a list of ids or names of tracks, in order")
    found = [_get_record(libraries, track, TRACK) for track in tracks]
    return [record.id for record, _ in found], [note for _, notes in found for note in notes]


def _get_record(
    libraries: Sequence[MusicLibrary], stated: str, kind: str = ""
) -> tuple[api.Record, Sequence[str]]:
    """Return the record that an id or a name means, of the first catalogue that has it, with
    notes.
    """
    for library in libraries:
        record = library.find(stated) or library.find_named(kind or None, stated)
        if record is not None and kind in ("", record.kind):
            return record, library.notes
    return libraries[0].get(kind, stated) if kind else libraries[0].get_any(stated), ()
