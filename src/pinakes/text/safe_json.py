"""JSON that is safe to show: every text in it is as `safe` makes it, also where JSON escapes a character."""

import re

import orjson

from pinakes.text.safe import ESCAPED_SUSPECT, is_safe, safe_value

_ESCAPED = re.compile(ESCAPED_SUSPECT)


def safe_json(text: str, *, option: int = 0) -> str:
    """Return a JSON text with every text in it safe; `option` is that of orjson, for one that has to be rewritten."""
    if is_safe_json(text):
        return text
    return orjson.dumps(safe_value(orjson.loads(text)), option=option).decode()


def is_safe_json(text: str) -> bool:
    """Tell whether a JSON text has no suspect character, escaped or not; one that has may still be safe as it is."""
    return _ESCAPED.search(text) is None and is_safe(text)
