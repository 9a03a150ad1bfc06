"""The synonyms of a catalogue: read from its source, stored in its folder, and added to queries.

`synonyms.json` maps a word or phrase to others. They hold both ways, as those of a `catalogue.toml`
do. A query that has one is looked for with the others too, as words of less weight; its meaning
stays that of what was asked.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from stackroom import api

SYNONYMS = "synonyms.json"
KEPT_FOLDER = "files"
MAX_ADDED = 12  # the most synonyms added to a query

_WORD = re.compile(r"\w+")


def read_synonyms(document: Any, *, origin: str) -> dict[str, list[str]]:
    """Check the form of a table of synonyms; `origin` names it in errors."""
    if not isinstance(document, dict):
        raise api.InputError(
            f'{origin}: an object is expected, as in {{"power": ["strength", "force"]}}'
        )
    table = {}
    for word, others in document.items():
        listed = [others] if isinstance(others, str) else others
        if not isinstance(listed, list) or not all(isinstance(other, str) for other in listed):
            raise api.InputError(
                f'{origin}: the synonyms of \'{word}\' are not a list of texts, such as ["a", "b"]'
            )
        table[word] = listed
    return table


def load_kept(catalogue: api.OpenCatalogue) -> dict[str, list[str]]:
    """Return the synonyms kept beside a catalogue; those of its declaration where there are
    none.
    """
    path = catalogue.folder / KEPT_FOLDER / SYNONYMS if catalogue.folder else None
    if path is None or not path.is_file():
        return {word: list(others) for word, others in catalogue.spec.synonyms.items()}
    try:
        return read_synonyms(orjson.loads(path.read_bytes()), origin=str(path))
    except orjson.JSONDecodeError as error:
        raise api.InputError(
            f"{path}: not valid JSON at line {error.lineno}: {error.msg}; build it again"
        ) from error


def synonyms_in(text: str, table: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the synonyms of the words and phrases in a text, without those that it contains
    already.
    """
    asked = _padded(text)
    found: dict[str, None] = {}
    for word, others in table.items():
        group = [word, *others]
        if any((phrase := _padded(member)).strip() and phrase in asked for member in group):
            found.update(dict.fromkeys(member for member in group if _padded(member) not in asked))
    return list(found)[:MAX_ADDED]


def synonyms_of(view: api.CatalogueView, query: str) -> list[str]:
    """Return the synonyms of a query that are kept beside its catalogue."""
    return synonyms_in(query, load_kept(view.catalogue))


def _padded(text: str) -> str:
    """Return the words of a text with blanks around each, so that phrases match whole words."""
    return f" {' '.join(_WORD.findall(text.lower()))} "
