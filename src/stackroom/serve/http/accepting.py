"""The `Accept` and `Accept-Encoding` headers: which form of an answer a client prefers."""

from collections.abc import Sequence

from starlette.datastructures import Headers

HTML = "text/html"
JSON = "application/json"
MOST_READ = 2000
"""How many characters of a header are read: browsers send fewer than 200."""


def wants_html(headers: Headers) -> bool:
    """Tell whether a client asks for HTML by name, and not for JSON before it, as browsers do."""
    wanted = _qualities(headers.get("accept", ""))
    html = wanted.get(HTML, 0.0)
    return html > 0 and html >= wanted.get(JSON, wanted.get("*/*", 0.0))


def choose_encoding(headers: Headers, offered: Sequence[str]) -> str | None:
    """Return the first of the offered content encodings that a client takes; None: send it as it is."""
    wanted = _qualities(headers.get("accept-encoding", ""))
    return next((name for name in offered if wanted.get(name, wanted.get("*", 0.0)) > 0), None)


def is_known(headers: Headers, etag: str) -> bool:
    """Tell whether a client has the content with this ETag already (`If-None-Match`)."""
    known = [one.strip().removeprefix("W/") for one in headers.get("if-none-match", "").split(",")]
    return etag.removeprefix("W/") in known or known == ["*"]


def _qualities(header: str) -> dict[str, float]:
    """Return the values of a header, each with its quality, from 0 to 1."""
    found = {}
    for part in header[:MOST_READ].lower().split(","):
        value, *parameters = (piece.strip() for piece in part.split(";"))
        quality = next((piece[2:] for piece in parameters if piece.startswith("q=")), "1")
        found[value] = _number_of(quality)
    return found


def _number_of(quality: str) -> float:
    try:
        return float(quality)
    except ValueError:
        return 0.0
