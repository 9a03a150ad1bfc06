"""Discographies from MusicBrainz: one request a second, with a contact, within time-outs, and cached.

https://musicbrainz.org/doc/MusicBrainz_API describes the service: a user agent with a contact, at most one request a
second, and 503 with Retry-After for whoever asks faster.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stackroom.api import InputError, NotFoundError, Record, Settings, UnavailableError, fold_name, read_section
from stackroom.api.network import Clock, Fetched, Pace, PoliteGetter, UnusableAnswerError
from stackroom_catalogues.music.downloads.settings import DownloadsSettings
from stackroom_catalogues.music.gaps import Reference, ReferenceAlbum

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
EVERYTHING = "all"
KINDS = {
    "live": "Live",
    "compilation": "Compilation",
    "compilations": "Compilation",
    "soundtrack": "Soundtrack",
    "soundtracks": "Soundtrack",
    "remix": "Remix",
    "demo": "Demo",
}
"""Kinds of albums that are left out unless they are asked for, by the words that ask for them."""
Text = Annotated[str, Field(max_length=2_000)]
ID = r"^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"
MBID = re.compile(ID[1:-1])

AnswerT = TypeVar("AnswerT", bound="Answer")


class Answer(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class AliasAnswer(Answer):
    """Another name of an artist."""

    name: Text


class ArtistAnswer(Answer):
    """An artist that a search found."""

    id: str = Field(pattern=ID)
    name: Text
    disambiguation: Text = ""
    country: Text = ""
    aliases: list[AliasAnswer] = Field(default_factory=list)

    @property
    def label(self) -> str:
        """The name with what tells the artist from others, and the id."""
        told = ", ".join(filter(None, (self.disambiguation, self.country)))
        return f"{self.name}{f' ({told})' if told else ''} [{self.id}]"


class ArtistsAnswer(Answer):
    """The answer of a search for artists."""

    artists: list[ArtistAnswer] = Field(max_length=100)


class ReleaseGroupAnswer(Answer):
    """An album in all its editions."""

    id: str = Field(pattern=ID)
    title: Text
    kinds: list[Text] = Field(default_factory=list, alias="secondary-types")
    released: str = Field(default="", alias="first-release-date", max_length=40)

    @property
    def year(self) -> int | None:
        """The year of the first edition."""
        year = self.released[:4]
        return int(year) if year.isascii() and year.isdecimal() and len(year) == 4 and int(year) >= 1000 else None


class ReleaseGroupsAnswer(Answer):
    """A page of the albums of an artist."""

    count: int = Field(alias="release-group-count", ge=0)
    groups: list[ReleaseGroupAnswer] = Field(alias="release-groups", max_length=100)


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
        headers = {"User-Agent": f"Stackroom/1 ( {self.contact} )", "Accept": "application/json"}
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


def fetch_reference(artist: Record, words: Sequence[str], settings: Settings | None) -> Reference:
    """Return the albums of an artist; words name further kinds to include, or the artist's id at MusicBrainz."""
    ids = [word for word in words if MBID.fullmatch(word)]
    kinds = [word.lower() for word in words if not MBID.fullmatch(word)]
    unknown = [kind for kind in kinds if kind != EVERYTHING and kind not in KINDS]
    if unknown:
        raise InputError(
            f"'reference': '{unknown[0][:80]}' is not a kind of album; after \"musicbrainz\" may follow "
            f"{EVERYTHING}, {', '.join(KINDS)}, or the artist's id there"
        )
    names = [str(artist.get("name")), *(artist.get("aliases") or ())]
    known_id = ids[0] if ids else _find_id(artist)
    found = _get_client(settings).get_discography(names, artist_id=known_id)
    return _reference_of(found, {KINDS[kind] for kind in kinds if kind in KINDS}, with_all=EVERYTHING in kinds)


def _find_id(artist: Record) -> str | None:
    """Return the id at MusicBrainz of an artist whose files were tagged with it."""
    found = MBID.search(str(artist.id))
    return found[0] if found else None


def _reference_of(found: Discography, kinds: set[str], *, with_all: bool) -> Reference:
    wanted = [one for one in found.albums if with_all or set(one.kinds) <= kinds]
    left_out = len(found.albums) - len(wanted)
    notes = [f"compared with {len(wanted)} albums that MusicBrainz has of {found.artist.label}"]
    if left_out:
        notes.append(
            f'{left_out} live albums, compilations and the like are left out: include them with "{EVERYTHING}"'
        )
    if found.total > len(found.albums):
        notes.append(f"only the first {len(found.albums)} of its {found.total} albums there were looked at")
    albums = tuple(ReferenceAlbum(name=one.title, year=one.year) for one in wanted)
    return Reference(albums=albums, notes=tuple(notes))


def _get_client(settings: Settings | None) -> MusicBrainz:
    section = read_section(settings, "downloads", DownloadsSettings) if settings else DownloadsSettings()
    if not section.musicbrainz_contact:
        raise UnavailableError(
            "MusicBrainz is not asked: its contact, an e-mail address or web page of whoever runs this server, is not "
            "set ('musicbrainz_contact' in [downloads]); or list the albums as 'reference'"
        )
    return _open(
        section.musicbrainz_url.rstrip("/"), section.musicbrainz_contact, settings is not None and settings.offline
    )


@lru_cache(maxsize=4)
def _open(url: str, contact: str, offline: bool) -> MusicBrainz:
    """Return the client of a server, one for the whole process, which keeps its pace."""
    return MusicBrainz(url=url, contact=contact, offline=offline)
