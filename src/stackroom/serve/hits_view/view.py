"""The view itself: one document with style and script in it, made of the page's modules when it is first read."""

import re
from functools import lru_cache
from importlib.resources import files

from stackroom.serve.hits_view.modules import join_modules

ENTRY = "assistant/hits.js"
STYLES = ("style.css", "assistant/hits.css")
BARE_NAMES = {"preact": "vendor/preact.js"}
DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Search results</title>
<style>
{style}</style>
</head>
<body>
<div id="app"></div>
<script type="module">
{script}
</script>
</body>
</html>
"""

_BY_BROWSER = re.compile(r"@media \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}\s*\}")


@lru_cache(maxsize=1)
def build_view() -> str:
    """Return the document."""
    script = join_modules(ENTRY, _read, BARE_NAMES).replace("</script", r"<\/script")
    style = "".join(_read(name) for name in STYLES)
    return DOCUMENT.format(style=_by_attribute(style), script=script)


def _by_attribute(style: str) -> str:
    """Return the style with its dark colours chosen by the assistant's theme, and not by the browser's."""
    return _BY_BROWSER.sub(r":root[data-theme=dark] {\1}", style)


def _read(name: str) -> str:
    return (files("stackroom.serve.http") / "site" / name).read_text(encoding="utf-8")
