"""Spans of text that read like instructions to an assistant: found by phrases in several languages, not by a model.

A record that says "ignore all previous instructions" is still data. The spans are reported beside an answer, so that a
client can warn or refuse; the text itself is not changed. `instructions.toml` has the phrases.

Short texts are searched together. Each phrase begins with words that are looked for first, and its expression is
compiled and matched only where they are found. Disguises are removed before (`disguise`); overrides are also found
spaced out or spelt with digits, and all of them in long Base64 words.
"""

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from pinakes.text.disguise import squeeze, undisguise
from pinakes.text.instruction_phrases import Phrase, iter_places, list_begun, list_squeezed, words_of

ENCODED = "encoded"
"""The kind of a span in Base64; the others are in `instructions.toml`."""
MOST_SPANS = 50
"""The most spans that are reported of one answer."""
BATCH_CHARS = 1_500
"""The characters from which on texts are searched together."""
ENCODED_LEAST = 32
ENCODED_PART = 24
"""The length of a Base64 word, and of its parts between signs."""
ENCODED_WORDS = 20
ENCODED_CHARS = 2_000
"""How many long words of texts that are searched together are decoded, and how much of each."""

_END = "\0"
_HEX_DIGITS = b"0123456789abcdef"
_BASE64_SIGNS = re.compile(r"[+/_-]")
_BASE64 = re.compile(rf"[A-Za-z0-9+/_-]{{{ENCODED_LEAST},}}={{0,2}}")


class Span(NamedTuple):
    """A span that reads like an instruction, in characters of a text, and its kind."""

    start: int
    end: int
    kind: str


def has_instructions(text: str) -> bool:
    """Tell whether a text reads like an instruction."""
    return bool(find_in_texts([text]))


def find_instructions(text: str) -> list[Span]:
    """Return the spans of a text that read like instructions, in their order."""
    return [span for _, span in find_in_texts([text])]


def find_in_texts(texts: Sequence[str]) -> list[tuple[int, Span]]:
    """Return the spans of several texts that read like instructions, each with the index of its text."""
    found = (one for first, some in _iter_batches(texts) for one in _find_in_batch(some, first))
    return list(islice(found, MOST_SPANS))


def _iter_batches(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield neighbouring texts, with the index of the first: few enough for most phrases to be ruled out by words."""
    first = size = 0
    for index, text in enumerate(texts):
        size += len(text)
        if size >= BATCH_CHARS:
            yield first, texts[first : index + 1]
            first, size = index + 1, 0
    if first < len(texts):
        yield first, texts[first:]


def _find_in_batch(texts: Sequence[str], first: int) -> list[tuple[int, Span]]:
    spans = _without_overlaps(_iter_spans(_END.join(texts)))
    if not spans:
        return []
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    return [(first + index, span) for index, span in (_placed(span, starts) for span in spans)]


def _placed(span: Span, starts: Sequence[int]) -> tuple[int, Span]:
    """Return the index of the text that a span is in, and its place there."""
    index = bisect_right(starts, span.start) - 1
    end = min(span.end, starts[index + 1] - 1)
    return index, Span(span.start - starts[index], end - starts[index], span.kind)


def _without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in their order; of two that overlap, the first or longer."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _iter_spans(text: str) -> Iterator[Span]:
    plain = undisguise(text)
    words = words_of(plain.text)
    found = _list_found(list_begun(plain.text, words), plain.text)
    squeezed = squeeze(plain.text)
    found_squeezed = _list_found(list_squeezed(squeezed.text), squeezed.text)
    if found or found_squeezed:
        places, of_letters = plain.places(), squeezed.places()
        yield from (_moved(span, places) for span in found)
        yield from (_moved(_moved(span, of_letters), places) for span in found_squeezed)
    if max(map(len, words), default=0) >= ENCODED_PART and any(map(_may_be_encoded, words)):
        yield from _iter_encoded(text)


def _list_found(phrases: Iterable[Phrase], text: str) -> list[Span]:
    places: dict[str, list[int]] = {}  # by beginning, which several phrases share
    found = []
    for phrase in phrases:
        if phrase.begin not in places:
            places[phrase.begin] = list(iter_places(text, phrase.begin))
        found += [Span(start, end, phrase.kind) for start, end in phrase.iter_spans(text, places[phrase.begin])]
    return found


def _moved(span: Span, places: Sequence[int]) -> Span:
    return Span(places[span.start], places[span.end - 1] + 1, span.kind)


def _iter_encoded(text: str) -> Iterator[Span]:
    """Find long Base64 words that decode to instructions."""
    long_words = (word for word in text.split() if len(word) >= ENCODED_LEAST)
    found = (part[0] for word in long_words for part in _BASE64.finditer(word) if _looks_encoded(part[0]))
    after = 0
    for word in islice(found, ENCODED_WORDS):
        start = text.find(word, after)
        after = start + len(word)
        if _decodes_to_instructions(word[:ENCODED_CHARS]):
            yield Span(start, after, ENCODED)


def _looks_encoded(word: str) -> bool:
    """Tell whether a word is neither of one case nor an address, which has more signs."""
    return not word.islower() and not word.isupper() and 12 * len(_BASE64_SIGNS.findall(word)) <= len(word)


def _may_be_encoded(word: bytes) -> bool:
    """Tell whether a word may be Base64: it is long, and no hash."""
    return len(word) >= ENCODED_PART and word.isascii() and bool(word.strip(_HEX_DIGITS))


def _decodes_to_instructions(word: str) -> bool:
    whole = word[: len(word) // 4 * 4].replace("-", "+").replace("_", "/")
    try:
        text = undisguise(base64.b64decode(whole).decode("utf-8", "ignore")).text
    except (binascii.Error, ValueError):
        return False
    return bool(_list_found(list_begun(text, words_of(text)), text))
