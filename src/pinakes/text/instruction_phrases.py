"""The phrases of `instructions.toml`: indexed by what they begin with, compiled when that is found."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pinakes.text.patterns import pattern

PHRASES = Path(__file__).with_name("instructions.toml")
OVERRIDE = "override"

_BETWEEN = r"(?:(?:[^\w\0]|_){1,6})"
_ANY_WORDS = re.compile(r"\(\?:~?\\w\+~?\)(?:\?|\{\d,\d\})\??|\\w[+*]")
"""A part of an expression that any words fit; without separators it would fit everything."""
_UNSPACED = pattern("[\u3040-\u9fff\uac00-\ud7a3]")
"""A letter of a script whose words are not found by the blanks around them."""
_SIGNS_TO_BLANKS = bytes(one if one > 127 or chr(one).isalnum() else 32 for one in range(256))
_UNSPACED_BYTES = bytes(range(0xE3, 0xEE))
_BAR = re.compile(r"\s*\|\s+")
_NOT_TABLES = ("lists", "squeezed")


def words_of(text: str) -> frozenset[bytes]:
    """Return the words of an undisguised text in UTF-8; ten times as fast as by an expression."""
    return frozenset(text.encode("utf-8", "replace").translate(_SIGNS_TO_BLANKS).split())


def _has_unspaced(text: str) -> bool:
    """Tell whether a text may have letters from U+3000 on, by the first bytes of its characters."""
    raw = text.encode("utf-8", "replace")
    return len(raw.translate(None, _UNSPACED_BYTES)) != len(raw)


class Phrase(NamedTuple):
    """The expression of a phrase, with one of its beginnings."""

    kind: str
    begin: str
    rest: str
    begin_words: frozenset[bytes]
    needs: frozenset[bytes]
    is_squeezed: bool = False

    def may_be_among(self, words: Set[bytes], signs: Set[str]) -> bool:
        """Tell whether a text with these words and signs can have the phrase."""
        is_begun = self.begin[0].isalnum() or self.begin[0] in signs
        return is_begun and self.begin_words <= words and not (self.needs and self.needs.isdisjoint(words))

    def iter_spans(self, text: str, places: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Match the phrase at the places of a text where it begins."""
        rest, is_word, end = _compiled(self.rest, self.is_squeezed), _starts_word(self.begin), 0
        for place in places:
            if place < end or (is_word and not self.is_squeezed and place and text[place - 1].isalnum()):
                continue
            match = rest.match(text, place + len(self.begin))
            if match:
                end = match.end()
                yield place, end


def iter_places(text: str, begin: str) -> Iterator[int]:
    """Find where a text has the beginning of a phrase."""
    at = text.find(begin)
    while at >= 0:
        yield at
        at = text.find(begin, at + 1)


def list_begun(text: str, words: Set[bytes]) -> Iterator[Phrase]:
    """Yield the phrases that may be in an undisguised text, by the words and signs in it."""
    index = _index()
    signs = {sign for sign in index.first_signs if sign in text}
    for word in words & index.words:
        yield from (phrase for phrase in index.by_word[word] if phrase.may_be_among(words, signs))
    for sign, phrases in index.by_sign.items():
        if sign in text:
            yield from phrases
    if not text.isascii() and _has_unspaced(text):
        for begin in set(index.unspaced.findall(text)):
            yield from index.by_begin[begin]


def list_squeezed(text: str) -> Sequence[Phrase]:
    """Return the phrases that may be in a squeezed text."""
    declared = _declared()["squeezed"]
    begun = [one for one in declared if one in text]
    return load_squeezed() if any(part in text for one in begun for part in declared[one]) else ()


class _Index(NamedTuple):
    """The phrases by their longest first word, by signs without words, or by a beginning in a script without blanks."""

    by_word: Mapping[bytes, Sequence[Phrase]]
    by_sign: Mapping[str, Sequence[Phrase]]
    by_begin: Mapping[str, Sequence[Phrase]]
    unspaced: re.Pattern[str]
    first_signs: Set[str]
    words: Set[bytes]


@cache
def _index() -> _Index:
    by_word: dict[bytes, list[Phrase]] = {}
    by_sign: dict[str, list[Phrase]] = {}
    by_begin: dict[str, list[Phrase]] = {}
    for one in load_phrases():
        if not one.begin_words:
            by_sign.setdefault(one.begin, []).append(one)
        elif _UNSPACED.search(one.begin):
            by_begin.setdefault(one.begin, []).append(one)
        else:
            by_word.setdefault(max(sorted(one.begin_words), key=len), []).append(one)
    first_signs = {one.begin[0] for one in load_phrases() if not one.begin[0].isalnum()}
    longest_first = sorted(by_begin, key=len, reverse=True)
    with_contained = {
        one: [phrase for other in by_begin if other in one for phrase in by_begin[other]] for one in by_begin
    }
    return _Index(
        by_word,
        by_sign,
        with_contained,
        re.compile("|".join(map(re.escape, longest_first))),
        first_signs,
        frozenset(by_word),
    )


@cache
def load_phrases() -> tuple[Phrase, ...]:
    """Load the phrases, one for each beginning."""
    tables = {name: rules for name, rules in _declared().items() if name not in _NOT_TABLES}
    return tuple(phrase for rules in tables.values() for rule in rules for phrase in _iter_phrases(rule))


@cache
def load_squeezed() -> tuple[Phrase, ...]:
    """Load the overrides in ASCII letters, for squeezed text."""
    overrides = [one for one in load_phrases() if one.kind == OVERRIDE and one.begin.isascii()]
    return tuple(one._replace(begin=one.begin.replace(" ", ""), is_squeezed=True) for one in overrides)


@cache
def _declared() -> Mapping[str, Any]:
    return tomllib.loads(PHRASES.read_text("utf-8"))


def _iter_phrases(rule: Mapping[str, str]) -> Iterator[Phrase]:
    needs = frozenset(rule.get("needs", "").encode().split())
    for begin in _BAR.split(rule["begins"].strip()):
        yield Phrase(rule["kind"], begin, rule["rest"], words_of(begin), needs)


@cache
def _compiled(rest: str, is_squeezed: bool) -> re.Pattern[str]:
    expression = _on_one_line(rest)
    for name, words in _declared()["lists"].items():
        expression = expression.replace(f"{{{name}}}", _on_one_line(words))
    if is_squeezed:
        return re.compile(_ANY_WORDS.sub("", expression).replace("~?", "").replace("~", "").replace(r"\b", ""))
    return re.compile(expression.replace("~", _BETWEEN), re.DOTALL)


def _on_one_line(expression: str) -> str:
    return "".join(line.strip() for line in expression.splitlines())


def _starts_word(begin: str) -> bool:
    """Tell whether a phrase begins with a letter of a script that separates words by blanks."""
    return begin[0].isalnum() and not _UNSPACED.match(begin)
