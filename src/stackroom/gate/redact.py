"""Redaction: parameters without secrets and of bounded length, for the audit and the log."""

import re
from collections.abc import Mapping
from typing import Any

from stackroom.net.shown import REDACTED, SECRET_NAME, SECRET_PARAMETERS, SECRET_WORDS

LONGEST_TEXT = 500
LOOKED_AT = 10_000
"""The length of text that is searched for secrets: more than is kept, so that none is cut in half first."""
MOST_ITEMS = 50
DEEPEST = 6

# No alternative requires a suffix that may never come, such as the dot of a JWT: a prefix is enough, so that matching
# stays linear on a text that is full of prefixes.
_SECRET_TEXT = re.compile(
    r"stk_[a-z]_[A-Za-z0-9_-]{8,}"  # a session or token of Stackroom
    r"|(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}"  # a JWT
    r"|(?i:(?<![a-z0-9])bearer\s+)[A-Za-z0-9._~+/-]{8,}=*"
    r"|(?i:(?<![a-z0-9])authorization\s*[:=]\s*)\S+(?:[ \t]+[A-Za-z0-9._~+/-]{8,}=*)?"
    r"|(?<=://)[^\s/?#]+(?=@)"  # user:password, or a token, in a URL
    rf"|(?i:(?<=[?&;#])[\w.-]{{0,40}}(?:{SECRET_WORDS})[\w.-]{{0,40}}=)[^\s&;#]+"
    rf"|(?i:(?<=[?&;#])(?:{SECRET_PARAMETERS})=)[^\s&;#]+"  # a secret in a query string
)


def redacted(value: Any, *, depth: int = 0) -> Any:
    """Return JSON values with secrets replaced, by their names or their form, and long texts truncated.

    Unpaired surrogates and NULs, which not every database stores, are replaced.
    """
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth >= DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    if isinstance(value, list | tuple):
        items = [redacted(item, depth=depth + 1) for item in value[:MOST_ITEMS]]
        return [*items, f"… ({len(value)} items)"] if len(value) > MOST_ITEMS else items
    return redacted(str(value), depth=depth)


def _text(value: str) -> str:
    whole = value[:LOOKED_AT].encode("utf-8", "replace").decode().replace("\0", "\N{SYMBOL FOR NULL}")
    text = _SECRET_TEXT.sub(REDACTED, whole)
    if len(text) <= LONGEST_TEXT and len(value) <= LOOKED_AT:
        return text
    return f"{text[:LONGEST_TEXT]}… ({len(value)} characters)"


def _mapping(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key in list(value)[:MOST_ITEMS]:
        is_secret = SECRET_NAME.search(str(key)[:LOOKED_AT])
        kept[_text(str(key))] = REDACTED if is_secret else redacted(value[key], depth=depth + 1)
    if len(value) > MOST_ITEMS:
        kept["…"] = f"{len(value)} keys"
    return kept
