"""Likes, playlists and plays as kinds of `catalog.mutate`: requests are checked, and names resolved to ids.

What is stored, and how, is in `changes` and `store`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from stackroom.api import (
    Catalogues,
    EditAction,
    InputError,
    LayoutCatalogues,
    NotFoundError,
    OwnCall,
    OwnOutcome,
    OwnRequest,
    OwnStorage,
    Principal,
    Record,
    find_namesakes,
)
from stackroom_catalogues.music.grouping import KINDS, TRACK
from stackroom_catalogues.music.library import MusicLibrary
from stackroom_catalogues.music.player.items import Playlist, open_changes, open_player
from stackroom_catalogues.music.playlist import MOST_MINUTES
from stackroom_catalogues.music.playlist_request import plan_playlist

LIKE, PLAYLIST, PLAY = "like", "playlist", "play"
NEW = "new "
"""Begins the id of a playlist that is not made yet."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    LIKE: (),
    PLAYLIST: ("name", "tracks", "about", "minutes"),
    PLAY: ("seconds",),
}
NAMESAKES_LISTED = 5
LONGEST_PLAY_S = 86_400
ROUNDING_S = 1.0
"""By how much a play may exceed the track's length as the catalogue has it."""
MOST_TRACKS = 2_000

Value = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A change of one record: its id, None for a new one, and its value as a function of the present one."""

    kind: str
    id: str | None
    change: Callable[[Value | None], Value | None]
    notes: tuple[str, ...] = ()
    played: tuple[str, float, str] | None = None
    """A play: the track, the seconds, the catalogue."""


class OwnMusic:
    """Implements `OwnKinds` for likes, playlists and plays."""

    fields: Mapping[str, Sequence[str]] = FIELDS

    def __init__(self, catalogues: Catalogues) -> None:
        self._layout = LayoutCatalogues(catalogues)
        self._open = catalogues[0].open_storage

    def edit(self, principal: Principal, requests: Sequence[OwnRequest], call: OwnCall) -> OwnOutcome:
        """Make changes, all or none; plays are recorded for analytics too."""
        storage = self._open()
        wanted = [self._wanted(principal, storage, request) for request in requests]
        outcome: OwnOutcome = open_changes(storage).edit(principal.name, wanted, call)
        if call.call_id is not None:
            for track_id, seconds, catalogue in filter(None, (one.played for one in wanted)):
                storage.record_play(principal.name, track_id, seconds, catalogue=catalogue)
        return replace(outcome, notes=[note for one in wanted for note in one.notes])

    def undo(self, principal: Principal, undone: str, call: OwnCall) -> OwnOutcome:
        """Take back the changes of a call."""
        outcome: OwnOutcome = open_changes(self._open()).undo(principal.name, undone, call)
        return outcome

    def has_call(self, principal: Principal, call_id: str) -> bool:
        """Tell whether the caller changed something under this id of a call."""
        return bool(open_changes(self._open()).has_call(principal.name, call_id))

    def _wanted(self, principal: Principal, storage: OwnStorage, request: OwnRequest) -> Wanted:
        _require_fields(request)
        _storable("id", request.id or "")
        libraries = self._libraries(principal, request)
        if request.kind == LIKE:
            return _wanted_like(libraries, request)
        if request.kind == PLAY:
            return _wanted_play(libraries, request)
        mine, _ = open_player(storage).list_playlists(principal.name)
        return _wanted_playlist(libraries, request, mine)

    def _libraries(self, principal: Principal, request: OwnRequest) -> dict[str, MusicLibrary]:
        views = self._layout.views(request.catalogue).found
        return {name: MusicLibrary(view, principal) for name, view in views.items()}


def own_kinds(catalogues: Catalogues) -> list[OwnMusic]:
    """Declare the kinds that belong to listeners."""
    return [OwnMusic(catalogues)]


def _require_fields(request: OwnRequest) -> None:
    known = FIELDS[request.kind]
    unknown = [name for name in request.fields if name not in known]
    if unknown:
        there = ", ".join(known) or "none"
        raise InputError(f"'fields': a {request.kind} has no '{unknown[0][:80]}'; it has: {there}")


def _required_id(request: OwnRequest, meaning: str) -> str:
    if not request.id:
        raise InputError(f"'id' is missing: for a {request.kind} it is {meaning}")
    return request.id


def _refuse_update(request: OwnRequest) -> None:
    if request.action is EditAction.UPDATE:
        raise InputError(f"a {request.kind} is created or deleted, not updated")


def _wanted_like(libraries: Mapping[str, MusicLibrary], request: OwnRequest) -> Wanted:
    _refuse_update(request)
    stated = _required_id(request, "the id or name of an artist, album or track")
    if request.action is EditAction.DELETE:
        subject, notes = _known_id(libraries, stated)
        return Wanted(kind=LIKE, id=subject, change=lambda _present: None, notes=notes)
    meant = get_named(libraries, stated, KINDS, field="id")
    of = {"of": meant.record.kind}
    return Wanted(kind=LIKE, id=meant.record.id, change=lambda present: present or of, notes=meant.notes)


def _known_id(libraries: Mapping[str, MusicLibrary], stated: str) -> tuple[str, tuple[str, ...]]:
    """Return the id of a record; as it is stated where the record is gone."""
    try:
        meant = get_named(libraries, stated, KINDS, field="id")
    except NotFoundError:
        return stated, ()
    return meant.record.id, meant.notes


def _wanted_play(libraries: Mapping[str, MusicLibrary], request: OwnRequest) -> Wanted:
    _refuse_update(request)
    stated = _required_id(request, "the id or name of a track")
    if request.action is EditAction.DELETE:
        subject, notes = _known_id(libraries, stated)
        return Wanted(kind=PLAY, id=subject, change=lambda _present: None, notes=notes)
    meant = get_named(libraries, stated, (TRACK,), field="id")
    seconds = _heard_s(meant.record, request.fields.get("seconds"))
    return Wanted(
        kind=PLAY,
        id=meant.record.id,
        change=partial(_played_once_more, seconds=round(seconds)),
        notes=meant.notes,
        played=(meant.record.id, seconds, meant.catalogue),
    )


def _played_once_more(present: Value | None, *, seconds: int) -> Value:
    known = present or {}
    return {"plays": known.get("plays", 0) + 1, "seconds": known.get("seconds", 0) + seconds}


def _heard_s(track: Record, stated: Any) -> float:
    """Return how long a track was heard: as stated, else as long as it lasts."""
    length_s = float(track.get("seconds") or 0.0)
    if stated is None:
        return length_s
    seconds = _number("seconds", stated, most=LONGEST_PLAY_S)
    if length_s and seconds > length_s + ROUNDING_S:
        raise InputError(f"'seconds': the track lasts {length_s:g} s, but {seconds:g} s were given")
    return seconds


def _number(name: str, value: Any, *, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        raise InputError(f"'{name}' must be a number above 0 and at most {most:g}")
    return float(value)


def _wanted_playlist(libraries: Mapping[str, MusicLibrary], request: OwnRequest, mine: Sequence[Playlist]) -> Wanted:
    if request.action is EditAction.CREATE:
        return _new_playlist(libraries, request, mine)
    known = get_own(mine, _required_id(request, "the id or name of a playlist of yours"))
    if request.action is EditAction.DELETE:
        return Wanted(kind=PLAYLIST, id=known.id, change=lambda _present: None)
    if not {"name", "tracks", "about"} & request.fields.keys():
        raise InputError("'fields' has nothing to change: give 'name', 'tracks' or 'about'")
    tracks, notes = _chosen_tracks(libraries, request.fields, had=known.tracks)
    given = {"name": _name_in(request.fields)} if "name" in request.fields else {}
    changed = partial(_changed_playlist, {**given, **({} if tracks is None else {"tracks": tracks})}, known.id)
    return Wanted(kind=PLAYLIST, id=known.id, change=changed, notes=notes)


def _changed_playlist(given: Value, playlist_id: str, present: Value | None) -> Value:
    if present is None:
        raise NotFoundError(f"no playlist '{playlist_id}' of yours: it was deleted just now")
    return {**present, **given}


def _new_playlist(libraries: Mapping[str, MusicLibrary], request: OwnRequest, mine: Sequence[Playlist]) -> Wanted:
    if request.id:
        raise InputError("'id': a new playlist gets its own; give 'fields' with its 'name'")
    name = _name_in(request.fields)
    tracks, notes = _chosen_tracks(libraries, request.fields, had=())
    same = [f"there is one of this name already: {one.name} ({one.id})" for one in mine if one.name == name]
    made = {"name": name, "tracks": tracks or []}
    return Wanted(kind=PLAYLIST, id=None, change=lambda _present: made, notes=(*same, *notes))


def _name_in(fields: Mapping[str, Any]) -> str:
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InputError("'fields': a playlist needs a 'name', a text")
    return _storable("name", " ".join(name.split()))


def _storable(field: str, text: str) -> str:
    """Return a text that can be stored; refuse half of a character and U+0000."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"'{field}' has a character that cannot be stored; leave it out")
    return text


