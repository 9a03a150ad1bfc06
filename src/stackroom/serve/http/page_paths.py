"""The page for people: its files, and one document for all of its paths, which decides in the browser what to show.

Programs that ask for the same paths are passed on: there is JSON at some of them.
"""

import json

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stackroom.serve.http.accepting import wants_html
from stackroom.serve.http.content_policy import page_policy
from stackroom.serve.http.replies import status_reply
from stackroom.serve.http.site_files import CHECKED_EACH_TIME, FOLDER, FOR_EVER, SiteFile, SiteFiles
from stackroom.serve.icon import PICTURE
from stackroom.settings import WebSettings

DOCUMENT = "index.html"
PATHS = "paths.json"
SITE_PLACE = "{{site}}"
ICON_PATHS = ("/favicon.ico", "/favicon.svg")
READING = ("GET", "HEAD")


class PagePaths:
    """ASGI: answers browsers with the page and its files, and passes on everything else."""

    def __init__(self, app: ASGIApp, files: SiteFiles, settings: WebSettings) -> None:
        self._app = app
        self._files = files
        self._icon = SiteFile("icon.svg", PICTURE.encode())
        self._paths: list[str] = json.loads(files.get(PATHS)) if settings.page else []
        page = files.get(DOCUMENT).decode().replace(SITE_PLACE, files.address)
        self._page = SiteFile(DOCUMENT, page.encode())
        self._headers = {
            **CHECKED_EACH_TIME,
            "Vary": "Accept, Accept-Encoding",
            "Content-Security-Policy": page_policy(page, settings),
            "Cross-Origin-Opener-Policy": "same-origin",
        }
        self._is_page_served = settings.page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for the page, or pass it on."""
        if scope["type"] != "http" or scope["method"] not in READING:
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        is_page = self._is_page_path(path)
        reply = await self._find_reply(scope["method"], path, headers, is_page=is_page)
        if reply is not None:
            await reply(scope, receive, send)
        else:
            await self._app(scope, receive, _by_accept(send) if is_page else send)

    async def _find_reply(self, method: str, path: str, headers: Headers, *, is_page: bool) -> Response | None:
        if is_page and wants_html(headers):
            self._files.compress_beside()
            return await anyio.to_thread.run_sync(self._page.reply, method, headers, self._headers)
        if path in ICON_PATHS:
            return self._icon.reply(method, headers, CHECKED_EACH_TIME)
        if not self._is_page_served or not path.startswith(f"/{FOLDER}/"):
            return None
        file = self._files.find(path)
        if file is None:
            return status_reply(404, "not_found", "the page has no such file, or it is of another version; reload it")
        return await anyio.to_thread.run_sync(file.reply, method, headers, FOR_EVER)

    def _is_page_path(self, path: str) -> bool:
        return any(path.startswith(one[:-1]) if one.endswith("*") else path == one for one in self._paths)


def _by_accept(send: Send) -> Send:
    """Say in an answer that it depends on `Accept`, as there is a page at the same path."""

    async def send_varying(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(raw=message["headers"]).add_vary_header("Accept")
        await send(message)

    return send_varying
