"""`/docs` and `/llms.txt`: the guides and the reference of this version, from the Markdown that the
package ships.

Browsers get pages, programs get the Markdown, at the same addresses. What is not shipped, such as
pictures and decisions, is not linked: its text is left.
"""

import posixpath
import re
from collections.abc import Callable
from functools import lru_cache
from html import escape
from importlib.metadata import metadata
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from brotli_asgi import BrotliMiddleware
from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, Router

SHIPPED = Path(str(files("stackroom") / "docs"))
FOLDER = SHIPPED if SHIPPED.is_dir() else Path(__file__).parents[4] / "docs"
"""The folder in the installed package, or that of the checkout."""
SECTIONS = {"Guides": "*.md", "Reference": "reference/*.md"}
INDEX = "README.md"
HEADERS = {"Cache-Control": "no-cache", "Vary": "Accept"}
PLAIN_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"
"""The Content-Security-Policy of pages on which nothing runs."""
NOT_PROSE = ("<!--", "|", "#", "```")
QUALITY = 5  # how hard Brotli tries: the longest page takes some milliseconds

_ELSEWHERE = re.compile(r"[a-z]+:|#")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SENTENCE_END = re.compile(r"(?<=[.?])\s")


def docs_routes(
    template: str, wants_html: Callable[[Request], bool], not_found: Response
) -> list[BaseRoute]:
    """Return the routes of the documentation; the template has places for a title and a content."""

    def show(request: Request) -> Response:
        name = request.path_params["page"] or INDEX
        if name not in list_pages():
            if wants_html(request):
                return not_found
            raise HTTPException(404)
        if not wants_html(request):
            return Response(_read(name), headers=HEADERS, media_type="text/markdown")
        title, content = render_page(name)
        page = template.replace("{{title}}", escape(title)).replace("{{content}}", content)
        return Response(
            page,
            headers={**HEADERS, "Content-Security-Policy": PLAIN_POLICY},
            media_type="text/html",
        )

    to_index = Response(status_code=307, headers={"Location": "docs/"})
    pages = BrotliMiddleware(Router([Route("/{page:path}", show)]), quality=QUALITY)
    for_models = Route(
        "/llms.txt",
        lambda _request: Response(llms_text(), headers=HEADERS, media_type="text/plain"),
    )
    return [Route("/docs", to_index, methods=["GET"]), Mount("/docs", pages), for_models]


@lru_cache
def list_pages() -> dict[str, str]:
    """Return the sections of all pages, by name, in order."""
    found = (
        (section, page) for section, form in SECTIONS.items() for page in sorted(FOLDER.glob(form))
    )
    return {page.relative_to(FOLDER).as_posix(): section for section, page in found}


def llms_text(prefix: str = "docs/") -> str:
    """Return an index of the pages for language models, as llmstxt.org describes it: title,
    address, first sentence.
    """
    parts = [f"# Stackroom\n\n> {metadata('stackroom')['Summary']}"]
    for section in SECTIONS:
        names = [
            name
            for name, its_section in list_pages().items()
            if its_section == section and name != INDEX
        ]
        lines = [
            f"- [{title}]({prefix}{name}): {about}"
            for name in names
            for title, about in [_abstract(name)]
        ]
        parts.append(f"## {section}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _abstract(name: str) -> tuple[str, str]:
    """Return the title of a page, and its first sentence."""
    title, *parts = [part.strip() for part in _read(name).split("\n\n")]
    first = next(part for part in parts if not part.startswith(NOT_PROSE))
    sentence = _SENTENCE_END.split(_LINK.sub(r"\1", " ".join(first.split())))[0]
    return title.removeprefix("# "), sentence


@lru_cache(maxsize=128)
def render_page(name: str) -> tuple[str, str]:
    """Return the title of a page, and its HTML."""
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = [token for token in markdown.parse(_read(name)) if token.type != "html_block"]
    known: dict[str, int] = {}
    for token, following in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _anchor(following.content, known))
        elif token.type == "table_open":
            token.attrSet("class", "data")
    for token in tokens:
        _unlink(token.children or [], posixpath.dirname(name))
    return _abstract(name)[0], markdown.renderer.render(tokens, markdown.options, {})


def _anchor(heading: str, known: dict[str, int]) -> str:
    """Return the anchor of a heading, as GitHub makes it: lower case, without punctuation, blanks
    as dashes.
    """
    anchor = re.sub(r"[^\w\- ]", "", _LINK.sub(r"\1", heading).lower()).replace(" ", "-")
    known[anchor] = known.get(anchor, -1) + 1
    return f"{anchor}-{known[anchor]}" if known[anchor] else anchor


def _unlink(tokens: list[Token], folder: str) -> None:
    """Leave the text of links to files that are not shipped, and no pictures."""
    is_dead = False
    for token in tokens:
        if token.type == "link_open":
            target = str(token.attrGet("href"))
            path = posixpath.normpath(posixpath.join(folder, target.partition("#")[0]))
            is_dead = not _ELSEWHERE.match(target) and path not in list_pages()
        if is_dead and token.type in ("link_open", "link_close"):
            token.tag, token.attrs = "span", {}
        if token.type == "image":
            token.type, token.content = "text", ""


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
