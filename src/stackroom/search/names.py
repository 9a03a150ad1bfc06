"""Names: the record that a typed name means, the certainty of that, and the name arm of a search.

The names of the catalogue most similar to the typed one are compared with it (`text.titles`). Of
records that share a name, the best known one is taken; of other spellings and parts of names, the
likeliest. A name that is neither exact nor unique is returned with the other records; a name
without similar names with none.
"""

import html
import math
import re
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import NamedTuple
from urllib.parse import unquote

from stackroom.catalogue.spec import CatalogueSpec, FieldRole, known_of, texts_of
from stackroom.frozen import frozen
from stackroom.model.hits import Ranking, TitleMatch
from stackroom.model.record import DEFAULT_KIND, Key, Record, RecordId
from stackroom.model.scope import Scope
from stackroom.search.evidence import WeighedWords
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.series import same_franchise, work_of
from stackroom.text.analyser import analyse_query
from stackroom.text.instructions import quoted
from stackroom.text.normalise import fold, fold_name
from stackroom.text.titles import (
    ALIKE,
    BARE_LIKENESS,
    FEWEST_MISSPELT,
    PART_LIKENESS,
    MatchedBy,
    NameMatch,
    TypedName,
)

NAMES_TRIED = 25  # the number of records with similar names that are compared
ALIKE_FLOOR = 0.6  # the similarity of letters below which a name is not compared
SPELT_TRIED = 8  # the number of names that are compared before those that only have the typed words
WORDS_TRIED = 40  # the number of records with the typed words that are compared
EXACT = (MatchedBy.ID, MatchedBy.TITLE, MatchedBy.ALTERNATIVE)
HOW_MATCHED = {
    MatchedBy.ID: "its id",
    MatchedBy.TITLE: "its title, which others may mean too",
    MatchedBy.ALTERNATIVE: "an alternative title, which others may mean too",
    MatchedBy.SPELLING: "another spelling",
    MatchedBy.PART: "a part of its name",
    MatchedBy.HINT: "a part of its name",
}
PARTS = (MatchedBy.PART, MatchedBy.HINT)
SAME = 0.999
OTHERS = 5  # the number of other records that are named
# the share of prominence by which a record's own title outweighs an alternative one
OWN_TITLE = 0.12
# the prominence below which a record with exactly this name may not be the one that is meant
OBSCURE = 0.45
WELL_KNOWN = 0.72
"""The prominence from which a single misspelt word is taken as the name of a record, if the spec
says what makes records well known.
"""
BETTER_KNOWN = 0.05
"""The difference in prominence from which another record is named beside the only one with exactly
this name.
"""
# the weight of prominence between records with names about as like the typed one
PROMINENCE_WEIGHT = 0.1
NEAR = 0.13  # the distance to the best within which another record is named beside it
SEASON = re.compile(
    r"(?P<name>.{2,100}?)[\s:,-]+(?:the\s)?(?:(?:season|part|cour|s)\s?(?P<after>\d{1,2}|final)"
    r"|(?P<before>first|second|third|fourth|fifth|final|\d{1,2}(?=st|nd|rd|th))(?:st|nd|rd|th)?\s(?:season|part|cour))",
    re.IGNORECASE,
)
ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5"}
ROMAN = {"2": "ii", "3": "iii", "4": "iv", "5": "v", "6": "vi"}
SEASON_SAID, BARE_NUMBER = 0.9, 0.85
"""The likeness of a name that says the season of a series, and of one with only the number."""


@frozen
class NameCandidate:
    """A record that a typed name could mean."""

    key: Key
    record: Record
    title: str
    # its title, what tells it apart (form, time, id), and the name that matched where that is
    # another
    label: str
    by: MatchedBy
    likeness: float
    prominence: float

    @property
    def rank(self) -> float:
        """Likeness, plus a small share of the prominence."""
        return self.likeness + PROMINENCE_WEIGHT * self.prominence

    @property
    def standing(self) -> float:
        """Prominence, plus a little if the name is the title."""
        return self.prominence + (OWN_TITLE if self.by is MatchedBy.TITLE else 0.0)


