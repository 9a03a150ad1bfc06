"""Asks MusicBrainz for the albums of an artist: one request a second, with a contact, within time-outs, and cached.

https://musicbrainz.org/doc/MusicBrainz_API describes the service: a user agent with a contact, at most one request a
second, and 503 with Retry-After for whoever asks faster.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import ValidationError

from pinakes.api import InputError, NotFoundError, UnavailableError, fold_name
from pinakes.api.network import Clock, Fetched, Pace, PoliteGetter, UnusableAnswerError
from pinakes_catalogues.music.musicbrainz.answers import (
    Answer,
    ArtistAnswer,
    ArtistsAnswer,
    ReleaseGroupAnswer,
    ReleaseGroupsAnswer,
)

PACE = Pace(interval_s=1.0, attempts=3, first_wait_s=1.0, longest_wait_s=10.0, timeout_s=10.0, max_bytes=4 << 20)
PAGE = 100
MOST_PAGES = 10
MOST_FOUND = 25
KEPT = 500
KEPT_S = 24 * 3600.0
WAIT_S = 2.0
"""How long a call waits for its turn, since only one asks at a time."""
LISTED = 5
OK = 200

AnswerT = TypeVar("AnswerT", bound=Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discography:
    """The albums of an artist, as MusicBrainz lists them."""

    artist: ArtistAnswer
    albums: Sequence[ReleaseGroupAnswer]
    total: int
    """How many there are, of which the first thousand are listed."""


@dataclass(slots=True, kw_only=True)
class MusicBrainz:
    """One server. Safe to use from several threads: one of them asks at a time."""

    url: str
    contact: str
    offline: bool = False
    clock: Clock = field(default_factory=Clock)
    pace: Pace = PACE
    _kept: OrderedDict[str, tuple[float, Discography]] = field(default_factory=OrderedDict, init=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False)
    _getter: PoliteGetter = field(init=False)

    def __post_init__(self) -> None:
        """Make the getter, which keeps the pace over all requests."""
        headers = {"User-Agent": f"Pinakes/1 ( {self.contact} )", "Accept": "application/json"}
        self._getter = PoliteGetter(
            base_url=self.url, pace=self.pace, headers=headers, offline=self.offline, clock=self.clock
        )

    def get_discography(self, names: Sequence[str], *, artist_id: str | None = None) -> Discography:
        """Return the albums of an artist by its id, or by the names it has here; refuse names of several artists."""
        key = artist_id or fold_name(names[0])
        with self._has_turn():
            kept = self._kept.get(key)
            if kept is not None and self.clock.monotonic() - kept[0] < KEPT_S:
                return kept[1]
            found = self._fetch_discography(names, artist_id)
            self._kept[key] = (self.clock.monotonic(), found)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return found

    @contextmanager
    def _has_turn(self) -> Iterator[None]:
        if not self._turn.acquire(timeout=WAIT_S):
            raise UnavailableError("MusicBrainz is being asked by another call; try again in a few seconds")
        try:
            yield
        finally:
            self._turn.release()

    def _fetch_discography(self, names: Sequence[str], artist_id: str | None) -> Discography:
        artist = ArtistAnswer(id=artist_id, name=names[0]) if artist_id else self._fetch_artist(names)
        albums: list[ReleaseGroupAnswer] = []
        total = 0
        for _ in range(MOST_PAGES):
            wanted: dict[str, str | int] = {"artist": artist.id, "type": "album", "limit": PAGE, "offset": len(albums)}
            page = self._fetch("release-group", wanted, ReleaseGroupsAnswer)
            albums += page.groups
            total = page.count
            if not page.groups or len(albums) >= total:
                break
        return Discography(artist=artist, albums=tuple(albums), total=total)

    def _fetch_artist(self, names: Sequence[str]) -> ArtistAnswer:
        """Return the one artist that has a name; refuse where several have it, or none."""
        query = " OR ".join(f'{field}:"{_escaped(names[0])}"' for field in ("artist", "alias"))
        found = self._fetch("artist", {"query": query, "limit": MOST_FOUND}, ArtistsAnswer).artists
        wanted = {fold_name(name) for name in names}
        same = [one for one in found if fold_name(one.name) in wanted]
        same = same or [one for one in found if wanted & {fold_name(alias.name) for alias in one.aliases}]
        if len(same) == 1:
            return same[0]
        if same:
            listed = "; ".join(one.label for one in same[:LISTED])
            raise InputError(
                f"MusicBrainz has several artists called '{names[0][:100]}'; give the id of one as 'reference', as in "
                f'["musicbrainz", "{same[0].id}"]: {listed}'
            )
        near = "; ".join(one.label for one in found[:LISTED])
        hint = f"; near it are {near}: give the id of one as 'reference' after \"musicbrainz\"" if near else ""
        raise NotFoundError(f"MusicBrainz has no artist '{names[0][:100]}'{hint}")

    def _fetch(self, kind: str, params: Mapping[str, str | int], shape: type[AnswerT]) -> AnswerT:
        self._getter.base_url = f"{self.url}/{kind}"
        return self._getter.fetch({**params, "fmt": "json"}, read=_reader_of(shape))


def _escaped(name: str) -> str:
    """Return a name within quotes of the search syntax."""
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _reader_of(shape: type[AnswerT]) -> Callable[[Fetched], AnswerT]:
    def read(fetched: Fetched) -> AnswerT:
        if fetched.status != OK:
            raise UnavailableError(f"MusicBrainz answered status {fetched.status}")
        try:
            return shape.model_validate_json(fetched.body)
        except ValidationError as error:
            place = ".".join(map(str, error.errors()[0]["loc"])) or "its beginning"
            raise UnusableAnswerError(f"sent an answer that cannot be read (at {place})") from error

    return read
