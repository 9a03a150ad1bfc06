"""A row of paper metadata → a record.

Rows have `title`, `authors`, `abstract` and `publish_year` (or `year`), as the providers yield
them. Authors are names, objects of `name` and `affiliations`, or objects of `first` and `last` as
in bibliographies.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from stackroom.api import InputError, Record, RecordId, RowMapping, Tag

YEARS = range(1000, 3000)
ABSTRACT = re.compile(r"^\W*abstract\b[\s.:—-]*", re.IGNORECASE | re.MULTILINE)
ABSTRACT_CHARS = 1_800
TITLE_CHARS = 300
DOI_PREFIX = re.compile(r"^https?://(dx\.)?doi\.org/", re.IGNORECASE)


def record_of(row: Mapping[str, Any]) -> Record:
    """Return the record of a paper, or refuse one without a title."""
    if "text" in row and "abstract" not in row:
        row = _of_document(row)
    title = _text(row.get("title"))
    if not title:
        raise InputError("'title' is missing; every paper needs one")
    authors = _authors(row.get("authors") or row.get("author"))
    fields = {
        "title": title,
        "abstract": _text(row.get("abstract") or row.get("summary")),
        "authors": authors,
        "author_names": tuple(author["name"] for author in authors),
        "affiliations": tuple(
            dict.fromkeys(place for author in authors for place in author["affiliations"])
        ),
        "publish_year": _year(row.get("publish_year", row.get("year"))),
        "venue": ", ".join(_texts(row.get("venue") or row.get("booktitle") or row.get("journal"))),
        "keywords": tuple(
            dict.fromkeys(
                Tag("", text) for text in _texts(row.get("keywords") or row.get("categories"))
            )
        ),
        "doi": DOI_PREFIX.sub("", _text(row.get("doi"))),
        "url": _text(row.get("url")),
    }
    record_id = _text(row.get("id")) or normalised_title(title)
    return Record(
        id=RecordId(record_id[:512]),
        fields={name: value for name, value in fields.items() if value},
    )


def normalised_title(title: str) -> str:
    """Return a title in canonical form, by which papers are compared: lower case, trimmed, spaces
    collapsed.
    """
    return " ".join(title.lower().split())


def identities_of(record: Record) -> tuple[str, ...]:
    """Return the unique key of a paper: the normalised title."""
    return (normalised_title(str(record.get("title"))),)


MAPPING = RowMapping(records_of=lambda row: (record_of(row),), identities_of=identities_of)


def _of_document(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row completed from the text of the paper: its title and its abstract."""
    text = str(row.get("text") or "")
    lines = [
        stripped for line in text.splitlines() if (stripped := line.strip().lstrip("#").strip())
    ]
    first = lines[0][:TITLE_CHARS] if lines else ""
    title = _text(row.get("title")) or first
    found = ABSTRACT.search(text)
    body = lines[1:] if normalised_title(first) == normalised_title(title) else lines
    abstract = text[found.end() :] if found else " ".join(body)
    return {
        **row,
        "id": row.get("path") or row.get("id"),
        "title": title,
        "abstract": " ".join(abstract.split())[:ABSTRACT_CHARS],
    }


def _authors(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):  # a list as JSON, as an exported table has it
            value = json.loads(value)
    if isinstance(value, str):
        value = [name for name in re.split(r"\s*;\s*|\s+and\s+", value) if name]
    if not isinstance(value, list | tuple | None):
        raise InputError("'authors' is not a list of names, such as [\"Ada Lovelace\"]")
    return [author for one in value or () if (author := _author(one))["name"]]


def _author(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": _text(value), "affiliations": []}
    if not isinstance(value, Mapping):
        raise InputError(f"'authors' has {value!r:.60}; a name or an object with 'name' is right")
    name = _text(value.get("name")) or " ".join(
        part for key in ("first", "last") if (part := _text(value.get(key)))
    )
    places = value.get("affiliations") or value.get("affiliation") or []
    return {"name": name, "affiliations": list(_texts(places))}


def _year(value: Any) -> int | None:
    if value in (None, ""):
        return None
    text = str(value).strip()
    if not text.isdecimal() or int(text) not in YEARS:
        raise InputError(f"'publish_year' is {value!r}, not a year such as 2018")
    return int(text)


def _texts(value: Any) -> list[str]:
    """Return the texts of a list, or of one text; an affiliation may be an object with a name."""
    items = value if isinstance(value, list | tuple) else [value]
    named = [
        item.get("name") or item.get("institution") or item.get("laboratory")
        if isinstance(item, Mapping)
        else item
        for item in items
    ]
    return [text for one in named if (text := _text(one))]


def _text(value: Any) -> str:
    return (
        " ".join(str(value).split())
        if isinstance(value, str | int) and not isinstance(value, bool)
        else ""
    )
