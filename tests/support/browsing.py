"""A real Chromium that visits the page, and notices whatever a person would not see."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, Playwright, Request, Route, expect

PHONE = 390
DESK = 1440
LONGEST_WAIT_MS = 60_000
"""How long something on the page may take to come while other tests use the processor."""
LOOK_EVERY_MS = 50
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
    """Start Chromium without a window, and without connections of its own; with WebGL it draws much slower here."""
    arguments = [*ARGUMENTS, *(WITH_WEBGL if has_webgl else WITHOUT_WEBGL)]
    return playwright.chromium.launch(executable_path=find_chromium(), headless=True, args=arguments)


@dataclass(kw_only=True)
class Visit:
    """A person's visit to a server's page: a browser with nothing kept from earlier visits."""

    page: Page
    origin: str
    problems: list[str] = field(default_factory=list)
    """Errors on the console, failed scripts, and requests to any other server."""
    allowed: tuple[str, ...] = ()
    """Parts of problems that the visit is meant to have, such as the line for a refused password."""

    def open(self, path: str) -> Page:
        """Go to an address of the server."""
        self.page.goto(f"{self.origin}{path}")
        return self.page

    def wait_until(self, script: str, argument: Any = None, *, timeout_s: float = 120) -> None:
        """Wait until a function in the page returns something true; Playwright's own way would need `unsafe-eval`."""
        end = time.monotonic() + timeout_s
        while not self.page.evaluate(script, argument):
            assert time.monotonic() < end, f"after {timeout_s:g} s not yet: {script} {argument}"
            self.page.wait_for_timeout(LOOK_EVERY_MS)

    @contextmanager
    def late(self, pattern: str, *, asking: str = "") -> Iterator[Callable[[], int]]:
        """Let answers to requests with these words come when the block ends; the value waits and counts them."""
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
        self.page.evaluate("() => fetch('/', {headers: {Accept: 'application/json'}}).then((reply) => reply.json())")

    def enter(self, name: str = "admin") -> None:
        """Log in without the form, as somebody who has been here before."""
        answer = self.page.request.post(f"{self.origin}/v1/login", data={"name": name, "password": PASSWORD})
        assert answer.ok, answer.text()

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool as the person who is logged in."""
        answer = self.page.request.post(f"{self.origin}/v1/tools/{tool}", data=arguments)
        assert answer.ok, answer.text()
        return answer.json()

    def found_problems(self) -> list[str]:
        """Return the problems so far that are not meant, and what the policy of the page has refused."""
        refused = self.page.evaluate("window.violations ?? []") if not self.page.is_closed() else []
        return [one for one in [*self.problems, *refused] if not any(part in one for part in self.allowed)]

    def check_access(self, *, without: tuple[str, ...] = ()) -> None:
        """Fail where axe finds something that keeps people out of the view, once that has come."""
        self.page.locator("h1").first.wait_for()
        self.page.evaluate(f"() => {{ {AXE_SCRIPT}; window.axe = axe; }}")
        options = {"runOnly": list(RULES), "rules": {name: {"enabled": False} for name in without}}
        found: Mapping[str, Any] = self.page.evaluate("(options) => window.axe.run(document, options)", options)
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
        if not request.url.startswith((self.origin, "data:", "blob:", self.origin.replace("http", "ws", 1))):
            self.problems.append(f"request: {request.url}")


def start_visit(
    browser: Browser, origin: str, *, width: int = DESK, scheme: str = "light", allowed: tuple[str, ...] = ()
) -> Visit:
    """Open an empty window of a browser, as wide as a phone or a desk, light or dark."""
    context: BrowserContext = browser.new_context(
        viewport={"width": width, "height": 844 if width == PHONE else 900},
        color_scheme="dark" if scheme == "dark" else "light",
        has_touch=width == PHONE,
        reduced_motion="reduce",
    )
    context.set_default_timeout(LONGEST_WAIT_MS)
    expect.set_options(timeout=LONGEST_WAIT_MS)
    page = context.new_page()
    visit = Visit(page=page, origin=origin, allowed=allowed)
    page.add_init_script(NOTE_VIOLATIONS)
    page.on("console", visit.note_console)
    page.on("pageerror", lambda error: visit.problems.append(f"script: {error}"))
    page.on("request", visit.note_request)
    return visit
