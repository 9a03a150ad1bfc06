"""The text of an answer held against its structured content: a client that shows its model one has
all of the other.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema

NO_NAMES: frozenset[str] = frozenset()


def require_fitting(value: Any, schema: Mapping[str, Any]) -> None:
    """Raise where a value is not as its schema says; the schema itself is checked too, once."""
    _validator(json.dumps(schema)).validate(value)


@cache
def _validator(schema: str) -> Any:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema))
    return jsonschema.Draft202012Validator(json.loads(schema))


def values_missing_from_text(
    structured: Any, text: str, *, apart_from: Collection[str] = NO_NAMES
) -> list[str]:
    """Return the values of a structured answer that its text does not have, each with its path.

    Blanks count alike whatever their number, so a text may be indented or on one line. A number is
    there with all of its digits; what is true is there by the name of its field; null, false and
    empty values may be left out. Fields in `apart_from` are left out wherever they are. A text that
    is JSON must be the same JSON; a value in a line of JSON may be escaped. A text that is cut to a
    budget may have more than the structured answer: longer texts, and a later end.
    """
    if _is_json(text):
        return [] if json.loads(text) == structured else ["the text is another JSON value"]
    words = _plain(text)
    leaves = [
        (path, value)
        for path, value in _leaves(structured, "", apart_from)
        if not _is_of_the_cut(path, value)
    ]
    return [f"{path}: {value!r}" for path, value in leaves if not _has(words, path, value)]


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False


def _leaves(value: Any, path: str, apart_from: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield every scalar with its path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in apart_from:
                yield from _leaves(inner, f"{path}.{name}".lstrip("."), apart_from)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{place}]", apart_from)
    elif value is not None and value is not False and value != "":
        yield path, value


def _is_of_the_cut(path: str, value: Any) -> bool:
    """Tell whether a value says where this form of an answer ends."""
    is_end = path.rpartition(".")[2] in ("cursor", "has_more", "group_count")
    return is_end or (path.startswith("notes[") and "max_tokens" in str(value))


def _has(words: str, path: str, value: Any) -> bool:
    if value is True:
        name = _plain(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", path.rpartition(".")[2])).lower()
        return name.removeprefix("is ") in words.lower() or path.rpartition(".")[2] in words
    if isinstance(value, int | float):
        return re.search(rf"(?<![\d.]){re.escape(str(value))}(?!\.?\d)", words) is not None
    beginning = value.removesuffix("…").rstrip()
    return _plain(beginning) in words or json.dumps(beginning, ensure_ascii=False)[1:-1] in words


def _plain(text: str) -> str:
    return " ".join(text.split())