def get_own(mine: Sequence[Playlist], stated: str) -> Playlist:
    """Return the playlist of the caller's that an id or a name means; refuse a name that is not of exactly one."""
    named = [one for one in mine if one.id == stated] or [one for one in mine if one.name == stated.strip()]
    named = named or [one for one in mine if one.name.casefold() == stated.strip().casefold()]
    if len(named) == 1:
        return named[0]
    if named:
        listed = ", ".join(one.id for one in named)
        raise InputError(f"'id': several of your playlists are called '{stated[:80]}'; give the id of one: {listed}")
    there = "; ".join(f"{one.name} ({one.id})" for one in mine[:5]) or "none"
    raise NotFoundError(f"no playlist '{stated[:80]}' of yours; yours: {there}")


def _chosen_tracks(
    libraries: Mapping[str, MusicLibrary], fields: Mapping[str, Any], *, had: Sequence[str]
) -> tuple[list[str] | None, tuple[str, ...]]:
    """Return the tracks that fields list, or that fit their sentence, with notes; None where they say neither."""
    if fields.get("about") is not None and fields.get("tracks") is not None:
        raise InputError("give either 'tracks', the ids of a list, or 'about', a sentence to make one from")
    if fields.get("about") is not None:
        return _made_tracks(libraries, fields)
    if fields.get("minutes") is not None:
        raise InputError("'minutes' is the length of a playlist that is made from a sentence: give 'about' too")
    stated = fields.get("tracks")
    if stated is None:
        return None, ()
    return _listed_tracks(libraries, stated, had=set(had))


