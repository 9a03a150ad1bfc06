"""An assistant that shows the view of hits: a page of our own speaks the protocol, and calls a
server's tools.
"""

import json
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import FrameLocator, Page

from stackroom.serve.hits_view import build_view
from support.browsing import Visit
from support.processes import ServerProcess

HOST = Path(__file__).parent / "view_host.html"
EVERYTHING = ("serverTools", "openLinks", "message", "updateModelContext")


class Assistant:
    """An assistant that shows the view: the host page, and the server whose tools it calls."""

    def __init__(self, visit: Visit, server: ServerProcess) -> None:
        self.page: Page = visit.page
        self._server = server
        visit.is_spent = True  # a function that it is given cannot be taken away
        self.page.set_content(HOST.read_text(encoding="utf-8"))
        self.page.expose_function(
            "callTool", lambda params: self.call(params["name"], params["arguments"])
        )

    @property
    def view(self) -> FrameLocator:
        """The view in its frame."""
        return self.page.frame_locator("iframe")

    def show(
        self,
        *,
        able: tuple[str, ...] = EVERYTHING,
        theme: str = "light",
        tool: str = "search",
        locale: str = "en-GB",
    ) -> None:
        """Load the view, and wait until it is ready to be told things."""
        context = {"theme": theme, "locale": locale, "toolInfo": {"tool": {"name": tool}}}
        can: dict[str, Any] = {name: {} for name in able}
        welcome = {"protocolVersion": "2026-01-26", "hostCapabilities": can, "hostContext": context}
        self.page.evaluate(
            "([view, welcome]) => window.show(view, welcome)", [build_view(), welcome]
        )
        self.page.wait_for_function(
            "window.messages.some(({method}) => method === 'ui/notifications/initialized')"
        )

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool of the server, as the host does."""
        reply = httpx.post(
            f"{self._server.url}/v1/tools/{name}", json=arguments, timeout=120, verify=False
        )
        found = reply.json()
        is_error = reply.status_code != 200
        text = found["error"]["message"] if is_error else json.dumps(found)
        structured = {} if is_error else {"structuredContent": found}
        return {"content": [{"type": "text", "text": text}], "isError": is_error, **structured}

    def tell(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool, and tell the view what it was asked and what it answered."""
        self.post("ui/notifications/tool-input", {"arguments": arguments})
        result = self.call(name, arguments)
        self.post("ui/notifications/tool-result", result)
        return result

    def post(self, method: str, params: dict[str, Any]) -> None:
        """Send the view a notification."""
        self.page.evaluate(
            "(message) => window.post(message)", {"method": method, "params": params}
        )

    def heard(self, method: str) -> list[Any]:
        """Return the params of the view's messages of this kind."""
        messages = self.page.evaluate("window.messages")
        return [one["params"] for one in messages if one.get("method") == method]
