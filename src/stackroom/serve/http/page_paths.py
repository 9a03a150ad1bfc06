"""The page for people: its files, and one document for all of its paths, which decides in the
browser what to show.

The address of the files has the digest of all of them in it, so that browsers may keep them for
ever. Programs that ask for the page's paths are passed on: there is JSON at some of them.
"""

import base64
import hashlib
import json
import mimetypes
import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path

from brotli_asgi import BrotliMiddleware
from starlette.datastructures import Headers, QueryParams
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from stackroom.errors import StorageError
from stackroom.serve.http.docs import PLAIN_POLICY, docs_routes
from stackroom.serve.http.guard import Authenticator
from stackroom.settings import WebSettings

FOLDER = Path(str(files(__package__) / "site"))
DOCUMENT = "index.html"
NOT_FOUND = "not-found.html"
DOCS = "docs.html"
PATHS = "paths.json"
SITE_PLACE = "{{site}}"
GRAPH_PLACE = "{{graph}}"
ENTRIES = ("start.js", "app.js")
LOG_IN = "views/account.js"
LINKED_AS = {".css": "stylesheet", ".js": "modulepreload"}
KNOWN = '<meta name="known">'
"""Tells the page that its visitor is known, so that it asks for what they see without asking who
they are first.
"""
DIGEST_LETTERS = 16
CHECKED_EACH_TIME = {"Cache-Control": "no-cache", "Vary": "Accept, Cookie"}
# how hard Brotli tries: a file of the page takes some milliseconds, once for each browser and
# version
QUALITY = 9
FOR_EVER = "public, max-age=31536000, immutable"
CHAT_ADDRESSES = (
    "https://api.anthropic.com",
    "https://api.openai.com",
    "https://generativelanguage.googleapis.com",
    "https://openrouter.ai",
    "http://localhost:11434",
    "http://127.0.0.1:11434",
)
"""The language models that the chat can call from the browser; which of them is called, its user
configures.
"""

OWN = "'self'"
ICON = "icon.svg"

_IMPORT_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)
_IMPORT = re.compile(
    r"""^(?:import|export)\s(?:[\w\s{},*$]*?\bfrom\s*)?["'](\.[^"']+)["']""", re.MULTILINE
)
_COMMENT = re.compile(r"^\s*//.*\n", re.MULTILINE)
_STYLE = re.compile(r"""\buseStyle\(["']([^"']+)["']\)""")


