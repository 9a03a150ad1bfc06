"""Normal forms of texts and short names (cleaning, folding, spelling), and their similarity; the
words of Markdown.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

SURE = 0.75

_UNWANTED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    # invisible and direction-changing characters
    r"\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    r"\ud800-\udfff]"  # halves of surrogate pairs
)
_COMBINING = re.compile(  # marks that are optional in writing; Japanese and Indic ones stay
    r"[\u0300-\u036f"  # accents of European scripts
    r"\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    # Arabic vowel signs
    r"\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"
)
_NAME_NOISE = re.compile(r"[\W_]+")


def clean(text: str) -> str:
    """Return the text in compatibility form, without control, invisible or broken characters."""
    if text.isascii() and text.isprintable():
        return text
    return unicodedata.normalize("NFKC", _UNWANTED.sub(" ", text))


def fold(text: str) -> str:
    """Return the text cleaned, in lower case and without accents and vowel points."""
    if text.isascii() and text.isprintable():
        return text.lower()
    lowered = unicodedata.normalize("NFKC", _UNWANTED.sub(" ", text)).casefold()
    if lowered.isascii():
        return lowered
    return unicodedata.normalize("NFC", _COMBINING.sub("", unicodedata.normalize("NFD", lowered)))


def fold_name(text: str) -> str:
    """Return the folded letters and digits of a title, its words separated by one space."""
    return _NAME_NOISE.sub(" ", fold(text)).strip()


def like_words(wanted: str, texts: Iterable[str]) -> list[str]:
    """Return the texts that contain the wanted words or are spelt similarly, best first."""
    folded = fold_name(wanted)
    names = ((text, fold_name(text)) for text in texts)
    scored = [
        (1.0 if folded and folded in name else fuzz.ratio(folded, name) / 100, text)
        for text, name in names
    ]
    return [
        text
        for likeness, text in sorted(scored, key=lambda pair: (-pair[0], pair[1]))
        if likeness >= SURE
    ]


# the likeness of spelling (0–100) from which a name is worth suggesting; a word in common is enough
NEAR = 65.0
WORD_CHARS = 4  # a shorter word in common says little
LONGEST_ASKED = 100  # characters of a misspelt name that are compared; a longer one is near nothing
_WORD = re.compile(r"&|[^\s\-‐-―_/.,:;!?\"“”()\[\]{}&]+")
_APOSTROPHES = re.compile(r"['’]")
_SIBILANTS = ("ches", "shes", "sses", "xes", "zzes")


class Word(NamedTuple):
    """A word of a text in the form for comparison, and its position in the cleaned text."""

    key: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """Return the words of a cleaned text: folded, in the singular, "&" as "and"."""
    return [Word(_word_key(match[0]), match.start(), match.end()) for match in _WORD.finditer(text)]


def spelling_key(name: str) -> str:
    """Return a name without regard to case, accents, hyphens, punctuation and plural."""
    return " ".join(word.key for word in words_of(clean(name)))


def joined_key(key: str) -> str:
    """Return a key without its spaces, so that "scifi" is "sci-fi"."""
    return key.replace(" ", "")


def corrected(joined: str, known: Iterable[str]) -> list[str]:
    """Return the known joined keys that a typing error turns into this one, the nearest only."""
    if not 5 <= len(joined) <= LONGEST_ASKED:
        return []
    most = 1 if len(joined) < 8 else 2
    found = process.extract(joined, list(known), scorer=OSA.distance, score_cutoff=most, limit=None)
    alike = [(int(distance), name) for name, distance, _ in found if name[:1] == joined[:1]]
    nearest = min((distance for distance, _ in alike), default=0)
    return [name for distance, name in alike if distance == nearest]


def likeness(key: str, other: str) -> float:
    """Return the similarity of two keys (0–100); it is 100 if one has all words of the other."""
    here, there = set(key.split()), set(other.split())
    if here and there and (here <= there or there <= here):
        return 100.0
    by_letters = fuzz.ratio(key[:LONGEST_ASKED], other[:LONGEST_ASKED])
    has_word = any(len(word) >= WORD_CHARS for word in here & there)
    return max(by_letters, NEAR) if has_word else by_letters


def _word_key(word: str) -> str:
    """Return a word without the ending of an English plural; others may lose theirs, on both sides
    alike.
    """
    word = "and" if word == "&" else _APOSTROPHES.sub("", fold(word))
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-2] if word.endswith(_SIBILANTS) else word[:-1]
    # "comedies" and "comedy", "zombies" and "zombie"
    return f"{word[:-2]}y" if word.endswith("ie") else word


def letters_of(name: str) -> str:
    """Return a name without case, blanks, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def meant(name: str, known: Iterable[str]) -> str:
    """Return the known name that is meant, or the name itself if none or several could be meant."""
    names = list(known)
    if name in names:
        return name
    alike = [one for one in names if letters_of(one) == letters_of(name)]
    return alike[0] if len(alike) == 1 else name


_NAME_PART = re.compile(r"[^\W\d_]+(?:['’‐-][^\W\d_]+)*")


def name_words(text: str) -> list[re.Match[str]]:
    """Return the words of a text that may be parts of a name."""
    return list(_NAME_PART.finditer(text))


def name_key(words: Iterable[str]) -> str:
    """Return words of a name as they are compared."""
    return fold(" ".join(words))


def by_name(values: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the values that each form of a name means, from the names of persons."""
    table: dict[str, dict[str, None]] = {}
    for value in values:
        for key in _name_forms(value):
            table.setdefault(key, {})[value] = None
    return {key: tuple(some) for key, some in table.items()}


def _name_forms(value: str) -> Iterator[str]:
    surname, comma, given = value.partition(",")
    ordered = f"{given} {surname}" if comma else value
    words = [word[0] for word in name_words(ordered)]
    if not words:
        return
    yield name_key(words)
    if len(words) == 1:
        return
    first, last = words[0], words[-1]
    initials = [word[0] for word in words[:-1]]
    for given_names in (words[:-1], [first], initials, initials[:1]):
        yield name_key([*given_names, last])
        yield name_key([last, *given_names])
    yield name_key([last])


_TAGS = (
    "a|abbr|b|blockquote|br|button|center|code|col|dd|del|details|div|dl|dt|em|figcaption|figure|font|h[1-6]|hr|i|iframe"
    "|img|input|ins|kbd|li|ol|p|path|pre|s|section|small|source|span|strong|sub|summary|sup|svg|table|tbody|td|tfoot|th"
    "|thead|tr|u|ul|video"
)
_TARGET = r"\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:[ ]+\"[^\"\n]*\")?\)"
SILENT = re.compile(
    rf"{_TARGET}"
    r"|<https?://[^>\s]+>|https?://[^\s()<>\]\"']+"
    rf"|</?(?:{_TAGS})(?:\s[^<>]*)?/?>|<!--[^<>]*-->"
    r"|(?<!\S)#{1,6}(?=\s)|[-=~#`]{2,}|[*|]+|_{2,}",
    re.DOTALL,
)
"""Parts of a Markdown text that are not words of it."""


def plain_text(text: str) -> str:
    """Return the words of a Markdown text."""
    return " ".join(SILENT.sub(" ", text).replace("![", " ").replace("[", " ").split())
