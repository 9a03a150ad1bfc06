"""Artists by words about them: "by women composers", "by French singers". As far as their descriptions say so."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from pinakes.api import Record, fold_name
from pinakes_catalogues.music.grouping import ARTIST
from pinakes_catalogues.music.library import MusicLibrary

PHRASE = re.compile(
    r"\bby\s+(?P<who>(?:(?!\b(?:by|and|or)\b)[\w'-]+\s+){1,3}?)"
    r"(?P<noun>composer|artist|singer|musician|band|pianist|performer|songwriter|player)s?\b",
    re.IGNORECASE,
)
ANY_ARTIST = frozenset({"artist", "musician", "performer"})
"""Nouns that every artist is called by."""
WOMEN = frozenset({"woman", "women", "female"})
WOMEN_SAID = WOMEN | {"she", "her"}
MEN_SAID = frozenset({"he", "his", "him"})
SCANNED = 20_000
MOST_ARTISTS = 200
NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedArtists:
    """The words about artists in a sentence, the artists whose descriptions say so, and the rest of the sentence."""

    words: str
    artists: Sequence[Record]
    rest: str

    @property
    def note(self) -> str:
        """The note that says what the words were taken for."""
        if not self.artists:
            return f"{self.words}: no description of an artist here says so; searched for as words"
        names = [str(one.get("name")) for one in self.artists]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return f"{self.words}: artists whose description says so: {', '.join(names[:NAMED])}{more}"


def find_described(library: MusicLibrary, sentence: str) -> DescribedArtists | None:
    """Return the artists that a sentence describes; None where it describes none."""
    found = PHRASE.search(sentence)
    if found is None:
        return None
    words = [*fold_name(found["who"]).split(), fold_name(found["noun"])]
    records = islice(library.iter_records(ARTIST), SCANNED)
    artists = [record for record in records if is_described(record, words)][:MOST_ARTISTS]
    said = " ".join(found[0].split()[1:])
    rest = " ".join(f"{sentence[: found.start()]} {sentence[found.end() :]}".split())
    return DescribedArtists(words=said, artists=artists, rest=rest if artists else sentence)


def is_described(artist: Record, words: Sequence[str]) -> bool:
    """Tell whether the description or the genres of an artist have all these words, in the singular or plural."""
    genres = " ".join(tag.value for tag in artist.get("genres") or ())
    said = set(fold_name(f"{artist.get('about') or ''} {genres}").split())
    return all(word in ANY_ARTIST or _is_said(word, said) for word in words)


def _is_said(word: str, said: set[str]) -> bool:
    if word in WOMEN:
        return bool(said & WOMEN) or (bool(said & WOMEN_SAID) and not said & MEN_SAID)
    return bool(said & {word, f"{word}s", word.removesuffix("s")})
