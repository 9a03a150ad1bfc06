"""A walk through the page without a mouse: find, filter, look, like, play, call a tool, add,
connect, ask.
"""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from support.browsing import Start

pytestmark = pytest.mark.row("Z16", "N13")

MOST_STEPS = 150


def go_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Press Tab until something has the focus, as somebody does who sees where it is."""
    expect(wanted.first).to_be_visible()
    target = wanted.first.element_handle()
    for _step in range(MOST_STEPS):
        if page.evaluate(
            "(target) => target === document.activeElement && target.matches(':focus-visible')",
            target,
        ):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{wanted} cannot be reached with {key}")


def press(page: Page, wanted: Locator, key: str = "Enter") -> None:
    """Reach something with Tab, and press a key on it."""
    go_to(page, wanted)
    page.keyboard.press(key)


def test_everything_is_reached_and_done_by_keys(visit: Start) -> None:
    visited = visit()
    page = visited.open("/")
    bar = page.locator("header.bar")
    expect(page.get_by_role("heading", level=1)).to_be_visible()

    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    press(page, page.locator("main").get_by_role("link", name="Anime", exact=True))
    expect(page.get_by_role("heading", level=1)).to_have_text("Anime")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox").first).to_be_focused()
    page.keyboard.type("bounty hunters in space")
    hits = page.locator("article.hit")
    expect(hits.first).to_contain_text("Cowboy Bebop")

    press(page, page.get_by_role("checkbox", name=re.compile("^TV")).first, "Space")
    expect(page).to_have_url(re.compile(r"f\.type=TV"))
    for view, shown in (("Table", page.get_by_role("table")), ("List", hits.first)):
        press(page, page.get_by_role("link", name=view).or_(page.get_by_role("button", name=view)))
        expect(shown).to_be_visible()

    press(page, hits.first.locator("h3 a"))
    drawer = page.locator(".drawer.record")
    expect(drawer.locator("h2")).to_have_text("Cowboy Bebop")
    press(page, drawer.get_by_role("button", name="Like", exact=True))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(drawer).to_be_visible()
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)

    bar.get_by_role("link", name="Tools").press("Enter")
    expect(page).to_have_url(re.compile("/tools$"))
    page.go_back()
    expect(hits.first).to_be_visible()
    bar.get_by_role("link", name="Tools").press("Enter")
    expect(page.locator("#main")).to_be_focused()
    press(
        page,
        page.locator("main").get_by_role("link", name=re.compile("^search", re.IGNORECASE)).first,
    )
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    go_to(page, page.get_by_label(re.compile("^query", re.IGNORECASE)))
    page.keyboard.type("a journey over the sea")
    page.keyboard.press("Enter")
    expect(page.locator(".result")).to_be_visible()

    press(page, bar.get_by_role("link", name="Add"))
    go_to(page, page.get_by_label("Drop a table here"))
    press(page, bar.get_by_role("link", name="Connect"))
    tabs = page.get_by_role("tab")
    go_to(page, page.get_by_role("tab", selected=True))
    page.keyboard.press("End")
    expect(tabs.last).to_have_attribute("aria-selected", "true")

    press(page, bar.get_by_role("link", name="Run"))
    last = page.get_by_role("navigation", name="Run").get_by_role("link").last
    press(page, last)
    expect(last).to_have_attribute("aria-current", "page")
    press(page, bar.get_by_role("button", name="Chat"))
    chat = page.locator("aside.chat")
    expect(chat).to_be_visible()
    press(page, chat.get_by_role("button", name=re.compile("^Close")))
    expect(chat).to_have_count(0)