@frozen
class NameChoice:
    """The record that a typed name means, if any, the certainty of that, and the other
    candidates.
    """

    asked: str
    key: Key | None = None
    record: Record | None = None
    title: str = ""
    label: str = ""  # the title, and what tells the record apart: form, time, id
    by: MatchedBy | None = None
    likeness: float = 0.0
    sureness: float = 0.0
    """The certainty that this record is meant, 0–1; 1 for an id or the only record with exactly
    this title.
    """
    others: tuple[NameCandidate, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether it is an id, or the only record with exactly this name."""
        return self.by in EXACT and not self.others

    @property
    def doubt(self) -> str:
        """The kind of match, its certainty and the other candidates, in words; empty if it is
        certain.
        """
        if self.is_certain or self.by is None:
            return ""
        other = f"; it could also be {' or '.join(self.suggestions)}" if self.others else ""
        return f"by {HOW_MATCHED[self.by]}, confidence {self.sureness:.2f}{other}"

    @property
    def suggestions(self) -> tuple[str, ...]:
        """The other records, each with its title, form, time and id."""
        return tuple(quoted(other.label) for other in self.others)


def resolve_name(
    reader: ShelfReader, spec: CatalogueSpec, text: str, *, scope: Scope, catalogue: str = ""
) -> NameChoice:
    """Return the record that a typed name or id most likely means, with the others that it could
    mean.
    """
    reader = reader.seen_by(scope.visibility)
    key = None if scope.conditions else find_by_id(reader, text, scope=scope, catalogue=catalogue)
    record = None if key is None else reader.fetch([key], scope=scope).get(key)
    if key is not None and record is not None:
        return choice_of(spec, text, key, record)
    names = _Names(reader, spec, scope)
    choice = names.choose(text)
    return choice if choice.record else names.find_season(text) or choice


def find_namesakes(
    reader: ShelfReader, spec: CatalogueSpec, name: str, *, scope: Scope
) -> list[NameCandidate]:
    """Return the records that have exactly this name."""
    return _Names(reader, spec, scope).namesakes(TypedName(name))


def choice_of(spec: CatalogueSpec, asked: str, key: Key, record: Record) -> NameChoice:
    """Return the choice of a record that was named by its id."""
    return NameChoice(
        asked=asked,
        key=key,
        record=record,
        title=spec.title_of(record),
        by=MatchedBy.ID,
        likeness=1.0,
        sureness=1.0,
    )


class _Names(NamedTuple):
    """The names of the records in scope, for comparison with typed names."""

    reader: ShelfReader
    spec: CatalogueSpec
    scope: Scope

    def choose(self, text: str) -> NameChoice:
        """Return the record that a typed name means."""
        typed = TypedName(text)
        if not typed.spellings:
            return NameChoice(asked=text)
        alike = self._alike(text)
        if namesakes := self._same(typed, alike):
            return self._exact(typed, namesakes)
        likely = [match.key for match in alike if match.likeness >= ALIKE_FLOOR]
        found = self._candidates(typed, likely[:SPELT_TRIED])
        if not any(self._is_likely(typed, one) and one.by is MatchedBy.SPELLING for one in found):
            found = self._candidates(typed, [*likely, *self._with_words(text)])
        return self._near(typed, found)

    def find_season(self, text: str) -> NameChoice | None:
        """Return a season by the name of its series and its number, or the series with its seasons
        beside it.

        None if the text does not end in the number of a season, or nothing has the name before it.
        """
        said = SEASON.fullmatch(text.strip())
        series = self.choose(said["name"]) if said else None
        if said is None or series is None or series.record is None:
            return None
        alike = [match.key for match in self._alike(series.title)]
        keys = dict.fromkeys([*alike, *self._with_words(series.title)])
        spec, work = self.spec, work_of(series.record, self.spec)
        number = (said["after"] or said["before"]).lower()
        names = [fold_name(name) for name in (said["name"], *spec.names_of(series.record))]
        forms = _season_forms(ORDINALS.get(number, number))
        wanted = {f"{name} {form}": likeness for name in names for form, likeness in forms.items()}
        form = spec.recommend.format.fields[:1] if spec.recommend else ()
        found = []
        for key, record in self.reader.fetch(list(keys), scope=self.scope).items():
            is_of_form = all(record.get(name) == series.record.get(name) for name in form)
            if not is_of_form or not same_franchise(work_of(record, spec), work):
                continue
            named = max(spec.names_of(record), key=lambda name: wanted.get(fold_name(name), 0.0))
            likeness = wanted.get(fold_name(named), PART_LIKENESS)
            match = NameMatch(MatchedBy.SPELLING, likeness, named)
            found.append(_candidate(spec, key, record, match))
        found.sort(key=lambda one: (-one.likeness, -one.prominence, one.record.id))
        if not found or found[0].likeness < ALIKE:
            return NameChoice(asked=text, others=tuple(found[:OTHERS]))
        return _choice(text, found[0], [], sureness=found[0].likeness)

    def namesakes(self, typed: TypedName) -> list[NameCandidate]:
        """Return the records that have exactly this name."""
        return self._same(typed, self._alike(typed.text))

    def _same(self, typed: TypedName, alike: Sequence[TitleMatch]) -> list[NameCandidate]:
        """Return those of the records with similar names that have exactly the typed one."""
        same = [match.key for match in alike if match.likeness >= SAME]
        return [candidate for candidate in self._candidates(typed, same) if candidate.by in EXACT]

    def _alike(self, text: str) -> list[TitleMatch]:
        return self.reader.titles_like(text, scope=self.scope, limit=NAMES_TRIED)

    def _with_words(self, text: str) -> list[Key]:
        """Return the records with the typed words; in names alone, where these are searched apart
        from other text.
        """
        found = self.reader.lexical(
            analyse_query(text, synonyms={}),
            scope=self.scope,
            limit=WORDS_TRIED,
            counted=False,
            in_names=bool(self.spec.fields_searched_as_names),
        )
        return [Key(key) for key in found.keys.tolist()]

    def _candidates(self, typed: TypedName, keys: Iterable[Key]) -> list[NameCandidate]:
        """Return the records that have a name like the typed one, the likeliest first."""
        records = self.reader.fetch(list(dict.fromkeys(keys)), scope=self.scope)
        matches = {key: typed.match(self.spec.names_of(record)) for key, record in records.items()}
        named = ((key, match) for key, match in matches.items() if match)
        found = [_candidate(self.spec, key, records[key], match) for key, match in named]
        return sorted(found, key=lambda one: (-one.rank, one.record.id))

    def _exact(self, typed: TypedName, namesakes: Sequence[NameCandidate]) -> NameChoice:
        """Choose among records with exactly this name: the one of which most is known."""
        best, *others = sorted(namesakes, key=lambda one: (-one.standing, one.record.id))
        if others:
            sureness = min(0.9, 0.5 + best.standing - others[0].standing)
            return _choice(typed.text, best, others, sureness=sureness)
        better = self._better_known(typed, best)
        certainty = 1.0 if best.by is MatchedBy.TITLE else 0.97
        return _choice(typed.text, best, better, sureness=0.6 if better else certainty)

    def _better_known(self, typed: TypedName, best: NameCandidate) -> list[NameCandidate]:
        """Return the better known records that the only one with this name may be mistaken for."""
        found: list[NameCandidate] = []
        if best.by is MatchedBy.ALTERNATIVE:
            alike = self.reader.titles_like(best.title, scope=self.scope, limit=OTHERS)
            same = [match.key for match in alike if match.likeness >= SAME]
            found += self._candidates(TypedName(best.title), same) if len(same) > 1 else ()
        if self.spec.known and best.prominence < OBSCURE:
            found += self._candidates(typed, self._with_words(typed.text))
        better = {one.key: one for one in found if one.prominence > best.prominence + BETTER_KNOWN}
        return list(better.values())

    def _near(self, typed: TypedName, found: Sequence[NameCandidate]) -> NameChoice:
        """Choose among other spellings and names with the typed words; take none where all are
        unlikely.
        """
        best = next((one for one in found if self._is_likely(typed, one)), None) or self._only_hint(
            typed, found
        )
        rest = [one for one in found if one is not best]
        near = [one for one in rest if best and one.rank >= best.rank - NEAR]
        is_word = best is not None and best.by is MatchedBy.PART and len(typed.words) == 1
        compared = [one for one in rest if one.by in PARTS] if is_word else near
        rivals = [one for one in compared if best and not self._are_one_series(best, one)]
        if best is None or (best.by is MatchedBy.PART and rivals):
            return NameChoice(asked=typed.text, others=tuple(found[:OTHERS]))
        steepness = 1.2 if best.by in PARTS else 1.6
        sureness = steepness * (best.likeness - 0.5) - (0.15 if rivals else 0)
        return _choice(typed.text, best, near or rest, sureness=max(0.1, min(0.9, sureness)))

    def _only_hint(self, typed: TypedName, found: Sequence[NameCandidate]) -> NameCandidate | None:
        """Return a well-known record with a small part of its name typed, if no other series has
        that part.
        """
        hints = [one for one in found if one.by is MatchedBy.HINT]
        if not hints or len(typed.plain) < FEWEST_MISSPELT or not self._is_well_known(hints[0]):
            return None
        return hints[0] if all(self._are_one_series(hints[0], one) for one in found[1:]) else None

    def _is_likely(self, typed: TypedName, one: NameCandidate) -> bool:
        """Tell whether a record is taken; a single misspelt word only for a well-known one."""
        if one.by in PARTS:
            return one.by is MatchedBy.PART
        is_long = len(typed.words) > 1 or one.likeness >= BARE_LIKENESS
        return one.likeness >= ALIKE and (is_long or self._is_well_known(one))

    def _is_well_known(self, one: NameCandidate) -> bool:
        """Tell whether a record is well known; True if the spec does not say what makes records
        well known.
        """
        return not self.spec.known or one.prominence >= WELL_KNOWN

    def _are_one_series(self, one: NameCandidate, other: NameCandidate) -> bool:
        return same_franchise(work_of(one.record, self.spec), work_of(other.record, self.spec))


def _season_forms(number: str) -> dict[str, float]:
    """Return the folded forms in which names say a season, each with its certainty."""
    ending = {"1": "st", "2": "nd", "3": "rd"}.get(number, "th" if number.isdigit() else "")
    seasons = (f"season {number}", f"{number}{ending} season", f"the {number} season")
    said = (*seasons, f"part {number}", f"s{number}")
    bare = (number, ROMAN.get(number, number)) if number.isdigit() else ()
    return {**dict.fromkeys(bare, BARE_NUMBER), **dict.fromkeys(said, SEASON_SAID)}


def describe(spec: CatalogueSpec, record: Record) -> str:
    """Return a record's title with its form, its time and its id, which distinguish it."""
    form = spec.recommend.format.fields if spec.recommend else ()
    time = spec.field_with_role(FieldRole.TIME)
    names = [*form[:1], *([time.name] if time else [])]
    told = [", ".join(texts_of(record.get(name))) for name in names]
    if record.kind != DEFAULT_KIND:
        told.insert(0, record.kind)
    return f"{spec.title_of(record)} ({', '.join([*filter(None, told), record.id])})"


def prominence_of(spec: CatalogueSpec, record: Record) -> float:
    """Return how likely a record is the one that people mean by a name it shares with others,
    0–1.
    """
    related = spec.recommend.related.field if spec.recommend else ""
    length = spec.preferences.length
    parts = [
        (0.4, known_of(spec, record)),
        (0.25, _magnitude(len(spec.names_of(record)), 30)),
        (0.2, _magnitude(_number(record, length.field if length else ""), 25)),
        (0.15, _magnitude(len(texts_of(record.get(related))), 40)),
    ]
    return sum(weight * share for weight, share in parts)


def _number(record: Record, field: str) -> float:
    value = record.get(field) if field else None
    return float(value) if isinstance(value, int | float) else 0.0


def _magnitude(number: float, full: float) -> float:
    return min(1.0, math.log1p(max(0.0, number)) / math.log1p(full))


def _candidate(spec: CatalogueSpec, key: Key, record: Record, match: NameMatch) -> NameCandidate:
    title, label = spec.title_of(record), describe(spec, record)
    if match.name and fold_name(match.name) != fold_name(title):
        label += f", also called {match.name}"
    return NameCandidate(
        key=key,
        record=record,
        title=title,
        label=html.unescape(label),
        by=match.by,
        likeness=match.likeness,
        prominence=prominence_of(spec, record),
    )


def _choice(
    asked: str, best: NameCandidate, others: Sequence[NameCandidate], *, sureness: float
) -> NameChoice:
    return NameChoice(
        asked=asked,
        key=best.key,
        record=best.record,
        title=best.title,
        label=quoted(best.label),
        by=best.by,
        likeness=best.likeness,
        sureness=round(sureness, 2),
        others=tuple(others[:OTHERS]),
    )


MAX_NAME_WORDS = 6  # a longer query is a description, unless it is a name letter by letter
# names less like the query than this are ignored; a short query must be closer
SPELLING_FLOOR = 0.8
SHORT_FLOOR = 0.88
SHORT_CHARS = 8
LETTERS_LEFT = 3  # where fewer letters are left without its signs, as of `C++`, a query is no name
EXACT_BELOW_CHARS = 5  # a shorter query is a name only if it is spelt exactly so
SPELLING_ZERO = 0.6  # the likeness at which the score would be 0; it grows to 1 for the same name
ALIKE_TRIED = 10
SHARED_CHARS = 3  # the beginning of a query's word by which a name is found worth comparing
# the number of words, such as articles, that a name inside the query may have beyond the query's
EXTRA_WORDS = 2
PARTS_TRIED = 10
HAS_LATIN = re.compile("[a-z0-9]")
PART_OF_NAME = 0.95  # the score of a name that contains the whole query, in a script without spaces
WORDS_OF_NAME = (0.45, 0.45)
"""The score of a name that has all words of the query: the first, and the second for the share of
the name they are.
"""
# the least share of the query's weight that a name inside it must have; else it is there by chance
NAME_SHARE = 0.2
# the score of a name that is all of the query's weight, with words of none around it
NAME_WITHIN = 0.8


def find_names(
    reader: ShelfReader,
    spec: CatalogueSpec,
    text: str,
    words: WeighedWords,
    *,
    lexical: Ranking,
    scope: Scope,
) -> dict[Key, float]:
    """Return the scores of the records in scope that the query may name.

    The names with words of the query are looked at where they are searched apart; elsewhere they
    count as words.
    """
    alike, are_apart = _alike(reader, text, scope), bool(spec.fields_searched_as_names)
    wanted = fold_name(text)
    is_in_other_script = len(wanted) > 1 and not HAS_LATIN.search(wanted)
    if 1.0 in alike.values() or not (are_apart or is_in_other_script):
        return alike
    if are_apart:
        lexical = reader.lexical(
            words.query, scope=scope, limit=PARTS_TRIED, counted=False, in_names=True
        )
    keys = lexical.keys[:PARTS_TRIED].tolist()
    if is_in_other_script:  # it is nearly always a name, of which a model of English makes nothing
        near = reader.titles_like(text, scope=scope, limit=PARTS_TRIED)
        keys = list(dict.fromkeys([*keys, *(match.key for match in near)]))
        names = (
            (key, map(fold_name, spec.names_of(one)))
            for key, one in reader.fetch(keys, scope=scope).items()
        )
        alike = {
            **{key: PART_OF_NAME for key, some in names if any(wanted in name for name in some)},
            **alike,
        }
    return {**_having_words(reader, keys, words), **alike} if are_apart else alike


def _alike(reader: ShelfReader, text: str, scope: Scope) -> dict[Key, float]:
    """Return the records with a name spelt similarly to the whole query."""
    if len(text.split()) > MAX_NAME_WORDS and not reader.has_name(text, scope=scope):
        return {}
    folded = fold_name(text)
    size = len(folded)
    if size < LETTERS_LEFT and folded != fold(text).strip():
        return {}
    least = (
        1.0 if size < EXACT_BELOW_CHARS else SHORT_FLOOR if size < SHORT_CHARS else SPELLING_FLOOR
    )
    matches = reader.titles_like(text, scope=scope, limit=ALIKE_TRIED)
    return {
        match.key: (match.likeness - SPELLING_ZERO) / (1 - SPELLING_ZERO)
        for match in matches
        if match.likeness >= least
    }


def _having_words(
    reader: ShelfReader, keys: Sequence[Key], words: WeighedWords
) -> dict[Key, float]:
    """Return records with a name that has all words of the query, or whose words are all in the
    query.
    """
    asked, longest = frozenset(words.weights), max(words.weights, key=len, default="\0")
    beginnings = tuple(token[:SHARED_CHARS] for token in asked)
    scored: dict[Key, float] = {}
    for key, lines in zip(keys, reader.name_lines(keys), strict=True):
        for name, has in map(str.split, lines, repeat("\t")):
            is_likely = longest in has or has.partition(" ")[0] in asked
            if is_likely and _is_near(name, beginnings):
                score = _score(frozenset(has.split()), asked, words)
                scored[key] = max(score, scored.get(key, 0.0))
    return {key: score for key, score in scored.items() if score}


def _is_near(name: str, beginnings: Sequence[str]) -> bool:
    """Tell whether a name has the beginnings of all words of the query; a short one, of any."""
    has = name.__contains__
    is_short = len(name.split()) <= len(beginnings) + EXTRA_WORDS
    return any(map(has, beginnings)) if is_short else all(map(has, beginnings))


def _score(name: frozenset[str], asked: frozenset[str], words: WeighedWords) -> float:
    if asked <= name:
        least, more = WORDS_OF_NAME
        return least + more * len(asked) / len(name)
    share = words.share_of(name) if name <= asked else 0.0
    return NAME_WITHIN * share if share >= NAME_SHARE else 0.0


SCHEME = "stackroom://"  # the beginning of a record's address as a resource

LONGEST = 1_000
SAMPLED = 500  # the number of records whose ids show what numbers are preceded by

_IN_LABEL = re.compile(r"\((?:[^()]*, )?([^\s(),]+)\)(?:, also called .*)?$")
_PAGE = re.compile(r"https?://([^/?#\s]+)(/[^?#\s]*)(?:[?#]\S*)?", re.IGNORECASE)
_NUMBERED = re.compile(r"(.*[^\d])\d+")


def find_by_id(
    reader: ShelfReader, stated: str, *, scope: Scope, catalogue: str = ""
) -> Key | None:
    """Return the record of `ID`, `CATALOGUE/ID`, `stackroom://CATALOGUE/ID`, or the suggestion of a
    name, or None.
    """
    forms = id_forms(stated, catalogue=catalogue)
    found = reader.find(forms, scope=scope) if forms else {}
    return next((found[form] for form in forms if form in found), None)


def find_by_number(reader: ShelfReader, stated: str, *, scope: Scope) -> Key | None:
    """Return the only record whose id is this number after a beginning that ids here have, as
    `mal-` in `mal-1`.
    """
    number = stated.strip()
    if not (number.isascii() and number.isdecimal()):
        return None
    ids = reader.ids(reader.scan(scope=scope, limit=SAMPLED))
    beginnings = {match[1] for record_id in ids if (match := _NUMBERED.fullmatch(record_id))}
    forms = [RecordId(f"{beginning}{number}") for beginning in sorted(beginnings)]
    found = reader.find(forms, scope=scope)
    return next(iter(found.values())) if len(found) == 1 else None


def id_forms(stated: str, *, catalogue: str = "") -> list[RecordId]:
    """Return the ids that a text may mean, the likeliest first; without a catalogue, any may
    precede the id.
    """
    text = stated.strip()[:LONGEST]
    address = unquote(text.removeprefix(SCHEME)) if text.startswith(SCHEME) else text
    label = _IN_LABEL.search(text)
    bare = address.removeprefix(f"{catalogue}/") if catalogue else address.partition("/")[2]
    forms = [stated[:LONGEST], text, address, bare, label[1] if label else ""]
    return [RecordId(form) for form in dict.fromkeys(forms) if form]


def page_forms(stated: str) -> list[str]:
    """Return the spellings of a page's address, as given first; of a longer address, also its
    beginnings.
    """
    match = _PAGE.fullmatch(stated.strip()[:LONGEST])
    if match is None:
        return []
    host, path = match[1], match[2].rstrip("/")
    pieces = path.split("/")
    paths = ["/".join(pieces[:count]) for count in range(len(pieces), max(1, len(pieces) - 2), -1)]
    hosts = dict.fromkeys([host, host.removeprefix("www."), f"www.{host.removeprefix('www.')}"])
    addresses = [
        f"{scheme}://{one}{way}" for way in paths for one in hosts for scheme in ("https", "http")
    ]
    return [stated.strip(), *addresses]


def example_id(reader: ShelfReader, *, scope: Scope) -> str:
    """Return an id of the catalogue as an example, or an empty text if it has no records."""
    return next(iter(reader.ids(reader.scan(scope=scope, limit=1))), "")