def _listed_tracks(
    libraries: Mapping[str, MusicLibrary], stated: Any, *, had: set[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Return the ids of listed tracks, each an id or a name; one that the playlist had may be gone."""
    if not isinstance(stated, list) or not all(isinstance(one, str) and one.strip() for one in stated):
        raise InputError("'tracks' must be a list of ids or names of tracks, in order")
    if len(stated) > MOST_TRACKS:
        raise InputError(f"'tracks': a playlist has at most {MOST_TRACKS} tracks, not {len(stated)}")
    notes: dict[str, None] = {}
    tracks = []
    for one in stated:
        if one in had:
            tracks.append(one)
            continue
        meant = get_named(libraries, _storable("tracks", one), (TRACK,), field="tracks")
        tracks.append(str(meant.record.id))
        notes |= dict.fromkeys(meant.notes)
    return tracks, tuple(notes)


def _made_tracks(libraries: Mapping[str, MusicLibrary], fields: Mapping[str, Any]) -> tuple[list[str], tuple[str, ...]]:
    """Return tracks that fit a sentence; refuse one that nothing fits."""
    about, minutes = fields["about"], fields.get("minutes")
    if not isinstance(about, str) or not about.strip():
        raise InputError("'about' must be a sentence, as in 'calm piano before 1850'")
    if len(libraries) > 1:
        raise InputError(f"'catalogue' is missing: a playlist is made from one; one of: {', '.join(libraries)}")
    wanted = None if minutes is None else _number("minutes", minutes, most=MOST_MINUTES)
    made = plan_playlist(next(iter(libraries.values())), about, wanted)
    if made.is_unrelated or not made.tracks:
        raise NotFoundError(f"nothing here fits '{about[:200]}'; no playlist was made")
    return [str(one.record.id) for one in made.tracks], tuple(made.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRecord:
    """A record, its catalogue, and a note where a name was given."""

    record: Record
    catalogue: str
    notes: tuple[str, ...] = ()


def get_named(libraries: Mapping[str, MusicLibrary], stated: str, kinds: Sequence[str], *, field: str) -> NamedRecord:
    """Return the record of an id, or the only one of a name; refuse another kind, and a name of several or of none."""
    name, _, rest = stated.partition("/")
    if name in libraries and rest:
        libraries, stated = {name: libraries[name]}, rest
    for catalogue, library in libraries.items():
        record = library.find(stated)
        if record is not None:
            return NamedRecord(record=_of_kind(record, kinds, stated, field), catalogue=catalogue)
    return _named(libraries, stated, kinds, field)


def _of_kind(record: Record, kinds: Sequence[str], stated: str, field: str) -> Record:
    if record.kind not in kinds:
        raise InputError(f"'{field}': '{stated[:200]}' is of the kind {record.kind}; give the id of a {kinds[0]}")
    return record


def _named(libraries: Mapping[str, MusicLibrary], stated: str, kinds: Sequence[str], field: str) -> NamedRecord:
    found = [
        (catalogue, one)
        for catalogue, library in libraries.items()
        for kind in kinds
        for one in find_namesakes(library.reader, library.catalogue.spec, stated, scope=library.scope(kind))
    ]
    if len(found) == 1:
        catalogue, only = found[0]
        note = f"'{stated[:80]}' was taken for {only.label}"
        return NamedRecord(record=only.record, catalogue=catalogue, notes=(note,))
    if found:
        listed = "; ".join(one.label for _, one in found[:NAMESAKES_LISTED])
        more = f" and {len(found) - NAMESAKES_LISTED} more" if len(found) > NAMESAKES_LISTED else ""
        raise InputError(f"'{field}': several are called '{stated[:80]}'; give the id of one: {listed}{more}")
    hint = next(iter(libraries.values())).hint(kinds, stated)
    raise NotFoundError(f"'{field}': no {' or '.join(kinds)} '{stated[:200]}'{hint}")
