"""Records with markup, scripts, hidden letters and instructions: the page shows them as text, and
nothing happens.
"""

import os
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Frame, Page, expect

from stackroom.cli.main import main
from support.browsing import Start
from support.hostile_page import CATALOGUE, MARKUP, TEXTS, write_traps
from support.processes import ServerProcess
from support.view_host import Assistant

pytestmark = pytest.mark.row("N10", "Z16")

FIND_FOREIGN = """() => {
  const all = [...document.querySelectorAll("*")];
  const held = "iframe, object, embed, base, [srcdoc], meta[http-equiv=refresh]";
  const foreign = all.filter((one) => one.matches(`body script, body style, ${held}`)
    || [...one.attributes].some(({name}) => name.startsWith("on"))
    || (one.matches("a[href], img[src]") && !/^(https?|data|blob):/.test(one.href ?? one.src)));
  const ran = window.trapped || {}.trapped ? ["a script ran"] : [];
  return [...foreign.map(({outerHTML}) => outerHTML.slice(0, 200)), ...ran];
}"""
"""Elements that none of the page's own views has, and traces of scripts."""
OPEN = """(key) => {
  const to = new URL(location.href);
  to.searchParams.set("open", key);
  history.pushState(null, "", to);
  dispatchEvent(new PopStateEvent("popstate"));
}"""
DRAWERS = slice(None) if os.environ.get("STACKROOM_SWEEP") == "all" else slice(0, None, 6)
"""The records whose drawers are opened; all of them take half a minute."""


@pytest.fixture(scope="module")
def trapped_server(
    tmp_path_factory: pytest.TempPathFactory, start_server: Callable[..., ServerProcess]
) -> ServerProcess:
    """A server of a catalogue with fifty hostile records."""
    folder = tmp_path_factory.mktemp("traps")
    home = folder / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STACKROOM_HOME", str(home))
        main(["add", str(write_traps(folder)), "--name", CATALOGUE, "--yes", "--no-embed"])
    return start_server(home, "--no-accounts")


def records_of(server: ServerProcess) -> list[dict[str, Any]]:
    """Return all records in the form of the page, by their ids."""
    records: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"query": "*", "limit": 50, "include": ["tiles"]}
    while True:
        page = httpx.post(f"{server.url}/v1/tools/search", json=asked).json()
        records += page["results"]
        if not page["has_more"]:
            return sorted(records, key=lambda record: str(record["id"]))
        asked["cursor"] = page["cursor"]


def assert_only_text(page: Page | Frame) -> None:
    """Fail where a record was taken for anything but text."""
    assert page.evaluate(FIND_FOREIGN) == []


def test_fifty_hostile_records_are_text_in_every_view(
    visit: Start, trapped_server: ServerProcess
) -> None:
    hits = records_of(trapped_server)
    assert len(hits) == len(TEXTS) == 50
    assert (
        sum(text in hit["title"] for text, hit in zip(MARKUP, hits[: len(MARKUP)], strict=True))
        >= 30
    )
    visited = visit(trapped_server.url)
    page = visited.page
    visited.is_spent = True
    page.on("dialog", lambda dialog: visited.problems.append(f"dialog: {dialog.message}"))
    visited.open(f"/c/{CATALOGUE}")
    cards = page.locator("article.hit h3")
    expect(cards.first).to_be_visible()
    while page.get_by_role("button", name="Show more", exact=True).count():
        shown = cards.count()
        page.get_by_role("button", name="Show more", exact=True).click()
        expect(cards).not_to_have_count(shown)
    assert sorted(cards.all_text_contents()) == sorted(hit["title"] for hit in hits)
    assert_only_text(page)
    drawer = page.locator(".drawer")
    for hit in hits[DRAWERS]:
        page.evaluate(OPEN, hit["id"])
        expect(drawer.locator("h2").first).to_have_text(hit["title"])
        assert_only_text(page)
    for address in (f"/c/{CATALOGUE}?view=table", "/search?q=trap"):
        visited.open(address)
        expect(page.locator("main")).to_contain_text("Trap 00")
        assert_only_text(page)


def test_hostile_records_are_text_inside_an_assistant(
    visit: Start, trapped_server: ServerProcess
) -> None:
    assistant = Assistant(visit(trapped_server.url), trapped_server)
    assistant.show()
    found = assistant.tell("search", {"query": "trap", "limit": 50})["structuredContent"]["results"]
    titles = assistant.view.locator("article.hit h3")
    expect(titles).to_have_count(len(found))
    assert titles.all_text_contents() == [one["title"] for one in found]
    frame = assistant.page.frames[1]
    assert (
        frame.evaluate(
            "document.querySelectorAll('article :is(script, iframe, img, style, [onerror])').length"
        )
        == 0
    )
    assert frame.evaluate("window.trapped ?? null") is None


def test_markup_that_is_taken_for_markup_would_be_noticed(visit: Start) -> None:
    page = visit(allowed=("",)).page
    page.set_content("<!doctype html><title>x</title>")
    assert_only_text(page)
    for text in (MARKUP[0], MARKUP[1], MARKUP[4], MARKUP[6], MARKUP[12]):
        page.set_content(f"<!doctype html><title>x</title><main>{text}</main>")
        with pytest.raises(AssertionError):
            assert_only_text(page)
