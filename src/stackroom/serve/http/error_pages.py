"""Errors for people: a browser that is refused gets a page that says why, and everybody else JSON."""

import json
from html import escape
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stackroom.serve.http.accepting import JSON, wants_html
from stackroom.serve.http.content_policy import build_policy, hash_of
from stackroom.serve.icon import ADDRESS

STYLE = """
:root { color-scheme: light dark; --ink: #1c1917; --soft: #57534e; --paper: #fafaf9; --accent: #0f766e }
@media (prefers-color-scheme: dark) { :root { --ink: #f5f5f4; --soft: #a8a29e; --paper: #1c1917; --accent: #5eead4 } }
body { margin: 0; min-height: 100vh; display: grid; place-content: center; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, sans-serif }
main { max-width: 32rem; padding: 2rem }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.25 }
p { margin: 0 0 1.25rem; overflow-wrap: anywhere }
.status { margin: 0; color: var(--soft) }
a { display: inline-block; padding: .25rem 0; color: var(--accent) }
"""
POLICY = build_policy(
    {
        "default-src": ["'none'"],
        "style-src": [hash_of(STYLE)],
        "img-src": ["data:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
)
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Stackroom</title>
<link rel="icon" href="{icon}">
<style>{style}</style>
<main>
<p class="status">{status}</p>
<h1>{title}</h1>
<p>{message}</p>
<a href="/">Go to the catalogues</a>
</main>
</html>
"""
TITLES = {
    401: "Log in first",
    403: "This is not allowed",
    404: "There is nothing here",
    405: "This address does not take such requests",
    421: "This server does not answer to that name",
    429: "Too many requests",
    500: "Something went wrong here",
    503: "The server cannot answer now",
}


class ErrorPages:
    """ASGI: turns the JSON of a failure into a page, for clients that ask for HTML."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; those of programs and WebSockets pass unchanged."""
        if scope["type"] == "http" and wants_html(Headers(scope=scope)):
            send = _ForPeople(send, is_head=scope["method"] == "HEAD")
        await self._app(scope, receive, send)


class _ForPeople:
    """ASGI send: holds a failure in JSON back until it is whole, and sends its page instead."""

    def __init__(self, send: Send, *, is_head: bool) -> None:
        self._send = send
        self._is_head = is_head
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_failure(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_page(self._start)

    async def _send_page(self, start: Message) -> None:
        page = error_page(start["status"], _message_of(self._body)).encode()
        headers = MutableHeaders(raw=list(start["headers"]))
        headers["Content-Type"] = "text/html; charset=utf-8"
        headers["Content-Length"] = str(len(page))
        headers["Content-Security-Policy"] = POLICY
        headers.add_vary_header("Accept")
        await self._send({**start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": b"" if self._is_head else page})


def error_page(status: int, message: str) -> str:
    """Return the page of a failure; the message is inserted as text."""
    title = TITLES.get(status) or HTTPStatus(status).phrase.capitalize()
    whole = f"{message[:1].upper()}{message[1:]}".rstrip(".") + "." if message else ""
    return PAGE.format(status=status, title=escape(title), message=escape(whole), icon=ADDRESS, style=STYLE)


def _is_failure(start: Message) -> bool:
    kind = Headers(raw=start["headers"]).get("content-type", "")
    return start["status"] >= 400 and kind.startswith(JSON)


def _message_of(body: bytes) -> str:
    """Return what a failure's JSON tells people; nothing where it has another form, as in MCP's answers."""
    try:
        error = json.loads(body)["error"]
        return str(error["message"])
    except (ValueError, KeyError, TypeError):
        return ""
