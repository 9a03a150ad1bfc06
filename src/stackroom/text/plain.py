"""Markdown → the words that it says: without addresses, targets of links, HTML tags and the signs of its markup."""

import re

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
