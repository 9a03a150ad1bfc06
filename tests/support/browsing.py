"""A real Chromium that visits the page, and notices whatever a person would not see."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Playwright,
    Request,
    Route,
    ViewportSize,
    expect,
)

PHONE = 390
DESK = 1440
LONGEST_WAIT_MS = 60_000
"""How long something on the page may take to come while other tests use the processor."""
LOOK_EVERY_MS = 50
MOST_WINDOWS = 4
"""How many windows are kept for further visits."""
PASSWORD = "correct horse battery"
"""The password of everybody in the tests of the page."""
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
WITH_WEBGL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
WITHOUT_WEBGL = ("--disable-gpu", "--disable-3d-apis")
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
FURTHER = ("li:nth-child(n+7)", "tbody tr:nth-child(n+7)", ".value:nth-of-type(n+7)")
NOTE_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
"""


def find_chromium() -> str | None:
    """Return the Chromium of this machine: STACKROOM_CHROMIUM, else the one that is installed."""
    named = os.environ.get("STACKROOM_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def launch(playwright: Playwright, *, has_webgl: bool = False) -> Browser:
    """Start Chromium without a window, and without connections of its own; with WebGL it draws much
    slower here.
    """
    arguments = [*ARGUMENTS, *(WITH_WEBGL if has_webgl else WITHOUT_WEBGL)]
    return playwright.chromium.launch(
        executable_path=find_chromium(), headless=True, args=arguments
    )


@dataclass(kw_only=True)
class Visit:
    """A person's visit to a server's page: a browser with nothing kept from earlier visits."""

    page: Page
    origin: str
    problems: list[str] = field(default_factory=list)
    """Errors on the console, failed scripts, and requests to any other server."""
    allowed: tuple[str, ...] = ()
    """Parts of problems that the visit is meant to have, such as the line for a refused
    password.
    """
    is_spent: bool = False
    """Whether its window got something that cannot be taken away again, such as a clock, and is
    used by nobody else.
    """

    def __post_init__(self) -> None:
        self._listeners: dict[str, Callable[..., None]] = {
            "console": self.note_console,
            "pageerror": lambda error: self.problems.append(f"script: {error}"),
            "request": self.note_request,
        }
        for event, listener in self._listeners.items():
            self.page.on(event, listener)  # type: ignore[call-overload]

    def leave(self) -> None:
        """Leave the window as if nobody had been there, but for what the browser has cached of the
        page.
        """
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        context = self.page.context
        for other in context.pages:
            if other != self.page:
                other.close()
        self.page.unroute_all(behavior="ignoreErrors")
        # scripts of the page run no longer, so that nothing is kept after this
        self.page.goto(f"{self.origin}/health")
        self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.goto("about:blank")
        context.clear_cookies()
        context.clear_permissions()
        history = context.new_cdp_session(self.page)
        history.send("Page.resetNavigationHistory")
        history.detach()

    def open(self, path: str) -> Page:
        """Go to an address of the server."""
        self.page.goto(f"{self.origin}{path}")
        return self.page

    def wait_until(self, script: str, argument: Any = None, *, timeout_s: float = 120) -> None:
        """Wait until a function in the page returns something true; Playwright's own way would need
        `unsafe-eval`.
        """
        end = time.monotonic() + timeout_s
        while not self.page.evaluate(script, argument):
            assert time.monotonic() < end, f"after {timeout_s:g} s not yet: {script} {argument}"
            self.page.wait_for_timeout(LOOK_EVERY_MS)

    @contextmanager
    def late(self, pattern: str, *, asking: str = "") -> Iterator[Callable[[], int]]:
        """Let answers to requests with these words come when the block ends; the value waits and
        counts them.
        """
        held: list[Route] = []

        def keep(route: Route) -> None:
            if asking in (route.request.post_data or ""):
                held.append(route)
            else:
                route.continue_()

        def count() -> int:
            end = time.monotonic() + 120
            while not held:
                assert time.monotonic() < end, f"nothing has asked for {pattern}"
                self.page.wait_for_timeout(LOOK_EVERY_MS)
            return len(held)

        self.page.route(pattern, keep)
        yield count
        for route in held:
            with suppress(Error):  # the page may have given the request up
                route.fulfill(response=route.fetch())
        self.page.unroute(pattern)
        self.page.evaluate(
            "() => fetch('/', {headers: {Accept: 'application/json'}}).then((reply) =>"
            " reply.json())"
        )

    def enter(self, name: str = "admin") -> None:
        """Log in without the form, as somebody who has been here before."""
        answer = self.page.request.post(
            f"{self.origin}/v1/login", data={"name": name, "password": PASSWORD}
        )
        assert answer.ok, answer.text()

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool as the person who is logged in."""
        answer = self.page.request.post(f"{self.origin}/v1/tools/{tool}", data=arguments)
        assert answer.ok, answer.text()
        return answer.json()

    def found_problems(self) -> list[str]:
        """Return the problems so far that are not meant, and what the policy of the page has
        refused.
        """
        refused = self.page.evaluate("window.violations ?? []") if not self.page.is_closed() else []
        return [
            one
            for one in [*self.problems, *refused]
            if not any(part in one for part in self.allowed)
        ]

    def check_access(self, *, is_whole: bool = False) -> None:
        """Fail where axe finds something that keeps people out of the view, once that has come.

        Of things that are many of a kind, only the first few are looked at, unless all of the view
        is wanted.
        """
        self.page.locator("h1").first.wait_for()
        if not self.page.evaluate("Boolean(window.axe)"):
            self.page.evaluate(f"() => {{ {AXE_SCRIPT}; window.axe = axe; }}")
        options = {"runOnly": list(RULES), "resultTypes": ["violations"]}
        among = {"exclude": [] if is_whole else list(FURTHER)}
        found: Mapping[str, Any] = self.page.evaluate(
            "([among, given]) => axe.run(among, given)", [among, options]
        )
        told = [
            f"{one['id']}: {node['target']} {node['html'][:160]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]
        assert told == [], "\n".join(told)

    def note_console(self, message: ConsoleMessage) -> None:
        """Keep an error or a warning of the console."""
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text} ({message.location.get('url', '')})")

    def note_request(self, request: Request) -> None:
        """Keep a request that does not go to the server, or to an address that the visit allows."""
        if not request.url.startswith(
            (self.origin, "data:", "blob:", self.origin.replace("http", "ws", 1))
        ):
            self.problems.append(f"request: {request.url}")


Start = Callable[..., Visit]
"""Begins a visit."""


class Windows:
    """Windows of a browser that visits have one after the other: a new one loads a page at twice
    the cost.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[tuple[int, str, str], Page] = {}

    def visit(
        self, origin: str, *, width: int, scheme: str, script: str, allowed: tuple[str, ...]
    ) -> Visit:
        """Begin a visit, in a window that is free or a new one; the script runs before those of
        each page.
        """
        page = self._free.pop((width, scheme, script), None) or open_window(
            self._browser, width, scheme, script
        )
        page.set_viewport_size(size_of(width))
        return Visit(page=page, origin=origin, allowed=allowed)

    def take_back(self, visit: Visit, *, width: int, scheme: str, script: str) -> None:
        """End a visit, and keep its window for the next one where it can be left as it was."""
        key = (width, scheme, script)
        try:
            if visit.is_spent or key in self._free:
                raise Error("its window is not kept")
            visit.leave()
            self._free[key] = visit.page
        except Error:
            visit.page.context.close()
        if len(self._free) > MOST_WINDOWS:
            self._free.pop(next(iter(self._free))).context.close()


def start_visit(browser: Browser, origin: str, *, width: int = DESK) -> Visit:
    """Begin a visit in a new window of a browser, as wide as a phone or a desk."""
    return Visit(page=open_window(browser, width, "light"), origin=origin)


def size_of(width: int) -> ViewportSize:
    """Return the size of a window that is as wide as a phone or a desk."""
    return {"width": width, "height": 844 if width == PHONE else 900}


def open_window(browser: Browser, width: int, scheme: str, script: str = "") -> Page:
    """Open an empty window of a browser with nothing kept from others, light or dark."""
    context: BrowserContext = browser.new_context(
        viewport=size_of(width),
        color_scheme="dark" if scheme == "dark" else "light",
        has_touch=width == PHONE,
        reduced_motion="reduce",
    )
    context.set_default_timeout(LONGEST_WAIT_MS)
    expect.set_options(timeout=LONGEST_WAIT_MS)
    page = context.new_page()
    page.add_init_script(NOTE_VIOLATIONS + script)
    return page
