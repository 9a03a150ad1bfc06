"""Map a row of a file to the record of the file and those of its passages.

Rows have `path` and `text`, and may have `title`, `tags`, `format`, `modified` and `checksum`, as
folders yield them.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from stackroom.api import InputError, Record, RecordId
from stackroom.api.rows import FolderRows, RowSource, find_path, first_heading, split_passages
from stackroom_catalogues.documents.tools import DOCUMENT, PASSAGE

BEGINNING_CHARS = 300
TITLE_CHARS = 80
ID_DIGITS = 16
NAMELESS = frozenset({"readme", "index"})
PATH_NAMES = ("path", "file_path", "source", "file_name", "doc_id")
"""Columns that may hold the path of a passage's file."""

_BETWEEN_WORDS = re.compile(r"[-_]+|(?<=[a-z0-9])(?=[A-Z])")


def records_of(row: Mapping[str, Any]) -> tuple[Record, ...]:
    """Return the record of a file, and after it those of its passages; refuse a file without a path
    or a text.
    """
    path, text = _text(row, "path"), _text(row, "text")
    heading, stated = first_heading(text), row.get("title")
    shared = {"path": path, "section": section_of(path), "tags": _tags(row)}
    title = heading or (stated.strip() if isinstance(stated, str) else "") or title_of(path)
    fields = {
        "title": title,
        "content": _beginning(text),
        "text": text,
        **{name: row.get(name) for name in ("format", "modified", "checksum")},
    }
    outer = () if heading else (title,)  # the title of a file that does not begin with it
    passages = [
        _record(
            f"{path}#{position}",
            PASSAGE,
            {
                **shared,
                "title": passage.title or title,
                "content": passage.text,
                "headings": passage.headings
                if passage.headings[:1] == outer
                else (*outer, *passage.headings),
                "first_line": passage.first_line,
                "last_line": passage.last_line,
                "document": path,
                "position": position,
            },
        )
        for position, passage in enumerate(split_passages(text), start=1)
    ]
    return (_record(path, DOCUMENT, {**shared, **fields}), *passages)


def open_rows(location: str) -> RowSource | None:
    """Return the source of a folder or of a text file; None for other locations."""
    path = find_path(location)
    return FolderRows(path) if path and FolderRows.reads(path) else None


def records_of_chunk(row: Mapping[str, Any]) -> tuple[Record, ...]:
    """Return a row of a foreign table as a passage: its text, and its place as the row states
    it.
    """
    text = _text(row, "text")
    path = next((str(row[name]) for name in PATH_NAMES if row.get(name)), "")
    record_id = str(
        row.get("id") or f"{path}#{hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]}"
    )
    heading = first_heading(text) or str(row.get("heading") or row.get("title") or "")
    fields = {
        "title": heading or PurePosixPath(path).stem or _beginning(text)[:TITLE_CHARS],
        "content": text,
        "path": path or record_id,
        "section": section_of(path),
        "tags": _tags(row),
        "headings": (heading,) if heading else (),
        "first_line": row.get("first_line"),
        "last_line": row.get("last_line"),
    }
    return (_record(record_id, PASSAGE, fields),)


def section_of(path: str) -> str:
    """Return the first folder of a path, or nothing."""
    return path.split("/", 1)[0] if "/" in path else ""


def title_of(path: str) -> str:
    """Return the words of a file's name, or those of its folder's where the name says nothing."""
    file = PurePosixPath(path)
    stem = file.parent.name if file.stem.lower() in NAMELESS and file.parent.name else file.stem
    return " ".join(_BETWEEN_WORDS.sub(" ", stem).split()) or stem


def _record(record_id: str, kind: str, fields: Mapping[str, Any]) -> Record:
    return Record(
        id=RecordId(record_id),
        kind=kind,
        fields={name: value for name, value in fields.items() if value},
    )


def _beginning(text: str) -> str:
    words = " ".join(text.lstrip()[: 4 * BEGINNING_CHARS].split())
    return words if len(words) <= BEGINNING_CHARS else words[:BEGINNING_CHARS].rsplit(" ", 1)[0]


def _tags(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(tag for tag in row.get("tags") or () if isinstance(tag, str))


def _text(row: Mapping[str, Any], field: str) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"'{field}' is missing; every file needs one")
    return value
