"""Names of persons as people write them: "Geoffrey E. Hinton", "Geoffrey Hinton", "Hinton, G.", "Hinton"."""

import re
from collections.abc import Iterable, Iterator, Mapping

from stackroom.text.normalise import fold

_WORD = re.compile(r"[^\W\d_]+(?:['’‐-][^\W\d_]+)*")


def name_words(text: str) -> list[re.Match[str]]:
    """Return the words of a text that may be parts of a name."""
    return list(_WORD.finditer(text))


def name_key(words: Iterable[str]) -> str:
    """Return words of a name as they are compared."""
    return fold(" ".join(words))


def by_name(values: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the values that each form of a name means, from the names of persons."""
    table: dict[str, dict[str, None]] = {}
    for value in values:
        for key in _forms(value):
            table.setdefault(key, {})[value] = None
    return {key: tuple(some) for key, some in table.items()}


def _forms(value: str) -> Iterator[str]:
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