class SiteFiles(StaticFiles):
    """The files of the page, at an address that is another when one of them has changed."""

    def __init__(self, folder: Path = FOLDER) -> None:
        super().__init__(directory=folder)
        mimetypes.add_type("text/javascript", ".js")  # Windows may have another type for it
        self.folder = folder
        self._needed: dict[str, list[str]] = {}
        """The modules that a module imports, and its styles."""
        self._modules: dict[str, str] = {}
        digest = hashlib.sha256()
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            content = path.read_bytes() if path.is_file() else b""
            digest.update(f"{name}\n".encode() + content)
            if path.suffix == ".js":
                source, inside = content.decode(), posixpath.dirname(name)
                imported = [
                    posixpath.normpath(posixpath.join(inside, one))
                    for one in _IMPORT.findall(source)
                ]
                self._needed[name] = [*imported, *_STYLE.findall(source)]
                self._modules[os.path.realpath(path)] = without_comments(source)
        self.address = f"/site/{digest.hexdigest()[:DIGEST_LETTERS]}"

    def read(self, name: str) -> str:
        """Return the text of a file, with the address of the others in it."""
        return (self.folder / name).read_text(encoding="utf-8").replace(SITE_PLACE, self.address)

    def list_graph(self, entries: Iterable[str]) -> list[str]:
        """Return what a browser loads for modules: they, all that they import, and their styles."""
        graph: dict[str, None] = {}
        waiting = [*entries]
        while waiting:
            name = waiting.pop(0)
            if name not in graph:
                graph[name] = None
                waiting += self._needed.get(name, ())
        return list(graph)

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return a file, to be kept for ever; a module without its comments."""
        module = self._modules.get(os.fspath(full_path))
        if module is None:
            response = super().file_response(full_path, stat_result, scope, status_code)
        else:
            response = Response(module, status_code, media_type="text/javascript")
        response.headers["Cache-Control"] = FOR_EVER
        return response


def without_comments(source: str) -> str:
    """Return a module without the lines that are comments."""
    return _COMMENT.sub("", source)


def with_page(
    routes: Sequence[BaseRoute],
    settings: WebSettings,
    site: SiteFiles | None = None,
    authenticator: Authenticator | None = None,
) -> list[BaseRoute]:
    """Return routes with those of the page around them: its document at its paths, its files, and
    one of no path.
    """
    icon = Response(
        (FOLDER / ICON).read_bytes(), media_type="image/svg+xml", headers=CHECKED_EACH_TIME
    )
    icons: list[BaseRoute] = [
        Route(path, icon, methods=["GET"]) for path in ("/favicon.ico", "/favicon.svg")
    ]
    if not settings.page:
        return [*routes, *icons]
    site = site or SiteFiles()
    shown = _Document(site, settings, authenticator)
    headers = {**CHECKED_EACH_TIME, "Content-Security-Policy": PLAIN_POLICY}
    not_found = Response(site.read(NOT_FOUND), 404, headers, "text/html")
    files_of_page = Mount(site.address, BrotliMiddleware(site, quality=QUALITY))
    docs = docs_routes(site.read(DOCS), lambda request: _wants_html(request.headers), not_found)
    return [
        _PageRoute(shown, [*shown.views]),
        *routes,
        files_of_page,
        *docs,
        *icons,
        _PageRoute(not_found),
    ]


class _Document:
    """ASGI: the page's document, with links to all files of the view that an address shows, loaded
    in one go.

    `views` has the modules of a path (`/c/*`) or of a parameter (`&view=map`).
    """

    def __init__(
        self, site: SiteFiles, settings: WebSettings, authenticator: Authenticator | None
    ) -> None:
        self._site, self._authenticator = site, authenticator
        self.views: dict[str, list[str]] = json.loads(site.read(PATHS))
        self._page = site.read(DOCUMENT)
        policies = {"Content-Security-Policy": page_policy(self._page, settings)}
        self._headers = {
            **CHECKED_EACH_TIME,
            **policies,
            "Cross-Origin-Opener-Policy": "same-origin",
        }
        self._built: dict[tuple[str, ...], Response] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the document for an address and its visitor."""
        asked = [
            scope["path"],
            *(f"&{name}={value}" for name, value in QueryParams(scope["query_string"]).items()),
        ]
        views = [view for view in self.views if any(fnmatchcase(one, view) for one in asked)]
        extra = (KNOWN,) if await self._is_known(Headers(scope=scope)) else ()
        key = (*views, *extra)
        if key not in self._built:
            self._built[key] = self._build(views, extra)
        await self._built[key](scope, receive, send)

    def _build(self, views: Sequence[str], extra: tuple[str, ...]) -> Response:
        entries = [
            *ENTRIES,
            *(name for view in views for name in self.views[view]),
            *(() if extra else (LOG_IN,)),
        ]
        files = [
            (LINKED_AS[posixpath.splitext(name)[1]], name)
            for name in self._site.list_graph(entries)
        ]
        links = [f'<link rel="{kind}" href="{self._site.address}/{name}">' for kind, name in files]
        return Response(
            self._page.replace(GRAPH_PLACE, "\n".join((*links, *extra))),
            200,
            self._headers,
            "text/html",
        )

    async def _is_known(self, headers: Headers) -> bool:
        """Tell whether the tools are open to the visitor."""
        try:
            identity = await self._authenticator.identify(headers) if self._authenticator else None
        except StorageError:
            return False
        return identity is not None and not identity.must_choose_password


class _PageRoute(BaseRoute):
    """A document for browsers at some paths, or at all; programs are passed on to the routes after
    it.
    """

    def __init__(self, document: ASGIApp, paths: Sequence[str] = ("/*",)) -> None:
        self._document = document
        self._paths = paths

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match what a browser asks for."""
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        is_ours = is_read and any(fnmatchcase(scope["path"], known) for known in self._paths)
        return (Match.FULL if is_ours and _wants_html(Headers(scope=scope)) else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the document."""
        await self._document(scope, receive, send)


def _wants_html(headers: Headers) -> bool:
    """Tell whether a client asks for HTML by name, and not for JSON, as browsers do."""
    accepted = headers.get("accept", "").lower()
    return "text/html" in accepted and "application/json" not in accepted


def page_policy(page: str, settings: WebSettings) -> str:
    """Return the Content-Security-Policy of the page: its files, and its import map, are all that
    runs.
    """
    models = (*CHAT_ADDRESSES, *settings.connect) if settings.chat else ()
    digests = [hashlib.sha256(inline.encode()).digest() for inline in _IMPORT_MAP.findall(page)]
    scripts = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    return (
        f"default-src 'none'; script-src {' '.join(dict.fromkeys([OWN, *scripts]))}; style-src"
        " 'self'; img-src 'self' data: blob:; media-src 'self'; connect-src"
        f" {' '.join(dict.fromkeys([OWN, *models]))}; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
