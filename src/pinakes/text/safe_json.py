"""JSON that is safe to show: every text in it is as `safe` makes it, also where JSON escapes a character."""

import re

import orjson

from pinakes.text.safe import JSON_SUSPECT, safe_value

_SUSPECT = re.compile(JSON_SUSPECT)


def safe_json(text: str, *, option: int = 0) -> str:
    """Return a JSON text with every text in it safe; `option` is that of orjson, for one that has to be rewritten."""
    if _SUSPECT.search(text) is None:
        return text
    return orjson.dumps(safe_value(orjson.loads(text)), option=option).decode()
